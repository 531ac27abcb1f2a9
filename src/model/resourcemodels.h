/*
 * resourcemodels.h
 *		Rows of dms.ResourceModel.
 */
#ifndef DMS_RESOURCEMODELS_H
#define DMS_RESOURCEMODELS_H

#include "postgres.h"

#include "model/model.h"

extern char *ResourceModelsRead(const char *project, const char *resource);
extern bool ResourceModelsFind(const char *project, const char *resource, bool endpoint);
extern bool ResourceModelsHaveProject(const char *project, char **similar);
extern uint64 ResourceModelsWith(const char *json_part);
extern uint64 ResourceModelsInScope(const char *project, const char *resource);
extern uint64 ResourceModelsAbstract(void);
extern uint64 ResourceModelsOfForeignKey(const char *name, const char *schema, const char *table);
extern uint64 ResourceModelsEdgeSources(void);
extern uint64 ResourceModelsAll(void);
extern void ResourceModelsPut(const ResourceModel *model);
extern void ResourceModelsDelete(const char *project, const char *resource);
extern void ResourceModelsReplace(const ResourceModel *model);

#endif							/* DMS_RESOURCEMODELS_H */
