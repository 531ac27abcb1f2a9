/*
 * idset.h
 *		Sets of ReferentialIds.
 */
#ifndef DMS_IDSET_H
#define DMS_IDSET_H

#include "postgres.h"

#include "utils/uuid.h"

/* A ReferentialId and the document that has it, or 0. */
typedef struct IdEntry
{
	pg_uuid_t	id;
	int64		document_id;
} IdEntry;

/* ReferentialIds, sorted, without duplicates. */
typedef struct IdSet
{
	IdEntry    *entries;
	int			n;
} IdSet;

extern IdSet *IdSetMake(const pg_uuid_t *ids, int n);
extern void IdSetSort(IdSet *set);
extern IdEntry *IdSetEntry(const IdSet *set, const pg_uuid_t *id);
extern int64 IdSetFind(const IdSet *set, const pg_uuid_t *id);

#endif							/* DMS_IDSET_H */
