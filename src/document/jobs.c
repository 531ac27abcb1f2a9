/*
 * jobs.c
 *		Jobs: rows of dms.Job and dms.DeadJob.
 *
 * A job is enqueued in the transaction that makes it necessary, so it exists exactly
 * if that commits.  It is due when its RunAt has come.  A claim counts the attempt,
 * notes a lease, and moves RunAt to the time when the lease ends.  So a job whose
 * worker died is due again by itself, and a job that kills its workers runs out of
 * attempts.  There is no state to keep and nothing to sweep.
 *
 * Whoever holds a job proves it with the lease.  Once another worker has claimed the
 * job, the old lease does nothing.
 *
 * Workers do not wait for each other: a claim leaves out what others are claiming.
 * Jobs are claimed about in the order in which they are due, but no order is promised.
 *
 * This module has all statements on both tables.
 */
#include "postgres.h"

#include <math.h>

#include "base/faults.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "common/pg_prng.h"
#include "document/claimstart.h"
#include "document/jobs.h"
#include "document/notices.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/workershare.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

/* Longest pause after a failed attempt, in milliseconds, and how much it varies. */
#define MAX_BACKOFF (60 * 60 * 1000)
#define BACKOFF_SPREAD 0.2

/* Longest text of an error that is kept, in bytes. */
#define MAX_ERROR 8192

static const char *const job_columns[] = {
	"jobid", "queue", "kind", "documentuuid", "payload", "runat", "maxattempts"
};
static const Oid job_types[] = {INT8OID, TEXTOID, TEXTOID, UUIDOID, JSONBOID, TIMESTAMPTZOID, INT4OID};
static KeyedTable new_jobs =
{
	.schema = "dms",.name = "job", KEYED_COLUMNS(job_columns, job_types),.nkeys = 1
};

#define DUE_SQL(columns) "SELECT " columns " FROM dms.Job WHERE Queue OPERATOR(pg_catalog.=) $1" \
	" AND RunAt OPERATOR(pg_catalog.>=) $6 AND RunAt OPERATOR(pg_catalog.<=) $2 ORDER BY RunAt, JobId LIMIT $3"
#define CLAIM_SQL "UPDATE dms.Job AS j SET RunAt = $4, Attempts = j.Attempts OPERATOR(pg_catalog.+) 1, Lease = $5"
#define CLAIMED_SQL(run_at) " RETURNING j.JobId, j.Kind::pg_catalog.text, j.Payload, j.Attempts," \
	" j.Attempts OPERATOR(pg_catalog.>) j.MaxAttempts, " run_at

static const Oid claim_types[] = {TEXTOID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, UUIDOID, TIMESTAMPTZOID};

/*
 * The time is a parameter: a volatile function would not bound the scan of the index,
 * and each claim would walk over all that is leased or waits.  The jobs are chosen in a
 * CTE that is evaluated once.  A subquery in WHERE may be evaluated again and again,
 * and each time finds other jobs.
 */
static Statement claim_due =
{
	.sql = "WITH due AS MATERIALIZED (" DUE_SQL("JobId, RunAt") " FOR UPDATE SKIP LOCKED) " CLAIM_SQL
	" FROM due WHERE j.JobId OPERATOR(pg_catalog.=) due.JobId" CLAIMED_SQL("due.RunAt"),
	.nargs = lengthof(claim_types),
	.argtypes = claim_types,
	.ordered = true,
};

#ifdef DMS_FAULTS
static Statement claim_waiting =
{
	.sql = "WITH due AS MATERIALIZED (" DUE_SQL("JobId, RunAt") " FOR UPDATE) " CLAIM_SQL
	" FROM due WHERE j.JobId OPERATOR(pg_catalog.=) due.JobId" CLAIMED_SQL("due.RunAt"),
	.nargs = lengthof(claim_types),
	.argtypes = claim_types,
	.ordered = true,
};
static Statement claim_subquery =
{
	.sql = CLAIM_SQL " WHERE j.JobId OPERATOR(pg_catalog.=) ANY (ARRAY(" DUE_SQL("JobId")
	" OFFSET LEAST(0, j.JobId) FOR UPDATE SKIP LOCKED))" CLAIMED_SQL("$2"),
	.nargs = lengthof(claim_types),
	.argtypes = claim_types,
	.ordered = true,
};
#endif

