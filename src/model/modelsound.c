/*
 * modelsound.c
 *		Completing a model that was read, and refusing one that is not
 *		sound.
 *
 * The owner of the store can write to dms.ResourceModel, so a stored model is
 * input.  Everything that the code relies on either has no second place in
 * the stored form that could contradict the first (it is derived here), or is
 * checked here: indexes are within their arrays; every scope, table, column
 * and reference is named by exactly one property; paths lead to values;
 * values of an identity are required all the way to them.  A model that is
 * sound may still be wrong, for example name a column that does not exist;
 * then statements fail.
 *
 * The walk over scopes is the same as in modeltables.c, which made the model.
 */
#include "postgres.h"

#include "base/decimal.h"
#include "base/pattern.h"
#include "miscadmin.h"
#include "model/edgename.h"
#include "model/equalpaths.h"
#include "model/modelsound.h"
#include "utils/memutils.h"

#define EXTENSIONS "_ext"
#define DESCRIPTOR_PATH "$.descriptor"

/* State of the walk over scopes. */
typedef struct Place
{
	int			scope;
	int			table;
	char	   *path;
	bool		always;			/* exists whenever the row does */
} Place;

/* The value that a path leads to. */
typedef struct FoundValue
{
	const PropertyModel *property;
	int			reference;		/* the reference that it is a member of */
	bool		required;		/* all the way from the root */
	bool		of_root;		/* in the row of the root */
} FoundValue;

static void CompleteScope(ResourceModel *model, const Place *place);

/* Refuse the model unless the condition holds. */
#define Require(model, condition) RequireThat(model, condition, #condition)

/* Refuse the model unless the condition holds. */
static void
RequireThat(const ResourceModel *model, bool sound, const char *condition)
{
	if (!sound)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model of \"%s.%s\" is damaged", model->project, model->resource),
				 errdetail_internal("This does not hold: %s.", condition),
				 errhint("dms.ResourceModel was changed by hand. Restore it from a backup.")));
}

/* Require an index into an array of n elements. */
static void
RequireIndex(const ResourceModel *model, int index, int n)
{
	Require(model, index >= 0 && index < n);
}

/* Require an index that may be none. */
static void
RequireLink(const ResourceModel *model, int link, int n)
{
	Require(model, link >= -1 && link < n);
}

/* Require the number of a ValueType. */
static void
RequireType(const ResourceModel *model, int type)
{
	RequireIndex(model, type, VALUE_TIMESTAMP + 1);
}

/* Require that a bound of a value, if there is one, is a number. */
static void
RequireBound(const ResourceModel *model, const char *bound)
{
	Decimal		number;

	Require(model, bound == NULL || DecimalParse(bound, strlen(bound), &number) == DECIMAL_OK);
}

/* Require that a value can be checked and stored. */
static void
RequireValue(const ResourceModel *model, const ValueModel *value)
{
	RequireType(model, value->type);
	Require(model, value->min_length >= -1 && value->max_length >= -1);
	Require(model, value->precision >= -1 && value->precision <= MODEL_MAX_PRECISION);
	Require(model, value->scale >= -1 && value->scale <= Max(value->precision, -1));
	RequireBound(model, value->minimum);
	RequireBound(model, value->maximum);
}

/* Returns true if both names exist and are equal. */
static bool
SameName(const char *left, const char *right)
{
	return left != NULL && right != NULL && strcmp(left, right) == 0;
}

/*
 * Rewrite the pattern of a property's value, once for all values that are checked
 * against it.  Patterns of columns are not used.
 */
static void
CompletePattern(const ResourceModel *model, ValueModel *value)
{
	if (value->pattern == NULL)
		return;
	value->rewritten = PatternRewrite(value->pattern);
	Require(model, value->rewritten != NULL);
}

/* --- scopes, tables, columns ---------------------------------------------- */

/* Key columns and references hold numbers without further rules. */
static void
SetNumber(ColumnModel *column, ColumnRole role, ValueType type)
{
	column->role = role;
	column->value.type = type;
	column->value.min_length = column->value.max_length = -1;
	column->value.precision = column->value.scale = -1;
}

