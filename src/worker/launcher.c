/*
 * launcher.c
 *		The launcher of background workers, and its settings.
 *
 * If the library is in shared_preload_libraries, one launcher runs from the end of
 * recovery on.  It is connected to no database.  It starts a worker for a database that
 * is due: because a commit has left work there, or because its time has come.  At most
 * dms.max_workers are there at a time, so that a few processes serve any number of
 * databases.  Workers leave when they are done; see worker.c.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "catalog/pg_database.h"
#include "engine/workershare.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"
#include "worker/launcher.h"

PGDLLEXPORT void dms_launcher_main(Datum arg);

#define MAX_WORKERS 64

/* Milliseconds before the first retry after a failure, and at most. */
#define FIRST_RETRY 1000
#define LAST_RETRY (5 * 60 * 1000)

/* Milliseconds without a new batch after which a worker is terminated if others wait. */
#define STUCK_AFTER (5 * 60 * 1000)

static bool enabled = true;
static int	max_workers = 2;
static int	naptime = 60000;
static int	linger = 2000;
static char *served_databases = NULL;

/* Workers that were registered, and the databases that they are for. */
static struct
{
	BackgroundWorkerHandle *handle; /* NULL: the place is free */
	Oid			database;
}			workers[MAX_WORKERS];

/* For each slot, whether its database is to be served. */
static bool served[WORKER_SLOTS];

/* --- settings -------------------------------------------------------------- */

/* Check a value of dms.worker_databases. */
static bool
CheckDatabases(char **value, void **extra pg_attribute_unused(), GucSource source pg_attribute_unused())
{
	char	   *copy = pstrdup(*value);
	List	   *names;

	if (SplitIdentifierString(copy, ',', &names))
		return true;
	GUC_check_errdetail("The value is not a list of names.");
	return false;
}

/* Returns true if workers may serve a database. */
bool
LauncherServes(const char *database)
{
	List	   *names;
	ListCell   *cell;

	if (!enabled)
		return false;
	if (!SplitIdentifierString(pstrdup(served_databases), ',', &names) || names == NIL)
		return true;
	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), database) == 0)
			return true;
	}
	return false;
}

/* Returns the time of a visit that is so many naptimes later. */
TimestampTz
LauncherVisitAfter(TimestampTz time, int naptimes)
{
	return TimestampTzPlusMilliseconds(time, (int64) naptime * naptimes);
}

/* Returns for how many milliseconds a worker waits for more work. */
int
LauncherLinger(void)
{
	return linger;
}

