/*
 * redistask.h
 *		What a background worker does about Redis.
 */
#ifndef DMS_REDISTASK_H
#define DMS_REDISTASK_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "engine/workershare.h"
#include "worker/tasks.h"

extern void RedisTaskInit(WorkerSlot *slot, const char *database);
extern bool RedisTaskBegin(void);
extern void RedisTaskRun(const char *database, TaskOutcome *outcome);
extern void RedisTaskEnd(TaskOutcome *outcome);
extern bool RedisTaskWait(long milliseconds);
extern bool RedisTaskIsOpen(void);
extern void RedisTaskClose(void);

#endif							/* DMS_REDISTASK_H */
