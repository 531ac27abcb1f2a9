/*
 * modeltables.h
 *		From the JSON schema of a resource to scopes, tables and columns.
 */
#ifndef DMS_MODELTABLES_H
#define DMS_MODELTABLES_H

#include "postgres.h"

#include "schema/modelset.h"

extern void ModelTablesBuild(ModelSet *set, ModelEntry *entry);
extern int	ModelTablesFindColumn(const ResourceModel *model, int table,
								  const char *path);

#endif							/* DMS_MODELTABLES_H */
