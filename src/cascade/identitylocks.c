/*
 * identitylocks.c
 *		The rows of dms.IdentityLock: locking identities, and queuing for
 *		locks that are not free.
 *
 * A transaction that changes or deletes an identity locks its row FOR UPDATE;
 * one that relies on it locks the row FOR SHARE.  The row is separate from
 * dms.Document, because a writer may change a document without changing its
 * identity, and must then not block those that refer to it.
 *
 * PostgreSQL grants a share lock on a row that is share-locked already, even
 * if another transaction waits for an update lock.  On a document that is
 * referred to all the time, a change of identity could wait forever.  So a
 * transaction that cannot have its update locks at once closes the gate, which
 * is a table lock with a fair queue: transactions that hold share locks can
 * finish, and new writers queue after us.
 */
#include "postgres.h"

#include "base/faults.h"
#include "cascade/identitylocks.h"
#include "catalog/pg_type.h"
#include "engine/attempt.h"
#include "engine/datums.h"
#include "engine/keywrite.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"

static const char *const lock_columns[] = {"documentid"};
static const Oid id_type[] = {INT8OID};
static KeyedTable locks =
{
	.schema = "dms",.name = "identitylock", KEYED_COLUMNS(lock_columns, id_type),.nkeys = 1
};

static const Oid id_array[] = {INT8ARRAYOID};

static Statement count_locks =
{
	.sql = "SELECT pg_catalog.count(*) FROM dms.IdentityLock WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = id_array,
};

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
	return LockForUpdate(ids, n, WaitPolicy(), nlocked);
}

/*
 * Lock identities for share, in the order given.  Returns those that were
 * locked; documents that are gone are not among them.
 */
int64 *
IdentityLocksShare(const int64 *ids, int n, int *nlocked)
{
	TakenIds	locked = {.ids = palloc(sizeof(int64) * Max(n, 1)),.room = n};
	StoredRows	rows;

	KeyedTableLock(&locks, ids, n, LCS_FORSHARE, WaitPolicy(), &rows);
	for (int i = 0; i < rows.nrows; i++)
		AddLocked(StoredRowValues(&rows, i), &locked);
	SPI_freetuptable(SPI_tuptable);
	*nlocked = locked.n;
	return locked.ids;
}

/*
 * Returns the number that a query gives in the latest state, which the
 * transaction's snapshot may not show.
 */
static int64
NumberNow(Statement *statement, Datum *values)
{
	Datum		value;
	int64		number;
	bool		isnull;

	SnapshotBeginLatest();
	StatementRun(statement, values, NULL, true, 0);
	SnapshotEnd();
	ResultExpect(id_type);
	value = ResultDatum(0, 1, &isnull);
	number = isnull ? 0 : DatumGetInt64(value);
	SPI_freetuptable(SPI_tuptable);
	return number;
}

/*
 * Lock identities for update without waiting.  Returns those that were locked;
 * documents that are gone are not among them.  Returns NULL if another
 * transaction holds a lock on one of them: rows that do not exist are not locked
 * either, so if some were not, those that exist are counted.
 */
int64 *
IdentityLocksTakeFree(const int64 *ids, int n, int *nlocked)
{
	int64	   *locked = LockForUpdate(ids, n, LockWaitSkip, nlocked);
	Datum		values[1];

	if (*nlocked == n)
		return locked;
	values[0] = DatumInt8Array(n, ids);
	return *nlocked == NumberNow(&count_locks, values) ? locked : NULL;
}

/*
 * Close the gate.  We have to leave it for that, and a deploy that is queued
 * there goes first.  The model that this call works with would then be
 * outdated, so the transaction must be retried.
 */
static void
CloseGate(void)
{
	uint64		generation = StoreRowGeneration();

	FAULT_PAUSE("before_gate_closes");
	StoreGateClose();
	if (StoreRowGeneration() != generation && !FAULT_SKIP("same_deploy"))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent deploy")));
}

/* A step that takes locks, and its argument. */
typedef struct LockAttempt
{
	IdentityLocksStep step;
	void	   *arg;
} LockAttempt;

/* Take the locks without waiting for the identities that change; run in a subtransaction. */
static bool
TryLocks(void *arg)
{
	LockAttempt *attempt = arg;

	return attempt->step(attempt->arg, false);
}

/*
 * Take the locks of a change of identities.  The step takes all of them, in the
 * order of all sessions, at first without waiting for the identities that change.
 * If these are not free, all locks are released, and the step is run again with
 * the gate closed.  The call must not have taken row locks before: a transaction
 * that waited at the gate with a row lock could deadlock with one that waits for
 * this row inside.
 *
 * The locks must be kept if they were free.  If they were only tested and taken
 * later, other transactions could share them in between, and more of them would
 * overtake us while we wait with the gate open.
 *
 * The first run does wait for identities that depend on those that change.
 * Otherwise one busy member of a large closure would close the gate to all
 * writers for as long as the cascade takes.
 */
void
IdentityLocksByTurns(IdentityLocksStep step, void *arg)
{
	LockAttempt attempt = {.step = step,.arg = arg};

	if (!StoreLockNowait() && !FAULT_SKIP("fair_gate"))
	{
		if (Attempt(TryLocks, &attempt))
			return;
		CloseGate();
	}
	(void) step(arg, true);
}

/*
 * Lock one identity, whose change needs no lock before this one, so that the
 * lock can be kept if it is free: then this is one statement.  Returns false
 * if the document is gone.
 */
bool
IdentityLocksTakeFirst(int64 document_id)
{
	int			nlocked;

	if (!StoreLockNowait() && !FAULT_SKIP("fair_gate"))
	{
		(void) LockForUpdate(&document_id, 1, LockWaitSkip, &nlocked);
		if (nlocked == 1)
			return true;
		CloseGate();
	}
	IdentityLocksTake(&document_id, 1, &nlocked);
	return nlocked == 1;
}
