/*
 * looks.c
 *		Looking at relations under locks.
 *
 * What was committed before a lock was granted must be seen after it.  A new snapshot
 * shows it, but not if the snapshot of the transaction is fixed.  Then the latest
 * state must agree with that snapshot, or the transaction must be retried.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "engine/snapshot.h"
#include "graph/looks.h"

/* Look something up in a new snapshot. */
int64
LookNow(LookFunction look, void *arg)
{
	int64		seen;
	int64		latest;

	SnapshotBegin();
	seen = look(arg);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return seen;
	SnapshotBeginLatest();
	latest = look(arg);
	SnapshotEnd();
	if (seen != latest)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent changes of relations")));
	return seen;
}