/* Complete a table.  A property has just named it, for the first time. */
static void
CompleteTable(ResourceModel *model, int number, TableKind kind, int parent, char *path)
{
	TableModel *table;

	RequireIndex(model, number, model->ntables);
	table = &model->tables[number];
	Require(model, number > parent && table->scope_path == NULL);
	table->scope_path = path;
	table->kind = kind;
	table->parent = parent;
	table->nkeys = parent < 0 ? 1 : model->tables[parent].nkeys + (kind == TABLE_COLLECTION);
	Require(model, table->nkeys <= MODEL_MAX_KEYS && table->nkeys <= table->ncolumns);
	for (int i = 0; i < table->nkeys; i++)
	{
		SetNumber(&table->columns[i], i == 0 ? COLUMN_DOCUMENT : COLUMN_ORDINAL,
				  i == 0 ? VALUE_INT8 : VALUE_INT4);
		table->columns[i].required = true;
		Require(model, table->columns[i].reference == -1);
	}
}

/* Complete the column that a property names, for the first time. */
static ColumnModel *
CompleteColumn(ResourceModel *model, const Place *place, const PropertyModel *property, char *path)
{
	const TableModel *table = &model->tables[place->table];
	ColumnModel *column;

	RequireIndex(model, property->column, table->ncolumns);
	column = &table->columns[property->column];
	Require(model, property->column >= table->nkeys && column->path == NULL);
	column->path = path;
	column->required = place->always && property->required;
	return column;
}

/* Complete the reference of a column, which is the first to name it. */
static ReferenceModel *
CompleteReference(ResourceModel *model, const Place *place, PropertyModel *property,
				  const ColumnModel *column)
{
	ReferenceModel *reference;

	RequireIndex(model, column->reference, model->nreferences);
	reference = &model->references[column->reference];
	Require(model, reference->path == NULL);
	reference->path = column->path;
	reference->table = place->table;
	reference->column = property->column;
	property->reference = column->reference;
	return reference;
}

/* Complete a scalar, whose rules are stored with its column. */
static void
CompleteScalar(ResourceModel *model, const Place *place, PropertyModel *property, char *path)
{
	ColumnModel *column = CompleteColumn(model, place, property, path);

	Require(model, column->reference == -1);
	RequireValue(model, &column->value);
	column->role = COLUMN_SCALAR;
	property->value = column->value;
	CompletePattern(model, &property->value);
}

/*
 * Complete a descriptor: its rules are those of the URI, but the column holds
 * a DocumentId.
 */
static void
CompleteDescriptorValue(ResourceModel *model, const Place *place, PropertyModel *property, char *path)
{
	ColumnModel *column = CompleteColumn(model, place, property, path);

	Require(model, CompleteReference(model, place, property, column)->descriptor);
	RequireValue(model, &property->value);
	Require(model, property->value.type == VALUE_TEXT);
	column->role = COLUMN_DESCRIPTOR;
	column->value = property->value;
	column->value.type = VALUE_INT8;
	CompletePattern(model, &property->value);
}

/* The number of a member of a reference; -1 if it has none of this name. */
static int
MemberNumber(const ReferenceModel *reference, const char *name)
{
	for (int i = 0; i < reference->nmembers; i++)
		if (strcmp(reference->members[i].name, name) == 0)
			return i;
	return -1;
}

/* The property of a name that need not end in NUL; NULL if there is none. */
static const PropertyModel *
FindProperty(const ScopeModel *scope, const char *name, size_t length)
{
	for (int i = 0; i < scope->nproperties; i++)
		if (strncmp(scope->properties[i].name, name, length) == 0 &&
			scope->properties[i].name[length] == '\0')
			return &scope->properties[i];
	return NULL;
}

/* Require that links which a kind of property does not use are none. */
static void
RequireLinks(const ResourceModel *model, const PropertyModel *property)
{
	int			kind = property->kind;
	bool		has_table = kind == PROPERTY_ARRAY || kind == PROPERTY_EXTENSION;
	bool		has_column = kind == PROPERTY_SCALAR || kind == PROPERTY_DESCRIPTOR || kind == PROPERTY_REFERENCE;
	bool		has_scope = has_table || kind == PROPERTY_REFERENCE || kind == PROPERTY_OBJECT;

	Require(model, has_table || property->table == -1);
	Require(model, has_column || property->column == -1);
	Require(model, has_scope || property->scope == -1);
}

