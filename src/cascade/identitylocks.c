/*
 * identitylocks.c
 *		Update locks on identities, and the queue for them.
 *
 * Who changes or deletes identities locks their dms.IdentityLock rows FOR
 * UPDATE.  New sharers overtake who waits for such a lock, on a busy document
 * without end; so if the locks are not free, we queue at the gate, which is
 * fair, and behind which nobody takes new locks.
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

static Statement newest_deploy =
{
	.sql = "SELECT pg_catalog.max(EffectiveSchemaId) FROM dms.EffectiveSchema",
};

/* Identities that were locked, ascending; there is room for those asked for. */
typedef struct TakenIds
{
	int64	   *ids;
	int			n;
	int			room;
} TakenIds;

/* Note an identity that was locked. */
static void
AddLocked(const Datum *values, void *arg)
{
	TakenIds   *locked = arg;

	if (locked->n == locked->room)
		ResultRefuse("more rows than it was asked for");
	locked->ids[locked->n++] = DatumGetInt64(values[0]);
}

/* Returns how to wait for a row lock. */
static LockWaitPolicy
WaitPolicy(void)
{
	return StoreLockNowait() ? LockWaitError : LockWaitBlock;
}

/* Lock identities for update, waiting; those that are gone are not returned. */
int64 *
IdentityLocksTake(const int64 *ids, int n, int *nlocked)
{
	TakenIds	locked = {.ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE),.room = n};

	KeyWriteLock(&locks, ids, n, WaitPolicy(), AddLocked, &locked);
	*nlocked = locked.n;
	return locked.ids;
}

/*
 * Lock identities for share in the order given; those that are gone are not
 * returned.
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

/* Lock those identities for update that are free; returns their number. */
static int
LockFree(const int64 *ids, int n)
{
	StoredRows	rows;

	KeyedTableLock(&locks, ids, n, LCS_FORUPDATE, LockWaitSkip, &rows);
	SPI_freetuptable(SPI_tuptable);
	return rows.nrows;
}

/* The number that a statement gives, whatever the transaction's snapshot sees. */
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
 * Close the gate.  While we wait for it a deploy may pass, and the model that
 * we work with is an old one then.
 */
static void
CloseGate(void)
{
	int64		deploy = NumberNow(&newest_deploy, NULL);

	FAULT_PAUSE("before_gate_closes");
	StoreGateClose();
	if (NumberNow(&newest_deploy, NULL) != deploy && !FAULT_SKIP("same_deploy"))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent deploy")));
}

/* Identities to try to lock, and whether all that are there could be. */
typedef struct LockAttempt
{
	const int64 *ids;
	int			n;
	bool		free;
} LockAttempt;

static bool
TryIdentities(void *arg)
{
	LockAttempt *attempt = arg;
	Datum		values[1] = {DatumInt8Array(attempt->n, attempt->ids)};
	int			locked = LockFree(attempt->ids, attempt->n);

	attempt->free = locked == attempt->n || locked == NumberNow(&count_locks, values);
	return false;
}

/* Is nobody's lock in the way of an update lock on all of them? */
static bool
IdentitiesAreFree(const int64 *ids, int n)
{
	LockAttempt attempt = {.ids = ids,.n = n};

	(void) Attempt(TryIdentities, &attempt);
	return attempt.free;
}

/* To be called before a change of identities takes its first row lock. */
void
IdentityLocksMakeRoom(const int64 *ids, int n)
{
	if (n == 0 || StoreLockNowait() || FAULT_SKIP("fair_gate") || IdentitiesAreFree(ids, n))
		return;
	CloseGate();
}

/*
 * Lock one identity whose change needs no other lock before it; false when it
 * is gone.  While it is free this is one statement.
 */
bool
IdentityLocksTakeFirst(int64 document_id)
{
	int			nlocked;

	if (!StoreLockNowait() && !FAULT_SKIP("fair_gate"))
	{
		if (LockFree(&document_id, 1) == 1)
			return true;
		CloseGate();
	}
	IdentityLocksTake(&document_id, 1, &nlocked);
	return nlocked == 1;
}
