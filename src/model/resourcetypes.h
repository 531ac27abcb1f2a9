/*
 * resourcetypes.h
 *		The numbers and names of resources: rows of dms.ResourceType.
 */
#ifndef DMS_RESOURCETYPES_H
#define DMS_RESOURCETYPES_H

#include "postgres.h"

extern int32 ResourceTypeId(const char *project, const char *resource);
extern char *ResourceTypeName(const char *project, const char *resource);
extern void ResourceTypesInsert(const char *const *projects, const char *const *resources, int n);

#endif							/* DMS_RESOURCETYPES_H */
