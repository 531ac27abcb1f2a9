/*
 * tasks.c
 *		What a background worker does in a database.
 *
 * Each call does a part that takes a moment, in the transaction of the caller and with
 * the rights of the store's owner.
 */
#include "postgres.h"

#include "admin/changetracking.h"
#include "admin/projector.h"
#include "document/changes.h"
#include "document/history.h"
#include "document/historypurge.h"
#include "document/jobs.h"
#include "engine/progress.h"
#include "request/idempotency.h"
#include "utils/timestamp.h"
#include "verbs/write.h"
#include "worker/launcher.h"
#include "worker/tasks.h"

/* Versions of documents that are deleted together. */
#define VERSIONS_AT_ONCE 10000

/* Deletes and changes of keys that are deleted together. */
#define CHANGES_AT_ONCE 10000

/* Delete idempotency keys that have expired. */
static void
PurgeKeys(const char *database)
{
	uint64		purged;

	ProgressReport("purging idempotency keys");
	purged = IdempotencyPurge();
	if (purged > 0)
		ereport(LOG,
				(errmsg("dms: purged " UINT64_FORMAT " idempotency keys of database \"%s\"", purged, database)));
}

/* Delete versions that need not be retained; returns false if there may be more. */
static bool
PurgeHistory(const char *database)
{
	Session		session;
	int64		purged;

	ProgressReport("purging versions of documents");
	WriteBegin(&session, "dms.purge_history()");
	purged = HistoryPurgeIsWanted() ? HistoryPurge(VERSIONS_AT_ONCE) : 0;
	SessionEnd(&session);
	if (purged > 0)
		ereport(LOG,
				(errmsg("dms: purged " INT64_FORMAT " versions of documents of database \"%s\"", purged, database)));
	return purged < VERSIONS_AT_ONCE;
}

/* Delete old deletes and changes of keys; returns false if there may be more. */
static bool
PurgeChanges(const char *database)
{
	Session		session;
	int64		purged;

	ProgressReport("purging deletes and changes of keys");
	WriteBegin(&session, "dms.purge_tracked_changes()");
	purged = ChangeTrackingPurge(CHANGES_AT_ONCE);
	SessionEnd(&session);
	if (purged > 0)
		ereport(LOG,
				(errmsg("dms: purged " INT64_FORMAT " deletes and changes of keys of database \"%s\"", purged, database)));
	return purged < CHANGES_AT_ONCE;
}

/* Do what is to be done every now and then, if it is time. */
static void
RunPurges(const char *database, TaskOutcome *outcome)
{
	TimestampTz now = GetCurrentTimestamp();

	if (now < outcome->next_purge)
		return;
	PurgeKeys(database);
	if (PurgeHistory(database) && PurgeChanges(database))
		outcome->next_purge = LauncherVisitAfter(now, TASK_PURGE_NAPTIMES);
	else
		outcome->more = true;
}

/* Find out every now and then whether the journal of changes is to be compacted. */
static void
LookAtJournal(TaskCompaction *compaction)
{
	TimestampTz now = GetCurrentTimestamp();
	Session		session;

	if (compaction->page != InvalidBlockNumber || now < compaction->next)
		return;
	compaction->next = LauncherVisitAfter(now, 1);
	WriteBegin(&session, "dms.compact_changes()");
	if (ChangesAreSuperseded())
		compaction->page = 0;
	SessionEnd(&session);
}

/*
 * Claim jobs of the library that are due.  If there are none, find out when the next one
 * is.  One that is due already is held by another session, and looked for after a pause.
 */
static void
ClaimJobs(TaskOutcome *outcome)
{
	TimestampTz soon = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), JobsPollInterval());

	ProgressReport("claiming jobs");
	if (JobRunClaim(&outcome->jobs, outcome->context))
		outcome->more = true;
	else if (outcome->jobs.next_due != 0)
	{
		soon = Max(soon, outcome->jobs.next_due);
		outcome->next = outcome->next == 0 ? soon : Min(soon, outcome->next);
	}
}

/* Do some of the work that there is. */
void
TasksRun(const char *database, TaskOutcome *outcome)
{
	ProjectorResult projected;

	RunPurges(database, outcome);
	ProjectorStep(&projected);
	outcome->watched = projected.on;
	outcome->more |= projected.more;
	outcome->next = projected.next;
	outcome->pause = projected.pause;
	LookAtJournal(&outcome->compaction);
	ClaimJobs(outcome);
}

/* Compact some pages of the journal of changes. */
void
TasksCompact(const char *database, TaskOutcome *outcome)
{
	TaskCompaction *compaction = &outcome->compaction;
	Session		session;

	WriteBegin(&session, "dms.compact_changes()");
	compaction->deleted += ChangesCompact(&compaction->page);
	SessionEnd(&session);
	outcome->more = true;
	if (compaction->page != InvalidBlockNumber)
		return;
	ereport(LOG,
			(errmsg("dms: deleted " INT64_FORMAT " superseded changes of database \"%s\"", compaction->deleted, database)));
	compaction->deleted = 0;
}

/* Run the jobs that TasksRun() has claimed. */
void
TasksRunJobs(const char *database pg_attribute_unused(), TaskOutcome *outcome)
{
	ProgressReport("running jobs");
	(void) JobRunBatch(&outcome->jobs);
}
