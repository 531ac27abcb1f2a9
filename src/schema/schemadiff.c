/*
 * schemadiff.c
 *		Finding out which resources, tables and columns of a schema were which in
 *		the one before it.
 *
 * Resources are recognized by their names, tables and columns by their paths in the
 * document, each relative to the table around it.  So a name in the database that
 * differs does not matter here.  Where a path or the name of a resource differs,
 * renames say what it was.
 */
#include "postgres.h"

#include "schema/naming.h"
#include "schema/schemadiff.h"

/* State of a comparison. */
typedef struct Differ
{
	SchemaDiff *diff;
	List	   *renames;
} Differ;

/*
 * The name of a resource in renames: its root table.  Descriptors and abstract
 * resources, which have none of their own, have a name as if they had one.
 */
static const char *
ResourceTable(const ResourceModel *model, const char **schema)
{
	bool		plain = model->kind != RESOURCE_DESCRIPTOR && model->kind != RESOURCE_ABSTRACT;

	*schema = plain ? model->tables[0].schema : NameOfSchema(model->project_endpoint);
	return plain ? model->tables[0].name : NamePhysical(model->resource);
}

/* The same as one text, "schema.table". */
char *
SchemaDiffName(const ModelEntry *entry)
{
	const char *schema;
	const char *table = ResourceTable(entry->model, &schema);

	return psprintf("%s.%s", schema, table);
}

/* The kinds of resources whose documents can be those of the other. */
static bool
SameKind(const ResourceModel *left, const ResourceModel *right)
{
	bool		special = left->kind == RESOURCE_DESCRIPTOR || left->kind == RESOURCE_ABSTRACT ||
	right->kind == RESOURCE_DESCRIPTOR || right->kind == RESOURCE_ABSTRACT;

	return special ? left->kind == right->kind : true;
}

/* Returns the entry of a set with the name of another one, if it is of the same kind. */
static ModelEntry *
SameEntry(const ModelSet *set, const ModelEntry *entry)
{
	ModelEntry *found = ModelSetFind(set, entry->model->project, entry->model->resource);

	return found != NULL && SameKind(found->model, entry->model) ? found : NULL;
}

/* Returns the entry that a rename is from, if the new schema does not have it any more. */
static ModelEntry *
RenamedEntry(Differ *differ, const ModelEntry *after)
{
	const char *schema;
	const char *table = ResourceTable(after->model, &schema);
	const Rename *rename = RenamesFind(differ->renames, schema, table, NULL, false);
	ListCell   *cell;

	if (rename == NULL)
		return NULL;
	foreach(cell, differ->diff->before->entries)
	{
		ModelEntry *entry = lfirst(cell);

		table = ResourceTable(entry->model, &schema);
		if (strcmp(table, rename->from.table) == 0 && strcmp(schema, rename->from.schema) == 0 &&
			SameKind(entry->model, after->model) && SameEntry(differ->diff->after, entry) == NULL)
		{
			(void) RenamesFind(differ->renames, schema, table, NULL, true);
			return entry;
		}
	}
	return NULL;
}

/* The part of a path below another one. */
static const char *
Below(const char *path, const char *scope)
{
	return path + strlen(scope);
}

/* Returns the table of a model with a parent and a path relative to it; NULL if there is none. */
static const TableModel *
FindTable(const ResourceModel *model, const TableModel *parent, const char *below)
{
	for (int i = 1; i < model->ntables; i++)
	{
		const TableModel *table = &model->tables[i];

		if (&model->tables[table->parent] == parent &&
			strcmp(Below(table->scope_path, parent->scope_path), below) == 0)
			return table;
	}
	return NULL;
}

/*
 * Returns the table that a rename to a table is from: it has the same parent and is of
 * the same kind, and the new schema does not have its path.
 */
static const TableModel *
RenamedTable(Differ *differ, const ResourceDiff *resource, const TableModel *after, const TableModel *parent)
{
	const Rename *rename = RenamesFind(differ->renames, after->schema, after->name, NULL, false);
	const ResourceModel *before = resource->before->model;

	for (int i = 1; rename != NULL && i < before->ntables; i++)
	{
		const TableModel *table = &before->tables[i];
		const TableModel *kept;

		if (strcmp(table->name, rename->from.table) != 0 || strcmp(table->schema, rename->from.schema) != 0 ||
			&before->tables[table->parent] != parent || table->kind != after->kind)
			continue;
		kept = FindTable(resource->after->model, &resource->after->model->tables[after->parent],
						 Below(table->scope_path, parent->scope_path));
		if (kept != NULL && kept->kind == table->kind)
			continue;
		(void) RenamesFind(differ->renames, table->schema, table->name, NULL, true);
		return table;
	}
	return NULL;
}

