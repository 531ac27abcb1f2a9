/*
 * walk.h
 *		Walking along relations.
 */
#ifndef DMS_WALK_H
#define DMS_WALK_H

#include "postgres.h"

#include "utils/hsearch.h"

/* The relations to walk along. */
#define WALK_PARENTS (1 << 0)
#define WALK_COLLECTIONS (1 << 1)	/* that convey */
#define WALK_CHILDREN (1 << 2)
#define WALK_MEMBERS (1 << 3)	/* that are conveyed to */

/* A document that was reached. */
typedef struct WalkStep
{
	int64		document_id;
	int			depth;			/* 0: where the walk began */
	int			along;			/* the relation of the last step; 0: none */
} WalkStep;

/* The documents that were reached, nearest first. */
typedef struct Walk
{
	HTAB	   *seen;
	WalkStep   *steps;
	int			n;
} Walk;

extern Walk *WalkFrom(const int64 *starts, int n, int relations, int64 target, int max);
extern bool WalkHas(const Walk *walk, int64 document_id);
extern int64 *WalkIds(const Walk *walk, int *n);

#endif							/* DMS_WALK_H */
