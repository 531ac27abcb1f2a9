/*
 * ids.h
 *		Lists of document ids.
 */
#ifndef DMS_IDS_H
#define DMS_IDS_H

#include "postgres.h"

#include "utils/array.h"

extern int	IdsCompare(const void *a, const void *b);
extern int	IdsSort(int64 *ids, int n);
extern bool IdsHave(const int64 *ids, int n, int64 id);
extern int64 *IdsOfArray(ArrayType *array, int *n);

#endif							/* DMS_IDS_H */