static const Oid claimed_types[] = {INT8OID, TEXTOID, JSONBOID, INT4OID, BOOLOID, TIMESTAMPTZOID};

static const Oid held_types[] = {INT8ARRAYOID, UUIDOID, TIMESTAMPTZOID};

#define HELD_SQL " WHERE JobId OPERATOR(pg_catalog.=) ANY ($1) AND Lease OPERATOR(pg_catalog.=) $2"

static Statement lock_held =
{
	.sql = "SELECT JobId, Kind::pg_catalog.text, Payload, Attempts, MaxAttempts FROM dms.Job" HELD_SQL
	" ORDER BY JobId FOR UPDATE",
	.nargs = 2,
	.argtypes = held_types,
	.ordered = true,
};

static const Oid locked_types[] = {INT8OID, TEXTOID, JSONBOID, INT4OID, INT4OID};

static Statement complete =
{
	.sql = "DELETE FROM dms.Job" HELD_SQL,.nargs = 2,.argtypes = held_types
};

#ifdef DMS_FAULTS
static Statement complete_any =
{
	.sql = "DELETE FROM dms.Job WHERE JobId OPERATOR(pg_catalog.=) ANY ($1)"
	" AND (Lease OPERATOR(pg_catalog.=) $2 OR Lease IS NOT NULL)",
	.nargs = 2,
	.argtypes = held_types,
};
#endif

static Statement release =
{
	.sql = "UPDATE dms.Job SET RunAt = $3, Lease = NULL,"
	" Attempts = GREATEST(Attempts OPERATOR(pg_catalog.-) 1, 0)" HELD_SQL,
	.nargs = 3,
	.argtypes = held_types,
};

static const Oid fail_types[] = {INT8ARRAYOID, UUIDOID, TIMESTAMPTZOID, TEXTOID};

static Statement try_later =
{
	.sql = "UPDATE dms.Job SET RunAt = $3, Lease = NULL, LastError = $4" HELD_SQL,
	.nargs = 4,
	.argtypes = fail_types,
};

static const Oid bury_types[] = {INT8ARRAYOID, UUIDOID, TEXTOID};

static Statement bury =
{
	.sql = "WITH gone AS (DELETE FROM dms.Job" HELD_SQL " RETURNING JobId, Queue, Kind, DocumentUuid, Payload,"
	" RunAt, Attempts, MaxAttempts, LastError, CreatedAt)"
	" INSERT INTO dms.DeadJob (JobId, Queue, Kind, DocumentUuid, Payload, RunAt, Attempts, MaxAttempts, LastError, CreatedAt)"
	" SELECT JobId, Queue, Kind, DocumentUuid, Payload, RunAt, LEAST(Attempts, MaxAttempts), MaxAttempts,"
	" COALESCE($3, LastError, 'no attempt came to an end'), CreatedAt FROM gone ORDER BY JobId",
	.nargs = 3,
	.argtypes = bury_types,
};

static const Oid retry_types[] = {INT8ARRAYOID, TIMESTAMPTZOID};

static Statement retry =
{
	.sql = "WITH back AS (DELETE FROM dms.DeadJob WHERE $1 IS NULL OR JobId OPERATOR(pg_catalog.=) ANY ($1)"
	" RETURNING JobId, Queue, Kind, DocumentUuid, Payload, MaxAttempts, LastError, CreatedAt)"
	" INSERT INTO dms.Job (JobId, Queue, Kind, DocumentUuid, Payload, RunAt, MaxAttempts, LastError, CreatedAt)"
	" SELECT JobId, Queue, Kind, DocumentUuid, Payload, $2, MaxAttempts, LastError, CreatedAt"
	" FROM back ORDER BY JobId",
	.nargs = 2,
	.argtypes = retry_types,
};

static const Oid document_types[] = {UUIDOID, TEXTARRAYOID};
static const Oid diff_types[] = {TEXTOID, BOOLOID};

