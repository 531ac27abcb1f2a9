/*
 * searchindex.h
 *		The index of a resource that can be searched.
 */
#ifndef DMS_SEARCHINDEX_H
#define DMS_SEARCHINDEX_H

#include "postgres.h"

#include "base/report.h"
#include "model/model.h"
#include "utils/jsonb.h"

extern List *SearchIndexDdl(const ResourceModel *model, Jsonb *before, Jsonb *after, Problem *problem);

#endif							/* DMS_SEARCHINDEX_H */
