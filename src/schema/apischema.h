/*
 * apischema.h
 *		ApiSchema files as C structs: checked, merged, nothing derived yet.
 */
#ifndef DMS_APISCHEMA_H
#define DMS_APISCHEMA_H

#include "postgres.h"

#include "base/jsontree.h"
#include "base/report.h"
#include "model/model.h"
#include "nodes/pg_list.h"

/* A node of a resource's JSON schema. */
typedef enum SchemaKind
{
	SCHEMA_OBJECT,
	SCHEMA_ARRAY,
	SCHEMA_SCALAR
} SchemaKind;

typedef struct SchemaNode
{
	SchemaKind	kind;
	const JNode *source;		/* where it stands in the file */
	ValueModel	value;			/* scalars */
	List	   *properties;		/* objects: SchemaProperty */
	struct SchemaNode *items;	/* arrays */
	int			min_items;
	int			max_items;
	bool		unique_items;
} SchemaNode;

typedef struct SchemaProperty
{
	const char *name;
	bool		required;
	SchemaNode *node;
} SchemaProperty;

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
	const char *type;			/* that the list stands for */
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

typedef struct ApiAbstract
{
	ApiProject *project;
	const char *name;
	const char *place;
	List	   *identity_paths;
} ApiAbstract;

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
extern ApiAbstract *ApiSchemaFindAbstract(const ApiSchema *schema,
										  const char *project,
										  const char *resource);

/* apiresource.c */
extern ApiResource *ApiResourceRead(ApiProject *project, const JNode *node,
									Problem *problems);
extern bool ApiCheckPath(const char *path, const char *what,
						 const char *place, Problem *problems);

/* schemajson.c */
extern SchemaNode *SchemaRead(const JNode *node, bool extension,
							  const char *place, Problem *problems);
extern void SchemaMerge(SchemaNode *into, SchemaNode *from,
						const char *endpoint, const char *place,
						Problem *problems);
extern SchemaNode *SchemaAtLocation(SchemaNode *root, const char *location);
extern SchemaProperty *SchemaFind(const SchemaNode *object, const char *name);
extern bool SchemaPathExists(const SchemaNode *root, const char *path,
							 const SchemaNode **leaf);
extern const char *SchemaTypeName(const SchemaNode *node);

/* schemaread.c: typed access that collects what is wrong */
extern const char *ReadText(const JNode *object, const char *name,
							bool required, const char *place, Problem *problems);
extern bool ReadBool(const JNode *object, const char *name,
					 const char *place, Problem *problems);
extern int	ReadInt(const JNode *object, const char *name, int absent,
					const char *place, Problem *problems);
extern const JNode *ReadNode(const JNode *object, const char *name,
							 JNodeKind kind, bool required,
							 const char *place, Problem *problems);
extern List *ReadTexts(const JNode *object, const char *name,
					   const char *place, Problem *problems);
extern bool PathIsPlain(const char *path);
extern bool ReadObject(const JNode *node, const char *const *known,
					   const char *place, Problem *problems);

#endif							/* DMS_APISCHEMA_H */
