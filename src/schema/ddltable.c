/*
 * ddltable.c
 *		Describing what a table of a model is like in the database.
 *
 * Every object has a name that follows from the model, so that a violated
 * constraint can be traced back to a resource and a place in its document.  A
 * first deploy creates what is described here; a later one compares it with what
 * is there.
 */
#include "postgres.h"

#include "base/grow.h"
#include "lib/stringinfo.h"
#include "schema/ddltable.h"
#include "schema/naming.h"
#include "utils/builtins.h"

/* The width up to which a B-tree entry certainly fits into a page. */
#define MAX_BTREE_LENGTH 255

/* A column's type as SQL. */
const char *
DdlTableColumnType(const ColumnModel *column)
{
	const ValueModel *value = &column->value;

	switch ((ValueType) value->type)
	{
		case VALUE_TEXT:
			return value->max_length > 0 ?
				psprintf("varchar(%d)", value->max_length) : "text";
		case VALUE_INT4:
			return "integer";
		case VALUE_INT8:
			return "bigint";
		case VALUE_NUMERIC:
			return value->precision > 0 && value->scale >= 0 ?
				psprintf("numeric(%d,%d)", value->precision, value->scale) : "numeric";
		case VALUE_BOOL:
			return "boolean";
		case VALUE_DATE:
			return "date";
		case VALUE_TIME:
			return "time(0) without time zone";
		case VALUE_TIMESTAMP:
			return "timestamp(0) with time zone";
	}
	return "text";
}

/* What the comment on a column says: which place of the document it holds. */
static const char *
ColumnComment(const TableModel *table, int column)
{
	const ColumnModel *c = &table->columns[column];

	if (c->path != NULL)
		return c->path;
	if (c->role == COLUMN_DOCUMENT)
		return "the document";
	return column == table->nkeys - 1 ? "position in the array, from 0" : "position of the element around it";
}

/* Add a key over columns of the table; returns it. */
static DdlKey *
AddKey(DdlTable *table, DdlKeyKind kind, const char *name, const int *columns, int ncolumns)
{
	DdlKey	   *key;

	GROW(table->keys, table->nkeys);
	key = &table->keys[table->nkeys++];
	key->kind = kind;
	key->name = name;
	key->columns = palloc(sizeof(int) * Max(ncolumns, 1));
	key->ncolumns = ncolumns;
	for (int i = 0; i < ncolumns; i++)
		key->columns[i] = columns ? columns[i] : i;
	return key;
}

/*
 * Add a unique key.  A missing value is a value here, so NULLs are not
 * distinct.
 */
static void
AddUnique(DdlTable *table, const UniqueModel *unique)
{
	DdlKey	   *key = AddKey(table, KEY_UNIQUE, unique->name, unique->columns, unique->ncolumns);

	for (int i = 0; i < unique->ncolumns; i++)
		key->nulls_not_distinct |= !table->columns[unique->columns[i]].required;
}

/* "a, b, c": the first columns of a table. */
static char *
KeyColumns(const TableModel *table, int n)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < n; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", quote_identifier(table->columns[i].name));
	return list.data;
}

/*
 * Add the foreign key of a collection or extension row to its parent row,
 * with which it is deleted.
 */
static void
AddParentKey(DdlTable *table, const ResourceModel *model, const TableModel *child)
{
	const TableModel *parent = &model->tables[child->parent];
	DdlKey	   *key = AddKey(table, KEY_FOREIGN, NamePhysical(psprintf("%s_Parent_FK", child->title)),
							 NULL, parent->nkeys);

	key->target_schema = parent->schema;
	key->target_table = parent->name;
	key->target_columns = KeyColumns(parent, parent->nkeys);
	key->cascades = true;
}

/* Add the foreign key of a reference. */
static void
AddReferenceKey(DdlTable *table, const ModelSet *set, const ResourceModel *model, int column,
				const ColumnModel *c)
{
	const ReferenceModel *r = &model->references[c->reference];
	const ResourceModel *target = r->descriptor ? NULL : ModelSetFind(set, r->project, r->resource)->model;
	DdlKey	   *key = AddKey(table, KEY_FOREIGN, c->foreign_key, &column, 1);

	key->target_schema = r->descriptor ? "dms" : r->abstract ? target->member_schema : target->tables[0].schema;
	key->target_table = r->descriptor ? "descriptor" : r->abstract ? target->member_table : target->tables[0].name;
	key->target_columns = "documentid";
}

