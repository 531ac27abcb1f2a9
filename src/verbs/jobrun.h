/*
 * jobrun.h
 *		Running the jobs of the library.
 */
#ifndef DMS_JOBRUN_H
#define DMS_JOBRUN_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "document/jobs.h"
#include "utils/uuid.h"

/* Jobs of the queue "dms" that were claimed together. */
typedef struct JobBatch
{
	int64	   *ids;
	int			n;
	pg_uuid_t	lease;
	TimestampTz next_due;		/* if there are none: when the next one is
								 * due; 0: there is none */
} JobBatch;

extern bool JobRunKnows(const char *kind);
extern void JobRunLease(pg_uuid_t *lease);
extern void JobRunKeep(ClaimedJob *jobs, int *n, const pg_uuid_t *lease);
extern bool JobRunClaim(JobBatch *batch, MemoryContext context);
extern int64 JobRunBatch(const JobBatch *batch);

#endif							/* DMS_JOBRUN_H */
