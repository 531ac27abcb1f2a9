/*
 * rowstatements.c
 *		Writing the SQL of a resource's tables, once a session and table.
 *
 * Identifiers are quoted, values are parameters, functions and operators are
 * qualified.  Texts live as long as the model they were made from.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/rowstatements.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define EQUALS " OPERATOR(pg_catalog.=) "

/* The root's identity columns change only when the identity does. */
bool
RowColumnIsIdentity(const TableModel *table, int column)
{
	const ColumnModel *c = &table->columns[column];

	if (table->kind != TABLE_ROOT)
		return false;
	return c->identity || c->role == COLUMN_URI || c->role == COLUMN_DISCRIMINATOR;
}

static char *
TableName(const TableModel *table)
{
	return quote_qualified_identifier(table->schema, table->name);
}

static const char *
ColumnName(const TableModel *table, int column)
{
	return quote_identifier(table->columns[column].name);
}

/* Keep a text and its parameter types as long as the model. */
static Statement *
KeepStatement(Resource *resource, Statement *statement, const char *sql,
			  const RowColumns *columns)
{
	int			nargs = 1 + (columns ? columns->ncolumns : 0);
	Oid		   *types = MemoryContextAlloc(resource->context, sizeof(Oid) * nargs);

	types[0] = INT8OID;
	for (int i = 1; i < nargs; i++)
	{
		ValueType	type = columns->table->columns[columns->columns[i - 1]].value.type;

		types[i] = columns->single ? ValueTypeOid(type) : ValueArrayTypeOid(type);
	}
	statement->nargs = nargs;
	statement->argtypes = types;
	statement->sql = MemoryContextStrdup(resource->context, sql);
	return statement;
}

/* "ROWS FROM (unnest($2), ...) AS u (a, b)" over the columns. */
static void
AppendUnnest(StringInfo sql, const RowColumns *columns)
{
	appendStringInfoString(sql, "ROWS FROM (");
	for (int i = 0; i < columns->ncolumns; i++)
		appendStringInfo(sql, "%spg_catalog.unnest($%d)", i > 0 ? ", " : "", i + 2);
	appendStringInfoString(sql, ") AS u (");
	for (int i = 0; i < columns->ncolumns; i++)
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "",
						 ColumnName(columns->table, columns->columns[i]));
	appendStringInfoChar(sql, ')');
}

/* "t.key = $1 AND t.ordinal = u.ordinal ..." */
static void
AppendKeyMatch(StringInfo sql, const TableModel *table)
{
	appendStringInfo(sql, "t.%s" EQUALS "$1", ColumnName(table, 0));
	for (int i = 1; i < table->nkeys; i++)
		appendStringInfo(sql, " AND t.%s" EQUALS "u.%s", ColumnName(table, i), ColumnName(table, i));
}

/* What to read of a table by key, without a statement. */
const KeyScanTable *
RowStatementScan(Resource *resource, int table)
{
	KeyScanTable *scan = &resource->tables[table].scan;
	const TableModel *t = &resource->model->tables[table];
	const char **columns;
	Oid		   *types;

	if (scan->columns != NULL)
		return scan;
	columns = MemoryContextAlloc(resource->context, sizeof(char *) * t->ncolumns);
	types = MemoryContextAlloc(resource->context, sizeof(Oid) * t->ncolumns);
	for (int i = 0; i < t->ncolumns; i++)
	{
		columns[i] = t->columns[i].name;
		types[i] = ValueTypeOid(t->columns[i].value.type);
	}
	scan->types = types;
	scan->schema = t->schema;
	scan->table = t->name;
	scan->ncolumns = t->ncolumns;
	scan->nrequired = t->nkeys;
	scan->columns = columns;
	return scan;
}

/* The rows of some documents, in order of the key. */
Statement *
RowStatementRead(Resource *resource, int table)
{
	static const Oid types[] = {INT8ARRAYOID};
	Statement  *statement = &resource->tables[table].read;
	const TableModel *t = &resource->model->tables[table];
	StringInfoData sql;

	if (statement->sql != NULL)
		return statement;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < t->ncolumns; i++)
		appendStringInfo(&sql, "%st.%s", i > 0 ? ", " : "", ColumnName(t, i));
	appendStringInfo(&sql, " FROM %s AS t WHERE t.%s" EQUALS "ANY ($1)", TableName(t), ColumnName(t, 0));
	for (int i = 0; i < t->nkeys; i++)
		appendStringInfo(&sql, "%st.%s", i > 0 ? ", " : " ORDER BY ", ColumnName(t, i));
	statement->nargs = 1;
	statement->argtypes = types;
	statement->ordered = true;
	statement->sql = MemoryContextStrdup(resource->context, sql.data);
	return statement;
}

/* Columns behind the document: all, or the key and what may change. */
static void
ChooseColumns(const TableModel *table, bool keys, bool values, bool identity,
			  RowColumns *columns)
{
	columns->table = table;
	columns->single = table->nkeys == 1;
	columns->columns = palloc(sizeof(int) * table->ncolumns);
	columns->ncolumns = 0;
	for (int i = 1; i < table->ncolumns; i++)
	{
		bool		key = i < table->nkeys;

		if (key ? keys : values && (identity || !RowColumnIsIdentity(table, i)))
			columns->columns[columns->ncolumns++] = i;
	}
}