/* Find out which table of the old schema a table was; NULL if it is new. */
static const TableModel *
MatchTable(Differ *differ, const ResourceDiff *resource, int table)
{
	const TableModel *after = &resource->after->model->tables[table];
	const TableModel *above;
	const TableModel *parent;
	const TableModel *found;

	if (after->parent < 0)
		return &resource->before->model->tables[0];
	above = &resource->after->model->tables[after->parent];
	parent = resource->tables[after->parent].before;
	if (parent == NULL)
		return NULL;
	found = FindTable(resource->before->model, parent, Below(after->scope_path, above->scope_path));
	return found != NULL && found->kind == after->kind ? found : RenamedTable(differ, resource, after, parent);
}

/* Returns the column with a path relative to its table and a role; -1 if there is none. */
static int
FindColumn(const TableModel *table, const char *below, int role)
{
	for (int i = table->nkeys; i < table->ncolumns; i++)
	{
		const ColumnModel *column = &table->columns[i];

		if (column->path != NULL && column->role == role &&
			strcmp(Below(column->path, table->scope_path), below) == 0)
			return i;
	}
	return -1;
}

/*
 * Returns the column that a rename to a column is from: it has the same role, and the
 * new table does not have its path.
 */
static int
RenamedColumn(Differ *differ, const TableDiff *table, const ColumnModel *after)
{
	const TableModel *before = table->before;
	const Rename *rename = RenamesFind(differ->renames, table->after->schema, table->after->name, after->name, false);

	if (rename == NULL || strcmp(rename->from.schema, before->schema) != 0 ||
		strcmp(rename->from.table, before->name) != 0)
		return -1;
	for (int i = before->nkeys; i < before->ncolumns; i++)
	{
		const ColumnModel *column = &before->columns[i];

		if (strcmp(column->name, rename->from.column) != 0 || column->role != after->role ||
			FindColumn(table->after, Below(column->path, before->scope_path), column->role) >= 0)
			continue;
		(void) RenamesFind(differ->renames, before->schema, before->name, column->name, true);
		return i;
	}
	return -1;
}

/* Find out which columns of the old table those of a table were; keys by position. */
static void
MatchColumns(Differ *differ, TableDiff *table)
{
	const TableModel *after = table->after;

	table->columns = palloc(sizeof(int) * Max(after->ncolumns, 1));
	for (int i = 0; i < after->ncolumns; i++)
	{
		const ColumnModel *column = &after->columns[i];

		if (table->before == NULL)
			table->columns[i] = -1;
		else if (i < after->nkeys)
			table->columns[i] = i < table->before->nkeys ? i : -1;
		else
		{
			table->columns[i] = FindColumn(table->before, Below(column->path, after->scope_path), column->role);
			if (table->columns[i] < 0)
				table->columns[i] = RenamedColumn(differ, table, column);
		}
	}
}

/* Returns true if a resource has tables of its own. */
static bool
HasTables(const ModelEntry *entry)
{
	return entry->model->kind == RESOURCE_PLAIN || entry->model->kind == RESOURCE_SCHOOL_YEAR;
}

/* Compare the tables of a resource. */
static void
MatchTables(Differ *differ, ResourceDiff *resource)
{
	const ResourceModel *after = resource->after->model;

	resource->tables = palloc0(sizeof(TableDiff) * Max(after->ntables, 1));
	for (int i = 0; i < after->ntables; i++)
	{
		resource->tables[i].after = &after->tables[i];
		if (resource->before != NULL)
			resource->tables[i].before = MatchTable(differ, resource, i);
		MatchColumns(differ, &resource->tables[i]);
	}
}

/* Add a resource of the new schema. */
static void
AddAfter(Differ *differ, const ModelEntry *after)
{
	ResourceDiff *resource = palloc0(sizeof(ResourceDiff));

	resource->after = after;
	resource->before = SameEntry(differ->diff->before, after);
	if (resource->before == NULL)
		resource->before = RenamedEntry(differ, after);
	if (HasTables(after))
		MatchTables(differ, resource);
	differ->diff->resources = lappend(differ->diff->resources, resource);
}

/* Add a resource of the old schema, unless it is one of the new schema. */
static void
AddRemoved(Differ *differ, const ModelEntry *before)
{
	ResourceDiff *resource;
	ListCell   *cell;

	foreach(cell, differ->diff->resources)
	{
		if (((ResourceDiff *) lfirst(cell))->before == before)
			return;
	}
	resource = palloc0(sizeof(ResourceDiff));
	resource->before = before;
	differ->diff->resources = lappend(differ->diff->resources, resource);
}

/*
 * Forget that a column was another one if it refers to another resource now: its
 * values mean nothing there.
 */
static void
ForgetOtherTargets(const SchemaDiff *diff, ResourceDiff *resource)
{
	const ResourceModel *after = resource->after->model;

	for (int i = 0; i < after->nreferences; i++)
	{
		const ReferenceModel *r = &after->references[i];
		TableDiff  *table = &resource->tables[r->table];
		int			column = table->before == NULL ? -1 : table->columns[r->column];

		if (column >= 0 && !SchemaDiffSameTarget(diff, &resource->before->model->references[table->before->columns[column].reference], r))
			table->columns[r->column] = -1;
	}
}

