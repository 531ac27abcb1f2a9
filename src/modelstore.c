/*
 * modelstore.c
 *		Models as JSON text and back.
 *
 * One table per struct says which members it has; writing and reading both
 * follow it, so they cannot disagree.  Members that have their default (zero,
 * false, NULL, or -1 where that means none) are left out.
 */
#include "postgres.h"

#include "jsontree.h"
#include "model.h"
#include "utils/memutils.h"

typedef enum FieldKind
{
	FIELD_TEXT,
	FIELD_NAME,					/* a text that is always there */
	FIELD_BOOL,
	FIELD_INT,					/* default 0 */
	FIELD_LINK,					/* default -1 */
	FIELD_INT64,
	FIELD_STRUCT,				/* embedded */
	FIELD_STRUCTS,				/* pointer and count */
	FIELD_INTS,
	FIELD_TEXTS
} FieldKind;

typedef struct FieldInfo
{
	const char *name;
	FieldKind	kind;
	size_t		offset;
	size_t		count_offset;
	const struct StructInfo *of;
} FieldInfo;

typedef struct StructInfo
{
	size_t		size;
	const FieldInfo *fields;	/* ends with a NULL name */
} StructInfo;

#define FIELD(type, member, kind) \
	{#member, kind, offsetof(type, member), 0, NULL}
#define FIELD_EMBEDDED(type, member, info) \
	{#member, FIELD_STRUCT, offsetof(type, member), 0, &(info)}
#define FIELD_ARRAY(type, member, info) \
	{#member, FIELD_STRUCTS, offsetof(type, member), offsetof(type, n##member), &(info)}
#define FIELD_LIST(type, member, kind) \
	{#member, kind, offsetof(type, member), offsetof(type, n##member), NULL}
#define FIELD_END {NULL, FIELD_TEXT, 0, 0, NULL}

static const FieldInfo value_fields[] = {
	FIELD(ValueModel, type, FIELD_INT),
	FIELD(ValueModel, min_length, FIELD_LINK),
	FIELD(ValueModel, max_length, FIELD_LINK),
	FIELD(ValueModel, precision, FIELD_LINK),
	FIELD(ValueModel, scale, FIELD_LINK),
	FIELD(ValueModel, pattern, FIELD_TEXT),
	FIELD(ValueModel, minimum, FIELD_TEXT),
	FIELD(ValueModel, maximum, FIELD_TEXT),
	FIELD(ValueModel, exclusive_minimum, FIELD_BOOL),
	FIELD(ValueModel, exclusive_maximum, FIELD_BOOL),
	FIELD_END
};
static const StructInfo value_info = {sizeof(ValueModel), value_fields};

static const FieldInfo property_fields[] = {
	FIELD(PropertyModel, name, FIELD_NAME),
	FIELD(PropertyModel, kind, FIELD_INT),
	FIELD(PropertyModel, required, FIELD_BOOL),
	FIELD(PropertyModel, trim, FIELD_BOOL),
	FIELD_EMBEDDED(PropertyModel, value, value_info),
	FIELD(PropertyModel, column, FIELD_LINK),
	FIELD(PropertyModel, scope, FIELD_LINK),
	FIELD(PropertyModel, reference, FIELD_LINK),
	FIELD(PropertyModel, min_items, FIELD_LINK),
	FIELD(PropertyModel, max_items, FIELD_LINK),
	FIELD(PropertyModel, unique_items, FIELD_BOOL),
	FIELD_END
};
static const StructInfo property_info = {sizeof(PropertyModel), property_fields};

static const FieldInfo scope_fields[] = {
	FIELD(ScopeModel, path, FIELD_NAME),
	FIELD(ScopeModel, table, FIELD_INT),
	FIELD_ARRAY(ScopeModel, properties, property_info),
	FIELD_END
};
static const StructInfo scope_info = {sizeof(ScopeModel), scope_fields};

static const FieldInfo column_fields[] = {
	FIELD(ColumnModel, name, FIELD_NAME),
	FIELD(ColumnModel, path, FIELD_TEXT),
	FIELD(ColumnModel, role, FIELD_INT),
	FIELD_EMBEDDED(ColumnModel, value, value_info),
	FIELD(ColumnModel, required, FIELD_BOOL),
	FIELD(ColumnModel, identity, FIELD_BOOL),
	FIELD(ColumnModel, reference, FIELD_LINK),
	FIELD(ColumnModel, foreign_key, FIELD_TEXT),
	FIELD_END
};
static const StructInfo column_info = {sizeof(ColumnModel), column_fields};

static const FieldInfo unique_fields[] = {
	FIELD(UniqueModel, name, FIELD_NAME),
	FIELD_LIST(UniqueModel, columns, FIELD_INTS),
	FIELD(UniqueModel, natural_key, FIELD_BOOL),
	FIELD_END
};
static const StructInfo unique_info = {sizeof(UniqueModel), unique_fields};

static const FieldInfo table_fields[] = {
	FIELD(TableModel, schema, FIELD_NAME),
	FIELD(TableModel, name, FIELD_NAME),
	FIELD(TableModel, title, FIELD_TEXT),
	FIELD(TableModel, scope_path, FIELD_NAME),
	FIELD(TableModel, kind, FIELD_INT),
	FIELD(TableModel, parent, FIELD_LINK),
	FIELD(TableModel, nkeys, FIELD_INT),
	FIELD(TableModel, bare_references, FIELD_BOOL),
	FIELD_ARRAY(TableModel, columns, column_info),
	FIELD_ARRAY(TableModel, uniques, unique_info),
	FIELD_END
};
static const StructInfo table_info = {sizeof(TableModel), table_fields};

static const FieldInfo member_fields[] = {
	FIELD(MemberModel, identity_path, FIELD_NAME),
	FIELD(MemberModel, name, FIELD_NAME),
	FIELD(MemberModel, type, FIELD_INT),
	FIELD(MemberModel, lower, FIELD_BOOL),
	FIELD(MemberModel, descriptor_project, FIELD_TEXT),
	FIELD(MemberModel, descriptor_resource, FIELD_TEXT),
	FIELD_END
};
static const StructInfo member_info = {sizeof(MemberModel), member_fields};

static const FieldInfo reference_fields[] = {
	FIELD(ReferenceModel, path, FIELD_NAME),
	FIELD(ReferenceModel, descriptor, FIELD_BOOL),
	FIELD(ReferenceModel, project, FIELD_NAME),
	FIELD(ReferenceModel, resource, FIELD_NAME),
	FIELD(ReferenceModel, abstract, FIELD_BOOL),
	FIELD(ReferenceModel, identity, FIELD_BOOL),
	FIELD(ReferenceModel, can_change, FIELD_BOOL),
	FIELD(ReferenceModel, rank, FIELD_INT),
	FIELD(ReferenceModel, edge_source_key, FIELD_NAME),
	FIELD(ReferenceModel, edge_source_id, FIELD_INT64),
	FIELD(ReferenceModel, table, FIELD_INT),
	FIELD(ReferenceModel, column, FIELD_INT),
	FIELD(ReferenceModel, projection, FIELD_LINK),
	FIELD_ARRAY(ReferenceModel, members, member_info),
	FIELD_END
};
static const StructInfo reference_info = {sizeof(ReferenceModel), reference_fields};

static const FieldInfo identity_fields[] = {
	FIELD(IdentityModel, path, FIELD_NAME),
	FIELD(IdentityModel, type, FIELD_INT),
	FIELD(IdentityModel, lower, FIELD_BOOL),
	FIELD(IdentityModel, column, FIELD_INT),
	FIELD(IdentityModel, reference, FIELD_LINK),
	FIELD(IdentityModel, member, FIELD_LINK),
	FIELD_END
};
static const StructInfo identity_info = {sizeof(IdentityModel), identity_fields};

static const FieldInfo join_fields[] = {
	FIELD(JoinModel, schema, FIELD_NAME),
	FIELD(JoinModel, table, FIELD_NAME),
	FIELD(JoinModel, from, FIELD_LINK),
	FIELD(JoinModel, from_column, FIELD_TEXT),
	FIELD_END
};
static const StructInfo join_info = {sizeof(JoinModel), join_fields};

static const FieldInfo projected_fields[] = {
	FIELD(ProjectedModel, path, FIELD_NAME),
	FIELD(ProjectedModel, join, FIELD_INT),
	FIELD(ProjectedModel, column, FIELD_NAME),
	FIELD(ProjectedModel, type, FIELD_INT),
	FIELD(ProjectedModel, lower, FIELD_BOOL),
	FIELD_END
};
static const StructInfo projected_info = {sizeof(ProjectedModel), projected_fields};

static const FieldInfo projection_fields[] = {
	FIELD(ProjectionModel, project, FIELD_NAME),
	FIELD(ProjectionModel, resource, FIELD_NAME),
	FIELD_ARRAY(ProjectionModel, joins, join_info),
	FIELD_ARRAY(ProjectionModel, values, projected_info),
	FIELD_END
};
static const StructInfo projection_info = {sizeof(ProjectionModel), projection_fields};

static const FieldInfo query_path_fields[] = {
	FIELD(QueryPathModel, path, FIELD_NAME),
	FIELD(QueryPathModel, type, FIELD_INT),
	FIELD(QueryPathModel, column, FIELD_LINK),
	FIELD(QueryPathModel, reference, FIELD_LINK),
	FIELD(QueryPathModel, member, FIELD_LINK),
	FIELD_END
};
static const StructInfo query_path_info = {sizeof(QueryPathModel), query_path_fields};

static const FieldInfo query_fields[] = {
	FIELD(QueryModel, name, FIELD_NAME),
	FIELD_ARRAY(QueryModel, paths, query_path_info),
	FIELD_END
};
static const StructInfo query_info = {sizeof(QueryModel), query_fields};

static const FieldInfo uniqueness_fields[] = {
	FIELD(UniquenessModel, array_path, FIELD_NAME),
	FIELD_LIST(UniquenessModel, members, FIELD_TEXTS),
	FIELD(UniquenessModel, constraint, FIELD_TEXT),
	FIELD_END
};
static const StructInfo uniqueness_info = {sizeof(UniquenessModel), uniqueness_fields};

static const FieldInfo equality_fields[] = {
	FIELD(EqualityModel, source, FIELD_NAME),
	FIELD(EqualityModel, target, FIELD_NAME),
	FIELD_END
};
static const StructInfo equality_info = {sizeof(EqualityModel), equality_fields};

static const FieldInfo resource_fields[] = {
	FIELD(ResourceModel, project, FIELD_NAME),
	FIELD(ResourceModel, resource, FIELD_NAME),
	FIELD(ResourceModel, project_endpoint, FIELD_NAME),
	FIELD(ResourceModel, endpoint, FIELD_TEXT),
	FIELD(ResourceModel, version, FIELD_TEXT),
	FIELD(ResourceModel, kind, FIELD_INT),
	FIELD(ResourceModel, allow_identity_updates, FIELD_BOOL),
	FIELD(ResourceModel, can_change, FIELD_BOOL),
	FIELD(ResourceModel, rank, FIELD_INT),
	FIELD(ResourceModel, load_order, FIELD_INT),
	FIELD(ResourceModel, superclass_project, FIELD_TEXT),
	FIELD(ResourceModel, superclass_resource, FIELD_TEXT),
	FIELD(ResourceModel, superclass_path, FIELD_TEXT),
	FIELD(ResourceModel, member_schema, FIELD_TEXT),
	FIELD(ResourceModel, member_table, FIELD_TEXT),
	FIELD_ARRAY(ResourceModel, scopes, scope_info),
	FIELD_ARRAY(ResourceModel, tables, table_info),
	FIELD_ARRAY(ResourceModel, references, reference_info),
	FIELD_ARRAY(ResourceModel, identity, identity_info),
	FIELD_ARRAY(ResourceModel, projections, projection_info),
	FIELD_ARRAY(ResourceModel, queries, query_info),
	FIELD_ARRAY(ResourceModel, uniqueness, uniqueness_info),
	FIELD_ARRAY(ResourceModel, equalities, equality_info),
	FIELD_END
};
static const StructInfo resource_info = {sizeof(ResourceModel), resource_fields};

static void WriteStruct(StringInfo out, const StructInfo *info, const char *base);
static void ReadStruct(const JNode *node, const StructInfo *info, char *base);

/* Does the member have the value that is left out? */
static bool
IsDefault(const FieldInfo *field, const char *base)
{
	const char *at = base + field->offset;

	switch (field->kind)
	{
		case FIELD_TEXT:
		case FIELD_NAME:
			return *(char *const *) at == NULL;
		case FIELD_BOOL:
			return !*(const bool *) at;
		case FIELD_INT:
			return *(const int *) at == 0;
		case FIELD_LINK:
			return *(const int *) at == -1;
		case FIELD_INT64:
		case FIELD_STRUCT:
			return false;
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			return *(const int *) (base + field->count_offset) == 0;
	}
	return false;
}

/* Write the elements of an array member. */
static void
WriteElements(StringInfo out, const FieldInfo *field, const char *base)
{
	const char *elements = *(char *const *) (base + field->offset);
	int			count = *(const int *) (base + field->count_offset);

	appendStringInfoChar(out, '[');
	for (int i = 0; i < count; i++)
	{
		appendStringInfoString(out, i > 0 ? "," : "");
		if (field->kind == FIELD_STRUCTS)
			WriteStruct(out, field->of, elements + i * field->of->size);
		else if (field->kind == FIELD_INTS)
			appendStringInfo(out, "%d", ((const int *) elements)[i]);
		else
			JsonAppendString(out, ((char *const *) elements)[i]);
	}
	appendStringInfoChar(out, ']');
}

static void
WriteField(StringInfo out, const FieldInfo *field, const char *base)
{
	const char *at = base + field->offset;

	switch (field->kind)
	{
		case FIELD_TEXT:
		case FIELD_NAME:
			JsonAppendString(out, *(char *const *) at);
			break;
		case FIELD_BOOL:
			appendStringInfoString(out, "true");
			break;
		case FIELD_INT:
		case FIELD_LINK:
			appendStringInfo(out, "%d", *(const int *) at);
			break;
		case FIELD_INT64:
			appendStringInfo(out, INT64_FORMAT, *(const int64 *) at);
			break;
		case FIELD_STRUCT:
			WriteStruct(out, field->of, at);
			break;
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			WriteElements(out, field, base);
			break;
	}
}

static void
WriteStruct(StringInfo out, const StructInfo *info, const char *base)
{
	bool		first = true;

	appendStringInfoChar(out, '{');
	for (const FieldInfo *field = info->fields; field->name; field++)
	{
		if (IsDefault(field, base))
			continue;
		appendStringInfo(out, "%s\"%s\":", first ? "" : ",", field->name);
		first = false;
		WriteField(out, field, base);
	}
	appendStringInfoChar(out, '}');
}

/* What a member must be in JSON, if it is there. */
static JNodeKind
KindOfField(const FieldInfo *field)
{
	switch (field->kind)
	{
		case FIELD_TEXT:
		case FIELD_NAME:
			return JNODE_STRING;
		case FIELD_BOOL:
			return JNODE_BOOL;
		case FIELD_INT:
		case FIELD_LINK:
		case FIELD_INT64:
			return JNODE_NUMBER;
		case FIELD_STRUCT:
			return JNODE_OBJECT;
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			return JNODE_ARRAY;
	}
	return JNODE_NULL;
}

static void
RequireKind(const JNode *node, JNodeKind kind, const char *name)
{
	if (node->kind != kind)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("member \"%s\" of a stored model must not be %s", name, JsonTreeKindName(node))));
}

/* Read the elements of an array member. */
static void
ReadElements(const JNode *node, const FieldInfo *field, char *base)
{
	size_t		size = field->kind == FIELD_STRUCTS ? field->of->size :
	field->kind == FIELD_INTS ? sizeof(int) : sizeof(char *);
	char	   *elements;

	if (node == NULL)
		return;
	elements = palloc0(size * Max(node->nchildren, 1));
	foreach_child(child, node)
	{
		char	   *element = elements + child->index * size;

		RequireKind(child, field->kind == FIELD_STRUCTS ? JNODE_OBJECT :
					field->kind == FIELD_INTS ? JNODE_NUMBER : JNODE_STRING, field->name);
		if (field->kind == FIELD_STRUCTS)
			ReadStruct(child, field->of, element);
		else if (field->kind == FIELD_INTS)
			*(int *) element = atoi(child->text);
		else
			*(char **) element = pstrdup(child->text);
	}
	*(char **) (base + field->offset) = elements;
	*(int *) (base + field->count_offset) = node->nchildren;
}

static void
ReadField(const JNode *node, const FieldInfo *field, char *base)
{
	char	   *at = base + field->offset;

	if (node != NULL)
		RequireKind(node, KindOfField(field), field->name);
	else if (field->kind == FIELD_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model has no member \"%s\"", field->name)));
	switch (field->kind)
	{
		case FIELD_TEXT:
		case FIELD_NAME:
			*(char **) at = node ? pstrdup(node->text) : NULL;
			break;
		case FIELD_BOOL:
			*(bool *) at = node != NULL && node->boolean;
			break;
		case FIELD_INT:
			*(int *) at = node ? atoi(node->text) : 0;
			break;
		case FIELD_LINK:
			*(int *) at = node ? atoi(node->text) : -1;
			break;
		case FIELD_INT64:
			*(int64 *) at = node ? strtoll(node->text, NULL, 10) : 0;
			break;
		case FIELD_STRUCT:
			ReadStruct(node, field->of, at);
			break;
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			ReadElements(node, field, base);
			break;
	}
}

