/*
 * etag.h
 *		Etags and times of modification.
 */
#ifndef DMS_ETAG_H
#define DMS_ETAG_H

#include "postgres.h"

#include "document/header.h"

extern bool EtagBump(DocumentHeader *header, const char *version, bool judge);
extern void EtagBumpAll(const int64 *ids, int n);

#endif							/* DMS_ETAG_H */
