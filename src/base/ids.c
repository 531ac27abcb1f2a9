/*
 * ids.c
 *		Lists of document ids: sorted, each once, and searched.
 */
#include "postgres.h"

#include "base/ids.h"

/* For qsort() and bsearch(). */
int
IdsCompare(const void *a, const void *b)
{
	int64		left = *(const int64 *) a;
	int64		right = *(const int64 *) b;

	return left < right ? -1 : left > right;
}

/* Sort, and drop what stands twice; returns how many are left. */
int
IdsSort(int64 *ids, int n)
{
	int			unique = 0;

	qsort(ids, n, sizeof(int64), IdsCompare);
	for (int i = 0; i < n; i++)
		if (unique == 0 || ids[i] != ids[unique - 1])
			ids[unique++] = ids[i];
	return unique;
}

/* Is the id in a sorted list? */
bool
IdsHave(const int64 *ids, int n, int64 id)
{
	return n > 0 && bsearch(&id, ids, n, sizeof(int64), IdsCompare) != NULL;
}
