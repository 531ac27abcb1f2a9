/*
 * jobrun.c
 *		Running the jobs of the library: those of the queue "dms".
 *
 * A worker takes two transactions: JobRunClaim(), which counts the attempts, and
 * JobRunBatch().  So a job that kills its worker is not tried forever.  dms.run_jobs()
 * and the background worker both do this.
 *
 * Each job runs in a subtransaction, and is completed or failed in the same
 * transaction.  Its row is locked meanwhile, so that no worker claims it, however long it
 * takes.
 *
 * A job that ends its worker, by a crash or because it takes too long, takes along what
 * was done with it in the same transaction.  So a job that was tried before runs alone:
 * otherwise it would use up the attempts of others, too.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "document/jobs.h"
#include "document/versiondiffs.h"
#include "engine/attempt.h"
#include "engine/session.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
#include "verbs/diffs.h"
#include "verbs/jobrun.h"
#include "verbs/write.h"

/* Jobs that are run in a transaction: a session remembers up to 64 subtransactions cheaply. */
#define JOBS_AT_ONCE 50

/* Milliseconds after which no more jobs are begun in a transaction. */
#define TIME_AT_ONCE 10000

/* --- kinds of jobs ----------------------------------------------------------- */

/* Returns the id of a version that a payload names. */
static void
VersionOfPayload(Jsonb *payload, const char *key, pg_uuid_t *uuid, int64 *number)
{
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(payload) ||
		getKeyJsonValueFromContainer(&payload->root, key, strlen(key), &value) == NULL ||
		value.type != jbvString ||
		!VersionDiffsParseId(pnstrdup(value.val.string.val, value.val.string.len), uuid, number))
		ReportError(PROBLEM_ARGUMENT, NULL, "\"%s\" in the payload of a job must be the id of a version", key);
}

/* Store what changed from one version to another. */
static void
RunDiff(const ClaimedJob *job)
{
	Jsonb	   *payload = DatumGetJsonbP(job->payload);
	pg_uuid_t	old_uuid;
	pg_uuid_t	uuid;
	int64		old_number;
	int64		number;

	VersionOfPayload(payload, "oldVersionId", &old_uuid, &old_number);
	VersionOfPayload(payload, "newVersionId", &uuid, &number);
	if (memcmp(&old_uuid, &uuid, UUID_LEN) != 0 || old_number >= number)
		ReportError(PROBLEM_ARGUMENT, NULL, "the payload of a job must name two versions of one document, the old one first");
	DiffsMake(&uuid, old_number, number);
}

/* The kinds of jobs that the library runs. */
static const struct
{
	const char *name;
	void		(*run) (const ClaimedJob *job);
}			kinds[] = {
	{JOB_KIND_DIFF, RunDiff},
};

/* Returns the place of a kind in kinds[]; -1 if there is none. */
static int
FindKind(const char *kind)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (strcmp(kinds[i].name, kind) == 0)
			return (int) i;
	return -1;
}

/* Returns true if the library runs jobs of a kind. */
bool
JobRunKnows(const char *kind)
{
	return FindKind(kind) >= 0;
}

/* --- running ---------------------------------------------------------------- */

/* Make a lease that cannot be guessed. */
void
JobRunLease(pg_uuid_t *lease)
{
	UuidV7(lease);
}

/*
 * Of jobs that were claimed, keep those that are run together: those that were not tried
 * before, or one that was.  The others are given back.
 */
void
JobRunKeep(ClaimedJob *jobs, int *n, const pg_uuid_t *lease)
{
	static bool prefer_tried = false;
	int64	   *others = palloc(sizeof(int64) * Max(*n, 1));
	int			nothers = 0;
	int			ntried = 0;
	int			kept = 0;
	bool		alone;

	for (int i = 0; i < *n; i++)
		ntried += jobs[i].attempt > 1;
	/* Neither kind must wait until there are none of the other. */
	alone = ntried > 0 && (ntried == *n || prefer_tried);
	if (ntried > 0 && ntried < *n)
		prefer_tried = !prefer_tried;
	for (int i = 0; i < *n; i++)
	{
		if (alone ? jobs[i].attempt > 1 && kept == 0 : jobs[i].attempt == 1)
			jobs[kept++] = jobs[i];
		else
			others[nothers++] = jobs[i].id;
	}
	if (nothers > 0)
		(void) JobsRelease(others, nothers, lease, GetCurrentTimestamp());
	*n = kept;
}

/*
 * Claim jobs that are due.  Returns false if there are none, and sets when the next one
 * is due.  The ids are in the given
 * context, because the transaction is to be committed before they are run.
 */
bool
JobRunClaim(JobBatch *batch, MemoryContext context)
{
	TimestampTz now = GetCurrentTimestamp();
	Session		session;
	ClaimedJob *jobs;

	WriteBegin(&session, "dms.run_jobs()");
	JobRunLease(&batch->lease);
	jobs = JobsClaim(QUEUE_OWN, JOBS_AT_ONCE, now, TimestampTzPlusMilliseconds(now, JobsLeaseSeconds() * 1000),
					 &batch->lease, &batch->n);
	JobRunKeep(jobs, &batch->n, &batch->lease);
	batch->ids = MemoryContextAlloc(context, sizeof(int64) * Max(batch->n, 1));
	for (int i = 0; i < batch->n; i++)
		batch->ids[i] = jobs[i].id;
	if (batch->n > 0 || !JobsNextDue(QUEUE_OWN, &batch->next_due))
		batch->next_due = 0;
	SessionEnd(&session);
	return batch->n > 0;
}

/* Run a job, and free the memory that it needed. */
static bool
RunOne(void *arg)
{
	const ClaimedJob *job = arg;
	int			kind = FindKind(job->kind);

	SessionBeginPart();
	FAULT_PAUSE("before_job");
	if (kind < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "there are no jobs of the kind \"%s\"", job->kind);
	kinds[kind].run(job);
	SessionEndPart();
	return true;
}

/* Returns true if an error is none of the job: the worker is to stop. */
static bool
MustStop(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED || error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN;
}

/*
 * Run jobs that were claimed, and complete those that succeed.  Returns their number.
 * Jobs that another worker holds by now are left out.  Those that are not begun because
 * others took long are given back.
 */
int64
JobRunBatch(const JobBatch *batch)
{
	TimestampTz began = GetCurrentTimestamp();
	Session		session;
	ClaimedJob *jobs;
	int64	   *done;
	int			ndone = 0;
	int64	   *late;
	int			nlate = 0;
	int			n;
	int64		completed;

	WriteBegin(&session, "dms.run_claimed_jobs()");
	jobs = JobsLock(batch->ids, batch->n, &batch->lease, &n);
	done = palloc(sizeof(int64) * Max(n, 1));
	late = palloc(sizeof(int64) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		bool		stays;
		ErrorData  *error;

		CHECK_FOR_INTERRUPTS();
		if (i > 0 && TimestampDifferenceExceeds(began, GetCurrentTimestamp(), TIME_AT_ONCE))
		{
			late[nlate++] = jobs[i].id;
			continue;
		}
		error = AttemptCatch(RunOne, &jobs[i], &stays);
		if (error == NULL)
			done[ndone++] = jobs[i].id;
		else if (MustStop(error))
			ReThrowError(error);
		else
			(void) JobsFail(jobs[i].id, &batch->lease, error->message, 0);
	}
	if (nlate > 0)
		(void) JobsRelease(late, nlate, &batch->lease, GetCurrentTimestamp());
	completed = JobsComplete(done, ndone, &batch->lease);
	SessionEnd(&session);
	return completed;
}