/* Complete the members of a reference.  Its object holds these and nothing else. */
static void
CompleteMembers(ResourceModel *model, ReferenceModel *reference, const ScopeModel *scope)
{
	for (int i = 0; i < scope->nproperties; i++)
	{
		Require(model, scope->properties[i].kind == PROPERTY_MEMBER);
		Require(model, MemberNumber(reference, scope->properties[i].name) >= 0);
		RequireLinks(model, &scope->properties[i]);
		RequireValue(model, &scope->properties[i].value);
		CompletePattern(model, &scope->properties[i].value);
	}
	for (int i = 0; i < reference->nmembers; i++)
	{
		MemberModel *member = &reference->members[i];
		const PropertyModel *property = FindProperty(scope, member->name, strlen(member->name));

		Require(model, property != NULL);
		member->type = property->value.type;
		member->lower = ModelPathIsDescriptor(member->identity_path);
	}
}

/* Enter a scope that a property names, for the first time. */
static ScopeModel *
EnterScope(ResourceModel *model, const Place *place)
{
	ScopeModel *scope;

	RequireIndex(model, place->scope, model->nscopes);
	scope = &model->scopes[place->scope];
	Require(model, scope->path == NULL);
	scope->path = place->path;
	scope->table = place->table;

	/* Names are looked up by bisection, and are parts of paths. */
	for (int i = 0; i < scope->nproperties; i++)
	{
		const char *name = scope->properties[i].name;

		Require(model, *name != '\0' && strpbrk(name, ".[") == NULL);
		Require(model, i == 0 || strcmp(scope->properties[i - 1].name, name) < 0);
	}
	return scope;
}

/* Complete a reference to a document, and the object that holds its members. */
static void
CompleteDocumentReference(ResourceModel *model, const Place *place, PropertyModel *property, char *path)
{
	ColumnModel *column = CompleteColumn(model, place, property, path);
	ReferenceModel *reference = CompleteReference(model, place, property, column);
	Place		inside = {.scope = property->scope,.table = place->table,.path = path};

	Require(model, !reference->descriptor);
	SetNumber(column, COLUMN_REFERENCE, VALUE_INT8);
	CompleteMembers(model, reference, EnterScope(model, &inside));
}

/* Complete an array or an extension, which has a table of its own. */
static void
CompleteBelow(ResourceModel *model, const Place *place, const PropertyModel *property, char *path)
{
	bool		array = property->kind == PROPERTY_ARRAY;
	Place		below = {.scope = property->scope,.table = property->table,.always = true};

	below.path = array ? psprintf("%s[*]", path) : path;
	CompleteTable(model, below.table, array ? TABLE_COLLECTION : TABLE_EXTENSION, place->table, below.path);
	CompleteScope(model, &below);
}

/* Complete an object that is inlined into the row around it. */
static void
CompleteObject(ResourceModel *model, const Place *place, const PropertyModel *property, char *path)
{
	Place		inside = {.scope = property->scope,.table = place->table,.path = path};

	inside.always = place->always && property->required;
	CompleteScope(model, &inside);
}

/* Complete a property and everything below it.  Members occur in references only. */
static void
CompleteProperty(ResourceModel *model, const Place *place, PropertyModel *property)
{
	char	   *path = psprintf("%s.%s", place->path, property->name);

	Require(model, property->min_items >= -1 && property->max_items >= -1);
	switch ((PropertyKind) property->kind)
	{
		case PROPERTY_SCALAR:
			CompleteScalar(model, place, property, path);
			return;
		case PROPERTY_DESCRIPTOR:
			CompleteDescriptorValue(model, place, property, path);
			return;
		case PROPERTY_REFERENCE:
			CompleteDocumentReference(model, place, property, path);
			return;
		case PROPERTY_OBJECT:
			CompleteObject(model, place, property, path);
			return;
		case PROPERTY_ARRAY:
		case PROPERTY_EXTENSION:
			CompleteBelow(model, place, property, path);
			return;
		case PROPERTY_MEMBER:
			break;
	}
	Require(model, false);
}

/* Complete a scope and everything below it. */
static void
CompleteScope(ResourceModel *model, const Place *place)
{
	ScopeModel *scope = EnterScope(model, place);
	bool		extensions = SameName(strrchr(place->path, '.'), "." EXTENSIONS);

	check_stack_depth();
	for (int i = 0; i < scope->nproperties; i++)
	{
		RequireLinks(model, &scope->properties[i]);
		/* "_ext" holds extensions, and nothing else does. */
		Require(model, extensions == (scope->properties[i].kind == PROPERTY_EXTENSION));
		CompleteProperty(model, place, &scope->properties[i]);
	}
}

