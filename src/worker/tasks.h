/*
 * tasks.h
 *		What a background worker does in a database.
 */
#ifndef DMS_TASKS_H
#define DMS_TASKS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "verbs/jobrun.h"

/* Naptimes between purges, and between looks at a database without a store. */
#define TASK_PURGE_NAPTIMES 60
#define TASK_LOOK_NAPTIMES 10

/* How a transaction of a worker has ended. */
typedef struct TaskOutcome
{
	bool		store;			/* there is a store */
	bool		wanted;			/* somebody wants the database, or drops the
								 * extension */
	bool		watched;		/* something is switched on that needs visits */
	bool		more;			/* not all work is done */
	TimestampTz next;			/* when something is to be tried again; 0:
								 * never */
	TimestampTz next_purge;
	JobBatch	jobs;			/* claimed, to be run in the next transaction */
	MemoryContext context;		/* outlives both transactions */
} TaskOutcome;

extern void TasksRun(const char *database, TaskOutcome *outcome);
extern void TasksRunJobs(const char *database, TaskOutcome *outcome);

#endif							/* DMS_TASKS_H */
