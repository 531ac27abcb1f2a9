/*
 * tasks.h
 *		What a background worker does in a database.
 */
#ifndef DMS_TASKS_H
#define DMS_TASKS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/block.h"
#include "verbs/jobrun.h"

/* Naptimes between purges, and between looks at a database without a store. */
#define TASK_PURGE_NAPTIMES 60
#define TASK_LOOK_NAPTIMES 10

/* Compacting the journal of changes, some pages in a transaction. */
typedef struct TaskCompaction
{
	BlockNumber page;			/* the next one; InvalidBlockNumber: there is
								 * nothing to do */
	int64		deleted;		/* rows so far */
	TimestampTz next;			/* when to look again whether it is worthwhile */
} TaskCompaction;

/* How a transaction of a worker has ended. */
typedef struct TaskOutcome
{
	bool		store;			/* there is a store */
	bool		wanted;			/* a session needs the database, or drops the
								 * extension */
	bool		watched;		/* something is switched on that needs visits */
	bool		more;			/* not all work is done */
	TimestampTz next;			/* when something is to be tried again; 0:
								 * never */
	TimestampTz next_purge;
	TaskCompaction compaction;
	int			pause;			/* milliseconds to rest before more is done */
	JobBatch	jobs;			/* claimed, to be run in the next transaction */
	MemoryContext context;		/* outlives both transactions */
} TaskOutcome;

extern void TasksRun(const char *database, TaskOutcome *outcome);
extern void TasksCompact(const char *database, TaskOutcome *outcome);
extern void TasksRunJobs(const char *database, TaskOutcome *outcome);

#endif							/* DMS_TASKS_H */
