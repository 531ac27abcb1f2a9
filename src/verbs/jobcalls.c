/*
 * jobcalls.c
 *		Jobs for programs: enqueueing, claiming and ending them, and counting.
 *
 * A worker claims jobs and commits.  It runs each job, and completes it in the
 * transaction that has its effects: so they happen once, if they are in this database.
 * Then no other worker can have claimed the job meanwhile, because the lease says so.
 *
 * Programs choose their queues.  The queue of the library's own jobs is for those who
 * may read dms.Job: its jobs run with the rights of the owner.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/uuid.h"
#include "document/jobs.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "verbs/jobrun.h"
#include "verbs/read.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_enqueue_job);
PG_FUNCTION_INFO_V1(dms_claim_jobs);
PG_FUNCTION_INFO_V1(dms_complete_jobs);
PG_FUNCTION_INFO_V1(dms_fail_job);
PG_FUNCTION_INFO_V1(dms_release_jobs);
PG_FUNCTION_INFO_V1(dms_retry_jobs);
PG_FUNCTION_INFO_V1(dms_run_claimed_jobs);
PG_FUNCTION_INFO_V1(dms_job_poll);
PG_FUNCTION_INFO_V1(dms_job_stats);

/* The largest number of jobs in a claim. */
#define MAX_CLAIM 10000

#define CLAIM_COLUMNS 5
#define STATS_COLUMNS 6

/* --- arguments ------------------------------------------------------------- */

/* Returns the name of a queue or a kind. */
static char *
NameOfArgument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	char	   *value = text_to_cstring(PG_GETARG_TEXT_PP(argument));

	if (value[0] == '\0' || pg_mbstrlen(value) > QUEUE_MAX_NAME)
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must have 1 to %d characters", name, QUEUE_MAX_NAME);
	return value;
}

/* Returns true if the caller may read all jobs. */
static bool
IsAdministrator(void)
{
	Oid			jobs = StoreTable(STORE_JOB);

	return pg_class_aclcheck(jobs, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(jobs, InvalidOid, true) != RLS_ENABLED;
}

/* Returns the queue of an argument, after checking that the caller may use it. */
static char *
QueueOfArgument(FunctionCallInfo fcinfo, int argument)
{
	char	   *queue = NameOfArgument(fcinfo, argument, "queue");

	if (strcmp(queue, QUEUE_OWN) == 0 && !IsAdministrator())
		ReportError(PROBLEM_NOT_PERMITTED, "Its jobs are for administrators; use a queue with another name.",
					"permission denied for queue \"%s\"", queue);
	return queue;
}

/* Returns ids of jobs in ascending order. */
static int64 *
IdsOfArgument(FunctionCallInfo fcinfo, int argument, int *n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(argument);
	Datum	   *values;
	bool	   *nulls;
	int64	   *ids;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, &nulls, n);
	ids = palloc(sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "job_ids must not contain null");
		ids[i] = DatumGetInt64(values[i]);
	}
	return ids;
}

/* Returns the time that is an interval from now; it must be one, and not in the past. */
static TimestampTz
TimeOfArgument(FunctionCallInfo fcinfo, int argument, const char *name, TimestampTz now)
{
	TimestampTz time = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(now),
															   PG_GETARG_DATUM(argument)));

	if (time < now)
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must not be negative", name);
	if (TIMESTAMP_NOT_FINITE(time))
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must be finite", name);
	return time;
}

/*
 * Returns a time that an argument gives, which must be one; 0 for NULL.  The time that
 * PostgreSQL stores as 0 is taken for the microsecond after it.
 */
static TimestampTz
FiniteTime(FunctionCallInfo fcinfo, int argument, const char *name)
{
	if (PG_ARGISNULL(argument))
		return 0;
	if (TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(argument)))
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must be finite", name);
	return PG_GETARG_TIMESTAMPTZ(argument) != 0 ? PG_GETARG_TIMESTAMPTZ(argument) : 1;
}

/* --- enqueueing ------------------------------------------------------------- */

/*
 * Returns the document that a payload names as "documentId"; NULL if it names none.  So
 * dms.erase_history() finds all jobs about a document.
 */
static const pg_uuid_t *
DocumentOfPayload(Jsonb *payload)
{
	static const char key[] = "documentId";
	JsonbValue	value;
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	if (!JB_ROOT_IS_OBJECT(payload) ||
		getKeyJsonValueFromContainer(&payload->root, key, strlen(key), &value) == NULL ||
		value.type != jbvString || !UuidParse(pnstrdup(value.val.string.val, value.val.string.len), uuid))
		return NULL;
	return uuid;
}

/* Enqueue a job, and return its id. */
Datum
dms_enqueue_job(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"queue", "kind", "payload"};
	Session		session;
	NewJob		job = {0};
	int64		id;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	job.queue = QueueOfArgument(fcinfo, 0);
	job.kind = NameOfArgument(fcinfo, 1, "kind");
	job.payload = PG_GETARG_DATUM(2);
	job.document = DocumentOfPayload(PG_GETARG_JSONB_P(2));
	job.run_at = FiniteTime(fcinfo, 3, "run_at");
	if (!PG_ARGISNULL(4))
		job.max_attempts = PG_GETARG_INT32(4);
	if (!PG_ARGISNULL(4) && (job.max_attempts < 1 || job.max_attempts > JOB_MAX_ATTEMPTS))
		ReportError(PROBLEM_ARGUMENT, NULL, "max_attempts must be from 1 to %d", JOB_MAX_ATTEMPTS);
	if (strcmp(job.queue, QUEUE_OWN) == 0 && !JobRunKnows(job.kind))
		ReportError(PROBLEM_ARGUMENT, NULL, "queue \"%s\" has no jobs of the kind \"%s\"", job.queue, job.kind);
	WriteBegin(&session, "dms.enqueue_job()");
	id = JobsEnqueue(&job);
	SessionEnd(&session);
	PG_RETURN_INT64(id);
}

