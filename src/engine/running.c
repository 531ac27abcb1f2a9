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
#include "access/xact.h"
#include "access/xlog.h"
#include "base/faults.h"
#include "engine/running.h"
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

/*
 * Returns true if a transaction is certainly not one that writes documents of this
 * database: it runs in another database, or vacuums.  Prepared transactions, and those
 * that have just ended, cannot be asked.
 */
static bool
IsElsewhere(TransactionId xid)
{
	int			pid = BackendXidGetPid(xid);
	PGPROC	   *proc = pid == 0 ? NULL : BackendPidGetProc(pid);
	bool		elsewhere = proc != NULL && ((OidIsValid(proc->databaseId) && proc->databaseId != MyDatabaseId) ||
											 (proc->statusFlags & PROC_IS_AUTOVACUUM) != 0);

	/* The process may have ended meanwhile, and another one have its place. */
	return elsewhere && BackendXidGetPid(xid) == pid;
}

/*
 * Returns the oldest transaction that the active snapshot does not see, and that may
 * write documents of this database.
 */
uint64
RunningOldestHere(void)
{
	Running		running;

	RunningTake(&running);
	if (FAULT_SKIP("newest_horizon"))
		return running.xmax;
	for (int i = 0; i < running.n; i++)
		if (RecoveryInProgress() || !IsElsewhere((TransactionId) running.xids[i]))
			return running.xids[i];
	return running.xmax;
}
