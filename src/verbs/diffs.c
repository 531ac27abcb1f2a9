/*
 * diffs.c
 *		Comparing versions: dms.json_diff(), dms.diff_versions(), dms.change_log() and
 *		dms.store_diff().
 *
 * A caller who may read the versions of a document may read its diffs, which repeat parts of
 * them.  So the document is looked for as in versions.c, and diffs are read with the
 * rights of the owner.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/grow.h"
#include "base/jsondiff.h"
#include "base/report.h"
#include "document/history.h"
#include "document/jobs.h"
#include "document/versiondiffs.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "verbs/diffs.h"
#include "verbs/read.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_json_diff);
PG_FUNCTION_INFO_V1(dms_diff_versions);
PG_FUNCTION_INFO_V1(dms_change_log);
PG_FUNCTION_INFO_V1(dms_store_diff);

#define LOG_COLUMNS 7

/* --- comparing --------------------------------------------------------------- */

/* Return what changed from one JSON value to another. */
Datum
dms_json_diff(PG_FUNCTION_ARGS)
{
	PG_RETURN_JSONB_P(JsonDiff(PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1), NULL));
}

/* Returns what changed from one version to another; NULL if one of them does not exist. */
Jsonb *
DiffsOfVersions(const VersionedDocument *document, int64 old_number, int64 new_number)
{
	text	   *old_text = VersionsText(document, old_number, CurrentMemoryContext);
	text	   *new_text = VersionsText(document, new_number, CurrentMemoryContext);

	if (old_text == NULL || new_text == NULL)
		return NULL;
	return VersionDiffOf(old_text, new_text);
}

/* Return what changed from one version to another; NULL if one of them does not exist. */
Datum
dms_diff_versions(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	VersionedDocument document;
	Jsonb	   *diff = NULL;

	ReadBegin(&session);
	if (VersionsFind(PG_GETARG_UUID_P(0), &document))
		diff = DiffsOfVersions(&document, PG_GETARG_INT64(1), PG_GETARG_INT64(2));
	if (diff != NULL)
		diff = memcpy(MemoryContextAllocHuge(context, VARSIZE(diff)), diff, VARSIZE(diff));
	SessionEnd(&session);
	if (diff == NULL)
		PG_RETURN_NULL();
	PG_RETURN_JSONB_P(diff);
}

/* --- the change log ---------------------------------------------------------- */

/* Changes that are being collected. */
typedef struct ChangeLog
{
	LoggedChange *changes;
	int			n;
	MemoryContext context;		/* of the texts */
} ChangeLog;

/* Add a version to a log. */
static void
AddVersion(void *state, const ListedVersion *version)
{
	ChangeLog  *log = state;
	MemoryContext saved = MemoryContextSwitchTo(log->context);
	LoggedChange change = {.version = *version};

	change.version.kind = pstrdup(version->kind);
	change.version.created_by = pstrdup(version->created_by);
	change.version.resource_version = pstrdup(version->resource_version);
	APPEND(log->changes, log->n, change);
	MemoryContextSwitchTo(saved);
}

