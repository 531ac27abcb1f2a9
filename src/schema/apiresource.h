/*
 * apiresource.h
 *		A resource of an ApiSchema file, and the project that it belongs to.
 */
#ifndef DMS_APIRESOURCE_H
#define DMS_APIRESOURCE_H

#include "postgres.h"

#include "schema/jsonschema.h"

/* An entry of documentPathsMapping that refers to something, or a scalar. */
typedef struct ApiMapping
{
	const char *key;
	const char *place;
	bool		reference;
	bool		descriptor;
	const char *project;		/* target */
	const char *resource;
	const char *path;			/* scalar, descriptor, or reference object */
	const char *type;			/* scalar, descriptor; NULL if not said */
	List	   *identity_paths; /* documents: path in the target, ... */
	List	   *member_names;	/* ... name in the reference object, ... */
	List	   *member_types;	/* ... and type; "" if not said */
} ApiMapping;

typedef struct ApiQueryPath
{
	const char *field;
	const char *place;
	const char *path;
	const char *type;
} ApiQueryPath;

typedef struct ApiNameOverride
{
	const char *path;
	const char *name;
	const char *place;
	bool		used;
} ApiNameOverride;

/* A path of booleanJsonPaths and the lists like it. */
typedef struct ApiTypedPath
{
	const char *list;
	const char *path;
	const char *type;			/* of all paths of the list */
} ApiTypedPath;

typedef struct ApiDecimal
{
	const char *path;
	int			total_digits;
	int			decimal_places;
} ApiDecimal;

/* arrayUniquenessConstraints, nested ones made absolute. */
typedef struct ApiUniqueness
{
	const char *place;
	List	   *paths;
} ApiUniqueness;

typedef struct ApiEquality
{
	const char *place;
	const char *source;
	const char *target;
} ApiEquality;

typedef struct ApiCommonExtension
{
	const char *location;		/* in the core JSON schema */
	const char *place;
	SchemaNode *fragment;
} ApiCommonExtension;

typedef struct ApiProject
{
	const char *name;
	const char *endpoint;
	const char *version;
	const char *schema_name;	/* PostgreSQL schema */
	bool		extension;
	const JNode *node;
	List	   *resources;		/* ApiResource */
	List	   *abstracts;		/* ApiAbstract */
} ApiProject;

typedef struct ApiResource
{
	ApiProject *project;
	const char *name;
	const char *endpoint;
	const char *place;			/* "Ed-Fi.Student", for messages */
	bool		descriptor;
	bool		extension;		/* of a resource of the core */
	bool		subclass;
	bool		association;	/* subclass with the superclass' own paths */
	bool		school_year;
	bool		allow_identity_updates;
	const char *superclass_project;
	const char *superclass_resource;
	const char *superclass_path;
	const char *root_table_override;
	List	   *identity_paths;
	List	   *mappings;		/* ApiMapping */
	List	   *queries;		/* ApiQueryPath */
	List	   *overrides;		/* ApiNameOverride */
	List	   *decimals;		/* ApiDecimal */
	List	   *uniqueness;		/* ApiUniqueness */
	List	   *equalities;		/* ApiEquality */
	List	   *typed_paths;	/* ApiTypedPath */
	List	   *common_extensions;	/* ApiCommonExtension */
	SchemaNode *schema;
	List	   *extended_by;	/* ApiResource of extension projects, merged */
	bool		broken;			/* problems were found; build nothing on it */
} ApiResource;

extern ApiResource *ApiResourceRead(ApiProject *project, const JNode *node,
									Problem *problems);

#endif							/* DMS_APIRESOURCE_H */
