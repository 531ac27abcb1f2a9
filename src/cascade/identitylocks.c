/*
 * identitylocks.c
 *		The rows of dms.IdentityLock: locking identities.
 *
 * A transaction that changes or deletes an identity locks its row FOR UPDATE;
 * one that relies on it locks the row FOR SHARE.  The row is separate from
 * dms.Document, because a writer may change a document without changing its
 * identity, and must then not block those that refer to it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/grow.h"
#include "cascade/identitylocks.h"
#include "cascade/turnstile.h"
#include "catalog/pg_type.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keywrite.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "miscadmin.h"

/* So many identities, or fewer, are locked one by one. */
#define FEW_IDENTITIES 3

static const char *const lock_columns[] = {"documentid"};
static const Oid id_type[] = {INT8OID};
static KeyedTable locks =
{
	.schema = "dms",.name = "identitylock", KEYED_COLUMNS(lock_columns, id_type),.nkeys = 1,.placed = true
};

static const Oid id_array[] = {INT8ARRAYOID};

static Statement count_locks =
{
	.sql = "SELECT pg_catalog.count(*) FROM dms.IdentityLock WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = id_array,
};

/* Returns true if the lock row of a new document can be inserted without a statement. */
bool
IdentityLocksInserts(void)
{
	return RowWriteInserts(&locks, lengthof(lock_columns));
}

/* Insert the lock row of a new document. */
void
IdentityLocksAdd(int64 document_id)
{
	Datum		values[1] = {Int64GetDatum(document_id)};
	Row			row = {.values = values};
	RowSet		set = {.rows = &row,.nrows = 1};

	(void) RowWriteRun(&locks, KEYED_INSERT, &set);
}

/* Identities that were locked; there is room for all that were asked for. */
typedef struct TakenIds
{
	int64	   *ids;
	int			n;
	int			room;
} TakenIds;

/* Add an identity that was locked. */
static void
AddLocked(const Datum *values, void *arg)
{
	TakenIds   *locked = arg;

	if (locked->n == locked->room)
		ResultRefuse("more rows than it was asked for");
	locked->ids[locked->n++] = DatumGetInt64(values[0]);
}

/* Returns what to do if a row lock is not free. */
static LockWaitPolicy
WaitPolicy(void)
{
	return StoreLockNowait() ? LockWaitError : LockWaitBlock;
}

/*
 * Returns how many of the identities exist in the latest state, which the
 * transaction's snapshot may not show.
 */
static int64
CountNow(const int64 *ids, int n)
{
	Datum		values[1] = {DatumInt8Array(n, ids)};
	int64		count;
	bool		isnull;

	SnapshotBeginLatest();
	StatementRun(&count_locks, values, NULL, true, 0);
	SnapshotEnd();
	ResultExpect(id_type);
	count = DatumGetInt64(ResultDatum(0, 1, &isnull));
	ResultFree();
	return count;
}

/*
 * Refuse a fixed snapshot that does not show all of the identities that exist.
 * To a snapshot that is older than a rewrite of the table, all rows are gone; that
 * is no damage.
 */
static void
RefuseUnseen(const int64 *ids, int n, int nlocked)
{
	if (nlocked < n && IsolationUsesXactSnapshot() && CountNow(ids, n) > nlocked && !FAULT_SKIP("rewritten_locks"))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent rewrite of dms.IdentityLock")));
}

/* Lock identities for update, in order of their ids.  Returns those that were locked. */
static int64 *
LockForUpdate(const int64 *ids, int n, LockWaitPolicy wait, int *nlocked)
{
	TakenIds	locked = {.ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE),.room = n};

	KeyWriteLock(&locks, ids, n, wait, AddLocked, &locked);
	*nlocked = locked.n;
	return locked.ids;
}

/*
 * Lock identities for update, in order of their ids, waiting for each.
 * Returns those that were locked; documents that are gone are not among them.
 */
int64 *
IdentityLocksTake(const int64 *ids, int n, int *nlocked)
{
	int64	   *locked = LockForUpdate(ids, n, WaitPolicy(), nlocked);

	RefuseUnseen(ids, n, *nlocked);
	return locked;
}

