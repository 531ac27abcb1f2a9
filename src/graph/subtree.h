/*
 * subtree.h
 *		A document and all that is below it.
 */
#ifndef DMS_SUBTREE_H
#define DMS_SUBTREE_H

#include "postgres.h"

/* Documents, ascending. */
typedef struct Subtree
{
	int64	   *ids;
	int			n;
} Subtree;

extern void SubtreeRead(int64 root, Subtree *tree);
extern void SubtreeLook(int64 root, Subtree *tree);
extern bool SubtreeLock(int64 root, bool alone, Subtree *tree);
extern int64 *SubtreeOutside(const Subtree *tree, const int64 *ids, int n, int *noutside);

#endif							/* DMS_SUBTREE_H */
