/*
 * keyedtable.c
 *		Making and running statements from the description of a keyed table.
 *
 * Most accesses to tables are by key, and differ only in the table, its columns
 * and the verb.  So their SQL is generated, instead of being written once per
 * table.  keyscan.c and keywrite.c do the same work without a plan; where they
 * cannot, they use these statements.
 *
 * Identifiers are quoted, values are parameters, and functions and operators are
 * qualified, because the search_path may be the caller's.  A text is made at first
 * use and kept with its plan.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/keyedtable.h"
#include "engine/statement.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#define EQUALS " OPERATOR(pg_catalog.=) "

/* Returns the number of leading columns that a search compares. */
int
KeyedTableSearchColumns(const KeyedTable *table)
{
	return table->nsearch > 0 ? table->nsearch : 1;
}

/* Returns the number of leading columns that are never NULL. */
int
KeyedTableRequiredColumns(const KeyedTable *table)
{
	return table->nrequired > 0 ? table->nrequired : table->ncolumns;
}

/* Returns the number of columns that an update sets, which are those after the key. */
int
KeyedTableChangedColumns(const KeyedTable *table)
{
	return table->ncolumns - table->nkeys - table->nread;
}

/* Append the qualified name of the table. */
static void
AppendTable(StringInfo sql, const KeyedTable *table)
{
	appendStringInfoString(sql, quote_qualified_identifier(table->schema, table->name));
}

/* Append the names of columns, each after a prefix. */
static void
AppendColumns(StringInfo sql, const KeyedTable *table, int ncolumns, const char *prefix)
{
	for (int i = 0; i < ncolumns; i++)
		appendStringInfo(sql, "%s%s%s", i > 0 ? ", " : "", prefix, quote_identifier(table->columns[i]));
}

/* Append "unnest($1), unnest($2), ..." */
static void
AppendUnnest(StringInfo sql, int nparameters)
{
	for (int i = 1; i <= nparameters; i++)
		appendStringInfo(sql, "%spg_catalog.unnest($%d)", i > 1 ? ", " : "", i);
}

/*
 * Returns a cast for values that are compared with a column.  Names are stored
 * as varchar, but described as text: the cast keeps the operator of the index,
 * and compares with a char(n) without its padding.
 */
static const char *
ParameterCast(const KeyedTable *table, int column)
{
	return table->types[column] == TEXTOID ? "::pg_catalog.varchar" : "";
}

/* Append a comparison of a column with a parameter. */
static void
AppendParameter(StringInfo sql, const KeyedTable *table, int column)
{
	appendStringInfo(sql, "%st.%s" EQUALS "$%d%s", column > 0 ? " AND " : "",
					 quote_identifier(table->columns[column]), column + 1,
					 ParameterCast(table, column));
}

/* Append " WHERE t.a = $1 AND t.b = $2 ..." over leading columns. */
static void
AppendWhere(StringInfo sql, const KeyedTable *table, int ncolumns)
{
	appendStringInfoString(sql, " WHERE ");
	for (int i = 0; i < ncolumns; i++)
		AppendParameter(sql, table, i);
}

/* Append " WHERE t.a = u.a AND t.b = u.b ..." over the key. */
static void
AppendMatch(StringInfo sql, const KeyedTable *table)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		const char *name = quote_identifier(table->columns[i]);

		appendStringInfo(sql, "%st.%s" EQUALS "u.%s%s", i > 0 ? " AND " : " WHERE ", name, name,
						 ParameterCast(table, i));
	}
}

/* Append "ROWS FROM (unnest($1), ...) AS u (a, ...)" over leading columns. */
static void
AppendRowsFrom(StringInfo sql, const KeyedTable *table, int ncolumns)
{
	appendStringInfoString(sql, "ROWS FROM (");
	AppendUnnest(sql, ncolumns);
	appendStringInfoString(sql, ") AS u (");
	AppendColumns(sql, table, ncolumns, "");
	appendStringInfoChar(sql, ')');
}

/* Append a SELECT of the rows that a search finds. */
static void
AppendRead(StringInfo sql, const KeyedTable *table, const KeyedForm *form)
{
	appendStringInfoString(sql, "SELECT ");
	AppendColumns(sql, table, table->ncolumns, "t.");
	appendStringInfoString(sql, " FROM ");
	AppendTable(sql, table);
	appendStringInfoString(sql, " AS t");
	if (form->many)
		appendStringInfo(sql, " WHERE t.%s" EQUALS "ANY ($1)", quote_identifier(table->columns[0]));
	else
		AppendWhere(sql, table, KeyedTableSearchColumns(table));
	if (table->any_order)
		return;
	appendStringInfoString(sql, " ORDER BY ");
	AppendColumns(sql, table, table->nkeys, "t.");
}

