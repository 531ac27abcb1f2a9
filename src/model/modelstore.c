/*
 * modelstore.c
 *		Models as JSON text and back.
 *
 * One table per struct lists its members; writing and reading both follow it,
 * so they cannot disagree.  Members that have their default (zero, false,
 * NULL, or -1 where that means none) are left out, and so are those that are
 * derived from others, except in abstract resources (see model.h).
 */
#include "postgres.h"

#include "base/jsontree.h"
#include "model/modelsound.h"
#include "model/modelstore.h"
#include "utils/json.h"
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
	bool		(*is_derived) (const void *base);	/* NULL: never */
} FieldInfo;

typedef struct StructInfo
{
	size_t		size;
	const FieldInfo *fields;	/* ends with a NULL name */
} StructInfo;

#define FIELD(type, member, kind) \
	{#member, kind, offsetof(type, member), 0, NULL, NULL}
#define DERIVED(type, member, kind) \
	{#member, kind, offsetof(type, member), 0, NULL, IsAlwaysDerived}
#define FIELD_EMBEDDED(type, member, info, is_derived) \
	{#member, FIELD_STRUCT, offsetof(type, member), 0, &(info), is_derived}
#define FIELD_ARRAY(type, member, info) \
	{#member, FIELD_STRUCTS, offsetof(type, member), offsetof(type, n##member), &(info), NULL}
#define FIELD_LIST(type, member, kind) \
	{#member, kind, offsetof(type, member), offsetof(type, n##member), NULL, NULL}
#define FIELD_END {NULL, FIELD_TEXT, 0, 0, NULL, NULL}

/* Members that follow from others in all models but abstract ones. */
static bool
IsAlwaysDerived(const void *base)
{
	return true;
}

/* The rules of a scalar are stored with its column. */
static bool
IsPropertyValueDerived(const void *base)
{
	int			kind = ((const PropertyModel *) base)->kind;

	return kind != PROPERTY_DESCRIPTOR && kind != PROPERTY_MEMBER;
}

/* Keys and references are numbers, whatever the document has in their place. */
static bool
IsColumnValueDerived(const void *base)
{
	int			role = ((const ColumnModel *) base)->role;

	return role != COLUMN_SCALAR && role != COLUMN_URI && role != COLUMN_DISCRIMINATOR;
}

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
	FIELD_EMBEDDED(PropertyModel, value, value_info, IsPropertyValueDerived),
	FIELD(PropertyModel, column, FIELD_LINK),
	FIELD(PropertyModel, scope, FIELD_LINK),
	FIELD(PropertyModel, table, FIELD_LINK),
	DERIVED(PropertyModel, reference, FIELD_LINK),
	FIELD(PropertyModel, min_items, FIELD_LINK),
	FIELD(PropertyModel, max_items, FIELD_LINK),
	FIELD(PropertyModel, unique_items, FIELD_BOOL),
	FIELD_END
};
static const StructInfo property_info = {sizeof(PropertyModel), property_fields};

static const FieldInfo scope_fields[] = {
	DERIVED(ScopeModel, path, FIELD_NAME),
	DERIVED(ScopeModel, table, FIELD_INT),
	FIELD_ARRAY(ScopeModel, properties, property_info),
	FIELD_END
};
static const StructInfo scope_info = {sizeof(ScopeModel), scope_fields};

static const FieldInfo column_fields[] = {
	FIELD(ColumnModel, name, FIELD_NAME),
	DERIVED(ColumnModel, path, FIELD_TEXT),
	DERIVED(ColumnModel, role, FIELD_INT),
	FIELD_EMBEDDED(ColumnModel, value, value_info, IsColumnValueDerived),
	DERIVED(ColumnModel, required, FIELD_BOOL),
	DERIVED(ColumnModel, identity, FIELD_BOOL),
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
	FIELD(TableModel, title, FIELD_NAME),
	DERIVED(TableModel, scope_path, FIELD_NAME),
	DERIVED(TableModel, kind, FIELD_INT),
	DERIVED(TableModel, parent, FIELD_LINK),
	DERIVED(TableModel, nkeys, FIELD_INT),
	DERIVED(TableModel, bare_references, FIELD_BOOL),
	FIELD_ARRAY(TableModel, columns, column_info),
	FIELD_ARRAY(TableModel, uniques, unique_info),
	FIELD_END
};
static const StructInfo table_info = {sizeof(TableModel), table_fields};

static const FieldInfo member_fields[] = {
	FIELD(MemberModel, identity_path, FIELD_NAME),
	FIELD(MemberModel, name, FIELD_NAME),
	DERIVED(MemberModel, type, FIELD_INT),
	DERIVED(MemberModel, lower, FIELD_BOOL),
	FIELD(MemberModel, descriptor_project, FIELD_TEXT),
	FIELD(MemberModel, descriptor_resource, FIELD_TEXT),
	FIELD_END
};
static const StructInfo member_info = {sizeof(MemberModel), member_fields};

static const FieldInfo reference_fields[] = {
	DERIVED(ReferenceModel, path, FIELD_NAME),
	FIELD(ReferenceModel, descriptor, FIELD_BOOL),
	FIELD(ReferenceModel, project, FIELD_NAME),
	FIELD(ReferenceModel, resource, FIELD_NAME),
	FIELD(ReferenceModel, abstract, FIELD_BOOL),
	FIELD(ReferenceModel, identity, FIELD_BOOL),
	FIELD(ReferenceModel, can_change, FIELD_BOOL),
	FIELD(ReferenceModel, rank, FIELD_INT),
	FIELD(ReferenceModel, edge_source_key, FIELD_NAME),
	FIELD(ReferenceModel, edge_source_id, FIELD_INT64),
	DERIVED(ReferenceModel, table, FIELD_INT),
	DERIVED(ReferenceModel, column, FIELD_INT),
	FIELD(ReferenceModel, projection, FIELD_LINK),
	FIELD_ARRAY(ReferenceModel, members, member_info),
	FIELD_END
};
static const StructInfo reference_info = {sizeof(ReferenceModel), reference_fields};

static const FieldInfo identity_fields[] = {
	FIELD(IdentityModel, path, FIELD_NAME),
	DERIVED(IdentityModel, type, FIELD_INT),
	DERIVED(IdentityModel, lower, FIELD_BOOL),
	DERIVED(IdentityModel, column, FIELD_INT),
	DERIVED(IdentityModel, reference, FIELD_LINK),
	DERIVED(IdentityModel, member, FIELD_LINK),
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
	DERIVED(ProjectedModel, lower, FIELD_BOOL),
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
	DERIVED(QueryPathModel, type, FIELD_INT),
	DERIVED(QueryPathModel, column, FIELD_LINK),
	DERIVED(QueryPathModel, reference, FIELD_LINK),
	DERIVED(QueryPathModel, member, FIELD_LINK),
	DERIVED(QueryPathModel, required, FIELD_BOOL),
	FIELD_END
};
static const StructInfo query_path_info = {sizeof(QueryPathModel), query_path_fields};

static const FieldInfo query_fields[] = {
	FIELD(QueryModel, name, FIELD_NAME),
	FIELD_ARRAY(QueryModel, paths, query_path_info),
	FIELD_ARRAY(QueryModel, equals, query_path_info),
	DERIVED(QueryModel, tied, FIELD_BOOL),
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
	FIELD(ResourceModel, format, FIELD_INT),
	FIELD(ResourceModel, project, FIELD_NAME),
	FIELD(ResourceModel, resource, FIELD_NAME),
	FIELD(ResourceModel, project_endpoint, FIELD_NAME),
	FIELD(ResourceModel, endpoint, FIELD_TEXT),
	FIELD(ResourceModel, version, FIELD_NAME),
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

static void WriteStruct(StringInfo out, const StructInfo *info, const char *base, bool whole);
static void ReadStruct(const JNode *node, const StructInfo *info, char *base, bool whole);

/* Returns true if the member has the value that is left out. */
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
WriteElements(StringInfo out, const FieldInfo *field, const char *base, bool whole)
{
	const char *elements = *(char *const *) (base + field->offset);
	int			count = *(const int *) (base + field->count_offset);

	appendStringInfoChar(out, '[');
	for (int i = 0; i < count; i++)
	{
		appendStringInfoString(out, i > 0 ? "," : "");
		if (field->kind == FIELD_STRUCTS)
			WriteStruct(out, field->of, elements + i * field->of->size, whole);
		else if (field->kind == FIELD_INTS)
			appendStringInfo(out, "%d", ((const int *) elements)[i]);
		else
			escape_json(out, ((char *const *) elements)[i]);
	}
	appendStringInfoChar(out, ']');
}

/* Write the value of a member. */
static void
WriteField(StringInfo out, const FieldInfo *field, const char *base, bool whole)
{
	const char *at = base + field->offset;

	switch (field->kind)
	{
		case FIELD_TEXT:
		case FIELD_NAME:
			escape_json(out, *(char *const *) at);
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
			WriteStruct(out, field->of, at, whole);
			break;
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			WriteElements(out, field, base, whole);
			break;
	}
}

/* Write a struct as an object; *whole* includes derived members. */
static void
WriteStruct(StringInfo out, const StructInfo *info, const char *base, bool whole)
{
	bool		first = true;

	appendStringInfoChar(out, '{');
	for (const FieldInfo *field = info->fields; field->name; field++)
	{
		if (IsDefault(field, base) ||
			(!whole && field->is_derived != NULL && field->is_derived(base)))
			continue;
		appendStringInfo(out, "%s\"%s\":", first ? "" : ",", field->name);
		first = false;
		WriteField(out, field, base, whole);
	}
	appendStringInfoChar(out, '}');
}

/* The kind of JSON value that a member must be, if it is there. */
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

/* Refuse a member of another kind. */
static void
RequireKind(const JNode *node, JNodeKind kind, const char *name)
{
	if (node->kind != kind)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("member \"%s\" of a stored model must not be %s", name, JsonTreeKindName(node))));
}

/* Read a whole number within limits, and no other form of number. */
static int64
ReadInteger(const JNode *node, int64 least, int64 most, const char *name)
{
	char	   *end;
	long long	number;

	errno = 0;
	number = strtoll(node->text, &end, 10);
	if (errno != 0 || *end != '\0' || number < least || number > most)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("member \"%s\" of a stored model must not be %s", name, node->text)));
	return number;
}

/* Read an int. */
static int
ReadInt(const JNode *node, const char *name)
{
	return (int) ReadInteger(node, PG_INT32_MIN, PG_INT32_MAX, name);
}

/* Read the elements of an array member. */
static void
ReadElements(const JNode *node, const FieldInfo *field, char *base, bool whole)
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
			ReadStruct(child, field->of, element, whole);
		else if (field->kind == FIELD_INTS)
			*(int *) element = ReadInt(child, field->name);
		else
			*(char **) element = pstrdup(child->text);
	}
	*(char **) (base + field->offset) = elements;
	*(int *) (base + field->count_offset) = node->nchildren;
}