#define DIFFS_SQL(table, dead) "SELECT Payload OPERATOR(pg_catalog.->>) 'newVersionId'::pg_catalog.text, " dead \
	" FROM dms." table " WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 AND Kind OPERATOR(pg_catalog.=) '" JOB_KIND_DIFF "'" \
	" AND (Payload OPERATOR(pg_catalog.->>) 'newVersionId'::pg_catalog.text) OPERATOR(pg_catalog.=) ANY ($2)"

/* Anybody can enqueue jobs, with any payload: there is one row for each version that was asked for. */
static Statement diffs_of_document =
{
	.sql = "SELECT u.Id, pg_catalog.bool_and(u.Dead) FROM (" DIFFS_SQL("Job", "false") " UNION ALL "
	DIFFS_SQL("DeadJob", "true") ") AS u (Id, Dead) GROUP BY u.Id",
	.nargs = 2,
	.argtypes = document_types,
};

/* What others are running is left to them: they find that there is nothing to do. */
static Statement erase =
{
	.sql = "WITH dead AS (DELETE FROM dms.DeadJob WHERE DocumentUuid OPERATOR(pg_catalog.=) $1),"
	" open AS MATERIALIZED (SELECT JobId FROM dms.Job WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 FOR UPDATE SKIP LOCKED)"
	" DELETE FROM dms.Job AS j USING open WHERE j.JobId OPERATOR(pg_catalog.=) open.JobId",
	.nargs = 1,
	.argtypes = document_types,
};

static const Oid queue_types[] = {TEXTOID};

static Statement next_due =
{
	.sql = "SELECT RunAt FROM dms.Job WHERE Queue OPERATOR(pg_catalog.=) $1 ORDER BY RunAt, JobId LIMIT 1",
	.nargs = 1,
	.argtypes = queue_types,
	.ordered = true,
};

static const Oid version_types[] = {UUIDARRAYOID, INT8ARRAYOID};

/* Ids of versions are input: any writer can enqueue a job. */
static Statement forget_dead =
{
	.sql = "DELETE FROM dms.DeadJob AS j USING ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (DocumentUuid, VersionNumber)"
	" WHERE j.DocumentUuid OPERATOR(pg_catalog.=) u.DocumentUuid AND j.Kind OPERATOR(pg_catalog.=) '" JOB_KIND_DIFF "'"
	" AND CASE WHEN (j.Payload OPERATOR(pg_catalog.->>) 'oldVersionId'::pg_catalog.text)"
	" OPERATOR(pg_catalog.~) '^[0-9a-f-]{36}@[0-9]{1,18}$'"
	" THEN pg_catalog.split_part(j.Payload OPERATOR(pg_catalog.->>) 'oldVersionId'::pg_catalog.text, '@', 2)::pg_catalog.int8"
	" OPERATOR(pg_catalog.<=) u.VersionNumber ELSE false END",
	.nargs = 2,
	.argtypes = version_types,
};

static int	max_attempts = 10;
static int	backoff = 1000;
static int	lease_seconds = 60;
static int	poll_interval = 1000;

/* Define the settings of this module. */
void
JobsInit(void)
{
	DefineCustomIntVariable("dms.job_max_attempts",
							"How often a job is tried, unless it is enqueued with another number.",
							"Then it is moved to dms.DeadJob.",
							&max_attempts, 10, 1, JOB_MAX_ATTEMPTS, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.job_backoff",
							"The pause after the first attempt of a job that failed.",
							"It doubles with each attempt, up to an hour, and varies by 20 percent.",
							&backoff, 1000, 0, MAX_BACKOFF, PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.job_lease",
							"How long a worker holds the jobs that it claims.",
							"After that they are due again.",
							&lease_seconds, 60, 1, INT_MAX / 1000, PGC_USERSET, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.job_poll",
							"How often workers look for jobs that are due, if there were none.",
							NULL,
							&poll_interval, 1000, 10, 60 * 60 * 1000, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}

/* Returns how long a worker waits if there is nothing to do, in milliseconds. */
int
JobsPollInterval(void)
{
	return poll_interval;
}

/* Returns how long a worker holds the jobs that it claims. */
int64
JobsLeaseSeconds(void)
{
	return lease_seconds;
}

/* --- enqueueing ----------------------------------------------------------- */

/* Enqueue a job, and return its id. */
int64
JobsEnqueue(const NewJob *job)
{
	int64		id = nextval_internal(StoreTable(STORE_JOB_SEQUENCE), true);
	Datum		values[lengthof(job_columns)] = {
		Int64GetDatum(id), CStringGetTextDatum(job->queue), CStringGetTextDatum(job->kind),
		UUIDPGetDatum(job->document), job->payload,
		TimestampTzGetDatum(job->run_at != 0 ? job->run_at : GetCurrentTimestamp()),
		Int32GetDatum(job->max_attempts > 0 ? job->max_attempts : max_attempts)
	};
	bool		nulls[lengthof(job_columns)] = {false};
	Row			row = {.values = values,.nulls = nulls};
	RowSet		set = {.rows = &row,.nrows = 1};

	nulls[3] = job->document == NULL;
	if (RowWriteRun(&new_jobs, KEYED_INSERT, &set) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("dms.Job did not take a row")));
	NoticesTellJob(job->queue);
	if (strcmp(job->queue, QUEUE_OWN) == 0)
		WorkerShareNote();
	return id;
}

