/*
 * modelgraph.h
 *		Analyzing how resource types depend on each other.
 */
#ifndef DMS_MODELGRAPH_H
#define DMS_MODELGRAPH_H

#include "postgres.h"

#include "schema/modelset.h"

extern void ModelGraphRank(ModelSet *set);
extern void ModelGraphOrder(ModelSet *set);
extern void ModelGraphProject(ModelSet *set, ModelEntry *entry);

#endif							/* DMS_MODELGRAPH_H */
