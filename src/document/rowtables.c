/*
 * rowtables.c
 *		Describing the tables of a resource, once per session and table.
 *
 * Descriptions live as long as the model they are made from.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/rowtables.h"
#include "engine/coresql.h"
#include "engine/statement.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Returns true if a column of the root changes only when the identity does. */
bool
RowTableColumnIsIdentity(const TableModel *table, int column)
{
	const ColumnModel *c = &table->columns[column];

	if (table->kind != TABLE_ROOT)
		return false;
	return c->identity || c->role == COLUMN_URI || c->role == COLUMN_DISCRIMINATOR;
}

/* Describe a table of a resource, with or without the columns of the identity. */
static void
Describe(Resource *resource, const TableModel *table, bool identity, KeyedTable *described)
{
	const char **columns = MemoryContextAlloc(resource->context, sizeof(char *) * table->ncolumns);
	Oid		   *types = MemoryContextAlloc(resource->context, sizeof(Oid) * table->ncolumns);
	int			n = 0;

	for (int i = 0; i < table->ncolumns; i++)
	{
		if (!identity && RowTableColumnIsIdentity(table, i))
			continue;
		columns[n] = table->columns[i].name;
		types[n++] = ValueTypeOid(table->columns[i].value.type);
	}
	described->schema = table->schema;
	described->name = table->name;
	described->types = types;
	described->ncolumns = n;
	described->nkeys = table->nkeys;
	described->nrequired = table->nkeys;
	described->placed = table->kind == TABLE_ROOT;
	described->context = resource->context;
	described->columns = columns;
}

/* Returns a table with all columns of the model, in their order. */
KeyedTable *
RowTable(Resource *resource, int table)
{
	KeyedTable *described = &resource->tables[table];

	if (described->columns == NULL)
		Describe(resource, &resource->model->tables[table], true, described);
	return described;
}

/* Returns the root table without the columns of the identity. */
KeyedTable *
RowTableKeepingIdentity(Resource *resource)
{
	if (resource->kept_root.columns == NULL)
		Describe(resource, &resource->model->tables[0], false, &resource->kept_root);
	return &resource->kept_root;
}

/* Returns the root table with nothing but the ids. */
KeyedTable *
RowTableIds(Resource *resource)
{
	static const char *const columns[] = {"documentid"};
	static const Oid types[] = {INT8OID};
	KeyedTable *ids = &resource->root_ids;

	if (ids->columns != NULL)
		return ids;
	ids->schema = resource->model->tables[0].schema;
	ids->name = resource->model->tables[0].name;
	ids->types = types;
	ids->ncolumns = ids->nkeys = ids->nrequired = lengthof(columns);
	ids->context = resource->context;
	ids->columns = columns;
	return ids;
}

/* Returns the table of the members of the superclass. */
KeyedTable *
RowTableMember(Resource *resource)
{
	static const char *const columns[] = {"documentid", "discriminator"};
	static const Oid types[] = {INT8OID, TEXTOID};
	KeyedTable *member = &resource->member;

	if (member->columns != NULL)
		return member;
	member->schema = resource->model->member_schema;
	member->name = resource->model->member_table;
	member->types = types;
	member->ncolumns = lengthof(columns);
	member->nkeys = 1;
	member->context = resource->context;
	member->columns = columns;
	return member;
}

/* Append a DELETE on one table. */
static void
AppendClear(StringInfo sql, int n, const char *table)
{
	appendStringInfo(sql, "%s c%d AS (DELETE FROM %s WHERE false)", n > 0 ? "," : "WITH", n, table);
}

/*
 * Returns a statement that deletes from the tables that triggers on
 * dms.Document delete from.  It is never run, but checked before a document is
 * deleted, so that code of the owner which is not safe is refused.
 */
Statement *
RowTablesClear(Resource *resource)
{
	static const char *const core[] = {TABLES_CLEARED_WITH_DOCUMENTS};
	const ResourceModel *model = resource->model;
	StringInfoData sql;
	int			n = 0;

	if (resource->clear.sql != NULL)
		return &resource->clear;
	initStringInfo(&sql);
	for (int i = 0; i < model->ntables; i++)
		AppendClear(&sql, n++, quote_qualified_identifier(model->tables[i].schema, model->tables[i].name));
	if (model->member_table)
		AppendClear(&sql, n++, quote_qualified_identifier(model->member_schema, model->member_table));
	for (Size i = 0; i < lengthof(core); i++)
		AppendClear(&sql, n++, core[i]);
	appendStringInfoString(&sql, " SELECT");
	resource->clear.sql = MemoryContextStrdup(resource->context, sql.data);
	return &resource->clear;
}