/* Returns true if an element holds one reference and nothing else, extensions aside. */
static bool
IsBareReference(const ScopeModel *scope)
{
	int			others = 0;
	int			references = 0;

	for (int i = 0; i < scope->nproperties; i++)
	{
		if (strcmp(scope->properties[i].name, EXTENSIONS) == 0)
			continue;
		others++;
		references += scope->properties[i].kind == PROPERTY_REFERENCE;
	}
	return others == 1 && references == 1;
}

/* Mark the collections of bare references. */
static void
CompleteBareReferences(ResourceModel *model)
{
	for (int i = 0; i < model->nscopes; i++)
	{
		TableModel *table = &model->tables[model->scopes[i].table];

		if (table->kind == TABLE_COLLECTION && strcmp(table->scope_path, model->scopes[i].path) == 0)
			table->bare_references = IsBareReference(&model->scopes[i]);
	}
}

/* --- values of paths -------------------------------------------------------- */

/* Follow a path from the root to a value; false if it leads to none. */
static bool
FindValue(const ResourceModel *model, const char *path, FoundValue *found)
{
	int			scope = 0;

	found->required = found->of_root = true;
	found->reference = -1;
	if (*path++ != '$')
		return false;
	while (*path++ == '.')
	{
		size_t		length = strcspn(path, ".[");
		const PropertyModel *property = FindProperty(&model->scopes[scope], path, length);
		bool		element;

		if (property == NULL)
			return false;
		path += length;
		element = strncmp(path, "[*]", 3) == 0;
		path += element ? 3 : 0;
		if (element != (property->kind == PROPERTY_ARRAY))
			return false;
		found->property = property;
		/* A reference always has all its members. */
		found->required = found->required && (property->required || property->kind == PROPERTY_MEMBER);
		found->of_root = found->of_root && property->table == -1;
		if (property->kind == PROPERTY_REFERENCE)
			found->reference = property->reference;
		if (property->scope == -1)
			return *path == '\0';
		scope = property->scope;
	}
	return false;
}

/* Find the value of a path in the root row: its column, or a member of a reference. */
static void
LocateRootValue(const ResourceModel *model, const FoundValue *found, int *column,
				int *reference, int *member, int *type)
{
	const PropertyModel *property = found->property;

	Require(model, found->of_root);
	*reference = *member = -1;
	*column = property->column;
	*type = property->value.type;
	if (property->kind != PROPERTY_MEMBER)
		return;
	*reference = found->reference;
	*column = model->references[found->reference].column;
	*member = MemberNumber(&model->references[found->reference], property->name);
}

/* Complete a value of the identity, which every document must have. */
static void
CompleteIdentity(ResourceModel *model, IdentityModel *identity)
{
	FoundValue	found;

	Require(model, FindValue(model, identity->path, &found) && found.required);
	LocateRootValue(model, &found, &identity->column, &identity->reference,
					&identity->member, &identity->type);
	identity->lower = ModelPathIsDescriptor(identity->path);
	model->tables[0].columns[identity->column].identity = true;
}

/*
 * Complete a path of a query field: the id of the document, or a value of the
 * root row.
 */
static void
CompleteQueryPath(ResourceModel *model, QueryPathModel *path)
{
	FoundValue	found;

	if (strcmp(path->path, "$.id") == 0)
	{
		path->column = path->reference = path->member = -1;
		path->required = true;
		return;
	}
	Require(model, FindValue(model, path->path, &found));
	LocateRootValue(model, &found, &path->column, &path->reference, &path->member, &path->type);
	path->required = found.required;
}

/* Returns true if constraints connect a path with one of the field's. */
static bool
IsEqualPath(const ResourceModel *model, const QueryModel *query, const char *path)
{
	for (int i = 0; i < query->npaths; i++)
		if (EqualPathsConnected(model, query->paths[i].path, path))
			return true;
	return false;
}

/* Require that constraints give a field its equal paths.  Few fields have any. */
static void
RequireEqualPaths(const ResourceModel *model, const QueryModel *query)
{
	for (int i = 0; i < query->nequals; i++)
	{
		Require(model, IsEqualPath(model, query, query->equals[i].path));
		Require(model, EqualPathsFieldOf(model, query->equals[i].path) == NULL);
	}
}