/* --- workers -------------------------------------------------------------- */

/* Returns the statement that claims jobs, which a fault may replace. */
static Statement *
ClaimStatement(void)
{
#ifdef DMS_FAULTS
	if (FAULT_SKIP("skip_locked"))
		return &claim_waiting;
	if (FAULT_SKIP("claim_cte"))
		return &claim_subquery;
#endif
	return &claim_due;
}

/* Move jobs that we hold to dms.DeadJob; error may be NULL. */
static void
Bury(const int64 *ids, int n, const pg_uuid_t *lease, const char *error)
{
	Datum		values[] = {
		DatumInt8Array(n, ids), UUIDPGetDatum(lease),
		error != NULL ? CStringGetTextDatum(error) : (Datum) 0
	};
	const char	nulls[] = {' ', ' ', error != NULL ? ' ' : 'n', '\0'};

	if (StatementRun(&bury, values, nulls, false, 0) == 0)
		return;
	for (int i = 0; i < n; i++)
		ereport(WARNING,
				(errmsg("job " INT64_FORMAT " has failed too often", ids[i]),
				 errhint("dms.DeadJob has its last error, and dms.retry_jobs() puts it back.")));
}

/* Take a job from a row of the last result: id, kind, payload, attempts. */
static void
TakeJob(uint64 row, ClaimedJob *job)
{
	bool		isnull;
	Datum		payload = ResultDatum(row, 3, &isnull);

	if (isnull)
		ResultRefuse("NULL where there must be a value");
	job->id = ResultInt64(row, 1);
	job->kind = ResultName(row, 2);
	/* It may be huge: it stays compressed, or out of line, until it is read. */
	job->payload = datumCopy(payload, false, -1);
	job->attempt = ResultInt32(row, 4);
}

/* Returns when the last of the jobs in the last result was due. */
static TimestampTz
LastRunAt(uint64 rows)
{
	TimestampTz last = DT_NOBEGIN;

	for (uint64 i = 0; i < rows; i++)
	{
		bool		isnull;
		TimestampTz run_at = DatumGetTimestampTz(ResultDatum(i, 6, &isnull));

		if (!isnull)
			last = Max(last, run_at);
	}
	return last;
}

/* Run the statement that claims jobs; returns their number. */
static uint64
ClaimRows(const char *queue, Datum *values)
{
	TimestampTz began = GetCurrentTimestamp();
	TimestampTz first = ClaimStartOf(queue, began);
	uint64		rows;

	values[5] = TimestampTzGetDatum(first);
	rows = StatementRun(ClaimStatement(), values, NULL, false, 0);
	if (rows == 0 && first != DT_NOBEGIN)
	{
		first = DT_NOBEGIN;
		values[5] = TimestampTzGetDatum(first);
		rows = StatementRun(ClaimStatement(), values, NULL, false, 0);
	}
	ResultExpect(claimed_types);
	ClaimStartNote(queue, first, LastRunAt(rows), began);
	return rows;
}

/*
 * Claim jobs of a queue that are due, at most so many.  Those that have no attempt left
 * die instead, so fewer may be returned than are due; *nseen is set to both.
 */