/* Read a member, or give it its default. */
static void
ReadField(const JNode *node, const FieldInfo *field, char *base, bool whole)
{
	char	   *at = base + field->offset;

	if (node != NULL)
		RequireKind(node, KindOfField(field), field->name);
	else if (field->kind == FIELD_NAME && (whole || field->is_derived == NULL))
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
			*(int *) at = node ? ReadInt(node, field->name) : 0;
			break;
		case FIELD_LINK:
			*(int *) at = node ? ReadInt(node, field->name) : -1;
			break;
		case FIELD_INT64:
			*(int64 *) at = node ? ReadInteger(node, PG_INT64_MIN, PG_INT64_MAX, field->name) : 0;
			break;
		case FIELD_STRUCT:
			ReadStruct(node, field->of, at, whole);
			break;
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			ReadElements(node, field, base, whole);
			break;
	}
}

/*
 * Read an object into a struct.  Members were written in the order of the
 * table, so one pass through both is enough.  Members that are always derived
 * are unknown unless the model is whole.
 */
static void
ReadStruct(const JNode *node, const StructInfo *info, char *base, bool whole)
{
	const JNode *child = node ? node->first : NULL;

	for (const FieldInfo *field = info->fields; field->name; field++)
	{
		bool		here = child != NULL && (whole || field->is_derived != IsAlwaysDerived) &&
		strcmp(child->name, field->name) == 0;

		ReadField(here ? child : NULL, field, base, whole);
		if (here)
			child = child->next;
	}
	if (child != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model has the unknown member \"%s\"",
						child->name)));
}

