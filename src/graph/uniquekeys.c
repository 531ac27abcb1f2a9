/*
 * uniquekeys.c
 *		The rows of dms.UniqueKeyValue: values that were claimed for documents, or
 *		reserved for one that does not exist yet.
 *
 * This module has all statements on the table.  Transactions that claim the same
 * value meet at its primary key: the second waits for the first.
 *
 * The values of a key that is declared by an option are in a column of the root table
 * of the resource.  They are read here, too, because callers treat both alike.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "engine/coresql.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "graph/uniquekeys.h"
#include "model/keyquery.h"
#include "model/value.h"
#include "utils/builtins.h"

static const Oid key_args[] = {TEXTOID, TEXTOID, TEXTOID, INT8OID};

static const char *const document_columns[] = {"documentid", "createdat"};
static const Oid document_types[] = {INT8OID, TIMESTAMPTZOID};
static KeyedTable values_of_documents =
{
	.schema = "dms",.name = "uniquekeyvalue", KEYED_COLUMNS(document_columns, document_types),
	.nkeys = 1,.any_order = true
};

/* A reservation is taken over, and a value of another document is left alone. */
static Statement take_value =
{
	.sql = "INSERT INTO dms.UniqueKeyValue AS u (ResourceType, Key, Value, DocumentId) VALUES ($1, $2, $3, $4)"
	" ON CONFLICT (ResourceType, Key, Value) DO UPDATE"
	" SET DocumentId = EXCLUDED.DocumentId, UpdatedAt = pg_catalog.now()"
	" WHERE u.DocumentId IS NULL AND EXCLUDED.DocumentId IS NOT NULL",
	.nargs = 4,
	.argtypes = key_args,
};

#define WHERE_KEY \
	" WHERE ResourceType OPERATOR(pg_catalog.=) $1 AND Key OPERATOR(pg_catalog.=) $2 AND Value OPERATOR(pg_catalog.=) $3"

static Statement read_value =
{
	.sql = "SELECT DocumentId, CreatedAt, UpdatedAt FROM dms.UniqueKeyValue" WHERE_KEY,
	.nargs = 3,
	.argtypes = key_args,
};

/* The values of a key from one on, byte by byte; there is an index in this order. */
static const Oid list_args[] = {TEXTOID, TEXTOID, TEXTOID, INT4OID};
static Statement list_values =
{
	.sql = "SELECT DocumentId, CreatedAt, UpdatedAt, Value FROM dms.UniqueKeyValue"
	" WHERE ResourceType OPERATOR(pg_catalog.=) $1 AND Key OPERATOR(pg_catalog.=) $2"
	" AND Value COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.>=) $3"
	" ORDER BY Value COLLATE pg_catalog.\"C\" LIMIT $4",
	.nargs = lengthof(list_args),
	.argtypes = list_args,
	.ordered = true,
};

static Statement release_value =
{
	.sql = "DELETE FROM dms.UniqueKeyValue" WHERE_KEY,
	.nargs = 3,
	.argtypes = key_args,
};

/* Set the parameters of a key. */
static void
SetKey(const UniqueKey *key, Datum *values)
{
	values[0] = CStringGetTextDatum(key->type);
	values[1] = CStringGetTextDatum(key->key);
	values[2] = CStringGetTextDatum(key->value);
}

/* Let the values of a type belong to another one, or to the same one under another name. */
void
UniqueKeysRename(const char *from, const char *to)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(from), CStringGetTextDatum(to)};

	(void) StatementExecuteWithArgs("UPDATE dms.UniqueKeyValue SET ResourceType = $2"
									" WHERE ResourceType OPERATOR(pg_catalog.=) $1",
									lengthof(types), types, values, false);
}

/* Returns true if there are values of a key. */
bool
UniqueKeysHaveKey(const char *type, const char *key)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(type), CStringGetTextDatum(key)};

	return StatementExecuteWithArgs("SELECT FROM dms.UniqueKeyValue WHERE ResourceType OPERATOR(pg_catalog.=) $1"
									" AND Key OPERATOR(pg_catalog.=) $2 LIMIT 1",
									lengthof(types), types, values, false) > 0;
}

/* Returns true if a document has claimed values, in the active snapshot. */
bool
UniqueKeysHave(int64 document_id)
{
	return KeyScanHas(&values_of_documents, document_id);
}

/* Returns how many values documents have claimed, in the active snapshot; their ids are ascending. */
int64
UniqueKeysCount(const int64 *ids, int n)
{
	StoredRows	rows;

	KeyScanReadIds(&values_of_documents, ids, n, &rows);
	return rows.nrows;
}