/* Define the settings, and register the launcher if the server is about to start. */
void
LauncherInit(void)
{
	BackgroundWorker launcher = {
		.bgw_name = "dms launcher",
		.bgw_type = "dms launcher",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = 5,
		.bgw_library_name = "dms",
		.bgw_function_name = "dms_launcher_main",
	};

	DefineCustomBoolVariable("dms.worker",
							 "Background workers look after databases with a store.",
							 "It has an effect if the library is in shared_preload_libraries.",
							 &enabled, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.worker_naptime",
							"The time after which a database is visited even if no commit asks for it.",
							NULL, &naptime, 60000, 100, 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.worker_linger",
							"How long a background worker waits for more work before it leaves.",
							NULL, &linger, 2000, 0, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomStringVariable("dms.worker_databases",
							   "The databases that background workers look after.",
							   "A list of names; if it is empty, all databases with a store.",
							   &served_databases, "", PGC_SIGHUP, 0, CheckDatabases, NULL, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	DefineCustomIntVariable("dms.max_workers",
							"The largest number of background workers at a time.",
							"They are counted by max_worker_processes, too.",
							&max_workers, 2, 1, MAX_WORKERS, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	if (!IsBinaryUpgrade)
		RegisterBackgroundWorker(&launcher);
}

/* --- databases ------------------------------------------------------------- */

/*
 * Make slots for databases, free those of databases that are gone, and note which ones
 * are to be served.
 */
static void
LookAtDatabases(WorkerShare *share)
{
	static bool missing[WORKER_SLOTS];
	bool		exists[WORKER_SLOTS] = {false};
	Relation	databases;
	TableScanDesc scan;
	HeapTuple	tuple;

	memset(served, false, sizeof(served));
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	databases = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(databases, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
		WorkerSlot *slot;
		bool		serve = form->datallowconn && !form->datistemplate && form->datconnlimit != -2 &&
		LauncherServes(NameStr(form->datname));

		LWLockAcquire(share->lock, LW_EXCLUSIVE);
		slot = WorkerShareFind(form->oid, serve);
		LWLockRelease(share->lock);
		if (slot == NULL)
			continue;
		exists[slot - share->slots] = true;
		served[slot - share->slots] = serve;
	}
	table_endscan(scan);
	table_close(databases, AccessShareLock);
	CommitTransactionCommand();

	/*
	 * A database that was created, and has got its slot, since we looked is
	 * missing once.
	 */
	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	for (int i = 0; i < WORKER_SLOTS; i++)
	{
		if (!exists[i] && missing[i] && share->slots[i].pid == 0)
			share->slots[i].database = InvalidOid;
		missing[i] = !exists[i] && share->slots[i].database != InvalidOid;
	}
	LWLockRelease(share->lock);
}

/*
 * Returns true if a worker is to be started for a database.  "waiting" is set before the
 * counts are compared, so that a commit in between wakes us.
 */
static bool
IsDue(WorkerSlot *slot, TimestampTz now)
{
	if (slot->database == InvalidOid || slot->pid != 0 || slot->state == WORKER_WORKING)
		return false;
	(void) pg_atomic_exchange_u32(&slot->waiting, 1);
	return now >= slot->next_visit ||
		(slot->failures == 0 && pg_atomic_read_u64(&slot->commits) != slot->consumed);
}

/* --- workers --------------------------------------------------------------- */

/* Record that a visit has failed: the next one comes later each time. */
static void
RecordFailure(WorkerSlot *slot)
{
	int64		wait = FIRST_RETRY;

	slot->state = WORKER_FAILED;
	slot->failures++;
	for (int i = 1; i < slot->failures && wait < LAST_RETRY; i++)
		wait *= 2;
	slot->next_visit = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), Min(wait, LAST_RETRY));
}

/*
 * Forget workers that have ended.  What they did is in their slots; one that says nothing
 * has failed.  Returns the number of those that are there.
 */
static int
CollectWorkers(WorkerShare *share)
{
	int			running = 0;
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		WorkerSlot *slot;
		pid_t		pid;

		if (workers[i].handle == NULL)
			continue;
		LWLockAcquire(share->lock, LW_EXCLUSIVE);
		slot = WorkerShareFind(workers[i].database, false);
		if (GetBackgroundWorkerPid(workers[i].handle, &pid) == BGWH_STOPPED)
		{
			if (slot != NULL && slot->state == WORKER_WORKING)
				RecordFailure(slot);
			pfree(workers[i].handle);
			workers[i].handle = NULL;
		}
		else
		{
			running++;
			if (slot != NULL && pg_atomic_read_u32(&share->unserved) > 0 &&
				TimestampDifferenceExceeds(slot->last_visit, now, STUCK_AFTER))
				TerminateBackgroundWorker(workers[i].handle);
		}
		LWLockRelease(share->lock);
	}
	return running;
}

/* Say, once a minute, that no worker can be started. */
static void
ReportNoProcess(void)
{
	static TimestampTz reported = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (reported != 0 && !TimestampDifferenceExceeds(reported, now, 60000))
		return;
	reported = now;
	ereport(LOG,
			(errmsg("dms: no background worker can be started"),
			 errhint("Consider increasing \"max_worker_processes\".")));
}