/*
 * Members were written in the order of the table, so the walk through the
 * node's children and the table is one pass.
 */
static void
ReadStruct(const JNode *node, const StructInfo *info, char *base)
{
	const JNode *child = node ? node->first : NULL;

	for (const FieldInfo *field = info->fields; field->name; field++)
	{
		bool		here = child != NULL && strcmp(child->name, field->name) == 0;

		ReadField(here ? child : NULL, field, base);
		if (here)
			child = child->next;
	}
	if (child != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model has the unknown member \"%s\"",
						child->name)));
}

/* What a kind of resource is called in dms.ResourceModel. */
const char *
ModelKindName(int kind)
{
	static const char *const names[] = {
		[RESOURCE_PLAIN] = "resource",
		[RESOURCE_DESCRIPTOR] = "descriptor",
		[RESOURCE_SCHOOL_YEAR] = "schoolYear",
		[RESOURCE_ABSTRACT] = "abstract",
	};

	return names[kind];
}

/* The model as JSON text. */
char *
ModelToJson(const ResourceModel *model)
{
	StringInfoData out;

	initStringInfo(&out);
	WriteStruct(&out, &resource_info, (const char *) model);
	return out.data;
}

/* The model that a text describes, in the current memory context. */
ResourceModel *
ModelFromJson(const char *text, int len)
{
	ResourceModel *model = palloc0(sizeof(ResourceModel));
	JsonFault	fault;
	JNode	   *root;
	MemoryContext target = CurrentMemoryContext;
	MemoryContext scratch = AllocSetContextCreate(target, "dms model text",
												  ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(scratch);
	root = JsonTreeParse(text, len, &fault);
	MemoryContextSwitchTo(target);
	if (root == NULL || root->kind != JNODE_OBJECT)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model is not readable: %s",
						root ? "not an object" : fault.message)));
	ReadStruct(root, &resource_info, (char *) model);
	MemoryContextDelete(scratch);
	ModelRequireSound(model);
	return model;
}
