/*
 * recordkeys.h
 *		The keys of records: strings that name documents and relations.
 */
#ifndef DMS_RECORDKEYS_H
#define DMS_RECORDKEYS_H

#include "postgres.h"

#include "graph/farends.h"

extern const char *RecordKeyRest(const char *key, const char *kind);
extern bool RecordKeyRange(const char *prefix, const char *kind, FarEndQuery *query);
extern void RecordKeyAfter(const char *after, const char *kind, FarEndQuery *query);

#endif							/* DMS_RECORDKEYS_H */
