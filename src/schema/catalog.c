/*
 * catalog.c
 *		Reading what the tables of some schemas are like in the database.
 *
 * A change of the schema compares what the models describe with what is there,
 * because owners may have run a part of the change by hand.  Objects are linked by
 * pointers, not by names.  So whoever plans a change can give an object a new name
 * here, too, and goes on with the state that the database will have then.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "schema/catalog.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

static const char *const tables_sql =
"SELECT c.oid::bigint, c.relowner::bigint, n.nspname, c.relname, c.relkind::text, d.description"
" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
" LEFT JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0"
" WHERE n.nspname = ANY ($1) AND c.relkind NOT IN ('i', 'I', 't') ORDER BY c.oid";

static const char *const columns_sql =
"SELECT a.attrelid::bigint, a.attnum::integer, a.attname,"
" replace(format_type(a.atttypid, a.atttypmod), 'character varying', 'varchar'), a.attnotnull, d.description"
" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
" JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
" LEFT JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum"
" WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'v') ORDER BY a.attrelid, a.attnum";

static const char *const keys_sql =
"SELECT k.conrelid::bigint, k.conname, k.contype::text, array_to_string(k.conkey, ' '), k.confrelid::bigint,"
" k.confdeltype = 'c', NOT k.condeferred AND k.confupdtype IN (' ', 'a') AND k.confdeltype IN (' ', 'a', 'c')"
" AND k.confmatchtype IN (' ', 's'), k.condeferrable, COALESCE(i.indnullsnotdistinct, false), k.convalidated"
" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
" JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f')"
" LEFT JOIN pg_index AS i ON i.indexrelid = k.conindid AND k.contype IN ('p', 'u')"
" WHERE n.nspname = ANY ($1) AND c.relkind = 'r' ORDER BY k.conrelid, k.conname";

static const char *const indexes_sql =
"SELECT i.indrelid::bigint, x.relname, CASE WHEN i.indnatts = 1 AND NOT i.indisunique AND i.indexprs IS NULL"
" AND i.indoption[0] = 0 AND m.amname IN ('btree', 'hash')"
" AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname))"
" THEN i.indkey[0]::integer ELSE 0 END, m.amname = 'hash', i.indpred IS NOT NULL, i.indisvalid AND i.indisready"
" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
" JOIN pg_index AS i ON i.indrelid = c.oid JOIN pg_class AS x ON x.oid = i.indexrelid"
" JOIN pg_am AS m ON m.oid = x.relam"
" LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
" WHERE n.nspname = ANY ($1) AND c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_constraint AS k"
" WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')) ORDER BY i.indrelid, x.relname";

static const char *const uses_sql =
"SELECT DISTINCT r.ev_class::bigint, d.refobjid::bigint, d.refobjsubid"
" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_rewrite AS r ON r.ev_class = c.oid"
" JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid"
" AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0"
" WHERE n.nspname = ANY ($1) AND c.relkind = 'v' ORDER BY 1";

static const char *const rights_sql =
"SELECT c.oid::bigint, a.privilege_type, COALESCE(quote_ident(r.rolname), 'PUBLIC')"
" || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END"
" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace CROSS JOIN aclexplode(c.relacl) AS a"
" LEFT JOIN pg_roles AS r ON r.oid = a.grantee"
" WHERE n.nspname = ANY ($1) AND c.relkind = 'v' AND a.grantor = c.relowner AND a.grantee <> c.relowner"
" AND (a.grantee = 0 OR r.oid IS NOT NULL) ORDER BY 1, 3, 2";

/* Run one of the queries; returns the number of rows. */
static uint64
RunQuery(const char *sql, Datum schemas)
{
	Oid			types[] = {TEXTARRAYOID};
	Datum		values[] = {schemas};

	return StatementExecuteWithArgs(sql, lengthof(types), types, values, true);
}

/* Read the tables, views and the like. */
static void
ReadTables(Catalog *catalog, Datum schemas)
{
	uint64		n = RunQuery(tables_sql, schemas);

	for (uint64 i = 0; i < n; i++)
	{
		CatalogTable *table = palloc0(sizeof(CatalogTable));

		table->oid = (Oid) ResultInt64(i, 1);
		table->owner = (Oid) ResultInt64(i, 2);
		table->schema = ResultName(i, 3);
		table->name = ResultName(i, 4);
		table->kind = *ResultName(i, 5);
		table->comment = ResultText(i, 6);
		catalog->tables = lappend(catalog->tables, table);
	}
	ResultFree();
}

