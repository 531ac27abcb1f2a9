/*
 * accounts.c
 *		The rows of dms.DocumentAccount: which account a document belongs to.
 *
 * This module has all statements on the table.  A document without an account has no
 * row.  Writers hold locks on the identities of both documents.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keyscan.h"
#include "engine/statement.h"
#include "graph/accounts.h"

static const Oid set_types[] = {INT8ARRAYOID, INT8OID};

static Statement set_account =
{
	.sql = "INSERT INTO dms.DocumentAccount AS a (DocumentId, AccountId, ResourceTypeId, DocumentUuid)"
	" SELECT d.DocumentId, $2, t.ResourceTypeId, d.DocumentUuid"
	" FROM " DOCUMENTS_WITH_TYPES_SQL
	" WHERE d.DocumentId OPERATOR(pg_catalog.=) ANY ($1) ORDER BY d.DocumentId"
	" ON CONFLICT (DocumentId) DO UPDATE SET AccountId = EXCLUDED.AccountId"
	" WHERE a.AccountId OPERATOR(pg_catalog.<>) EXCLUDED.AccountId",
	.nargs = lengthof(set_types),
	.argtypes = set_types,
};

static Statement remove_account =
{
	.sql = "DELETE FROM dms.DocumentAccount WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = set_types,
};

static const Oid id_types[] = {INT8OID, INT8OID};
static const char *const document_columns[] = {"documentid", "accountid"};
static KeyedTable accounts_of_documents =
{
	.schema = "dms",.name = "documentaccount", KEYED_COLUMNS(document_columns, id_types),.nkeys = 1
};

static const char *const account_columns[] = {"accountid", "documentid"};
static KeyedTable documents_of_accounts =
{
	.schema = "dms",.name = "documentaccount", KEYED_COLUMNS(account_columns, id_types),
	.nkeys = 2,.nsearch = 1,.any_order = true
};

/* The time is that of the document, which the row does not have. */
static FarEndTable documents = FAR_END_TABLE("dms.DocumentAccount", "AccountId", "ResourceTypeId", "DocumentUuid",
											 "d.CreatedAt",
											 DOCUMENT_JOIN_SQL("d", "r.DocumentId"));

/* Returns the account of a document, in the active snapshot; 0 if it has none. */
int64
AccountsRead(int64 document_id)
{
	StoredRows	rows;

	KeyScanReadIds(&accounts_of_documents, &document_id, 1, &rows);
	return rows.nrows == 0 ? 0 : DatumGetInt64(rows.values[1]);
}

/* Returns how many of some documents, whose ids are ascending, have accounts, in the active snapshot. */
int64
AccountsCount(const int64 *ids, int n)
{
	StoredRows	rows;

	KeyScanReadIds(&accounts_of_documents, ids, n, &rows);
	return rows.nrows;
}

/* Returns true if a document is the account of others or of itself, in the active snapshot. */
bool
AccountsHaveDocuments(int64 account)
{
	return KeyScanHas(&documents_of_accounts, account);
}

/* Returns the documents of accounts, whose ids are ascending, in the active snapshot. */
int64 *
AccountsDocumentsOf(const int64 *accounts, int n, int *nfound)
{
	StoredRows	rows;
	int64	   *found;

	KeyScanReadIds(&documents_of_accounts, accounts, n, &rows);
	found = palloc_extended(sizeof(int64) * Max(rows.nrows, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < rows.nrows; i++)
		found[i] = DatumGetInt64(StoredRowValues(&rows, i)[1]);
	*nfound = rows.nrows;
	return found;
}

/*
 * Set the account of documents whose identities are locked, or take it away if it is 0.
 * Returns how many had another one.
 */
uint64
AccountsSet(const int64 *ids, int n, int64 account)
{
	Datum		values[] = {DatumInt8Array(n, ids), Int64GetDatum(account)};

	return StatementRun(account != 0 ? &set_account : &remove_account, values, NULL, false, 0);
}

/* Returns the table of documents by account, for FarEndsRead(). */
const FarEndTable *
AccountsDocuments(void)
{
	return &documents;
}