/* --- workers ---------------------------------------------------------------- */

/* Return jobs that are due, which the caller holds from now on. */
Datum
dms_claim_jobs(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"queue", "max_jobs"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz ends = TimestampTzPlusMilliseconds(now, JobsLeaseSeconds() * 1000);
	Session		session;
	char	   *queue;
	pg_uuid_t	lease;
	ClaimedJob *jobs;
	int			n;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	InitMaterializedSRF(fcinfo, 0);
	queue = QueueOfArgument(fcinfo, 0);
	if (PG_GETARG_INT32(1) < 0 || PG_GETARG_INT32(1) > MAX_CLAIM)
		ReportError(PROBLEM_ARGUMENT, NULL, "max_jobs must be from 0 to %d", MAX_CLAIM);
	if (!PG_ARGISNULL(2))
		ends = TimeOfArgument(fcinfo, 2, "lease", now);
	WriteBegin(&session, "dms.claim_jobs()");
	JobRunLease(&lease);
	jobs = JobsClaim(queue, PG_GETARG_INT32(1), now, ends, &lease, &n);
	if (strcmp(queue, QUEUE_OWN) == 0)
		JobRunKeep(jobs, &n, &lease);
	for (int i = 0; i < n; i++)
	{
		Datum		values[CLAIM_COLUMNS] = {
			Int64GetDatum(jobs[i].id), UUIDPGetDatum(&lease), CStringGetTextDatum(jobs[i].kind), jobs[i].payload,
			Int32GetDatum(jobs[i].attempt)
		};
		bool		nulls[CLAIM_COLUMNS] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Delete jobs that were done; returns how many of them were still held. */
Datum
dms_complete_jobs(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"job_ids", "lease"};
	Session		session;
	int64	   *ids;
	int			n;
	int64		completed;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	ids = IdsOfArgument(fcinfo, 0, &n);
	WriteBegin(&session, "dms.complete_jobs()");
	completed = JobsComplete(ids, n, PG_GETARG_UUID_P(1));
	SessionEnd(&session);
	PG_RETURN_INT64(completed);
}

/* Note that a job has failed; returns what becomes of it. */
Datum
dms_fail_job(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"job_id", "lease", "error"};
	static const char *const fates[] = {
		[JOB_RETRY] = "retry",
		[JOB_DEAD] = "dead",
		[JOB_LOST] = "lost",
	};
	Session		session;
	TimestampTz retry_at;
	JobFate		fate;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	retry_at = FiniteTime(fcinfo, 3, "retry_at");
	WriteBegin(&session, "dms.fail_job()");
	fate = JobsFail(PG_GETARG_INT64(0), PG_GETARG_UUID_P(1), text_to_cstring(PG_GETARG_TEXT_PP(2)), retry_at);
	SessionEnd(&session);
	PG_RETURN_TEXT_P(cstring_to_text(fates[fate]));
}

/* Give jobs back, without counting the attempt; returns how many were still held. */
Datum
dms_release_jobs(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"job_ids", "lease", "pause"};
	Session		session;
	TimestampTz run_at;
	int64	   *ids;
	int			n;
	int64		released;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	ids = IdsOfArgument(fcinfo, 0, &n);
	run_at = TimeOfArgument(fcinfo, 2, "pause", GetCurrentTimestamp());
	WriteBegin(&session, "dms.release_jobs()");
	released = JobsRelease(ids, n, PG_GETARG_UUID_P(1), run_at);
	SessionEnd(&session);
	PG_RETURN_INT64(released);
}

/* Put dead jobs back; returns how many there were. */
Datum
dms_retry_jobs(PG_FUNCTION_ARGS)
{
	Session		session;
	int64	   *ids = NULL;
	int			n = 0;
	int64		retried;

	if (!PG_ARGISNULL(0))
		ids = IdsOfArgument(fcinfo, 0, &n);
	WriteBegin(&session, "dms.retry_jobs()");
	retried = JobsRetry(ids, n);
	SessionEnd(&session);
	PG_RETURN_INT64(retried);
}

/* Run jobs of the library that were claimed; returns how many have succeeded. */
Datum
dms_run_claimed_jobs(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"job_ids", "lease"};
	JobBatch	batch;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	batch.ids = IdsOfArgument(fcinfo, 0, &batch.n);
	batch.lease = *PG_GETARG_UUID_P(1);
	PG_RETURN_INT64(JobRunBatch(&batch));
}

/* Return how long dms.run_jobs() waits if there is nothing to do, in seconds. */
Datum
dms_job_poll(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(JobsPollInterval() / 1000.0);
}

/* --- counting --------------------------------------------------------------- */

/* Return the number of jobs of each queue. */
Datum
dms_job_stats(PG_FUNCTION_ARGS)
{
	static const Oid types[STATS_COLUMNS] = {TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID, INTERVALOID};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	uint64		n;

	InitMaterializedSRF(fcinfo, 0);
	StoreLockModels();
	SessionBegin(&session, RIGHTS_OF_OWNER);
	n = JobsCount(GetCurrentTimestamp());
	ResultExpect(types);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		values[STATS_COLUMNS];
		bool		nulls[STATS_COLUMNS];

		for (int j = 0; j < STATS_COLUMNS; j++)
			values[j] = ResultDatum(i, j + 1, &nulls[j]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
