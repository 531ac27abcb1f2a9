/*
 * descriptoruris.h
 *		The URIs of descriptors, by their ids.
 */
#ifndef DMS_DESCRIPTORURIS_H
#define DMS_DESCRIPTORURIS_H

#include "postgres.h"

#include "engine/storedrows.h"

extern void DescriptorUrisInit(void);
extern bool DescriptorUrisKept(void);
extern bool DescriptorUrisAre(const char *schema, const char *table, const char *column);
extern bool DescriptorUrisTry(const int64 *ids, int n, bool can_change, StoredRows *rows);
extern void DescriptorUrisRead(const int64 *ids, int n, bool can_change, StoredRows *rows);
extern void DescriptorUrisForget(void);

#endif							/* DMS_DESCRIPTORURIS_H */