/*
 * Returns the table of a row, whose first column is an oid.  Rows and tables are in
 * the same order, and *at is the place of the last one.
 */
static CatalogTable *
TableOfRow(const Catalog *catalog, uint64 row, int *at)
{
	Oid			oid = (Oid) ResultInt64(row, 1);

	while (*at < list_length(catalog->tables))
	{
		CatalogTable *table = list_nth(catalog->tables, *at);

		if (table->oid == oid)
			return table;
		(*at)++;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("a table was created while the tables were read")));
	return NULL;
}

/* Read the columns of the tables. */
static void
ReadColumns(Catalog *catalog, Datum schemas)
{
	uint64		n = RunQuery(columns_sql, schemas);
	int			at = 0;

	for (uint64 i = 0; i < n; i++)
	{
		CatalogTable *table = TableOfRow(catalog, i, &at);
		CatalogColumn *column = palloc0(sizeof(CatalogColumn));

		column->number = ResultInt32(i, 2);
		column->name = ResultName(i, 3);
		column->type = ResultName(i, 4);
		column->not_null = ResultBool(i, 5);
		column->comment = ResultText(i, 6);
		table->columns = lappend(table->columns, column);
	}
	ResultFree();
}

/* Returns the column with a number; NULL if there is none. */
static CatalogColumn *
ColumnByNumber(const CatalogTable *table, int number)
{
	ListCell   *cell;

	foreach(cell, table->columns)
	{
		CatalogColumn *column = lfirst(cell);

		if (column->number == number)
			return column;
	}
	return NULL;
}

/* Set the columns of a key from their numbers, "1 2 3". */
static void
SetKeyColumns(const CatalogTable *table, CatalogKey *key, char *numbers)
{
	key->columns = palloc(sizeof(CatalogColumn *) * INDEX_MAX_KEYS);
	for (char *at = numbers; *at != '\0' && key->ncolumns < INDEX_MAX_KEYS;)
		key->columns[key->ncolumns++] = ColumnByNumber(table, (int) strtol(at, &at, 10));
}

/* Read the keys of the tables. */
static void
ReadKeys(Catalog *catalog, Datum schemas)
{
	uint64		n = RunQuery(keys_sql, schemas);
	int			at = 0;

	for (uint64 i = 0; i < n; i++)
	{
		CatalogTable *table = TableOfRow(catalog, i, &at);
		CatalogKey *key = palloc0(sizeof(CatalogKey));

		key->name = ResultName(i, 2);
		key->type = *ResultName(i, 3);
		SetKeyColumns(table, key, ResultName(i, 4));
		key->target = (Oid) ResultInt64(i, 5);
		key->cascades = ResultBool(i, 6);
		key->plain = ResultBool(i, 7);
		key->deferrable = ResultBool(i, 8);
		key->nulls_not_distinct = ResultBool(i, 9);
		key->valid = ResultBool(i, 10);
		table->keys = lappend(table->keys, key);
	}
	ResultFree();
}

/* Read the indexes of the tables that belong to no key. */
static void
ReadIndexes(Catalog *catalog, Datum schemas)
{
	uint64		n = RunQuery(indexes_sql, schemas);
	int			at = 0;

	for (uint64 i = 0; i < n; i++)
	{
		CatalogTable *table = TableOfRow(catalog, i, &at);
		CatalogIndex *index = palloc0(sizeof(CatalogIndex));

		index->name = ResultName(i, 2);
		index->column = ColumnByNumber(table, ResultInt32(i, 3));
		index->hash = ResultBool(i, 4);
		index->partial = ResultBool(i, 5);
		index->valid = ResultBool(i, 6);
		table->indexes = lappend(table->indexes, index);
	}
	ResultFree();
}