/* Returns the locking clause for a strength. */
static const char *
LockClause(LockClauseStrength strength)
{
	switch (strength)
	{
		case LCS_FORKEYSHARE:
			return " FOR KEY SHARE";
		case LCS_FORSHARE:
			return " FOR SHARE";
		case LCS_FORNOKEYUPDATE:
			return " FOR NO KEY UPDATE";
		default:
			Assert(strength == LCS_FORUPDATE);
			return " FOR UPDATE";
	}
}

/* Append a SELECT that locks rows by id; many rows are locked in the given order. */
static void
AppendLock(StringInfo sql, const KeyedTable *table, const KeyedForm *form)
{
	appendStringInfoString(sql, "SELECT ");
	AppendColumns(sql, table, table->ncolumns, "t.");
	appendStringInfoString(sql, " FROM ");
	if (form->many)
		appendStringInfoString(sql, "pg_catalog.unnest($1) WITH ORDINALITY AS u (id, position) JOIN ");
	AppendTable(sql, table);
	appendStringInfoString(sql, " AS t");
	if (form->many)
		appendStringInfo(sql, " ON t.%s" EQUALS "u.id ORDER BY u.position",
						 quote_identifier(table->columns[0]));
	else
		AppendWhere(sql, table, 1);
	appendStringInfo(sql, "%s OF t%s", LockClause(form->strength),
					 form->wait == LockWaitError ? " NOWAIT" :
					 form->wait == LockWaitSkip ? " SKIP LOCKED" : "");
}

/*
 * Append an INSERT.  Arrays are unnested in the SELECT list, because in FROM each
 * of them would be put into a tuplestore first.
 */
static void
AppendInsert(StringInfo sql, const KeyedTable *table, const KeyedForm *form)
{
	appendStringInfoString(sql, "INSERT INTO ");
	AppendTable(sql, table);
	appendStringInfoString(sql, " (");
	AppendColumns(sql, table, table->ncolumns, "");
	if (form->many)
	{
		appendStringInfoString(sql, ") SELECT ");
		AppendUnnest(sql, table->ncolumns);
		return;
	}
	appendStringInfoString(sql, ") VALUES (");
	for (int i = 1; i <= table->ncolumns; i++)
		appendStringInfo(sql, "%s$%d", i > 1 ? ", " : "", i);
	appendStringInfoChar(sql, ')');
}

/* Append an UPDATE of all columns except the key, and those that are only read. */
static void
AppendUpdate(StringInfo sql, const KeyedTable *table, const KeyedForm *form)
{
	appendStringInfoString(sql, "UPDATE ");
	AppendTable(sql, table);
	appendStringInfoString(sql, " AS t SET ");
	for (int i = table->nkeys; i < table->nkeys + KeyedTableChangedColumns(table); i++)
	{
		const char *name = quote_identifier(table->columns[i]);

		appendStringInfo(sql, "%s%s = ", i > table->nkeys ? ", " : "", name);
		if (form->many)
			appendStringInfo(sql, "u.%s", name);
		else
			appendStringInfo(sql, "$%d", i + 1);
	}
	if (!form->many)
	{
		AppendWhere(sql, table, table->nkeys);
		return;
	}
	appendStringInfoString(sql, " FROM ");
	AppendRowsFrom(sql, table, table->ncolumns);
	AppendMatch(sql, table);
}

/* Append a DELETE by key. */
static void
AppendDelete(StringInfo sql, const KeyedTable *table, const KeyedForm *form)
{
	appendStringInfoString(sql, "DELETE FROM ");
	AppendTable(sql, table);
	appendStringInfoString(sql, " AS t");
	if (!form->many)
	{
		AppendWhere(sql, table, table->nkeys);
		return;
	}
	appendStringInfoString(sql, " USING ");
	AppendRowsFrom(sql, table, table->nkeys);
	AppendMatch(sql, table);
}

/* Append the text of a statement; returns the number of its parameters. */
static int
AppendStatement(StringInfo sql, const KeyedTable *table, const KeyedForm *form)
{
	switch (form->verb)
	{
		case KEYED_READ:
			AppendRead(sql, table, form);
			return form->many ? 1 : KeyedTableSearchColumns(table);
		case KEYED_LOCK:
			AppendLock(sql, table, form);
			return 1;
		case KEYED_INSERT:
			AppendInsert(sql, table, form);
			return table->ncolumns;
		case KEYED_UPDATE:
			AppendUpdate(sql, table, form);
			return table->ncolumns;
		case KEYED_DELETE:
			AppendDelete(sql, table, form);
			return table->nkeys;
	}
	return 0;
}

