/*
 * ids.c
 *		Lists of document ids: sorted, each once, and searched.
 */
#include "postgres.h"

#include "base/ids.h"
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
