/*
 * grow.c
 *		Arrays that grow by one element at a time.
 *
 * No capacity is kept: memory is requested in powers of two, and repalloc()
 * knows how large a chunk is.  It has nothing to do most of the time, and any
 * array can grow, even one that was allocated elsewhere with no room to spare.
 */
#include "postgres.h"

#include "base/grow.h"
#include "port/pg_bitutils.h"

#define MIN_ELEMENTS 4

/*
 * Make room for one element after the first count elements of an array, which
 * is palloc'd or NULL, and set it to zero.  Returns the array, which may have
 * moved.
 */
void *
GrowArray(void *array, int count, size_t size)
{
	size_t		wanted = size * pg_nextpower2_32(Max(count + 1, MIN_ELEMENTS));
	char	   *grown = array ? repalloc_huge(array, wanted) : palloc(wanted);

	memset(grown + size * count, 0, size);
	return grown;
}
