/*
 * modelkeys.c
 *		Binding what must be unique or equal: natural keys, uniqueness in arrays,
 *		equality constraints, and the names of foreign keys.
 *
 * As in modelbind.c, what a path of the metadata leads to is found here, or reported.
 */
#include "postgres.h"

#include "access/itup.h"
#include "base/grow.h"
#include "mb/pg_wchar.h"
#include "schema/modelkeys.h"
#include "schema/modeltables.h"
#include "schema/naming.h"

/* A little less than a B-tree entry can have, which is a third of a page. */
#define MAX_INDEXED_WIDTH (BLCKSZ / 3 - 32)

/* The most bytes that a value can take in an index. */
static int
IndexedWidth(const ValueModel *value)
{
	if (value->type == VALUE_TEXT)
		return value->max_length <= 0 || value->max_length > BLCKSZ ? BLCKSZ :
			VARHDRSZ + value->max_length * pg_database_encoding_max_length();
	if (value->type == VALUE_NUMERIC)
		return VARHDRSZ + (value->precision > 0 && value->scale >= 0 ? value->precision : 1024);
	return sizeof(int64);
}

/*
 * Returns true if an index can hold every row that the columns allow.  A
 * B-tree refuses entries of more than a third of a page, so where the schema
 * allows longer ones, an index would refuse valid documents.
 */
static bool
FitsIndex(const TableModel *table, const UniqueModel *unique)
{
	int			width = MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));

	if (unique->ncolumns > INDEX_MAX_KEYS)
		return false;
	for (int i = 0; i < unique->ncolumns && width < BLCKSZ; i++)
		width += MAXALIGN(IndexedWidth(&table->columns[unique->columns[i]].value));
	return width <= MAX_INDEXED_WIDTH;
}

/*
 * Add the natural key: each column of the identity once, in order.
 *
 * Several values of the identity may come from one reference, and so have one
 * column.  A key that is too wide for an index is left out:
 * dms.ReferentialIdentity decides about identities in any case.
 */
void
ModelKeysAddNatural(ModelSet *set, ModelEntry *entry)
{
	ResourceModel *model = entry->model;
	TableModel *root = &model->tables[0];
	UniqueModel unique = {.natural_key = true};

	for (int i = 0; i < model->nidentity; i++)
	{
		bool		listed = false;

		for (int j = 0; j < unique.ncolumns; j++)
			listed |= unique.columns[j] == model->identity[i].column;
		if (!listed)
			APPEND(unique.columns, unique.ncolumns, model->identity[i].column);
	}
	unique.name = NamePhysical(psprintf("%s_NK", root->title));
	if (unique.ncolumns > INDEX_MAX_KEYS)
		ProblemAt(set->problems, entry->place, "the identity needs %d columns; %d are possible.",
				  unique.ncolumns, INDEX_MAX_KEYS);
	if (unique.ncolumns > 0 && FitsIndex(root, &unique))
		APPEND(root->uniques, root->nuniques, unique);
}

/* The table whose rows are the elements at this path; -1 if there is none. */
static int
TableOfScope(const ResourceModel *model, const char *path)
{
	for (int i = 0; i < model->ntables; i++)
		if (strcmp(model->tables[i].scope_path, path) == 0)
			return i;
	return -1;
}

/*
 * The columns that enforce a uniqueness constraint, after the key of the
 * parent.  Returns false if the database cannot enforce it: a value is in
 * another table, only a part of a reference is named, or an index cannot hold
 * them.  Then only the engine checks it.
 */
static bool
UniqueColumns(const ResourceModel *model, int table,
			  const UniquenessModel *uniqueness, UniqueModel *unique)
{
	const TableModel *t = &model->tables[table];

	for (int i = 0; i < t->nkeys - 1; i++)
		APPEND(unique->columns, unique->ncolumns, i);
	for (int i = 0; i < uniqueness->nmembers; i++)
	{
		char	   *path = psprintf("%s%s", uniqueness->array_path, uniqueness->members[i]);
		int			column = ModelTablesFindColumn(model, table, path);
		bool		listed = false;

		for (int j = 0; j < model->nreferences && column < 0; j++)
		{
			const ReferenceModel *r = &model->references[j];
			size_t		length = strlen(r->path);
			int			named = 0;

			if (r->descriptor || r->table != table ||
				strncmp(path, r->path, length) != 0 || path[length] != '.')
				continue;
			for (int k = 0; k < r->nmembers; k++)
				for (int m = 0; m < uniqueness->nmembers; m++)
					named += strcmp(psprintf("%s%s", uniqueness->array_path, uniqueness->members[m]),
									psprintf("%s.%s", r->path, r->members[k].name)) == 0;
			if (named == r->nmembers)
				column = r->column;
		}
		if (column < 0)
			return false;
		for (int j = 0; j < unique->ncolumns; j++)
			listed |= unique->columns[j] == column;
		if (!listed)
			APPEND(unique->columns, unique->ncolumns, column);
	}
	return FitsIndex(t, unique);
}

/* Add a unique key to a table, once.  Returns its name. */
static char *
AddUnique(ResourceModel *model, int table, UniqueModel *unique)
{
	TableModel *t = &model->tables[table];
	StringInfoData title;

	initStringInfo(&title);
	appendStringInfoString(&title, t->title);
	for (int i = t->nkeys - 1; i < unique->ncolumns; i++)
		appendStringInfo(&title, "_%s", t->columns[unique->columns[i]].name);
	appendStringInfoString(&title, "_UQ");
	unique->name = NamePhysical(title.data);
	for (int i = 0; i < t->nuniques; i++)
		if (strcmp(t->uniques[i].name, unique->name) == 0)
			return unique->name;
	APPEND(t->uniques, t->nuniques, *unique);
	return unique->name;
}

