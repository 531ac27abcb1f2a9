/*
 * resourcetypes.h
 *		The numbers and names of resources: rows of dms.ResourceType.
 */
#ifndef DMS_RESOURCETYPES_H
#define DMS_RESOURCETYPES_H

#include "postgres.h"

#include "utils/jsonb.h"

extern int32 ResourceTypeId(const char *project, const char *resource);
extern char *ResourceTypeName(const char *project, const char *resource);
extern char *ResourceTypeRead(int32 id);
extern bool ResourceTypeFind(const char *type, int32 *id);
extern void ResourceTypesInsert(const char *const *projects, const char *const *resources, int n);
extern Jsonb *ResourceTypeOptions(int32 id, char **name);
extern bool ResourceTypeNames(int32 id, char **project, char **resource);
extern void ResourceTypeSetOptions(int32 id, Jsonb *options);
extern void ResourceTypeRename(int32 id, const char *name);
extern bool ResourceTypeIsTaken(const char *name, int32 except);
extern int32 *ResourceTypesWithUniqueKeys(int *n);
extern bool ResourceTypesHaveHistory(int32 except);
extern bool ResourceTypesHaveRetention(void);
extern uint64 ResourceTypesReadRetention(void);
extern uint64 ResourceTypesChanged(bool documents, int64 after, int32 including);

#endif							/* DMS_RESOURCETYPES_H */