/* Make the statement of a form. */
static KeyedStatement *
MakeStatement(const KeyedTable *table, const KeyedForm *form)
{
	MemoryContext context = table->context != NULL ? table->context : TopMemoryContext;
	KeyedStatement *made = MemoryContextAllocZero(context, sizeof(KeyedStatement));
	StringInfoData sql;
	Oid		   *types;

	initStringInfo(&sql);
	made->form = *form;
	made->statement.nargs = AppendStatement(&sql, table, form);
	types = MemoryContextAlloc(context, sizeof(Oid) * made->statement.nargs);
	for (int i = 0; i < made->statement.nargs; i++)
		types[i] = form->many ? get_array_type(table->types[i]) : table->types[i];
	made->statement.argtypes = types;
	made->statement.ordered = form->verb == KEYED_READ && !table->any_order;
	made->statement.sql = MemoryContextStrdup(context, sql.data);
	pfree(sql.data);
	return made;
}

/* Returns true if two forms are the same. */
static bool
IsSameForm(const KeyedForm *a, const KeyedForm *b)
{
	return a->verb == b->verb && a->many == b->many && a->strength == b->strength && a->wait == b->wait;
}

/* Returns the statement of a form, making it if it does not exist yet. */
Statement *
KeyedTableStatement(KeyedTable *table, KeyedForm form)
{
	KeyedStatement *made;

	for (KeyedStatement *kept = table->statements; kept != NULL; kept = kept->next)
		if (IsSameForm(&kept->form, &form))
			return &kept->statement;
	made = MakeStatement(table, &form);
	made->next = table->statements;
	table->statements = made;
	return &made->statement;
}

/* Release the plans of all statements. */
void
KeyedTableForget(KeyedTable *table)
{
	for (KeyedStatement *kept = table->statements; kept != NULL; kept = kept->next)
		StatementForget(&kept->statement);
}

/* Run a statement that takes the values of one row. */
static uint64
RunOnRow(Statement *statement, const Row *row)
{
	char	   *nulls = palloc(statement->nargs);

	for (int i = 0; i < statement->nargs; i++)
		nulls[i] = row->nulls != NULL && row->nulls[i] ? 'n' : ' ';
	return StatementRun(statement, row->values, nulls, false, 0);
}

/* Returns the values of a column as an array. */
static Datum
ColumnArray(const RowSet *rows, int column, Oid type)
{
	Datum	   *values = palloc_extended(sizeof(Datum) * rows->nrows, MCXT_ALLOC_HUGE);
	bool	   *nulls = palloc_extended(sizeof(bool) * rows->nrows, MCXT_ALLOC_HUGE);

	for (int i = 0; i < rows->nrows; i++)
	{
		values[i] = rows->rows[i].values[column];
		nulls[i] = rows->rows[i].nulls != NULL && rows->rows[i].nulls[column];
	}
	return DatumArray(rows->nrows, values, nulls, type);
}

/*
 * Insert, update or delete rows by a statement.  The values of a row are in the
 * order of the columns.  Returns the number of rows processed.
 */
uint64
KeyedTableRun(KeyedTable *table, KeyedVerb verb, const RowSet *rows)
{
	KeyedForm	form = {.verb = verb,.many = rows->nrows > 1};
	Statement  *statement;
	Datum	   *values;

	if (rows->nrows == 0)
		return 0;
	statement = KeyedTableStatement(table, form);
	if (!form.many)
		return RunOnRow(statement, &rows->rows[0]);
	values = palloc(sizeof(Datum) * statement->nargs);
	for (int i = 0; i < statement->nargs; i++)
		values[i] = ColumnArray(rows, i, table->types[i]);
	return StatementRun(statement, values, NULL, false, 0);
}

/* Deform the rows of the last result, which must have the columns of the table. */
static void
TakeRows(const KeyedTable *table, StoredRows *rows)
{
	StoredRowsTake(rows, table->types, KeyedTableRequiredColumns(table));
}

/*
 * Lock the rows with these ids by a statement, in the given order.  Rows that do
 * not exist any more are not returned.  The rows are valid as long as the SPI
 * result.
 */
void
KeyedTableLock(KeyedTable *table, const int64 *ids, int n, LockClauseStrength strength,
			   LockWaitPolicy wait, StoredRows *rows)
{
	KeyedForm	form = {.verb = KEYED_LOCK,.many = true,.strength = strength,.wait = wait};
	Datum		values[1] = {DatumInt8Array(n, ids)};

	StatementRun(KeyedTableStatement(table, form), values, NULL, false, 0);
	TakeRows(table, rows);
}

/*
 * Lock the row with this id by a statement; returns false if it does not exist any
 * more.  The row is returned unless rows is NULL.
 */
bool
KeyedTableLockOne(KeyedTable *table, int64 id, LockClauseStrength strength,
				  LockWaitPolicy wait, StoredRows *rows)
{
	KeyedForm	form = {.verb = KEYED_LOCK,.strength = strength,.wait = wait};
	Datum		values[1] = {Int64GetDatum(id)};

	StatementRun(KeyedTableStatement(table, form), values, NULL, false, 1);
	if (rows != NULL)
		TakeRows(table, rows);
	return SPI_processed > 0;
}