/* Returns true if the primary key or a unique key begins with this column. */
static bool
KeyLeadsWith(const TableModel *table, int column)
{
	if (column == 0)
		return true;
	for (int i = 0; i < table->nuniques; i++)
		if (table->uniques[i].columns[0] == column)
			return true;
	return false;
}

/* Returns true if a query searches for documents that lack this column of the root table. */
static bool
IsSearchedForNull(const ResourceModel *model, int column)
{
	for (int i = 0; i < model->nqueries; i++)
	{
		const QueryModel *query = &model->queries[i];

		if (query->tied && !query->equals[0].required && query->equals[0].column == column)
			return true;
	}
	return false;
}

/* Returns true if a query field asks for this column of the root table. */
static bool
IsQueried(const ResourceModel *model, int column)
{
	for (int i = 0; i < model->nqueries; i++)
	{
		const QueryModel *query = &model->queries[i];

		for (int j = 0; j < query->npaths; j++)
			if (query->paths[j].column == column)
				return true;
		for (int j = 0; j < query->nequals; j++)
			if (query->equals[j].column == column)
				return true;
	}
	return false;
}

/*
 * Returns true if a column has an index of its own: for a foreign key, which
 * deletes of the target search, and for query fields, except booleans, where an
 * index would not help.
 */
static bool
IsIndexed(const ResourceModel *model, int table, int column)
{
	const TableModel *t = &model->tables[table];

	if (KeyLeadsWith(t, column))
		return false;
	return t->columns[column].role != COLUMN_SCALAR ||
		(table == 0 && IsQueried(model, column) && t->columns[column].value.type != VALUE_BOOL);
}

/*
 * Returns the indexes of a table that belong to no key.  Text that may not fit
 * into a B-tree entry gets a hash index.  A B-tree has no entries for rows without
 * a value, unless queries search for them; hash indexes never have.
 */
DdlIndex *
DdlTableIndexes(const ResourceModel *model, int table, int *n)
{
	const TableModel *t = &model->tables[table];
	DdlIndex   *indexes = NULL;

	*n = 0;
	for (int i = t->nkeys; i < t->ncolumns; i++)
	{
		const ColumnModel *c = &t->columns[i];
		DdlIndex	index = {.column = i};

		if (!IsIndexed(model, table, i))
			continue;
		index.name = NamePhysical(psprintf("%s_%s_IX", t->title, c->name));
		index.hash = c->value.type == VALUE_TEXT &&
			(c->value.max_length <= 0 || c->value.max_length > MAX_BTREE_LENGTH);
		index.partial = !index.hash && !c->required && !(table == 0 && IsSearchedForNull(model, i));
		APPEND(indexes, *n, index);
	}
	return indexes;
}

/* Add the columns of a table. */
static void
AddColumns(DdlTable *table, const TableModel *source)
{
	table->ncolumns = source->ncolumns;
	table->columns = palloc0(sizeof(DdlColumn) * Max(source->ncolumns, 1));
	for (int i = 0; i < source->ncolumns; i++)
	{
		table->columns[i].name = source->columns[i].name;
		table->columns[i].type = DdlTableColumnType(&source->columns[i]);
		table->columns[i].required = source->columns[i].required;
		table->columns[i].comment = ColumnComment(source, i);
	}
}

/*
 * Describe a table of a resource.  Foreign keys of references are left out if
 * problems were found: their targets may not be there.
 */
