/*
 * jsonschema.h
 *		The JSON schema of a resource, as a tree of typed nodes.
 */
#ifndef DMS_JSONSCHEMA_H
#define DMS_JSONSCHEMA_H

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
	const JNode *source;		/* its place in the file */
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

extern SchemaNode *JsonSchemaRead(const JNode *node, bool extension,
								  const char *place, Problem *problems);
extern void JsonSchemaMerge(SchemaNode *into, SchemaNode *from,
							const char *endpoint, const char *place,
							Problem *problems);
extern SchemaNode *JsonSchemaAtLocation(SchemaNode *root, const char *location);
extern SchemaProperty *JsonSchemaFind(const SchemaNode *object, const char *name);
extern bool JsonSchemaPathExists(const SchemaNode *root, const char *path,
								 const SchemaNode **leaf);
extern const char *JsonSchemaTypeName(const SchemaNode *node);

#endif							/* DMS_JSONSCHEMA_H */
