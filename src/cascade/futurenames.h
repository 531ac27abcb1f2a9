/*
 * futurenames.h
 *		The identities that documents will have after a call.
 */
#ifndef DMS_FUTURENAMES_H
#define DMS_FUTURENAMES_H

#include "postgres.h"

#include "cascade/closure.h"
#include "document/flatten.h"

typedef struct FutureNames FutureNames;

extern FutureNames *FutureNamesMake(void);
extern void FutureNamesAdd(FutureNames *names, int64 document_id, const FlatDocument *flat);
extern void FutureNamesFollow(FutureNames *names, const Closure *closure, int rank);
extern int64 FutureNamesFind(FutureNames *names, const pg_uuid_t *id);

#endif							/* DMS_FUTURENAMES_H */