static ClaimedJob *
ClaimOnce(const char *queue, Datum *values, const pg_uuid_t *lease, int *n, int *nseen)
{
	uint64		rows = ClaimRows(queue, values);
	ClaimedJob *jobs = palloc(sizeof(ClaimedJob) * Max(rows, 1));
	int64	   *spent = palloc(sizeof(int64) * Max(rows, 1));
	int			nspent = 0;

	*n = 0;
	*nseen = (int) rows;
	for (uint64 i = 0; i < rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ResultBool(i, 5))
			spent[nspent++] = ResultInt64(i, 1);
		else
			TakeJob(i, &jobs[(*n)++]);
	}
	if (nspent > 0)
		Bury(spent, nspent, lease, NULL);
	return jobs;
}

/*
 * Claim jobs of a queue that are due at a time, at most so many, until their lease
 * ends.  Returns none only if none is due that others are not claiming.
 */
ClaimedJob *
JobsClaim(const char *queue, int max_jobs, TimestampTz now, TimestampTz lease_ends, const pg_uuid_t *lease, int *n)
{
	Datum		values[lengthof(claim_types)] = {
		CStringGetTextDatum(queue), TimestampTzGetDatum(now), Int64GetDatum(max_jobs),
		TimestampTzGetDatum(lease_ends), UUIDPGetDatum(lease)
	};
	ClaimedJob *jobs;
	int			nseen;

	do
	{
		CHECK_FOR_INTERRUPTS();
		jobs = ClaimOnce(queue, values, lease, n, &nseen);
	} while (*n == 0 && nseen > 0);
	return jobs;
}

/* Lock those of some jobs that are held with a lease, and return them by their ids. */
ClaimedJob *
JobsLock(const int64 *ids, int n, const pg_uuid_t *lease, int *nlocked)
{
	Datum		values[] = {DatumInt8Array(n, ids), UUIDPGetDatum(lease)};
	uint64		rows = StatementRun(&lock_held, values, NULL, false, 0);
	ClaimedJob *jobs = palloc(sizeof(ClaimedJob) * Max(rows, 1));

	ResultExpect(locked_types);
	for (uint64 i = 0; i < rows; i++)
		TakeJob(i, &jobs[i]);
	*nlocked = (int) rows;
	return jobs;
}

/* Delete jobs that were done; returns how many of them were still held with the lease. */
int64
JobsComplete(const int64 *ids, int n, const pg_uuid_t *lease)
{
	Datum		values[] = {DatumInt8Array(n, ids), UUIDPGetDatum(lease)};

#ifdef DMS_FAULTS
	if (FAULT_SKIP("lease_check"))
		return (int64) StatementRun(&complete_any, values, NULL, false, 0);
#endif
	return (int64) StatementRun(&complete, values, NULL, false, 0);
}

/* Returns when a job is due again whose attempt of this number has failed. */
static TimestampTz
RetryTime(int attempt)
{
	double		pause = Min(ldexp(backoff, Min(attempt, 64) - 1), MAX_BACKOFF);
	double		spread = (pg_prng_double(&pg_global_prng_state) * 2 - 1) * BACKOFF_SPREAD;

	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), (int64) (pause * (1 + spread)));
}

/*
 * Note that an attempt has failed.  The job is due again at the given time, or after a
 * pause if that is 0; after the last attempt it dies.
 */
JobFate
JobsFail(int64 id, const pg_uuid_t *lease, const char *error, TimestampTz retry_at)
{
	Datum		values[4] = {DatumInt8Array(1, &id), UUIDPGetDatum(lease)};
	int			attempts;

	if (strlen(error) > MAX_ERROR)
		error = pnstrdup(error, pg_mbcliplen(error, strlen(error), MAX_ERROR));
	if (StatementRun(&lock_held, values, NULL, false, 0) == 0)
		return JOB_LOST;
	attempts = ResultInt32(0, 4);
	if (attempts >= ResultInt32(0, 5))
	{
		Bury(&id, 1, lease, error);
		return JOB_DEAD;
	}
	values[2] = TimestampTzGetDatum(retry_at != 0 ? retry_at : RetryTime(attempts));
	values[3] = CStringGetTextDatum(error);
	(void) StatementRun(&try_later, values, NULL, false, 0);
	return JOB_RETRY;
}