/* Complete a query field. */
static void
CompleteQuery(ResourceModel *model, QueryModel *query)
{
	for (int i = 0; i < query->npaths; i++)
		CompleteQueryPath(model, &query->paths[i]);
	for (int i = 0; i < query->nequals; i++)
		CompleteQueryPath(model, &query->equals[i]);
	query->tied = EqualPathsAreTied(model, query);
}

/* Returns true if the elements of an array are the rows of a table. */
static bool
IsArrayPath(const ResourceModel *model, const char *path)
{
	for (int i = 0; i < model->ntables; i++)
		if (model->tables[i].kind == TABLE_COLLECTION && strcmp(model->tables[i].scope_path, path) == 0)
			return true;
	return false;
}

/* Require that unique values are those of elements, not of arrays in them. */
static void
RequireUniqueness(const ResourceModel *model, const UniquenessModel *uniqueness)
{
	FoundValue	found;

	Require(model, IsArrayPath(model, uniqueness->array_path));
	for (int i = 0; i < uniqueness->nmembers; i++)
	{
		Require(model, strchr(uniqueness->members[i], '[') == NULL);
		Require(model, FindValue(model, psprintf("%s%s", uniqueness->array_path, uniqueness->members[i]),
								 &found));
	}
}

/* Require that both ends of an equality are values. */
static void
RequireEquality(const ResourceModel *model, const EqualityModel *equality)
{
	FoundValue	found;

	Require(model, FindValue(model, equality->source, &found));
	Require(model, FindValue(model, equality->target, &found));
}

/* --- descriptors ---------------------------------------------------------- */

/* Complete one of the two values that a descriptor's URI consists of. */
static void
CompleteUriPart(ResourceModel *model, const char *path)
{
	FoundValue	found;

	Require(model, FindValue(model, path, &found) && found.required &&
			found.property->kind == PROPERTY_SCALAR && found.property->value.type == VALUE_TEXT);
	model->tables[0].columns[found.property->column].identity = true;
}

/* A column of dms.Descriptor that no property names. */
static ColumnModel *
CompleteExtraColumn(ResourceModel *model, int number, const char *name, ColumnRole role)
{
	ColumnModel *column;

	Require(model, number >= model->tables[0].nkeys);
	column = &model->tables[0].columns[number];
	Require(model, strcmp(column->name, name) == 0 && column->path == NULL && column->reference == -1 &&
			column->value.type == VALUE_TEXT);
	RequireValue(model, &column->value);
	column->role = role;
	column->required = true;
	return column;
}

/*
 * Complete a descriptor.  It is identified by its URI, which has a column of
 * its own.
 */
static void
CompleteDescriptor(ResourceModel *model)
{
	int			ncolumns = model->tables[0].ncolumns;
	ColumnModel *uri;
	IdentityModel *identity = model->identity;

	Require(model, model->ntables == 1 && model->nreferences == 0 && model->nidentity == 1);
	CompleteExtraColumn(model, ncolumns - 2, "discriminator", COLUMN_DISCRIMINATOR);
	uri = CompleteExtraColumn(model, ncolumns - 1, "uri", COLUMN_URI);
	uri->path = DESCRIPTOR_PATH;
	uri->identity = true;
	CompleteUriPart(model, "$.namespace");
	CompleteUriPart(model, "$.codeValue");
	Require(model, strcmp(identity->path, DESCRIPTOR_PATH) == 0);
	identity->type = VALUE_TEXT;
	identity->lower = true;
	identity->column = ncolumns - 1;
	identity->reference = identity->member = -1;
}

/* --- references and projections ------------------------------------------- */

/* Complete a projection, which reads the values of one identity, in order. */
static void
CompleteProjection(ResourceModel *model, ProjectionModel *projection)
{
	Require(model, projection->njoins > 0);
	for (int i = 0; i < projection->njoins; i++)
	{
		const JoinModel *join = &projection->joins[i];

		RequireLink(model, join->from, i);
		Require(model, (i == 0) == (join->from < 0));
		Require(model, (i == 0) == (join->from_column == NULL));
	}
	for (int i = 0; i < projection->nvalues; i++)
	{
		ProjectedModel *value = &projection->values[i];

		RequireIndex(model, value->join, projection->njoins);
		RequireType(model, value->type);
		if (model->kind != RESOURCE_ABSTRACT)
			value->lower = ModelPathIsDescriptor(value->path) || strcmp(value->path, DESCRIPTOR_PATH) == 0;
	}
}