/* Start a worker for a database; returns false if the server has no room for it. */
static bool
StartWorker(WorkerShare *share, WorkerSlot *slot)
{
	BackgroundWorker worker = {
		.bgw_name = "dms worker",
		.bgw_type = "dms worker",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "dms",
		.bgw_function_name = "dms_worker_main",
		.bgw_main_arg = ObjectIdGetDatum(slot->database),
		.bgw_notify_pid = MyProcPid,
	};
	int			place = 0;

	while (workers[place].handle != NULL)
		place++;
	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	slot->state = WORKER_WORKING;
	slot->last_visit = GetCurrentTimestamp();
	LWLockRelease(share->lock);
	if (RegisterDynamicBackgroundWorker(&worker, &workers[place].handle))
	{
		workers[place].database = slot->database;
		return true;
	}
	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	slot->state = WORKER_MORE;
	LWLockRelease(share->lock);
	ReportNoProcess();
	return false;
}

/* Returns the slot that has been due for longest, of databases that are served. */
static WorkerSlot *
FindDue(WorkerShare *share, TimestampTz now, int *count)
{
	WorkerSlot *found = NULL;

	*count = 0;
	LWLockAcquire(share->lock, LW_SHARED);
	for (int i = 0; i < WORKER_SLOTS; i++)
	{
		WorkerSlot *slot = &share->slots[i];

		if (!served[i] || !IsDue(slot, now))
			continue;
		(*count)++;
		if (found == NULL || slot->last_visit < found->last_visit)
			found = slot;
	}
	LWLockRelease(share->lock);
	return found;
}

/* Start workers where they are due.  Returns false if some could not be started. */
static bool
StartWorkers(WorkerShare *share)
{
	int			running = CollectWorkers(share);
	TimestampTz now = GetCurrentTimestamp();
	WorkerSlot *slot;
	int			due;

	LookAtDatabases(share);
	while ((slot = FindDue(share, now, &due)) != NULL && running < max_workers && StartWorker(share, slot))
		running++;
	pg_atomic_write_u32(&share->unserved, due);
	return slot == NULL || running >= max_workers;
}

/* Returns the milliseconds until the next visit. */
static long
TimeToVisit(WorkerShare *share)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = LauncherVisitAfter(now, 1);

	for (int i = 0; i < WORKER_SLOTS; i++)
	{
		WorkerSlot *slot = &share->slots[i];

		if (served[i] && slot->database != InvalidOid && slot->state != WORKER_WORKING && slot->next_visit > now)
			next = Min(next, slot->next_visit);
	}
	return Max(TimestampDifferenceMilliseconds(now, next), 1);
}

/* Callback: the launcher exits. */
static void
LauncherExits(int code pg_attribute_unused(), Datum arg)
{
	WorkerShare *share = (WorkerShare *) DatumGetPointer(arg);

	share->launcher = NULL;
	share->launcher_pid = 0;
}

/* Take over the share: workers that an earlier launcher registered are not ours. */
static void
TakeShare(WorkerShare *share)
{
	LWLockAcquire(share->lock, LW_EXCLUSIVE);
	for (int i = 0; i < WORKER_SLOTS; i++)
		if (share->slots[i].state == WORKER_WORKING && share->slots[i].pid == 0)
			share->slots[i].state = WORKER_MORE;
	LWLockRelease(share->lock);
	share->launcher_pid = MyProcPid;
	share->launcher = MyLatch;
	before_shmem_exit(LauncherExits, PointerGetDatum(share));
}

/* The process of the launcher. */
void
dms_launcher_main(Datum arg pg_attribute_unused())
{
	WorkerShare *share = WorkerShareGet();

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pgstat_report_appname("dms launcher");
	TakeShare(share);
	for (;;)
	{
		long		wait = 1000;

		CHECK_FOR_INTERRUPTS();
		if (ShutdownRequestPending)
			proc_exit(1);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		MemoryContextSwitchTo(TopMemoryContext);
		if (StartWorkers(share))
			wait = TimeToVisit(share);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, wait, COMPAT_WAIT_LAUNCHER);
		ResetLatch(MyLatch);
	}
}