/*
 * Give jobs back, which are due again at a time; the attempt does not count.  Returns
 * how many of them were still held with the lease.
 */
int64
JobsRelease(const int64 *ids, int n, const pg_uuid_t *lease, TimestampTz run_at)
{
	Datum		values[] = {DatumInt8Array(n, ids), UUIDPGetDatum(lease), TimestampTzGetDatum(run_at)};

	return (int64) StatementRun(&release, values, NULL, false, 0);
}

/* Find out when the next job of a queue is due; returns false if it has none. */
bool
JobsNextDue(const char *queue, TimestampTz *due)
{
	Datum		values[] = {CStringGetTextDatum(queue)};
	bool		isnull;

	if (StatementRun(&next_due, values, NULL, false, 0) == 0)
		return false;
	*due = DatumGetTimestampTz(ResultTypedDatum(0, 1, TIMESTAMPTZOID, &isnull));
	return !isnull;
}

/* Put dead jobs back, all of them if ids is NULL; returns how many there were. */
int64
JobsRetry(const int64 *ids, int n)
{
	Datum		values[] = {ids != NULL ? DatumInt8Array(n, ids) : (Datum) 0, TimestampTzGetDatum(GetCurrentTimestamp())};

	WorkerShareNote();
	return (int64) StatementRun(&retry, values, ids != NULL ? NULL : "n ", false, 0);
}

/* --- jobs about documents -------------------------------------------------- */

/*
 * Returns which of some versions of a document have jobs that are to make their diffs,
 * those that have died included.
 */
JobOfVersion *
JobsOfDiffs(const pg_uuid_t *document, int nversions, const char *const *versions, int *n)
{
	Datum		values[] = {UUIDPGetDatum(document), DatumTextArray(nversions, versions)};
	uint64		rows = StatementRun(&diffs_of_document, values, NULL, true, 0);
	JobOfVersion *jobs = palloc(sizeof(JobOfVersion) * Max(rows, 1));

	ResultExpect(diff_types);
	for (uint64 i = 0; i < rows; i++)
	{
		jobs[i].version_id = ResultText(i, 1);
		jobs[i].dead = ResultBool(i, 2);
	}
	*n = (int) rows;
	return jobs;
}

/* Delete all jobs about a document but those that are being run. */
void
JobsErase(const pg_uuid_t *document)
{
	Datum		values[] = {UUIDPGetDatum(document)};

	(void) StatementRun(&erase, values, NULL, false, 0);
}

/* Delete dead jobs that were to compare versions of documents up to these numbers. */
void
JobsForgetDead(Datum documents, Datum numbers)
{
	Datum		values[] = {documents, numbers};

	(void) StatementRun(&forget_dead, values, NULL, false, 0);
}

/*
 * Count jobs.  Result: queue, jobs that are due, that wait, that are leased, that are
 * dead, and how long the oldest one is due.
 */
uint64
JobsCount(TimestampTz now)
{
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[] = {TimestampTzGetDatum(now)};

	return StatementExecuteWithArgs("SELECT j.Queue, pg_catalog.count(*) FILTER (WHERE j.State OPERATOR(pg_catalog.=) 0),"
									" pg_catalog.count(*) FILTER (WHERE j.State OPERATOR(pg_catalog.=) 1),"
									" pg_catalog.count(*) FILTER (WHERE j.State OPERATOR(pg_catalog.=) 2),"
									" pg_catalog.count(*) FILTER (WHERE j.State OPERATOR(pg_catalog.=) 3),"
									" $1 OPERATOR(pg_catalog.-) pg_catalog.min(j.RunAt)"
									" FILTER (WHERE j.State OPERATOR(pg_catalog.=) 0)"
									" FROM (SELECT Queue::pg_catalog.text, RunAt, CASE WHEN RunAt OPERATOR(pg_catalog.<=) $1 THEN 0"
									" WHEN Lease IS NULL THEN 1 ELSE 2 END FROM dms.Job"
									" UNION ALL SELECT Queue::pg_catalog.text, RunAt, 3 FROM dms.DeadJob) AS j (Queue, RunAt, State)"
									" GROUP BY j.Queue ORDER BY j.Queue COLLATE pg_catalog.\"C\"", 1, types, values, true);
}