/* Require that the first projection is that of the resource itself. */
static void
RequireOwnProjection(const ResourceModel *model)
{
	const ProjectionModel *own = &model->projections[0];

	Require(model, SameName(own->project, model->project) && SameName(own->resource, model->resource));
	Require(model, SameName(own->joins[0].schema, model->tables[0].schema) &&
			SameName(own->joins[0].table, model->tables[0].name));
	Require(model, own->nvalues == model->nidentity);
	for (int i = 0; i < own->nvalues; i++)
		Require(model, SameName(own->values[i].path, model->identity[i].path));
}

/* Require that a reference to a document is read by the projection of its target. */
static void
RequireTarget(const ResourceModel *model, const ReferenceModel *reference)
{
	const ProjectionModel *projection;

	RequireIndex(model, reference->projection, model->nprojections);
	projection = &model->projections[reference->projection];
	Require(model, SameName(projection->project, reference->project) &&
			SameName(projection->resource, reference->resource));
	Require(model, reference->nmembers > 0 && projection->nvalues == reference->nmembers);
	for (int i = 0; i < reference->nmembers; i++)
	{
		const MemberModel *member = &reference->members[i];

		RequireType(model, member->type);
		Require(model, SameName(projection->values[i].path, member->identity_path));
		Require(model, (member->descriptor_project == NULL) == (member->descriptor_resource == NULL));
		/* A descriptor is read by a join to it. */
		Require(model, member->descriptor_resource == NULL || projection->values[i].join > 0);
	}
}

/* Require that a reference can be read. */
static void
RequireReference(const ResourceModel *model, const ReferenceModel *reference)
{
	if (reference->descriptor)
		Require(model, reference->projection == -1 && reference->nmembers == 0);
	else
		RequireTarget(model, reference);
	Require(model, reference->path != NULL && reference->rank >= 0);
}

/*
 * Require that the key of an edge source follows from its place.  So does its
 * id, but hashing it would cost the first call of a session half a
 * millisecond, most of it to initialize the library; the audit compares ids
 * with dms.EdgeSource.
 */
static void
RequireEdgeSource(const ResourceModel *model, const ReferenceModel *reference)
{
	const ColumnModel *column = &model->tables[reference->table].columns[reference->column];

	Require(model, reference->identity == column->identity);
	Require(model, strcmp(reference->edge_source_key,
						  EdgeNameKey(model->project, model->resource, reference->descriptor,
									  reference->path)) == 0);
}

/* --- whole models --------------------------------------------------------- */

/* Require that everything was named by a property. */
static void
RequireAllNamed(const ResourceModel *model)
{
	for (int i = 0; i < model->nscopes; i++)
		Require(model, model->scopes[i].path != NULL);
	for (int i = 0; i < model->ntables; i++)
	{
		const TableModel *table = &model->tables[i];

		Require(model, table->scope_path != NULL);
		for (int j = table->nkeys; j < table->ncolumns; j++)
			Require(model, table->columns[j].path != NULL ||
					table->columns[j].role == COLUMN_DISCRIMINATOR);
	}
}

/* Require that unique keys are of columns that hold values. */
static void
RequireUniques(const ResourceModel *model, const TableModel *table)
{
	for (int i = 0; i < table->nuniques; i++)
		for (int j = 0; j < table->uniques[i].ncolumns; j++)
		{
			RequireIndex(model, table->uniques[i].columns[j], table->ncolumns);
			Require(model, table->uniques[i].columns[j] < table->nkeys ||
					table->columns[table->uniques[i].columns[j]].path != NULL);
		}
}

/* Require that superclass, member table and shared identity occur together. */
static void
RequireSuperclass(const ResourceModel *model)
{
	bool		has = model->superclass_resource != NULL;

	Require(model, (model->superclass_project != NULL) == has);
	Require(model, (model->member_schema != NULL) == has && (model->member_table != NULL) == has);
	Require(model, model->superclass_path == NULL || (has && model->nidentity == 1));
}

