/*
 * modeltables.c
 *		From the JSON schema of a resource to scopes, tables and columns.
 *
 * One walk through the document decides where each value is stored.  Objects
 * are inlined into the row around them, because they have no identity and
 * occur once: their names become prefixes of column names.  Arrays get a
 * table of their own, keyed by position, since JSON arrays are ordered.  Values
 * that an extension adds get a table beside the row that it extends, in the
 * schema of the extension, so that the tables of the core are the same with
 * and without it.
 *
 * A reference is one column with the DocumentId of its target.  The identity
 * values that the reference object repeats are not stored, so a target can
 * change them without touching the documents that refer to it.  They are
 * properties of the model, because a body must have them, but not columns.
 *
 * Names depend on nothing but the resource (see naming.c). Two places that
 * would have the same name are reported, never renamed: a suffix would depend
 * on what else is there.
 *
 * modelsound.c walks through stored models in the same way, to derive what
 * they do not store.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/grow.h"
#include "catalog/heap.h"
#include "miscadmin.h"
#include "model/edgename.h"
#include "schema/modeltables.h"
#include "schema/naming.h"

/* State of the walk through a JSON schema. */
typedef struct Walk
{
	ModelSet   *set;
	ModelEntry *entry;
} Walk;

/* An object of the document, and where its values go. */
typedef struct Place
{
	const char *path;
	int			table;
	const char *prefix;			/* of column names: the inlined objects */
	bool		always;			/* exists whenever the row does */
} Place;

static int	WalkObject(Walk *walk, const SchemaNode *node, const Place *place);

/*
 * The reference or descriptor that documentPathsMapping has at this path;
 * NULL if it has none.
 */
static ApiMapping *
FindMapping(const ApiResource *api, const char *path)
{
	ListCell   *cell;

	foreach(cell, api->mappings)
	{
		ApiMapping *mapping = lfirst(cell);

		if (mapping->reference && strcmp(mapping->path, path) == 0)
			return mapping;
	}
	return NULL;
}

/*
 * The name that the schema's author gave to a place; NULL if none.  Names
 * that were never asked for are reported later.
 */
static const char *
Override(const ApiResource *api, const char *path)
{
	ListCell   *cell;

	foreach(cell, api->overrides)
	{
		ApiNameOverride *override = lfirst(cell);

		if (strcmp(override->path, path) == 0)
		{
			override->used = true;
			return override->name;
		}
	}
	return NULL;
}

/* The column of a JSON path; -1 if the table has none. */
int
ModelTablesFindColumn(const ResourceModel *model, int table, const char *path)
{
	const TableModel *t = &model->tables[table];

	for (int i = 0; i < t->ncolumns; i++)
		if (t->columns[i].path && strcmp(t->columns[i].path, path) == 0)
			return i;
	return -1;
}

/* Add a column, and return its number. */
static int
AddColumn(ModelEntry *entry, int table, const char *title,
		  ColumnModel column)
{
	TableModel *t = &entry->model->tables[table];

	column.name = NamePhysical(title);
	return APPEND(t->columns, t->ncolumns, column);
}

/* Report a column whose name PostgreSQL or another column has taken. */
static void
CheckColumn(Walk *walk, int table, int column)
{
	const TableModel *t = &walk->entry->model->tables[table];
	const ColumnModel *added = &t->columns[column];

	if (SystemAttributeByName(added->name) != NULL)
		ProblemAt(walk->set->problems, walk->entry->place,
				  "%s would be the column \"%s\", a name that PostgreSQL keeps for itself.",
				  added->path ? added->path : "the key", added->name);
	for (int i = 0; i < column; i++)
		if (strcmp(t->columns[i].name, added->name) == 0)
			ProblemAt(walk->set->problems, walk->entry->place,
					  "%s and %s would both be the column \"%s\" of \"%s.%s\".",
					  t->columns[i].path ? t->columns[i].path : "the key",
					  added->path ? added->path : "the key", added->name,
					  t->schema, t->name);
}

