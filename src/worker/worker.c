/*
 * worker.c
 *		A background worker, which looks after one database for a while.
 *
 * The launcher starts it.  It works until nothing is left, waits a moment for more, and
 * leaves, so that no connection is held to a database in which nothing happens.  It also
 * leaves when a session needs the database for itself, to drop, rename or copy it, and
 * when other databases have waited for a worker for long.
 *
 * It has connected as a superuser, because the store's owner may not be able to log in.
 * But the owner can add triggers and other code to the tables, and must not gain the
 * rights of the worker.  So all work is done as the owner, within a security-restricted
 * operation, as VACUUM and REFRESH MATERIALIZED VIEW do it: code that runs there can
 * neither become another role nor leave anything behind that would run later, such as
 * deferred triggers.  What is outside of it reads catalogs only.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/faults.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "engine/workershare.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "worker/launcher.h"
#include "worker/redistask.h"
#include "worker/tasks.h"
#include "worker/worker.h"

/* Milliseconds of work after which a worker leaves if other databases are due. */
#define TURN 10000

/* Milliseconds between looks whether a session needs the database, while it waits. */
#define LOOK 200

/* The longest time of a batch, in milliseconds: triggers of the owner may run in it. */
#define BATCH_TIMEOUT 60000

static WorkerShare *share;
static WorkerSlot *slot;
static char *database_name;
static MemoryContext worker_context;	/* reset after each batch */

/* The user and the flags outside of the restricted operation. */
typedef struct Frame
{
	Oid			user;
	int			context;
} Frame;

/* --- the slot -------------------------------------------------------------- */

/* Returns the state in which the database is left, and the naptimes until the next visit. */
static WorkerState
StateAfter(const TaskOutcome *outcome, int *naptimes)
{
	*naptimes = outcome->wanted ? 1 : 0;
	if (outcome->more || outcome->wanted)
		return WORKER_MORE;
	*naptimes = outcome->store ? outcome->watched ? 1 : TASK_PURGE_NAPTIMES : TASK_LOOK_NAPTIMES;
	return outcome->store ? outcome->watched ? WORKER_IDLE : WORKER_NOTHING : WORKER_NO_STORE;
}

/* Record how a visit has ended. */
static void
RecordVisit(const TaskOutcome *outcome)
{
	TimestampTz now = GetCurrentTimestamp();
	int			naptimes;

	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	slot->state = StateAfter(outcome, &naptimes);
	slot->next_visit = LauncherVisitAfter(now, naptimes);
	if (outcome->next != 0 && outcome->next < slot->next_visit)
		slot->next_visit = outcome->next;
	slot->next_purge = outcome->next_purge;
	slot->failures = 0;
	if (outcome->wanted)
		slot->consumed = pg_atomic_read_u64(&slot->commits);
	LWLockRelease(share->lock);
}

/* Copy a message, so that it is valid in every encoding. */
static void
CopyMessage(char *to, const char *from)
{
	int			i;

	for (i = 0; from[i] != '\0' && i < WORKER_MESSAGE - 1; i++)
		to[i] = IS_HIGHBIT_SET(from[i]) || from[i] < ' ' ? '?' : from[i];
	to[i] = '\0';
}

/* Record an error.  The launcher counts the failure when this process has ended. */
static void
RecordError(const ErrorData *error)
{
	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	slot->sqlstate = error->sqlerrcode;
	CopyMessage(slot->message, error->message != NULL ? error->message : "");
	LWLockRelease(share->lock);
}

/* Callback: the worker exits. */
static void
WorkerExits(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	Latch	   *launcher = share->launcher;

	LWLockReleaseAll();
	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	slot->worker = NULL;
	slot->pid = 0;
	LWLockRelease(share->lock);
	if (launcher != NULL)
		SetLatch(launcher);
}

/* Take the slot of the database; returns false if another worker has it. */
static bool
TakeSlot(Oid database)
{
	bool		taken;

	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	slot = WorkerShareFind(database, false);
	taken = slot != NULL && slot->pid == 0;
	if (taken)
	{
		slot->pid = MyProcPid;
		slot->worker = MyLatch;
		slot->state = WORKER_WORKING;
	}
	LWLockRelease(share->lock);
	if (taken)
		before_shmem_exit(WorkerExits, (Datum) 0);
	return taken;
}

/* --- visits ---------------------------------------------------------------- */

/*
 * Lock an object until the end of the transaction, if no lock that is held conflicts.
 * Shared objects are in no database.
 */
static bool
LockAtOnce(Oid database, Oid class, Oid object, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, database, class, object, 0);
	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Returns true if there is a store that we can work with.  The extension is locked, so
 * that it is dropped after this transaction.  Whoever drops, renames or copies the
 * database holds a lock on it, and waits for us to go.
 */
static bool
FindStore(TaskOutcome *outcome)
{
	Oid			extension;

	if (!LockAtOnce(InvalidOid, DatabaseRelationId, MyDatabaseId, RowExclusiveLock))
	{
		outcome->wanted = true;
		return false;
	}
	extension = StoreExtension();
	if (!OidIsValid(extension))
		return false;
	if (!FAULT_SKIP("extension_lock") && !LockAtOnce(MyDatabaseId, ExtensionRelationId, extension, AccessShareLock))
	{
		outcome->wanted = true;
		return false;
	}
	AcceptInvalidationMessages();
	if (StoreExtension() != extension || !StoreExists())
		return false;
	return StoreRowVersion() == STORE_VERSION && !XactReadOnly;
}

