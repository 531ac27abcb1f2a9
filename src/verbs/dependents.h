/*
 * dependents.h
 *		Documents that prevent others from being deleted.
 */
#ifndef DMS_DEPENDENTS_H
#define DMS_DEPENDENTS_H

#include "postgres.h"

#include "graph/subtree.h"

extern void DependentsRefuse(const Subtree *tree);

#endif							/* DMS_DEPENDENTS_H */