/* A column that holds a number of the engine, not a value of the document. */
static ColumnModel
KeyColumn(ColumnRole role)
{
	ColumnModel column = {.role = role,.required = true,.reference = -1};

	column.value.type = role == COLUMN_ORDINAL ? VALUE_INT4 : VALUE_INT8;
	column.value.min_length = column.value.max_length = -1;
	column.value.precision = column.value.scale = -1;
	return column;
}

/*
 * Start a table without columns.  *segment* is the part of the name that
 * ordinals of its elements are named after.
 */
static int
AddTable(Walk *walk, TableKind kind, const char *schema, const char *title,
		 const char *path, int parent, const char *segment)
{
	ModelEntry *entry = walk->entry;
	TableModel	table = {0};

	table.schema = pstrdup(schema);
	table.title = pstrdup(title);
	table.name = NamePhysical(title);
	table.scope_path = pstrdup(path);
	table.kind = kind;
	table.parent = parent;
	entry->segments = lappend(entry->segments, pstrdup(segment));
	return APPEND(entry->model->tables, entry->model->ntables, table);
}

/*
 * The key of a collection: the document, the ordinals of the elements around
 * it, its own ordinal.  So the rows of a document can be read from each table
 * by the first column alone, in the order in which they are written.
 */
static void
AddCollectionKey(Walk *walk, int table)
{
	ModelEntry *entry = walk->entry;
	ResourceModel *model = entry->model;
	int			parent = model->tables[table].parent;
	int			outer = model->tables[parent].nkeys;
	const char *root = model->tables[0].title;

	AddColumn(entry, table, psprintf("%s_DocumentId", root),
			  KeyColumn(COLUMN_DOCUMENT));
	for (int i = 1; i < outer - 1; i++)
	{
		ColumnModel copy = KeyColumn(COLUMN_ORDINAL);

		AddColumn(entry, table, model->tables[parent].columns[i].name, copy);
	}
	if (outer > 1)
		AddColumn(entry, table,
				  psprintf("%sOrdinal", (char *) list_nth(entry->segments, parent)),
				  KeyColumn(COLUMN_ORDINAL));
	AddColumn(entry, table, "Ordinal", KeyColumn(COLUMN_ORDINAL));
	model->tables[table].nkeys = model->tables[table].ncolumns;
	for (int i = 0; i < model->tables[table].nkeys; i++)
		CheckColumn(walk, table, i);
}

/* An extension row has the key of the row that it extends. */
static void
CopyKey(Walk *walk, int table, int from)
{
	ResourceModel *model = walk->entry->model;

	for (int i = 0; i < model->tables[from].nkeys; i++)
	{
		ColumnModel copy = model->tables[from].columns[i];

		APPEND(model->tables[table].columns, model->tables[table].ncolumns, copy);
	}
	model->tables[table].nkeys = model->tables[from].nkeys;
}

/*
 * Returns true if an element holds one reference and nothing else.  Such a
 * collection is a set: the reference identifies the element, and the schema
 * does not repeat that as a constraint.  Extensions of the element do not
 * count, or the table would depend on them.
 */
static bool
IsBareReference(const Walk *walk, const SchemaNode *element, const char *path)
{
	const SchemaProperty *only = NULL;
	ApiMapping *mapping;
	ListCell   *cell;

	foreach(cell, element->properties)
	{
		const SchemaProperty *property = lfirst(cell);

		if (strcmp(property->name, "_ext") == 0)
			continue;
		if (only != NULL)
			return false;
		only = property;
	}
	if (only == NULL)
		return false;
	mapping = FindMapping(walk->entry->api, psprintf("%s.%s", path, only->name));
	return mapping != NULL && !mapping->descriptor;
}

/*
 * The name of a collection's table: that of its parent and the segment.
 *
 * A segment that starts with the resource's whole name replaces it (School,
 * schoolCategories: SchoolCategory). A bare reference keeps both, since there
 * the segment is the name of the other resource, and so does a segment that
 * was given by an override.
 */
