/*
 * changetracking.c
 *		The upkeep of the journal of changes: dms.set_change_tracking(),
 *		dms.compact_changes(), dms.purge_tracked_changes(),
 *		dms.skip_change_versions() and dms.current_change_version().
 */
#include "postgres.h"

#include "access/xact.h"
#include "admin/changetracking.h"
#include "admin/projector.h"
#include "base/faults.h"
#include "base/report.h"
#include "document/changes.h"
#include "document/trackedchanges.h"
#include "engine/progress.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_set_change_tracking);
PG_FUNCTION_INFO_V1(dms_compact_changes);
PG_FUNCTION_INFO_V1(dms_compact_some);
PG_FUNCTION_INFO_V1(dms_current_change_version);
PG_FUNCTION_INFO_V1(dms_skip_change_versions);
PG_FUNCTION_INFO_V1(dms_purge_tracked_changes);

static int	retention_seconds = 0;

/* Define the setting of this module. */
void
ChangeTrackingInit(void)
{
	DefineCustomIntVariable("dms.tracked_change_retention",
							"How long background workers keep deletes and changes of keys.",
							"0 keeps them for ever.",
							&retention_seconds, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_S, NULL, NULL, NULL);
}

/*
 * Begin to record changes: all documents count as changed now.  What was deleted
 * before is not known, so those who followed the store begin anew.
 */
static void
SwitchOn(void)
{
	int64		version = ChangesVersion();
	StoreJournal set = *StoreRowJournal();
	int64		n;

	set.tracking = true;
	set.purged_by = version;
	set.purged_through = Max(Max(set.purged_through, set.floor), Max(version + 1, ChangesHighest()));
	StoreRowSetJournal(&set);
	/* To create a trigger waits for writers, too, as if there were no gate. */
	if (!FAULT_SKIP("tracking_trigger"))
		TrackedChangesTrigger(true);
	n = ChangesFill();
	ereport(NOTICE, (errmsg("changes are recorded from now on, beginning with " INT64_FORMAT " documents", n)));
}

/* Stop recording changes, and forget those that were recorded. */
static void
SwitchOff(void)
{
	StoreJournal set = *StoreRowJournal();

	if (StoreRowCache()->mode != CACHE_OFF)
		ReportError(PROBLEM_CACHE_MODE, "Switch it off by dms.set_cache_mode() first.",
					"the cache of documents follows the changes");
	set.tracking = false;
	set.purged_through = Max(Max(set.purged_through, set.floor), ChangesHighest());
	StoreRowSetJournal(&set);
	TrackedChangesTrigger(false);
	ChangesClear();
	ereport(NOTICE, (errmsg("changes are not recorded any more")));
}

/*
 * Switch the recording of changes on or off with the gate closed: no write runs that
 * knows the other state.  If nothing is to be switched, nobody waits.
 */
Datum
dms_set_change_tracking(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"enabled"};
	Session		session;
	bool		enabled;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	enabled = PG_GETARG_BOOL(0);
	(void) StoreTable(STORE_STORE);
	if (ChangesAreTracked() == enabled)
		PG_RETURN_VOID();
	PreventCommandIfReadOnly("dms.set_change_tracking()");
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"change tracking cannot be switched under a snapshot that was taken before the writers were stopped");
	StoreDeployLock();
	if (!FAULT_SKIP("mode_gate"))
		StoreGate(ShareRowExclusiveLock);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	if (ChangesAreTracked() != enabled)
	{
		if (enabled)
			SwitchOn();
		else
			SwitchOff();
	}
	SessionEnd(&session);
	PG_RETURN_VOID();
}

/* Delete the rows of the journal that are not current any more; returns their number. */
Datum
dms_compact_changes(PG_FUNCTION_ARGS)
{
	Session		session;
	BlockNumber page = 0;
	int64		deleted = 0;

	WriteBegin(&session, "dms.compact_changes()");
	while (page != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		deleted += ChangesCompact(&page);
	}
	ProgressEnd();
	SessionEnd(&session);
	PG_RETURN_INT64(deleted);
}

/*
 * A step of dms.project_documents(): compact some pages of the journal from a page on, if
 * it is worthwhile to begin.  Returns the next page, NULL at the end.
 */