/* Returns the change that has led to a version, among those of a log, newest first. */
static LoggedChange *
FindChange(ChangeLog *log, int64 number)
{
	int			first = 0;
	int			end = log->n;

	while (first < end)
	{
		int			middle = first + (end - first) / 2;

		if (log->changes[middle].version.number == number)
			return &log->changes[middle];
		if (log->changes[middle].version.number > number)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

/* Note which diffs are to be made by jobs. */
static void
AddJobs(ChangeLog *log, const pg_uuid_t *uuid)
{
	const char **ids = palloc_extended(sizeof(char *) * log->n, MCXT_ALLOC_HUGE);
	JobOfVersion *jobs;
	int			n;

	for (int i = 0; i < log->n; i++)
		ids[i] = VersionDiffsId(uuid, log->changes[i].version.number);
	jobs = JobsOfDiffs(uuid, log->n, ids, &n);
	for (int i = 0; i < n; i++)
	{
		pg_uuid_t	job_uuid;
		int64		number;
		LoggedChange *change;

		CHECK_FOR_INTERRUPTS();
		if (!VersionDiffsParseId(jobs[i].version_id, &job_uuid, &number))
			continue;
		change = FindChange(log, number);
		if (change != NULL)
			change->state = jobs[i].dead ? DIFF_DEAD : DIFF_PENDING;
	}
}

/* Add the diffs that are stored. */
static void
AddDiffs(ChangeLog *log, const pg_uuid_t *uuid)
{
	int			n;
	StoredDiff *diffs = VersionDiffsRead(uuid, log->changes[log->n - 1].version.number, log->changes[0].version.number, &n);

	for (int i = 0; i < n; i++)
	{
		LoggedChange *change = FindChange(log, diffs[i].number);

		if (change == NULL)
			continue;
		change->state = DIFF_DONE;
		change->old_number = diffs[i].old_number;
		change->diff = diffs[i].diff;
	}
}

/* Hand changes to versions with numbers below "before" to the sink, newest first. */
void
DiffsLog(const VersionedDocument *document, int64 before, int64 limit, ChangeSink sink, void *state)
{
	ChangeLog	log = {.context = CurrentMemoryContext};
	Session		owner;

	VersionsList(document, before, limit, AddVersion, &log);
	if (log.n == 0)
		return;
	SessionBegin(&owner, RIGHTS_OF_OWNER);
	AddJobs(&log, document->uuid);
	AddDiffs(&log, document->uuid);
	for (int i = 0; i < log.n; i++)
		sink(state, &log.changes[i]);
	SessionEnd(&owner);
}

/* Returns the name of a state. */
const char *
DiffStateName(DiffState state)
{
	static const char *const names[] = {
		[DIFF_NONE] = "none",
		[DIFF_PENDING] = "pending",
		[DIFF_DEAD] = "dead",
		[DIFF_DONE] = "done",
	};

	return names[state];
}

/* Return a row of dms.change_log(). */
static void
PutChange(void *state, const LoggedChange *change)
{
	ReturnSetInfo *rsinfo = state;
	Datum		values[LOG_COLUMNS] = {
		Int64GetDatum(change->version.number), Int64GetDatum(change->old_number),
		CStringGetTextDatum(change->version.kind), TimestampTzGetDatum(change->version.created_at),
		CStringGetTextDatum(change->version.created_by), change->diff,
		CStringGetTextDatum(DiffStateName(change->state))
	};
	bool		nulls[LOG_COLUMNS] = {false};

	nulls[1] = nulls[5] = change->state != DIFF_DONE;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return what changed with each version of a document, newest first. */
Datum
dms_change_log(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "page_limit"};
	Session		session;
	VersionedDocument document;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT32(1) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be negative");
	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	if (VersionsFind(PG_GETARG_UUID_P(0), &document))
		DiffsLog(&document, PG_ARGISNULL(2) ? PG_INT64_MAX : PG_GETARG_INT64(2), PG_GETARG_INT32(1),
				 PutChange, fcinfo->resultinfo);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* --- storing ----------------------------------------------------------------- */

/*
 * Store a diff, unless there is one.  Returns false if there is, or if a version does not
 * exist any more.  Both stay until the end of the transaction.
 */
static bool
StoreDiff(const pg_uuid_t *uuid, int64 old_number, int64 new_number, Datum diff)
{
	if (!FAULT_SKIP("diff_lock") && !(HistoryLock(uuid, old_number) && HistoryLock(uuid, new_number)))
		return false;
	return VersionDiffsInsert(uuid, old_number, new_number, diff);
}

/*
 * Compare two versions, and store the diff unless there is one.  Nothing is stored if one
 * of them has no text, or does not exist any more.
 */
void
DiffsMake(const pg_uuid_t *uuid, int64 old_number, int64 new_number)
{
	text	   *old_text;
	text	   *new_text;
	Jsonb	   *diff;

	SnapshotBegin();
	old_text = HistoryText(uuid, old_number);
	new_text = HistoryText(uuid, new_number);
	SnapshotEnd();
	if (old_text == NULL || new_text == NULL)
		return;
	diff = VersionDiffOf(old_text, new_text);
	FAULT_PAUSE("before_diff");
	(void) StoreDiff(uuid, old_number, new_number, JsonbPGetDatum(diff));
}

/* Store the diff of two versions; returns false if there is one, or a version is gone. */
Datum
dms_store_diff(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "old_version", "new_version", "diff"};
	Session		session;
	bool		stored;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT64(1) >= PG_GETARG_INT64(2))
		ReportError(PROBLEM_ARGUMENT, NULL, "old_version must be less than new_version");
	if (!JB_ROOT_IS_OBJECT(PG_GETARG_JSONB_P(3)))
		ReportError(PROBLEM_ARGUMENT, NULL, "diff must be an object");
	WriteBegin(&session, "dms.store_diff()");
	stored = StoreDiff(PG_GETARG_UUID_P(0), PG_GETARG_INT64(1), PG_GETARG_INT64(2), PG_GETARG_DATUM(3));
	SessionEnd(&session);
	PG_RETURN_BOOL(stored);
}
