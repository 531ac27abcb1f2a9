/*
 * session.c
 *		Connections to SPI with the rights they need, snapshots, and
 *		subtransactions.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "engine/restrict.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/*
 * Connect to SPI.  With the owner's rights, our own statements run as the
 * owner of the store, as the checks of foreign keys do.  If an error leaves
 * the caller, the end of the (sub)transaction restores the user.
 */
void
StoreBegin(StoreSession *session, StoreRights rights)
{
	session->rights = rights;
	GetUserIdAndSecContext(&session->saved_user, &session->saved_context);
	if (rights == RIGHTS_OF_OWNER)
		SetUserIdAndSecContext(StoreOwner(),
							   session->saved_context |
							   SECURITY_LOCAL_USERID_CHANGE |
							   SECURITY_NOFORCE_RLS |
							   SECURITY_RIGHTS_LENT);
	else
		SetUserIdAndSecContext(session->saved_user,
							   session->saved_context & ~SECURITY_RIGHTS_LENT);
	session->guc_level = 0;
	if (rights == RIGHTS_OF_OWNER && StoreLockNowait() && !FAULT_SKIP("nowait_everywhere"))
	{
		/* Unique indexes and foreign keys wait too, and have no NOWAIT. */
		session->guc_level = NewGUCNestLevel();
		StatementSetLocally("lock_timeout", "1ms");
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
}

/* Disconnect from SPI, and restore the user and the settings. */
void
StoreEnd(StoreSession *session)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "could not disconnect from SPI");
	if (session->guc_level > 0)
		AtEOXact_GUC(true, session->guc_level);
	SetUserIdAndSecContext(session->saved_user, session->saved_context);
}

/*
 * Call a function in a subtransaction, and roll it back, locks included, unless
 * the function returns true.  An error rolls it back as well and is returned;
 * the caller's (sub)transaction is then current again, and usable.
 */
ErrorData *
AttemptCatch(AttemptFunction function, void *arg, bool *stays)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner resources = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	volatile bool may_stay = false;
	int			running = StatementsRunning();

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		may_stay = function(arg);
		if (may_stay)
			ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		StatementsSetRunning(running);
		may_stay = false;
	}
	PG_END_TRY();
	if (!may_stay)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = resources;
	*stays = may_stay;
	return error;
}

/* The same, but an error is raised again after the rollback. */
bool
Attempt(AttemptFunction function, void *arg)
{
	bool		stays;
	ErrorData  *error = AttemptCatch(function, arg, &stays);

	if (error != NULL)
		ReThrowError(error);
	return stays;
}

/*
 * Push a new snapshot: statements that run read-only until SnapshotEnd() see
 * one state of the database, our own changes included.
 */
void
SnapshotBegin(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* The same, but newer than the transaction's snapshot if that is fixed. */
void
SnapshotBeginLatest(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
}

/*
 * Push a catalog snapshot.  Models are read as they are now, whatever the
 * snapshot of the statement or transaction that needs them.
 */
void
SnapshotBeginCatalog(void)
{
	PushActiveSnapshot(GetCatalogSnapshot(StoreTable(STORE_RESOURCE_MODEL)));
}

/* Pop the snapshot that one of the functions above has pushed. */
void
SnapshotEnd(void)
{
	PopActiveSnapshot();
}