static char *
CollectionTitle(const Walk *walk, int parent, const char *segment, bool whole)
{
	const TableModel *table = &walk->entry->model->tables[parent];
	const char *resource = walk->entry->api->name;
	size_t		length = strlen(resource);

	if (table->kind == TABLE_ROOT && !whole &&
		strncmp(segment, resource, length) == 0 && segment[length] != '\0')
		return pstrdup(segment);
	return psprintf("%s%s", table->title, segment);
}

/* Add the table of an array, with its key. */
static int
AddCollection(Walk *walk, int parent, const char *path, const char *name,
			  bool bare)
{
	ResourceModel *model = walk->entry->model;
	const char *override = Override(walk->entry->api, path);
	char	   *segment = override ?
	NameWithoutParentWords(override, model->tables[parent].title) :
	NameSingular(NamePascal(name));
	int			table = AddTable(walk, TABLE_COLLECTION,
								 model->tables[parent].schema,
								 CollectionTitle(walk, parent, segment, bare || override),
								 path, parent, segment);

	model->tables[table].bare_references = bare;
	AddCollectionKey(walk, table);
	return table;
}

/*
 * Add the table beside a row for what an extension adds to it.  The title of
 * the extended table follows that of the extension ("StudentExtension" and
 * "Address"), so that the tables of one extension of a resource have a common
 * prefix.
 */
static int
AddExtension(Walk *walk, int base, const char *path, const ApiProject *project)
{
	ResourceModel *model = walk->entry->model;
	const char *root = model->tables[0].title;
	const char *extended = model->tables[base].title;
	size_t		length = strlen(root);
	const char *title = NULL;
	int			table;
	ListCell   *cell;

	if (strncmp(extended, root, length) == 0)
		extended += length;
	foreach(cell, walk->entry->api->extended_by)
	{
		ApiResource *extension = lfirst(cell);

		if (extension->project == project && extension->root_table_override)
			title = extension->root_table_override;
	}
	if (title == NULL)
		title = psprintf("%sExtension", root);
	title = psprintf("%s%s", title, base == 0 ? "" : extended);
	table = AddTable(walk, TABLE_EXTENSION, project->schema_name, title, path,
					 base, list_nth(walk->entry->segments, base));
	CopyKey(walk, table, base);
	return table;
}

/*
 * Add the column of a scalar or a descriptor.  A descriptor is stored as the
 * DocumentId of its target, like a reference.
 */
static int
AddValueColumn(Walk *walk, const Place *place, const SchemaProperty *property,
			   const char *path, const ApiMapping *mapping, int reference)
{
	const char *override = Override(walk->entry->api, path);
	char	   *title = override ? pstrdup(override) :
	psprintf("%s%s", place->prefix, NamePascal(property->name));
	ColumnModel column = {0};
	int			index;

	column.path = pstrdup(path);
	column.role = mapping ? COLUMN_DESCRIPTOR : COLUMN_SCALAR;
	column.value = property->node->value;
	column.required = place->always && property->required;
	column.reference = reference;
	if (mapping)
	{
		title = psprintf("%s_DescriptorId", title);
		column.value.type = VALUE_INT8;
	}
	index = AddColumn(walk->entry, place->table, title, column);
	CheckColumn(walk, place->table, index);
	return index;
}

/*
 * Add the column of a reference: one, whatever its target's identity is.  It
 * is named by the property, as all columns are, not by the key of
 * documentPathsMapping.
 */
static int
AddReferenceColumn(Walk *walk, const Place *place,
				   const SchemaProperty *property, const char *path,
				   int reference)
{
	const char *override = Override(walk->entry->api, path);
	ColumnModel column = KeyColumn(COLUMN_REFERENCE);
	char	   *title = override ? pstrdup(override) :
	psprintf("%s%s", place->prefix,
			 NameWithoutSuffix(NamePascal(property->name), "Reference"));
	int			index;

	column.path = pstrdup(path);
	column.required = place->always && property->required;
	column.reference = reference;
	index = AddColumn(walk->entry, place->table,
					  psprintf("%s_DocumentId", title), column);
	CheckColumn(walk, place->table, index);
	return index;
}