/* The name of a kind of resource in dms.ResourceModel. */
const char *
ModelStoreKindName(int kind)
{
	static const char *const names[] = {
		[RESOURCE_PLAIN] = "resource",
		[RESOURCE_DESCRIPTOR] = "descriptor",
		[RESOURCE_SCHOOL_YEAR] = "schoolYear",
		[RESOURCE_ABSTRACT] = "abstract",
	};

	return names[kind];
}

static bool StructsAreEqual(const StructInfo *info, const char *left, const char *right);

/* Compare texts that may be NULL. */
static bool
TextsAreEqual(const char *left, const char *right)
{
	return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

/*
 * Compare the elements of an array member of two structs, which have the same
 * number.
 */
static bool
ElementsAreEqual(const FieldInfo *field, const char *left, const char *right, int count)
{
	for (int i = 0; i < count; i++)
	{
		bool		equal;

		if (field->kind == FIELD_STRUCTS)
			equal = StructsAreEqual(field->of, left + i * field->of->size, right + i * field->of->size);
		else if (field->kind == FIELD_INTS)
			equal = ((const int *) left)[i] == ((const int *) right)[i];
		else
			equal = TextsAreEqual(((char *const *) left)[i], ((char *const *) right)[i]);
		if (!equal)
			return false;
	}
	return true;
}

/* Compare a member of two structs. */
static bool
FieldsAreEqual(const FieldInfo *field, const char *left, const char *right)
{
	const char *a = left + field->offset;
	const char *b = right + field->offset;
	int			count;

	switch (field->kind)
	{
		case FIELD_TEXT:
		case FIELD_NAME:
			return TextsAreEqual(*(char *const *) a, *(char *const *) b);
		case FIELD_BOOL:
			return *(const bool *) a == *(const bool *) b;
		case FIELD_INT:
		case FIELD_LINK:
			return *(const int *) a == *(const int *) b;
		case FIELD_INT64:
			return *(const int64 *) a == *(const int64 *) b;
		case FIELD_STRUCT:
			return StructsAreEqual(field->of, a, b);
		case FIELD_STRUCTS:
		case FIELD_INTS:
		case FIELD_TEXTS:
			count = *(const int *) (left + field->count_offset);
			return count == *(const int *) (right + field->count_offset) &&
				ElementsAreEqual(field, *(char *const *) a, *(char *const *) b, count);
	}
	return false;
}

/* Compare two structs, derived members included. */
static bool
StructsAreEqual(const StructInfo *info, const char *left, const char *right)
{
	for (const FieldInfo *field = info->fields; field->name; field++)
		if (!FieldsAreEqual(field, left, right))
		{
			elog(DEBUG1, "models differ in \"%s\"", field->name);
			return false;
		}
	return true;
}

/* Returns true if two models are the same in all members. */
bool
ModelStoreEqual(const ResourceModel *left, const ResourceModel *right)
{
	return StructsAreEqual(&resource_info, (const char *) left, (const char *) right);
}

/* The model as JSON text. */
char *
ModelStoreToJson(const ResourceModel *model)
{
	StringInfoData out;

	initStringInfo(&out);
	WriteStruct(&out, &resource_info, (const char *) model, model->kind == RESOURCE_ABSTRACT);
	return out.data;
}

/* The number in a member of the root; -1 if there is none. */
static int
RootNumber(const JNode *root, const char *name)
{
	const JNode *node = JsonTreeMember(root, name);

	if (node == NULL)
		return -1;
	RequireKind(node, JNODE_NUMBER, name);
	return ReadInt(node, name);
}

/* Refuse a text that is no model, or a model of a format that is older than the given one, or newer. */
static void
RequireFormat(const JNode *root, const JsonFault *fault, int oldest)
{
	int			format;

	if (root == NULL || root->kind != JNODE_OBJECT)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model is not readable: %s", root ? "not an object" : fault->message)));
	format = RootNumber(root, "format");
	if (format < oldest || format > MODEL_FORMAT)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model has the format %d instead of %d", format, MODEL_FORMAT),
				 errhint("The store was deployed by another version of dms, or dms.ResourceModel was changed by hand.")));
}

/* Read a model whose format is at least the given one. */
static ResourceModel *
ReadModel(const char *text, int len, int oldest)
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
	RequireFormat(root, &fault, oldest);
	ReadStruct(root, &resource_info, (char *) model, RootNumber(root, "kind") == RESOURCE_ABSTRACT);
	MemoryContextDelete(scratch);
	ModelSoundComplete(model);
	return model;
}

/*
 * The model that a text describes, in the current memory context: completed,
 * and checked.
 */
ResourceModel *
ModelStoreFromJson(const char *text, int len)
{
	return ReadModel(text, len, MODEL_FORMAT);
}

/*
 * The same for a model that an older version of the library may have stored.
 * What its format does not have is missing from the model.
 */
ResourceModel *
ModelStoreFromOlder(const char *text, int len)
{
	return ReadModel(text, len, OLDEST_MODEL_FORMAT);
}