/*
 * New rows.  Arrays are unnested in the list of columns: in FROM, each would be
 * put into a tuple store first.
 */
Statement *
RowStatementInsert(Resource *resource, int table, RowColumns *columns)
{
	Statement  *statement = &resource->tables[table].insert;
	const TableModel *t = &resource->model->tables[table];
	StringInfoData sql;

	ChooseColumns(t, true, true, true, columns);
	if (statement->sql != NULL)
		return statement;
	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (", TableName(t));
	for (int i = 0; i < t->ncolumns; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", ColumnName(t, i));
	if (columns->single)
	{
		appendStringInfoString(&sql, ") VALUES ($1");
		for (int i = 0; i < columns->ncolumns; i++)
			appendStringInfo(&sql, ", $%d", i + 2);
		appendStringInfoChar(&sql, ')');
	}
	else
	{
		appendStringInfoString(&sql, ") SELECT $1");
		for (int i = 0; i < columns->ncolumns; i++)
			appendStringInfo(&sql, ", pg_catalog.unnest($%d)", i + 2);
	}
	return KeepStatement(resource, statement, sql.data, columns);
}

/* New values for rows that stay. */
Statement *
RowStatementUpdate(Resource *resource, int table, bool identity,
				   RowColumns *columns)
{
	const TableModel *t = &resource->model->tables[table];
	bool		with_identity = identity && t->kind == TABLE_ROOT;
	Statement  *statement = with_identity ? &resource->tables[table].update_identity :
	&resource->tables[table].update;
	StringInfoData sql;
	bool		first = true;

	ChooseColumns(t, true, true, with_identity, columns);
	if (statement->sql != NULL)
		return statement;
	initStringInfo(&sql);
	appendStringInfo(&sql, "UPDATE %s AS t SET ", TableName(t));
	for (int i = 0; i < columns->ncolumns; i++)
	{
		const char *name = ColumnName(t, columns->columns[i]);

		if (columns->columns[i] < t->nkeys)
			continue;
		appendStringInfo(&sql, "%s%s = ", first ? "" : ", ", name);
		first = false;
		if (columns->single)
			appendStringInfo(&sql, "$%d", i + 2);
		else
			appendStringInfo(&sql, "u.%s", name);
	}
	if (!columns->single)
	{
		appendStringInfoString(&sql, " FROM ");
		AppendUnnest(&sql, columns);
	}
	appendStringInfoString(&sql, " WHERE ");
	AppendKeyMatch(&sql, t);
	return KeepStatement(resource, statement, sql.data, columns);
}

/* Rows that go. */
Statement *
RowStatementDelete(Resource *resource, int table, RowColumns *columns)
{
	Statement  *statement = &resource->tables[table].delete;
	const TableModel *t = &resource->model->tables[table];
	StringInfoData sql;

	ChooseColumns(t, true, false, false, columns);
	if (statement->sql != NULL)
		return statement;
	initStringInfo(&sql);
	appendStringInfo(&sql, "DELETE FROM %s AS t", TableName(t));
	if (columns->ncolumns > 0)
	{
		appendStringInfoString(&sql, " USING ");
		AppendUnnest(&sql, columns);
	}
	appendStringInfoString(&sql, " WHERE ");
	AppendKeyMatch(&sql, t);
	return KeepStatement(resource, statement, sql.data, columns);
}

/* The row of a new document in the member table of its superclass. */
Statement *
RowStatementMember(Resource *resource)
{
	const ResourceModel *model = resource->model;
	char	   *discriminator;

	if (resource->insert_member.sql != NULL)
		return &resource->insert_member;
	discriminator = psprintf("%s:%s", model->project, model->resource);
	return KeepStatement(resource, &resource->insert_member,
						 psprintf("INSERT INTO %s (documentid, discriminator) VALUES ($1, %s)",
								  quote_qualified_identifier(model->member_schema, model->member_table),
								  quote_literal_cstr(discriminator)), NULL);
}

/* Append a DELETE on one table. */
static void
AppendClear(StringInfo sql, int n, const char *table)
{
	appendStringInfo(sql, "%s c%d AS (DELETE FROM %s WHERE false)", n > 0 ? "," : "WITH", n, table);
}

/*
 * A statement that deletes from the tables that triggers on dms.Document delete
 * from.  It is checked before a document is deleted, and never run.
 */
Statement *
RowStatementClear(Resource *resource)
{
	const ResourceModel *model = resource->model;
	StringInfoData sql;
	int			n = 0;

	if (resource->clear.sql != NULL)
		return &resource->clear;
	initStringInfo(&sql);
	for (int i = 0; i < model->ntables; i++)
		AppendClear(&sql, n++, TableName(&model->tables[i]));
	if (model->member_table)
		AppendClear(&sql, n++, quote_qualified_identifier(model->member_schema, model->member_table));
	AppendClear(&sql, n++, "dms.ReferenceEdge");
	AppendClear(&sql, n++, "dms.ReferentialIdentity");
	AppendClear(&sql, n++, "dms.IdentityLock");
	appendStringInfoString(&sql, " SELECT");
	return KeepStatement(resource, &resource->clear, sql.data, NULL);
}