Datum
dms_compact_some(PG_FUNCTION_ARGS)
{
	Session		session;
	int64		from = PG_GETARG_INT64(0);
	BlockNumber page = InvalidBlockNumber;

	if (from < 0 || from >= InvalidBlockNumber)
		ReportError(PROBLEM_ARGUMENT, NULL, "there is no page " INT64_FORMAT, from);
	WriteBegin(&session, "dms.project_documents()");
	if (from > 0 || ChangesAreSuperseded())
	{
		page = (BlockNumber) from;
		(void) ChangesCompact(&page);
		ProgressEnd();
	}
	SessionEnd(&session);
	if (page == InvalidBlockNumber)
		PG_RETURN_NULL();
	PG_RETURN_INT64(page);
}

/* Return the number of the changes of this transaction, for changes by statements of its own. */
Datum
dms_current_change_version(PG_FUNCTION_ARGS)
{
	Session		session;
	int64		version;

	WriteBegin(&session, "dms.current_change_version()");
	ChangesRequire();
	version = ChangesVersion();
	SessionEnd(&session);
	PG_RETURN_INT64(version);
}

/*
 * Let numbers of changes jump over some, and return the newest one then.  The gate is
 * closed, because a change of a running write would have the old numbers.
 */
Datum
dms_skip_change_versions(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"by"};
	Session		session;
	int64		newest;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT64(0) < 1)
		ReportError(PROBLEM_ARGUMENT, NULL, "by must be a number from 1 on");
	(void) StoreTable(STORE_STORE);
	PreventCommandIfReadOnly("dms.skip_change_versions()");
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"numbers cannot be skipped under a snapshot that was taken before the writers were stopped");
	StoreDeployLock();
	StoreGate(ShareRowExclusiveLock);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	if (!ChangesAreTracked())
		ChangesRequire();
	ChangesSkip(PG_GETARG_INT64(0));
	SnapshotBeginLatest();
	newest = ChangesNewest();
	SnapshotEnd();
	SessionEnd(&session);
	PG_RETURN_INT64(newest);
}

/* Say that deletes up to a number may not be recorded any more. */
static void
SetPurged(int64 through)
{
	StoreJournal set = *StoreRowJournal();

	set.purged_by = ChangesVersion();
	set.purged_through = Max(set.purged_through, through);
	StoreRowSetJournal(&set);
}

/*
 * Delete deletes and changes of keys that are older than an interval, at most some of
 * them; returns their number.  Those that a snapshot may still not see stay, and those
 * that the projector has still to read.  What is left of an earlier call goes first.
 */
static int64
PurgeRows(Datum older_than, int64 max_rows)
{
	int64		highest;
	int64		through;
	int64		deleted;

	StoreRowLock();
	deleted = TrackedChangesPurge(StoreRowJournal()->purged_through, max_rows);
	if (deleted == max_rows)
		return deleted;
	SnapshotBeginLatest();
	highest = ChangesNewest();
	SnapshotEnd();
	through = TrackedChangesPurgeable(Min(highest, ProjectorReadsFrom() - 1), older_than);
	if (through > StoreRowJournal()->purged_through)
	{
		SetPurged(through);
		deleted += TrackedChangesPurge(through, max_rows - deleted);
	}
	return deleted;
}

/*
 * Delete what is older than dms.tracked_change_retention, at most some rows; returns
 * their number.
 */
int64
ChangeTrackingPurge(int64 max_rows)
{
	Interval	retention = {.time = retention_seconds * USECS_PER_SEC};

	if (retention_seconds == 0 || !ChangesAreTracked() || ChangesAreForeign())
		return 0;
	return PurgeRows(IntervalPGetDatum(&retention), max_rows);
}

/* Delete deletes and changes of keys that are older than an interval; returns their number. */
Datum
dms_purge_tracked_changes(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"older_than"};
	Session		session;
	int64		deleted;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.purge_tracked_changes()");
	ChangesRequire();
	deleted = PurgeRows(PG_GETARG_DATUM(0), PG_INT64_MAX);
	SessionEnd(&session);
	PG_RETURN_INT64(deleted);
}