/* Record a reference.  Its target is bound later, when all resources have tables. */
static int
AddReference(Walk *walk, const ApiMapping *mapping, int table)
{
	ResourceModel *model = walk->entry->model;
	ReferenceModel reference = {0};

	reference.path = pstrdup(mapping->path);
	reference.descriptor = mapping->descriptor;
	reference.project = pstrdup(mapping->project);
	reference.resource = pstrdup(mapping->resource);
	reference.edge_source_key = EdgeNameKey(model->project, model->resource,
											mapping->descriptor, mapping->path);
	reference.edge_source_id = EdgeNameId(model->project, model->resource,
										  mapping->descriptor, mapping->path);
	reference.table = table;
	reference.column = -1;
	reference.projection = -1;
	return APPEND(model->references, model->nreferences, reference);
}

/* Add a scope, and return its number. */
static int
AddScope(Walk *walk, const char *path, int table)
{
	ResourceModel *model = walk->entry->model;
	ScopeModel	scope = {0};

	scope.path = pstrdup(path);
	scope.table = table;
	return APPEND(model->scopes, model->nscopes, scope);
}

/* Returns true if a reference has a value of this name. */
static bool
HasMember(const ApiMapping *mapping, const char *name)
{
	ListCell   *cell;

	foreach(cell, mapping->member_names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* A property without links to anything. */
static PropertyModel
NewProperty(const SchemaProperty *source)
{
	PropertyModel property = {0};

	property.name = pstrdup(source->name);
	property.required = source->required;
	property.column = property.scope = property.table = property.reference = -1;
	property.min_items = property.max_items = -1;
	property.value.min_length = property.value.max_length = -1;
	property.value.precision = property.value.scale = -1;
	return property;
}

/* Set the digits of a decimal, which are not in the JSON schema. */
static void
ApplyDecimal(Walk *walk, const char *path, ValueModel *value)
{
	ListCell   *cell;

	foreach(cell, walk->entry->api->decimals)
	{
		ApiDecimal *decimal = lfirst(cell);

		if (strcmp(decimal->path, path) != 0)
			continue;
		if (value->type != VALUE_NUMERIC)
			ProblemAt(walk->set->problems, walk->entry->place,
					  "%s has decimal digits, but is not a number.", path);
		value->precision = decimal->total_digits;
		value->scale = decimal->decimal_places;
	}
}

/* Walk through a reference object: its values have types and rules, but no columns. */
static int
WalkReference(Walk *walk, const SchemaNode *node, const ApiMapping *mapping,
			  int table)
{
	const char *path = mapping->path;
	int			scope = AddScope(walk, path, table);
	ListCell   *cell;

	foreach(cell, node->properties)
	{
		SchemaProperty *source = lfirst(cell);
		PropertyModel property = NewProperty(source);
		ScopeModel *s = &walk->entry->model->scopes[scope];

		if (source->node->kind != SCHEMA_SCALAR || !HasMember(mapping, source->name))
		{
			ProblemAt(walk->set->problems, mapping->place,
					  "%s.%s is not one of the values that the reference is made of.", path, source->name);
			continue;
		}
		ApplyDecimal(walk, psprintf("%s.%s", path, source->name), &source->node->value);
		property.kind = PROPERTY_MEMBER;
		property.value = source->node->value;
		APPEND(s->properties, s->nproperties, property);
	}
	return scope;
}

/* Walk through "_ext": one scope and one table per project. */
static void
WalkExtensions(Walk *walk, const SchemaNode *node, const Place *place, int scope)
{
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, node->properties)
	{
		SchemaProperty *source = lfirst(cell);
		PropertyModel property = NewProperty(source);
		Place		below = {0};
		ApiProject *project = NULL;
		ScopeModel *s;

		foreach(inner, walk->set->schema->projects)
		{
			if (strcmp(((ApiProject *) lfirst(inner))->endpoint, source->name) == 0)
				project = lfirst(inner);
		}
		if (project == NULL)
		{
			ProblemAt(walk->set->problems, walk->entry->place,
					  "%s.%s: there is no project of this name.", place->path, source->name);
			continue;
		}
		below.path = psprintf("%s.%s", place->path, source->name);
		below.prefix = "";
		below.always = true;
		below.table = AddExtension(walk, place->table, below.path, project);
		property.kind = PROPERTY_EXTENSION;
		property.table = below.table;
		property.scope = WalkObject(walk, source->node, &below);
		s = &walk->entry->model->scopes[scope];
		APPEND(s->properties, s->nproperties, property);
	}
}

/*
 * Walk through an object that is not a reference.  Values of an optional
 * object are optional, whatever the object requires of them.
 */
static void
WalkInlined(Walk *walk, const SchemaProperty *source, const Place *place,
			const char *path, PropertyModel *property)
{
	Place		below = *place;

	property->kind = PROPERTY_OBJECT;
	below.path = path;
	if (strcmp(source->name, "_ext") == 0)
	{
		property->scope = AddScope(walk, path, place->table);
		WalkExtensions(walk, source->node, &below, property->scope);
		return;
	}
	below.prefix = psprintf("%s%s", place->prefix, NamePascal(source->name));
	below.always = place->always && source->required;
	property->scope = WalkObject(walk, source->node, &below);
}

/* Walk through an array: its elements are the rows of a table. */
static void
WalkArray(Walk *walk, const SchemaProperty *source, const Place *place,
		  const char *path, PropertyModel *property)
{
	const SchemaNode *element = source->node->items;
	Place		below = {0};

	property->kind = PROPERTY_ARRAY;
	property->min_items = source->node->min_items;
	property->max_items = source->node->max_items;
	property->unique_items = source->node->unique_items;
	below.path = psprintf("%s[*]", path);
	below.prefix = "";
	below.always = true;
	below.table = AddCollection(walk, place->table, below.path, source->name,
								IsBareReference(walk, element, below.path));
	property->table = below.table;
	property->scope = WalkObject(walk, element, &below);
}

/*
 * Add a scalar or a descriptor.  Blanks around a code value or short
 * description at the root of a document are dropped; all other values are
 * stored as they were sent.
 */
static void
WalkValue(Walk *walk, const SchemaProperty *source, const Place *place,
		  const char *path, const ApiMapping *mapping, PropertyModel *property)
{
	property->kind = mapping ? PROPERTY_DESCRIPTOR : PROPERTY_SCALAR;
	ApplyDecimal(walk, path, &source->node->value);
	property->value = source->node->value;
	if (mapping)
	{
		if (property->value.type != VALUE_TEXT)
			ProblemAt(walk->set->problems, mapping->place, "a descriptor must be a string.");
		property->reference = AddReference(walk, mapping, place->table);
	}
	property->column = AddValueColumn(walk, place, source, path, mapping,
									  property->reference);
	if (mapping)
		walk->entry->model->references[property->reference].column = property->column;
	property->trim = place->table == 0 && strcmp(place->path, "$") == 0 &&
		(strcmp(source->name, "codeValue") == 0 ||
		 strcmp(source->name, "shortDescription") == 0);
}

/*
 * Add one property.  The mapping decides what it is; the JSON schema alone
 * cannot distinguish a reference from an object.
 */
static void
WalkProperty(Walk *walk, const SchemaProperty *source, const Place *place,
			 int scope)
{
	char	   *path = psprintf("%s.%s", place->path, source->name);
	ApiMapping *mapping = FindMapping(walk->entry->api, path);
	PropertyModel property = NewProperty(source);
	ScopeModel *s;

	if (mapping && !mapping->descriptor)
	{
		property.kind = PROPERTY_REFERENCE;
		if (source->node->kind != SCHEMA_OBJECT)
			ProblemAt(walk->set->problems, mapping->place, "a reference must be an object.");
		property.reference = AddReference(walk, mapping, place->table);
		property.column = AddReferenceColumn(walk, place, source, path, property.reference);
		walk->entry->model->references[property.reference].column = property.column;
		property.scope = WalkReference(walk, source->node, mapping, place->table);
	}
	else if (mapping && source->node->kind != SCHEMA_SCALAR)
		ProblemAt(walk->set->problems, mapping->place, "a descriptor must be a string.");
	else if (source->node->kind == SCHEMA_OBJECT)
		WalkInlined(walk, source, place, path, &property);
	else if (source->node->kind == SCHEMA_ARRAY)
		WalkArray(walk, source, place, path, &property);
	else
		WalkValue(walk, source, place, path, mapping, &property);
	s = &walk->entry->model->scopes[scope];
	APPEND(s->properties, s->nproperties, property);
}

/*
 * Walk through an object.  Properties come in byte order of their names, the
 * order in which documents are written.
 */
static int
WalkObject(Walk *walk, const SchemaNode *node, const Place *place)
{
	int			scope = AddScope(walk, place->path, place->table);
	ListCell   *cell;

	check_stack_depth();
	foreach(cell, node->properties)
		WalkProperty(walk, lfirst(cell), place, scope);
	return scope;
}

/* The width of dms.Descriptor.Uri: a namespace, "#" and a code value. */
#define MAX_URI 306

/*
 * The model of a descriptor.  All descriptors are in dms.Descriptor: they
 * have the same shape, hundreds of types have few rows each, and a reference
 * to one is then a foreign key to one table.  Type and URI are columns that
 * no property of the document has.
 */
static void
BuildDescriptor(Walk *walk)
{
	ModelEntry *entry = walk->entry;
	ColumnModel extra = KeyColumn(COLUMN_DISCRIMINATOR);
	Place		place = {.path = "$",.table = 0,.prefix = "",.always = true};

	AddTable(walk, TABLE_ROOT, "dms", "Descriptor", "$", -1, "");
	AddColumn(entry, 0, "DocumentId", KeyColumn(COLUMN_DOCUMENT));
	entry->model->tables[0].nkeys = 1;
	WalkObject(walk, entry->api->schema, &place);
	/* Both parts of the URI keep the case in which they were first written. */
	for (int i = 0; i < entry->model->tables[0].ncolumns; i++)
	{
		ColumnModel *column = &entry->model->tables[0].columns[i];

		column->identity = column->path != NULL &&
			(strcmp(column->path, "$.namespace") == 0 ||
			 strcmp(column->path, "$.codeValue") == 0);
	}
	extra.value.type = VALUE_TEXT;
	extra.value.max_length = MODEL_MAX_DISCRIMINATOR;
	AddColumn(entry, 0, "Discriminator", extra);
	extra.role = COLUMN_URI;
	extra.value.max_length = MAX_URI;
	extra.identity = true;
	extra.path = "$.descriptor";
	AddColumn(entry, 0, "Uri", extra);
}

/* The model of a resource with tables of its own. */
static void
BuildPlain(Walk *walk)
{
	ModelEntry *entry = walk->entry;
	const char *title = entry->api->root_table_override ?
	entry->api->root_table_override : entry->api->name;
	Place		place = {.path = "$",.table = 0,.prefix = "",.always = true};

	AddTable(walk, TABLE_ROOT, entry->api->project->schema_name, title, "$", -1, title);
	AddColumn(entry, 0, "DocumentId", KeyColumn(COLUMN_DOCUMENT));
	entry->model->tables[0].nkeys = 1;
	WalkObject(walk, entry->api->schema, &place);
}

/* Report tables that PostgreSQL, or the engine, cannot have. */
static void
CheckWidth(Walk *walk)
{
	const ResourceModel *model = walk->entry->model;

	for (int i = 0; i < model->ntables; i++)
	{
		const TableModel *t = &model->tables[i];

		if (t->ncolumns > MaxHeapAttributeNumber)
			ProblemAt(walk->set->problems, walk->entry->place, "the table of %s would have %d columns; %d are possible.",
					  t->scope_path, t->ncolumns, MaxHeapAttributeNumber);
		if (t->nkeys > MODEL_MAX_KEYS)
			ProblemAt(walk->set->problems, walk->entry->place, "arrays are nested too deep at %s.", t->scope_path);
	}
}

/* Build scopes, tables and columns of one resource. */
void
ModelTablesBuild(ModelSet *set, ModelEntry *entry)
{
	Walk		walk = {set, entry};

	if (entry->api->descriptor)
		BuildDescriptor(&walk);
	else
		BuildPlain(&walk);
	CheckWidth(&walk);
}