/*
 * Returns true if the model has this constraint already: extensions repeat
 * those of the core.
 */
static bool
UniquenessKnown(const ResourceModel *model, const UniquenessModel *uniqueness)
{
	for (int i = 0; i < model->nuniqueness; i++)
	{
		const UniquenessModel *other = &model->uniqueness[i];
		bool		same = strcmp(other->array_path, uniqueness->array_path) == 0 &&
		other->nmembers == uniqueness->nmembers;

		for (int j = 0; same && j < other->nmembers; j++)
			same = strcmp(other->members[j], uniqueness->members[j]) == 0;
		if (same)
			return true;
	}
	return false;
}

/*
 * Bind a uniqueness constraint: values of the elements of one array, which is
 * the innermost array of all its paths.
 */
static void
BindUniqueness(ModelSet *set, ModelEntry *entry, const ApiUniqueness *source)
{
	ResourceModel *model = entry->model;
	UniquenessModel uniqueness = {0};
	UniqueModel unique = {0};
	int			table;
	ListCell   *cell;

	foreach(cell, source->paths)
	{
		char	   *path = lfirst(cell);
		const char *bracket = NULL;
		const SchemaNode *leaf;

		for (const char *at = path; (at = strstr(at, "[*]")) != NULL; at++)
			bracket = at;
		if (bracket == NULL || bracket[3] != '.' ||
			!JsonSchemaPathExists(entry->api->schema, path, &leaf) ||
			leaf->kind != SCHEMA_SCALAR)
		{
			ProblemAt(set->problems, source->place, "%s is not a value of an element of an array.", path);
			return;
		}
		if (uniqueness.array_path == NULL)
			uniqueness.array_path = pnstrdup(path, bracket + 3 - path);
		else if (strncmp(uniqueness.array_path, path, bracket + 3 - path) != 0 ||
				 (int) strlen(uniqueness.array_path) != bracket + 3 - path)
		{
			ProblemAt(set->problems, source->place, "%s lies in another array than the values before it.", path);
			return;
		}
		APPEND(uniqueness.members, uniqueness.nmembers, pstrdup(bracket + 3));
	}
	if (UniquenessKnown(model, &uniqueness))
		return;
	table = TableOfScope(model, uniqueness.array_path);
	if (table >= 0 && UniqueColumns(model, table, &uniqueness, &unique))
		uniqueness.constraint = AddUnique(model, table, &unique);
	APPEND(model->uniqueness, model->nuniqueness, uniqueness);
}

/*
 * Add a key to each collection of bare references: each document once within
 * its parent.  Schemas leave these constraints out.
 */
static void
AddBareReferenceKeys(ResourceModel *model)
{
	for (int i = 0; i < model->ntables; i++)
	{
		UniqueModel unique = {0};
		TableModel *t = &model->tables[i];

		if (!t->bare_references)
			continue;
		for (int j = 0; j < t->nkeys - 1; j++)
			APPEND(unique.columns, unique.ncolumns, j);
		APPEND(unique.columns, unique.ncolumns, t->nkeys);
		AddUnique(model, i, &unique);
	}
}

/*
 * Name the foreign keys of references, so that a violated one can be traced
 * back to its place in the document.
 */
static void
NameForeignKeys(ResourceModel *model)
{
	for (int i = 0; i < model->ntables; i++)
	{
		TableModel *t = &model->tables[i];

		for (int j = 0; j < t->ncolumns; j++)
			if (t->columns[j].reference >= 0)
				t->columns[j].foreign_key = NamePhysical(psprintf("%s_%s_FK", t->title, t->columns[j].name));
	}
}

/* The value at one end of an equality; NULL, and reported, if there is none. */
static const SchemaNode *
EqualityEnd(ModelSet *set, ModelEntry *entry, const ApiEquality *equality,
			const char *path)
{
	const SchemaNode *leaf;

	if (JsonSchemaPathExists(entry->api->schema, path, &leaf) &&
		leaf->kind == SCHEMA_SCALAR)
		return leaf;
	ProblemAt(set->problems, equality->place, "%s is not a value of the document.", path);
	return NULL;
}

/* Bind an equality of two values, which must be of one type. */
static void
BindEquality(ModelSet *set, ModelEntry *entry, const ApiEquality *source)
{
	ResourceModel *model = entry->model;
	const SchemaNode *left = EqualityEnd(set, entry, source, source->source);
	const SchemaNode *right = EqualityEnd(set, entry, source, source->target);
	EqualityModel equality;

	if (left == NULL || right == NULL)
		return;
	if (strcmp(JsonSchemaTypeName(left), JsonSchemaTypeName(right)) != 0)
		ProblemAt(set->problems, source->place, "%s and %s are of different types and can never be equal.",
				  source->source, source->target);
	for (int i = 0; i < model->nequalities; i++)
		if (strcmp(model->equalities[i].source, source->source) == 0 &&
			strcmp(model->equalities[i].target, source->target) == 0)
			return;				/* extensions repeat the core's */
	equality.source = pstrdup(source->source);
	equality.target = pstrdup(source->target);
	APPEND(model->equalities, model->nequalities, equality);
}

/*
 * Bind what must be unique in arrays and which values must be equal, and name
 * the foreign keys.
 */
void
ModelKeysBind(ModelSet *set, ModelEntry *entry)
{
	ListCell   *cell;

	foreach(cell, entry->api->uniqueness)
		BindUniqueness(set, entry, lfirst(cell));
	AddBareReferenceKeys(entry->model);
	NameForeignKeys(entry->model);
	foreach(cell, entry->api->equalities)
		BindEquality(set, entry, lfirst(cell));
}