DdlTable *
DdlTableOf(const ModelSet *set, const ModelEntry *entry, int table)
{
	const ResourceModel *model = entry->model;
	const TableModel *source = &model->tables[table];
	DdlTable   *made = palloc0(sizeof(DdlTable));

	made->entry = entry;
	made->number = table;
	made->schema = source->schema;
	made->name = source->name;
	made->title = source->title;
	made->comment = psprintf("%s: %s", entry->place, source->scope_path);
	AddColumns(made, source);
	(void) AddKey(made, KEY_PRIMARY, NamePhysical(psprintf("%s_PK", source->title)), NULL, source->nkeys);
	for (int i = 0; i < source->nuniques; i++)
		AddUnique(made, &source->uniques[i]);
	if (source->parent >= 0)
		AddParentKey(made, model, source);
	for (int i = 0; i < source->ncolumns && set->problems->count == 0; i++)
		if (source->columns[i].reference >= 0)
			AddReferenceKey(made, set, model, i, &source->columns[i]);
	made->indexes = DdlTableIndexes(model, table, &made->nindexes);
	return made;
}

/*
 * Describe the table that references to an abstract resource point at.  A foreign
 * key cannot point at a view, and one to dms.Document would accept documents of
 * any type.
 */
DdlTable *
DdlTableOfMembers(const ModelEntry *entry)
{
	DdlTable   *made = palloc0(sizeof(DdlTable));

	made->entry = entry;
	made->number = -1;
	made->schema = entry->model->member_schema;
	made->name = entry->model->member_table;
	made->title = psprintf("%s_Member", entry->model->resource);
	made->comment = psprintf("%s: the documents of its subclasses", entry->place);
	made->ncolumns = 2;
	made->columns = palloc0(sizeof(DdlColumn) * made->ncolumns);
	made->columns[0].name = "documentid";
	made->columns[0].type = "bigint";
	made->columns[0].required = true;
	made->columns[0].comment = "the document";
	made->columns[1].name = "discriminator";
	made->columns[1].type = psprintf("varchar(%d)", MODEL_MAX_DISCRIMINATOR);
	made->columns[1].required = true;
	made->columns[1].comment = "its resource: {ProjectName}:{ResourceName}";
	(void) AddKey(made, KEY_PRIMARY, NamePhysical(psprintf("%s_PK", made->title)), NULL, 1);
	return made;
}

/* The qualified name of a table, quoted as necessary. */
char *
DdlTableName(const DdlTable *table)
{
	return quote_qualified_identifier(table->schema, table->name);
}

/* A column as in CREATE TABLE. */
char *
DdlTableColumnSql(const DdlColumn *column)
{
	return psprintf("%s %s%s", quote_identifier(column->name), column->type, column->required ? " NOT NULL" : "");
}

/*
 * A key as in CREATE TABLE.  Unique keys are deferrable, because elements or
 * documents may swap values within one statement.
 */
char *
DdlTableKeySql(const DdlTable *table, const DdlKey *key)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CONSTRAINT %s %s (", quote_identifier(key->name),
					 key->kind == KEY_PRIMARY ? "PRIMARY KEY" : key->kind == KEY_FOREIGN ? "FOREIGN KEY" :
					 key->nulls_not_distinct ? "UNIQUE NULLS NOT DISTINCT" : "UNIQUE");
	for (int i = 0; i < key->ncolumns; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", quote_identifier(table->columns[key->columns[i]].name));
	appendStringInfoString(&sql, ")");
	if (key->kind == KEY_FOREIGN)
		appendStringInfo(&sql, " REFERENCES %s (%s)%s",
						 quote_qualified_identifier(key->target_schema, key->target_table),
						 key->target_columns, key->cascades ? " ON DELETE CASCADE" : "");
	if (key->kind == KEY_UNIQUE)
		appendStringInfoString(&sql, " DEFERRABLE INITIALLY IMMEDIATE");
	return sql.data;
}

/* The statement that creates an index under a name; table is as SQL. */
char *
DdlTableIndexSql(const char *table, const char *column, const DdlIndex *index, const char *name, bool concurrently)
{
	const char *quoted = quote_identifier(column);

	return psprintf("CREATE INDEX %s%s ON %s%s (%s)%s", concurrently ? "CONCURRENTLY " : "",
					quote_identifier(name), table, index->hash ? " USING hash" : "", quoted,
					index->partial ? psprintf(" WHERE %s IS NOT NULL", quoted) : "");
}
