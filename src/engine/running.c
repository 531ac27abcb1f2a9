/*
 * running.c
 *		The transactions that a snapshot does not see, because they were running.
 *
 * A snapshot has ids of 32 bits, which are used again after some billions of
 * transactions.  Here they get the upper half that they had when the snapshot was
 * taken, so that they can be kept.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/faults.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "engine/running.h"
#include "engine/statement.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

/* Returns an id in full; it must not be greater than the next one, nor much smaller. */
static uint64
Widen(TransactionId xid, FullTransactionId next)
{
	return U64FromFullTransactionId(next) - (uint32) (XidFromFullTransactionId(next) - xid);
}

/* Order ids. */
static int
CompareXids(const void *a, const void *b)
{
	uint64		left = *(const uint64 *) a;
	uint64		right = *(const uint64 *) b;

	return left < right ? -1 : left > right;
}

/*
 * Take down what the active snapshot sees.  Our own transaction counts as running.  In
 * recovery a snapshot has no list of top-level transactions, so nothing from its oldest
 * one on counts as seen.
 */
void
RunningTake(Running *running)
{
	Snapshot	snapshot = GetActiveSnapshot();
	FullTransactionId next = ReadNextFullTransactionId();
	FullTransactionId own = GetTopFullTransactionIdIfAny();

	running->xmin = Widen(snapshot->xmin, next);
	running->xmax = Widen(snapshot->xmax, next);
	running->n = 0;
	running->xids = palloc(sizeof(uint64) * (snapshot->xcnt + 1));
	if (snapshot->takenDuringRecovery)
	{
		running->xmax = running->xmin;
		return;
	}
	for (uint32 i = 0; i < snapshot->xcnt; i++)
		running->xids[running->n++] = Widen(snapshot->xip[i], next);
	if (FullTransactionIdIsValid(own) && U64FromFullTransactionId(own) < running->xmax)
	{
		running->xids[running->n++] = U64FromFullTransactionId(own);
		running->xmin = Min(running->xmin, U64FromFullTransactionId(own));
	}
	qsort(running->xids, running->n, sizeof(uint64), CompareXids);
}

/* Returns true if what a transaction has committed is seen. */
bool
RunningSees(const Running *running, uint64 xid)
{
	if (xid < running->xmin)
		return true;
	if (xid >= running->xmax)
		return false;
	if (FAULT_SKIP("cursor_running"))
		return true;
	return bsearch(&xid, running->xids, running->n, sizeof(uint64), CompareXids) == NULL;
}

/* Returns the oldest transaction that runs now, in this database or in another one. */
uint64
RunningOldest(void)
{
	Snapshot	snapshot = GetLatestSnapshot();

	return Widen(snapshot->xmin, ReadNextFullTransactionId());
}

static const Oid prepared_types[] = {XIDOID, OIDOID};
static Statement find_prepared =
{
	.sql = "SELECT true FROM pg_catalog.pg_prepared_xact() AS p"
	" WHERE p.transaction OPERATOR(pg_catalog.=) $1 AND p.dbid OPERATOR(pg_catalog.<>) $2",
	.nargs = lengthof(prepared_types),
	.argtypes = prepared_types,
};

/* Returns true if a transaction is prepared in another database. */
static bool
IsPreparedElsewhere(TransactionId xid)
{
	Datum		values[] = {TransactionIdGetDatum(xid), ObjectIdGetDatum(MyDatabaseId)};
	bool		found;

	if (max_prepared_xacts == 0)
		return false;
	found = StatementRun(&find_prepared, values, NULL, true, 0) > 0;
	ResultFree();
	return found;
}

/*
 * Returns true if a transaction is certainly not one that writes documents of this
 * database: it runs or is prepared in another database, or vacuums.  One that has ended
 * cannot be asked.
 */
static bool
IsElsewhere(TransactionId xid)
{
	int			pid;
	bool		elsewhere;

	do
	{
		PGPROC	   *proc;

		pid = BackendXidGetPid(xid);
		if (pid == 0)
			return IsPreparedElsewhere(xid);
		proc = BackendPidGetProc(pid);
		elsewhere = proc != NULL && ((OidIsValid(proc->databaseId) && proc->databaseId != MyDatabaseId) ||
									 (proc->statusFlags & PROC_IS_AUTOVACUUM) != 0);

		/*
		 * It may have ended or been prepared meanwhile, and another process
		 * have its place.
		 */
	} while (BackendXidGetPid(xid) != pid);
	return elsewhere;
}

/*
 * Returns the oldest transaction that the active snapshot does not see, that has not
 * ended, and that may write documents of this database.  *ended are those before it that
 * have ended since the snapshot was taken, ascending: nobody knows any more where they
 * ran.
 */
uint64
RunningOldestHere(uint64 **ended, int *nended)
{
	Running		running;

	RunningTake(&running);
	*ended = palloc(sizeof(uint64) * (running.n + 1));
	*nended = 0;
	if (FAULT_SKIP("newest_horizon"))
		return running.xmax;
	for (int i = 0; i < running.n; i++)
	{
		TransactionId xid = (TransactionId) running.xids[i];

		if (!RecoveryInProgress() && IsElsewhere(xid))
			continue;
		if (TransactionIdIsInProgress(xid))
			return running.xids[i];
		(*ended)[(*nended)++] = running.xids[i];
	}
	return running.xmax;
}
