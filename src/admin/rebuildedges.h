/*
 * rebuildedges.h
 *		Repairing reference edges.
 */
#ifndef DMS_REBUILDEDGES_H
#define DMS_REBUILDEDGES_H

#include "postgres.h"

#include "model/model.h"

extern char *RebuildEdgesDocuments(const ResourceModel *model);
extern int64 RebuildEdgesOf(const ResourceModel *model);

#endif							/* DMS_REBUILDEDGES_H */