/* Read which columns the views read. */
static void
ReadUses(Catalog *catalog, Datum schemas)
{
	uint64		n = RunQuery(uses_sql, schemas);
	int			at = 0;

	for (uint64 i = 0; i < n; i++)
	{
		CatalogTable *view = TableOfRow(catalog, i, &at);
		CatalogUse *use = palloc(sizeof(CatalogUse));

		use->table = (Oid) ResultInt64(i, 2);
		use->column = ResultInt32(i, 3);
		view->uses = lappend(view->uses, use);
	}
	ResultFree();
}

/* Read what others may do with the views. */
static void
ReadRights(Catalog *catalog, Datum schemas)
{
	uint64		n = RunQuery(rights_sql, schemas);
	int			at = 0;

	for (uint64 i = 0; i < n; i++)
	{
		CatalogTable *view = TableOfRow(catalog, i, &at);
		CatalogRight *right = palloc(sizeof(CatalogRight));

		right->privilege = ResultText(i, 2);
		right->grantee = ResultText(i, 3);
		view->rights = lappend(view->rights, right);
	}
	ResultFree();
}

/* Read the tables of some schemas, in the active snapshot. */
Catalog *
CatalogRead(const char *const *schemas, int n)
{
	Catalog    *catalog = palloc0(sizeof(Catalog));
	Datum		names = DatumTextArray(n, schemas);

	ReadTables(catalog, names);
	ReadColumns(catalog, names);
	ReadKeys(catalog, names);
	ReadIndexes(catalog, names);
	ReadUses(catalog, names);
	ReadRights(catalog, names);
	return catalog;
}

/* Returns the table of a name; NULL if there is none. */
CatalogTable *
CatalogFind(const Catalog *catalog, const char *schema, const char *name)
{
	ListCell   *cell;

	foreach(cell, catalog->tables)
	{
		CatalogTable *table = lfirst(cell);

		if (strcmp(table->name, name) == 0 && strcmp(table->schema, schema) == 0)
			return table;
	}
	return NULL;
}

/* Returns the column of a name; NULL if there is none. */
CatalogColumn *
CatalogFindColumn(const CatalogTable *table, const char *name)
{
	ListCell   *cell;

	foreach(cell, table->columns)
	{
		CatalogColumn *column = lfirst(cell);

		if (strcmp(column->name, name) == 0)
			return column;
	}
	return NULL;
}

/* Returns the key of a name; NULL if there is none. */
CatalogKey *
CatalogFindKey(const CatalogTable *table, const char *name)
{
	ListCell   *cell;

	foreach(cell, table->keys)
	{
		CatalogKey *key = lfirst(cell);

		if (strcmp(key->name, name) == 0)
			return key;
	}
	return NULL;
}

/* Returns the index of a name; NULL if there is none. */
CatalogIndex *
CatalogFindIndex(const CatalogTable *table, const char *name)
{
	ListCell   *cell;

	foreach(cell, table->indexes)
	{
		CatalogIndex *index = lfirst(cell);

		if (strcmp(index->name, name) == 0)
			return index;
	}
	return NULL;
}

/* The qualified name of a table, quoted as necessary. */
char *
CatalogTableName(const CatalogTable *table)
{
	return quote_qualified_identifier(table->schema, table->name);
}

/* Returns true if a view reads a column of a table. */
bool
CatalogViewUses(const CatalogTable *view, Oid table, int column)
{
	ListCell   *cell;

	foreach(cell, view->uses)
	{
		const CatalogUse *use = lfirst(cell);

		if (use->table == table && use->column == column)
			return true;
	}
	return false;
}

/* Returns true if a comment is the one that is wanted; there may be none. */
bool
CatalogSameComment(const char *found, const char *wanted)
{
	return found != NULL && strcmp(found, wanted) == 0;
}

/* Returns true if the function dms.name() has the body that a statement would give it. */
bool
CatalogHasFunction(const char *statement, const char *name)
{
	Oid			function = LookupFuncName(list_make2(makeString("dms"), makeString(unconstify(char *, name))), 0, NULL, true);
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Datum		source;
	bool		isnull;
	bool		same;

	if (!HeapTupleIsValid(tuple))
		return false;
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	same = !isnull && strstr(statement, psprintf("$body$%s$body$", TextDatumGetCString(source))) != NULL;
	ReleaseSysCache(tuple);
	return same;
}