/* Read the row of a value, in the active snapshot; returns false if there is none. */
bool
UniqueKeysRead(const UniqueKey *key, UniqueKeyRow *row)
{
	static const Oid types[] = {INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID};
	Datum		values[3];
	Datum		document;
	bool		isnull;

	SetKey(key, values);
	if (StatementRun(&read_value, values, NULL, true, 0) == 0)
		return false;
	ResultExpect(types);
	document = ResultDatum(0, 1, &isnull);
	row->document_id = isnull ? 0 : DatumGetInt64(document);
	row->created = ResultTime(0, 2);
	row->updated = ResultTime(0, 3);
	ResultFree();
	return true;
}

/* Returns the rows of a result that has the columns of list_values. */
static UniqueKeyRow *
TakeRows(uint64 n)
{
	static const Oid types[] = {INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID};
	UniqueKeyRow *rows = palloc_extended(sizeof(UniqueKeyRow) * Max(n, 1), MCXT_ALLOC_HUGE);

	ResultExpect(types);
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		document = ResultDatum(i, 1, &isnull);

		rows[i].document_id = isnull ? 0 : DatumGetInt64(document);
		rows[i].created = ResultTime(i, 2);
		rows[i].updated = ResultTime(i, 3);
		rows[i].value = ResultName(i, 4);
	}
	ResultFree();
	return rows;
}

/* Read rows of the values of a key in byte order, beginning with one value, in the active snapshot. */
UniqueKeyRow *
UniqueKeysList(const UniqueKey *from, int limit, int *n)
{
	Datum		values[4];

	SetKey(from, values);
	values[3] = Int32GetDatum(limit);
	*n = (int) StatementRead(&list_values, values, 0);
	return TakeRows(*n);
}

/*
 * Read the value of a key that is declared: a column of the root table, whose constraint
 * finds the document that has it.  Returns false if there is none.
 */
bool
UniqueKeysReadDeclared(const TableModel *root, int column, Datum value, UniqueKeyRow *row)
{
	static const Oid result_types[] = {INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID};
	Oid			types[] = {ValueTypeOid(root->columns[column].value.type)};
	bool		found;

	found = StatementExecuteWithArgs(psprintf("SELECT d.DocumentId, d.CreatedAt, d.LastModifiedAt FROM %s AS r"
											  DOCUMENT_JOIN_SQL("d", "r.%s")
											  " WHERE r.%s OPERATOR(pg_catalog.=) $1",
											  quote_qualified_identifier(root->schema, root->name),
											  quote_identifier(root->columns[0].name),
											  quote_identifier(root->columns[column].name)),
									 1, types, &value, true) > 0;
	if (found)
	{
		ResultExpect(result_types);
		row->document_id = ResultInt64(0, 1);
		row->created = ResultTime(0, 2);
		row->updated = ResultTime(0, 3);
	}
	ResultFree();
	return found;
}

/* List the values of a declared key in byte order.  Unless they are texts, all are read and sorted. */
UniqueKeyRow *
UniqueKeysListDeclared(const TableModel *root, int column, const char *from, int limit, int *n)
{
	const char *value = KeyQueryText(psprintf("r.%s", quote_identifier(root->columns[column].name)),
									 root->columns[column].value.type);
	Oid			types[] = {TEXTOID, INT4OID};
	Datum		values[] = {CStringGetTextDatum(from), Int32GetDatum(limit)};

	*n = (int) StatementExecuteWithArgs(psprintf("SELECT d.DocumentId, d.CreatedAt, d.LastModifiedAt, %s FROM %s AS r"
												 DOCUMENT_JOIN_SQL("d", "r.%s")
												 " WHERE %s COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.>=) $1"
												 " ORDER BY %s COLLATE pg_catalog.\"C\" LIMIT $2",
												 value, quote_qualified_identifier(root->schema, root->name),
												 quote_identifier(root->columns[0].name), value, value),
										lengthof(types), types, values, true);
	return TakeRows(*n);
}

/*
 * Take a value for a document, whose identity is locked, or reserve it if that is 0.
 * Returns false if it is taken or reserved already.
 */
bool
UniqueKeysTake(const UniqueKey *key, int64 document_id)
{
	Datum		values[4];

	SetKey(key, values);
	values[3] = Int64GetDatum(document_id);
	return StatementRun(&take_value, values, document_id == 0 ? "   n" : NULL, false, 0) > 0;
}

/* Release a value; returns false if it is neither claimed nor reserved. */
bool
UniqueKeysRelease(const UniqueKey *key)
{
	Datum		values[3];

	SetKey(key, values);
	return StatementRun(&release_value, values, NULL, false, 0) > 0;
}
