/*
 * parents.h
 *		Rows of dms.ParentChild: which document is the parent of which.
 */
#ifndef DMS_PARENTS_H
#define DMS_PARENTS_H

#include "postgres.h"

#include "graph/farends.h"
#include "graph/nodes.h"

extern int64 ParentsRead(int64 child);
extern int64 ParentsReadSince(int64 child, TimestampTz *since);
extern bool ParentsHaveChildren(int64 parent);
extern int64 *ParentsOf(const int64 *ids, int n, int *nfound);
extern int64 *ParentsChildrenOf(const int64 *ids, int n, int *nfound);
extern void ParentsInsert(const GraphNode *child, int64 parent);
extern void ParentsUpdate(const GraphNode *child, int64 parent);
extern void ParentsDelete(int64 child);
extern const FarEndTable *ParentsChildren(void);

#endif							/* DMS_PARENTS_H */
