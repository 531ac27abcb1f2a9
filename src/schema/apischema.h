/*
 * apischema.h
 *		ApiSchema files as C structs: checked, merged, nothing derived yet.
 */
#ifndef DMS_APISCHEMA_H
#define DMS_APISCHEMA_H

#include "postgres.h"

#include "schema/apiresource.h"

typedef struct ApiAbstract
{
	ApiProject *project;
	const char *name;
	const char *place;
	List	   *identity_paths;
} ApiAbstract;

typedef struct ApiSchema
{
	const char *format_version;
	List	   *projects;		/* ApiProject, by endpoint; the core first */
	List	   *resources;		/* ApiResource that are stored, by name */
	List	   *abstracts;		/* ApiAbstract */
	bool		broken;			/* a file or project is: resources mean
								 * nothing */
	Problem    *problems;
} ApiSchema;

extern ApiSchema *ApiSchemaRead(int nfiles, char **texts, int *lengths);
extern void ApiSchemaRefuse(ApiSchema *schema);
extern char *ApiSchemaHash(const ApiSchema *schema, const char *mapping_version);

#endif							/* DMS_APISCHEMA_H */