/* Become the owner of the store, in a security-restricted operation. */
static void
FrameBegin(Frame *frame)
{
	GetUserIdAndSecContext(&frame->user, &frame->context);
	SetUserIdAndSecContext(StoreOwner(),
						   frame->context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION |
						   SECURITY_NOFORCE_RLS);
}

/* Become what we were.  After an error, the end of the transaction does it. */
static void
FrameEnd(const Frame *frame)
{
	SetUserIdAndSecContext(frame->user, frame->context);
}

/* Do some work in a transaction of its own. */
static void
WorkInTransaction(void (*task) (const char *, TaskOutcome *), TaskOutcome *outcome)
{
	Frame		frame;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	enable_timeout_after(STATEMENT_TIMEOUT, BATCH_TIMEOUT);
	outcome->store = FindStore(outcome);
	if (outcome->store)
	{
		FrameBegin(&frame);
		task(database_name, outcome);
		FrameEnd(&frame);
	}
	disable_timeout(STATEMENT_TIMEOUT, false);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* Do some work.  Jobs are claimed in one transaction, and run in the next one. */
static void
WorkSome(TaskOutcome *outcome)
{
	WorkInTransaction(TasksRun, outcome);
	if (outcome->jobs.n > 0)
		WorkInTransaction(TasksRunJobs, outcome);
	if (outcome->store && outcome->compaction.page != InvalidBlockNumber)
		WorkInTransaction(TasksCompact, outcome);
	if (!outcome->store)
		return;
	if (RedisTaskBegin())
		WorkInTransaction(RedisTaskRun, outcome);
	RedisTaskEnd(outcome);
}

/* Take in a change of the configuration; returns false if it sends us away. */
static bool
TakeConfiguration(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return LauncherServes(database_name);
}

/* Returns true if a session needs the database for itself. */
static bool
IsWanted(void)
{
	bool		wanted;

	StartTransactionCommand();
	wanted = !LockAtOnce(InvalidOid, DatabaseRelationId, MyDatabaseId, RowExclusiveLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(worker_context);
	return wanted;
}

/*
 * Wait for more work; returns false if none came, or if we should leave.  "waiting" is
 * set before the counts are compared.
 */
static bool
WaitForWork(void)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LauncherLinger());

	for (;;)
	{
		long		left;

		CHECK_FOR_INTERRUPTS();
		(void) pg_atomic_exchange_u32(&slot->waiting, 1);
		if (pg_atomic_read_u64(&slot->commits) != slot->consumed)
			return true;
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
		if ((left <= 0 && !RedisTaskIsOpen()) || pg_atomic_read_u32(&share->unserved) > 0 || !TakeConfiguration() ||
			IsWanted())
			return false;
		if (RedisTaskWait(left > 0 ? Min(left, LOOK) : LOOK))
			return true;
	}
}

/* Rest for some milliseconds, unless a session needs the database. */
static void
Rest(int milliseconds, TaskOutcome *outcome)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
	long		left;

	while ((left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end)) > 0 && !outcome->wanted)
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(left, LOOK),
						 COMPAT_WAIT_WORKER);
		ResetLatch(MyLatch);
		outcome->wanted = IsWanted();
	}
}

/* Work until nothing is left, or until we should leave. */
static void
Work(void)
{
	TimestampTz start = GetCurrentTimestamp();
	TaskOutcome outcome = {.next_purge = slot->next_purge,.compaction.page = InvalidBlockNumber};

	do
	{
		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(share->lock, LW_EXCLUSIVE);
		slot->consumed = pg_atomic_read_u64(&slot->commits);
		slot->last_visit = GetCurrentTimestamp();
		LWLockRelease(share->lock);
		outcome = (TaskOutcome)
		{
			.next_purge = outcome.next_purge,
				.compaction = outcome.compaction,
				.context = worker_context,
		};
		WorkSome(&outcome);
		MemoryContextSwitchTo(worker_context);
		MemoryContextReset(worker_context);
		Rest(outcome.pause, &outcome);
		if (!TakeConfiguration() || outcome.wanted)
			break;
		if (outcome.more && pg_atomic_read_u32(&share->unserved) > 0 &&
			TimestampDifferenceExceeds(start, GetCurrentTimestamp(), TURN))
			break;
	} while (outcome.more || (outcome.store && WaitForWork()));
	RedisTaskClose();
	RecordVisit(&outcome);
}

/* Set what the owner of the database could have set otherwise. */
static void
SetParameters(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_deferrable", "off"},
		{"statement_timeout", "0"},
		{"lock_timeout", "1s"},
		{"idle_in_transaction_session_timeout", "0"},
		{"dms.lock_nowait", "off"},
	};

	for (int i = 0; i < (int) lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

/* Connect to the database. */
static void
Connect(Oid database)
{
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	SetParameters();
	StartTransactionCommand();
	database_name = MemoryContextStrdup(TopMemoryContext, get_database_name(MyDatabaseId));
	CommitTransactionCommand();
	RedisTaskInit(slot, database_name);
	pgstat_report_appname("dms worker");
}

/* The process of a worker. */
void
dms_worker_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	share = WorkerShareGet();
	if (!TakeSlot(DatumGetObjectId(arg)))
		proc_exit(0);
	Connect(DatumGetObjectId(arg));
	worker_context = AllocSetContextCreate(TopMemoryContext, "dms worker", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(worker_context);
	PG_TRY();
	{
		Work();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(worker_context);
		HOLD_INTERRUPTS();
		disable_all_timeouts(false);
		EmitErrorReport();
		RecordError(CopyErrorData());
		AbortCurrentTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
		proc_exit(0);
	}
	PG_END_TRY();
	proc_exit(0);
}
