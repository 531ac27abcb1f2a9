/*
 * newids.h
 *		New ReferentialIds of many documents.
 */
#ifndef DMS_NEWIDS_H
#define DMS_NEWIDS_H

#include "postgres.h"

#include "utils/uuid.h"

typedef struct NewIds NewIds;

extern NewIds *NewIdsMake(const char *project, const char *resource, int capacity);
extern void NewIdsAdd(NewIds *list, int64 document_id, const pg_uuid_t *id);
extern NewIds *NewIdsJoin(NewIds *first, NewIds *second);
extern int64 NewIdsReplace(NewIds *list);

#endif							/* DMS_NEWIDS_H */
