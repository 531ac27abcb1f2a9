/*
 * grow.c
 *		Arrays that grow by one element at a time.
 *
 * The count alone tells how large the array is: whenever it is a power of two
 * the room is doubled, so no capacity need be kept.  Elements may be dropped
 * from the end in between; then the room may become less at the next doubling,
 * but never too little.
 */
#include "postgres.h"

#include "base/grow.h"

#define LEAST_ROOM 4

/* The array, with room for one element more; what is new is zero. */
void *
GrowArray(void *array, int count, size_t size)
{
	char	   *grown;

	if (array == NULL)
		return palloc0(size * LEAST_ROOM);
	if (count < LEAST_ROOM || (count & (count - 1)) != 0)
		return array;
	grown = repalloc_huge(array, size * count * 2);
	memset(grown + size * count, 0, size * count);
	return grown;
}
