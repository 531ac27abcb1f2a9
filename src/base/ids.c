/*
 * ids.c
 *		Lists of document ids: sorted, each once, and searched.
 */
#include "postgres.h"

#include "base/ids.h"
#include "base/report.h"
#include "catalog/pg_type.h"
#include "lib/qunique.h"

/* Order ids, for qsort() and bsearch(). */
int
IdsCompare(const void *a, const void *b)
{
	int64		left = *(const int64 *) a;
	int64		right = *(const int64 *) b;

	return left < right ? -1 : left > right;
}

/* Sort and drop duplicates; returns how many are left. */
int
IdsSort(int64 *ids, int n)
{
	qsort(ids, n, sizeof(int64), IdsCompare);
	return (int) qunique(ids, n, sizeof(int64), IdsCompare);
}

/* Returns true if the id is in a sorted list. */
bool
IdsHave(const int64 *ids, int n, int64 id)
{
	return n > 0 && bsearch(&id, ids, n, sizeof(int64), IdsCompare) != NULL;
}

/* Returns the ids of a bigint[] argument, sorted, without duplicates. */
int64 *
IdsOfArray(ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	int64	   *ids;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elements, &nulls, n);
	ids = palloc(sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "a document id must not be null");
		ids[i] = DatumGetInt64(elements[i]);
	}
	*n = IdsSort(ids, *n);
	return ids;
}