/* Derive the members that are not stored of a resource that has documents. */
static void
CompleteConcrete(ResourceModel *model)
{
	Place		root = {.path = pstrdup("$"),.always = true};

	Require(model, model->endpoint != NULL);
	RequireSuperclass(model);
	CompleteTable(model, 0, TABLE_ROOT, -1, root.path);
	CompleteScope(model, &root);
	if (model->kind == RESOURCE_DESCRIPTOR)
		CompleteDescriptor(model);
	else
		for (int i = 0; i < model->nidentity; i++)
			CompleteIdentity(model, &model->identity[i]);
	RequireAllNamed(model);
	CompleteBareReferences(model);
	for (int i = 0; i < model->nqueries; i++)
		CompleteQuery(model, &model->queries[i]);
}

/* Check the paths of a complete model. */
static void
RequirePlaces(const ResourceModel *model)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "dms model check",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(scratch);

	for (int i = 0; i < model->nreferences; i++)
		RequireEdgeSource(model, &model->references[i]);
	for (int i = 0; i < model->nuniqueness; i++)
		RequireUniqueness(model, &model->uniqueness[i]);
	for (int i = 0; i < model->nequalities; i++)
		RequireEquality(model, &model->equalities[i]);
	for (int i = 0; i < model->nqueries; i++)
		RequireEqualPaths(model, &model->queries[i]);
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(scratch);
}

/* Check the view of an abstract resource: its id, and the columns of its identity. */
static void
RequireView(const ResourceModel *model, const TableModel *view)
{
	Require(model, view->kind == TABLE_ROOT && view->parent == -1 && view->nkeys == 1 &&
			view->ncolumns > 0 && view->nuniques == 0 && !view->bare_references);
	for (int i = 0; i < view->ncolumns; i++)
	{
		const ColumnModel *column = &view->columns[i];

		RequireValue(model, &column->value);
		RequireLink(model, column->reference, model->nreferences);
		if (i == 0)
			Require(model, column->role == COLUMN_DOCUMENT && column->reference == -1);
		else if (column->reference == -1)
			Require(model, column->role == COLUMN_SCALAR && column->path != NULL);
		else
			Require(model, column->path != NULL && column->role ==
					(model->references[column->reference].descriptor ? COLUMN_DESCRIPTOR : COLUMN_REFERENCE));
	}
}

/* Check an abstract resource, whose members are all stored. */
static void
RequireAbstract(const ResourceModel *model)
{
	Require(model, model->ntables == 1 && model->nscopes == 0 && model->nqueries == 0 &&
			model->nuniqueness == 0 && model->nequalities == 0);
	Require(model, model->superclass_project == NULL && model->superclass_resource == NULL);
	Require(model, model->member_schema != NULL && model->member_table != NULL);
	RequireView(model, &model->tables[0]);
	for (int i = 0; i < model->nreferences; i++)
	{
		Require(model, model->references[i].table == 0);
		RequireIndex(model, model->references[i].column, model->tables[0].ncolumns);
	}
	for (int i = 0; i < model->nidentity; i++)
	{
		const IdentityModel *identity = &model->identity[i];

		RequireType(model, identity->type);
		RequireIndex(model, identity->column, model->tables[0].ncolumns);
		RequireLink(model, identity->reference, model->nreferences);
		RequireLink(model, identity->member, identity->reference < 0 ? 0 :
					model->references[identity->reference].nmembers);
		Require(model, (identity->reference < 0) == (identity->member < 0));
	}
}

/* Derive the members that are not stored, and refuse the model unless it is sound. */
void
ModelSoundComplete(ResourceModel *model)
{
	RequireIndex(model, model->kind, RESOURCE_ABSTRACT + 1);
	Require(model, model->ntables > 0 && model->nprojections > 0);
	if (model->kind == RESOURCE_ABSTRACT)
		RequireAbstract(model);
	else
		CompleteConcrete(model);
	for (int i = 0; i < model->ntables; i++)
		RequireUniques(model, &model->tables[i]);
	for (int i = 0; i < model->nprojections; i++)
		CompleteProjection(model, &model->projections[i]);
	RequireOwnProjection(model);
	for (int i = 0; i < model->nreferences; i++)
		RequireReference(model, &model->references[i]);
	if (model->kind != RESOURCE_ABSTRACT)
		RequirePlaces(model);
}