/* Returns the clause of a lock mode. */
static LockClauseStrength
ClauseOf(LockTupleMode mode)
{
	switch (mode)
	{
		case LockTupleKeyShare:
			return LCS_FORKEYSHARE;
		case LockTupleShare:
			return LCS_FORSHARE;
		case LockTupleNoKeyExclusive:
			return LCS_FORNOKEYUPDATE;
		default:
			return LCS_FORUPDATE;
	}
}

/* Lock one identity; returns false if the document is gone. */
static bool
LockOne(int64 id, LockTupleMode mode)
{
	Datum		values[lengthof(lock_columns)];
	StoredRows	rows;
	bool		found;

	if (RowWriteLock(&locks, id, mode, WaitPolicy(), values))
		return true;
	found = KeyedTableLockOne(&locks, id, ClauseOf(mode), WaitPolicy(), &rows);
	ResultFree();
	RefuseUnseen(&id, 1, found ? 1 : 0);
	return found;
}

/* Lock identities for share by one statement, in the order given. */
static void
ShareTogether(const int64 *ids, int n, TakenIds *locked)
{
	StoredRows	rows;

	KeyedTableLock(&locks, ids, n, LCS_FORSHARE, WaitPolicy(), &rows);
	for (int i = 0; i < rows.nrows; i++)
		AddLocked(StoredRowValues(&rows, i), locked);
	ResultFree();
	RefuseUnseen(ids, n, locked->n);
}

/* Lock identities for share one by one, in the order given. */
static void
ShareEach(const int64 *ids, int n, TakenIds *locked)
{
	for (int i = 0; i < n; i++)
		if (LockOne(ids[i], LockTupleShare))
			locked->ids[locked->n++] = ids[i];
}

/*
 * Lock identities for share, in the order given, after passing the turnstile.  Returns
 * those that were locked; documents that are gone are not among them.  Most documents
 * refer to few others whose identity can change: a statement would cost more than these.
 */
int64 *
IdentityLocksShare(const int64 *ids, int n, int *nlocked)
{
	TakenIds	locked = {.ids = palloc(sizeof(int64) * Max(n, 1)),.room = n};

	TurnstilePass();
	if (n <= FEW_IDENTITIES)
		ShareEach(ids, n, &locked);
	else
		ShareTogether(ids, n, &locked);
	*nlocked = locked.n;
	return locked.ids;
}

/*
 * Lock identities for update without waiting; they must be ascending.  Returns
 * those that were locked; documents that are gone are not among them.  Returns
 * NULL if another transaction holds a lock on one of them: rows that do not exist
 * are not locked either, so if some were not, those that exist are counted.  Then
 * all that were not locked are added to *busy.
 */
int64 *
IdentityLocksTakeFree(const int64 *ids, int n, int *nlocked, BusyIdentities *busy)
{
	int64	   *locked = LockForUpdate(ids, n, LockWaitSkip, nlocked);

	if (*nlocked == n || *nlocked == CountNow(ids, n))
		return locked;
	for (int i = 0, at = 0; i < n; i++)
	{
		if (at < *nlocked && locked[at] == ids[i])
			at++;
		else
			APPEND(busy->ids, busy->n, ids[i]);
	}
	return NULL;
}

/* Order claims by rank, then by id: the order of all who lock identities. */
static int
CompareClaims(const void *a, const void *b)
{
	const IdentityClaim *left = a;
	const IdentityClaim *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return left->document_id < right->document_id ? -1 : left->document_id > right->document_id;
}

/*
 * Lock some identities, each in a mode of its own, after passing the turnstile.  The
 * claims are sorted, and those whose documents are gone are marked.
 */
void
IdentityLocksClaim(IdentityClaim *claims, int n)
{
	TurnstilePass();
	qsort(claims, n, sizeof(IdentityClaim), CompareClaims);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		claims[i].gone = !LockOne(claims[i].document_id, claims[i].mode);
	}
}
