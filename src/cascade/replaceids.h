/*
 * replaceids.h
 *		Giving many documents new ReferentialIds.
 */
#ifndef DMS_REPLACEIDS_H
#define DMS_REPLACEIDS_H

#include "postgres.h"

#include "cascade/keychanges.h"
#include "utils/uuid.h"

typedef struct ReplaceIds ReplaceIds;

extern ReplaceIds *ReplaceIdsMake(const char *project, const char *resource, int capacity);
extern void ReplaceIdsTell(ReplaceIds *list, KeyChanges *keys, const ClosureType *type, bool alias);
extern void ReplaceIdsAdd(ReplaceIds *list, int64 document_id, const pg_uuid_t *id);
extern ReplaceIds *ReplaceIdsJoin(ReplaceIds *first, ReplaceIds *second);
extern int64 ReplaceIdsRun(ReplaceIds *list);

#endif							/* DMS_REPLACEIDS_H */
