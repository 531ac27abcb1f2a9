/*
 * idset.c
 *		Sets of ReferentialIds.
 */
#include "postgres.h"

#include "document/idset.h"
#include "lib/qunique.h"
#include "miscadmin.h"

/* Compare entries, or a uuid with an entry, for qsort() and bsearch(). */
static int
CompareIds(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return memcmp(a, b, UUID_LEN);
}

/* Sort entries that the caller has filled in, for IdSetFind(). */
void
IdSetSort(IdSet *set)
{
	if (set->n > 0)
		qsort(set->entries, set->n, sizeof(IdEntry), CompareIds);
}

/* Make a set of ids that are to be looked up. */
IdSet *
IdSetMake(const pg_uuid_t *ids, int n)
{
	IdSet	   *set = palloc(sizeof(IdSet));

	set->entries = palloc0(sizeof(IdEntry) * Max(n, 1));
	for (int i = 0; i < n; i++)
		set->entries[i].id = ids[i];
	qsort(set->entries, n, sizeof(IdEntry), CompareIds);
	set->n = (int) qunique(set->entries, n, sizeof(IdEntry), CompareIds);
	return set;
}

/* Returns the entry of an id, or NULL. */
IdEntry *
IdSetEntry(const IdSet *set, const pg_uuid_t *id)
{
	return set->n == 0 ? NULL : bsearch(id, set->entries, set->n, sizeof(IdEntry), CompareIds);
}

/* Returns the document that had this id when it was looked up, or 0. */
int64
IdSetFind(const IdSet *set, const pg_uuid_t *id)
{
	IdEntry    *entry = IdSetEntry(set, id);

	return entry ? entry->document_id : 0;
}
