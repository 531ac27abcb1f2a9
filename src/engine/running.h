/*
 * running.h
 *		The transactions that a snapshot does not see, because they were running.
 */
#ifndef DMS_RUNNING_H
#define DMS_RUNNING_H

#include "postgres.h"

/* What a snapshot sees, in numbers that never wrap around. */
typedef struct Running
{
	uint64		xmin;			/* all before have ended */
	uint64		xmax;			/* none from here on is seen */
	int			n;
	uint64	   *xids;			/* between them, those that were running;
								 * ascending */
} Running;

extern void RunningTake(Running *running);
extern bool RunningSees(const Running *running, uint64 xid);
extern uint64 RunningOldest(void);
extern uint64 RunningOldestHere(uint64 **ended, int *nended);

#endif							/* DMS_RUNNING_H */
