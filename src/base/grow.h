/*
 * grow.h
 *		Arrays that grow by one element at a time.
 */
#ifndef DMS_GROW_H
#define DMS_GROW_H

#include "postgres.h"

extern void *GrowArray(void *array, int count, size_t size);

/* Make room for one element after the first count elements; it is zero. */
#define GROW(array, count) \
	((array) = GrowArray((array), (count), sizeof(*(array))))

/*
 * Append an element; the value is its index.  The array moves, so keep indices,
 * not pointers.
 */
#define APPEND(array, count, element) \
	(GROW(array, count), (array)[(count)] = (element), (count)++)

#endif							/* DMS_GROW_H */