/* Compare two schemas.  Renames that explain nothing are refused. */
SchemaDiff *
SchemaDiffMake(const ModelSet *before, const ModelSet *after, List *renames)
{
	Differ		differ = {.diff = palloc0(sizeof(SchemaDiff)),.renames = renames};
	ListCell   *cell;

	differ.diff->before = before;
	differ.diff->after = after;
	foreach(cell, after->entries)
		AddAfter(&differ, lfirst(cell));
	foreach(cell, before->entries)
		AddRemoved(&differ, lfirst(cell));
	foreach(cell, differ.diff->resources)
	{
		ResourceDiff *resource = lfirst(cell);

		if (resource->before != NULL && resource->after != NULL && resource->tables != NULL)
			ForgetOtherTargets(differ.diff, resource);
	}
	RenamesRefuseUnused(renames);
	return differ.diff;
}

/* Returns true if an entry has this name; there may be none. */
static bool
HasName(const ModelEntry *entry, const char *project, const char *resource)
{
	return entry != NULL && strcmp(entry->model->resource, resource) == 0 &&
		strcmp(entry->model->project, project) == 0;
}

/* Returns the resource that has a name in the new schema; NULL if there is none. */
ResourceDiff *
SchemaDiffOf(const SchemaDiff *diff, const char *project, const char *resource)
{
	ListCell   *cell;

	foreach(cell, diff->resources)
	{
		ResourceDiff *found = lfirst(cell);

		if (HasName(found->after, project, resource))
			return found;
	}
	return NULL;
}

/* Returns the resource that had a name in the old schema; NULL if there was none. */
ResourceDiff *
SchemaDiffOfBefore(const SchemaDiff *diff, const char *project, const char *resource)
{
	ListCell   *cell;

	foreach(cell, diff->resources)
	{
		ResourceDiff *found = lfirst(cell);

		if (HasName(found->before, project, resource))
			return found;
	}
	return NULL;
}

/* Returns true if a table of the old schema is one of the new schema. */
bool
SchemaDiffKeepsTable(const ResourceDiff *resource, const TableModel *before)
{
	for (int i = 0; resource->after != NULL && i < resource->after->model->ntables; i++)
		if (resource->tables[i].before == before)
			return true;
	return false;
}

/* Returns true if a column of the old table is one of the new table. */
bool
SchemaDiffKeepsColumn(const TableDiff *table, int before)
{
	for (int i = 0; i < table->after->ncolumns; i++)
		if (table->columns[i] == before)
			return true;
	return false;
}

/* Returns true if a resource has another name in the new schema. */
bool
SchemaDiffIsRenamed(const ResourceDiff *resource)
{
	return resource->before != NULL && resource->after != NULL &&
		!HasName(resource->before, resource->after->model->project, resource->after->model->resource);
}

/* Returns true if two references, of the old and the new schema, have the same target. */
bool
SchemaDiffSameTarget(const SchemaDiff *diff, const ReferenceModel *before, const ReferenceModel *after)
{
	const ResourceDiff *target = SchemaDiffOf(diff, after->project, after->resource);

	return target != NULL && HasName(target->before, before->project, before->resource);
}

/*
 * Returns true if a value of the new identity is stored where the one of the old
 * identity is: in the same column, and if that is a reference, as the same value of
 * its target.
 */
static bool
SameIdentityValue(const SchemaDiff *diff, const ResourceDiff *resource, const IdentityModel *before,
				  const IdentityModel *after)
{
	const ResourceModel *old = resource->before->model;
	const ResourceModel *new = resource->after->model;

	if (before->member != after->member || (before->reference < 0) != (after->reference < 0))
		return false;
	if (resource->tables != NULL && resource->tables[0].columns[after->column] != before->column)
		return false;
	return after->reference < 0 ||
		SchemaDiffSameTarget(diff, &old->references[before->reference], &new->references[after->reference]);
}

/*
 * Returns true if documents are identified by the same values in the same order,
 * whatever these are called.
 */
bool
SchemaDiffSameIdentity(const SchemaDiff *diff, const ResourceDiff *resource)
{
	const ResourceModel *old = resource->before->model;
	const ResourceModel *new = resource->after->model;

	if (old->nidentity != new->nidentity)
		return false;
	for (int i = 0; i < new->nidentity; i++)
		if (!SameIdentityValue(diff, resource, &old->identity[i], &new->identity[i]))
			return false;
	return true;
}

/* Returns true if a resource has the superclass that it had, or still has none. */
bool
SchemaDiffSameSuperclass(const SchemaDiff *diff, const ResourceDiff *resource)
{
	const ResourceModel *old = resource->before->model;
	const ResourceModel *new = resource->after->model;
	const ResourceDiff *super;

	if (old->superclass_resource == NULL || new->superclass_resource == NULL)
		return old->superclass_resource == new->superclass_resource;
	super = SchemaDiffOf(diff, new->superclass_project, new->superclass_resource);
	return super != NULL && HasName(super->before, old->superclass_project, old->superclass_resource);
}
