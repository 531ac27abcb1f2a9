/*
 * jobs.h
 *		Jobs: rows of dms.Job and dms.DeadJob.
 */
#ifndef DMS_JOBS_H
#define DMS_JOBS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/uuid.h"

/* The kind of jobs that store what changed from one version to another. */
#define JOB_KIND_DIFF "diff"

/* The largest number of attempts of a job. */
#define JOB_MAX_ATTEMPTS 1000

/* A job to be enqueued. */
typedef struct NewJob
{
	const char *queue;
	const char *kind;
	const pg_uuid_t *document;	/* NULL: it is about none */
	Datum		payload;		/* jsonb */
	TimestampTz run_at;			/* 0: now */
	int			max_attempts;	/* 0: dms.job_max_attempts */
} NewJob;

/* A job that was claimed. */
typedef struct ClaimedJob
{
	int64		id;
	char	   *kind;
	Datum		payload;		/* jsonb */
	int			attempt;		/* 1 is the first */
} ClaimedJob;

/* What became of a job that failed. */
typedef enum JobFate
{
	JOB_RETRY,					/* it will be due again */
	JOB_DEAD,					/* it was the last attempt */
	JOB_LOST					/* another worker has claimed it meanwhile */
} JobFate;

/* How far the job that makes a diff has come. */
typedef struct JobOfVersion
{
	char	   *version_id;		/* the new version */
	bool		dead;			/* and will not be tried again */
} JobOfVersion;

extern void JobsInit(void);
extern int	JobsPollInterval(void);
extern int64 JobsLeaseSeconds(void);
extern int64 JobsEnqueue(const NewJob *job);
extern ClaimedJob *JobsClaim(const char *queue, int max_jobs, TimestampTz now, TimestampTz lease_ends,
							 const pg_uuid_t *lease, int *n);
extern ClaimedJob *JobsLock(const int64 *ids, int n, const pg_uuid_t *lease, int *nlocked);
extern int64 JobsComplete(const int64 *ids, int n, const pg_uuid_t *lease);
extern JobFate JobsFail(int64 id, const pg_uuid_t *lease, const char *error, TimestampTz retry_at);
extern int64 JobsRelease(const int64 *ids, int n, const pg_uuid_t *lease, TimestampTz run_at);
extern int64 JobsRetry(const int64 *ids, int n);
extern JobOfVersion *JobsOfDiffs(const pg_uuid_t *document, int nversions, const char *const *versions, int *n);
extern void JobsErase(const pg_uuid_t *document);
extern void JobsForgetDead(Datum documents, Datum numbers);
extern bool JobsNextDue(const char *queue, TimestampTz *due);
extern uint64 JobsCount(TimestampTz now);

#endif							/* DMS_JOBS_H */
