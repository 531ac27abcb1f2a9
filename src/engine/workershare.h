/*
 * workershare.h
 *		What sessions, the launcher and the background workers share.
 */
#ifndef DMS_WORKERSHARE_H
#define DMS_WORKERSHARE_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

/* Databases that can have a slot; others are not looked after by workers. */
#define WORKER_SLOTS 1024

/* What is known about the work in a database. */
typedef enum WorkerState
{
	WORKER_NEW,					/* the launcher has not looked yet */
	WORKER_NO_STORE,			/* no extension, or no store */
	WORKER_NOTHING,				/* nothing is switched on that needs a worker
								 * soon */
	WORKER_IDLE,				/* all work is done */
	WORKER_WORKING,				/* a worker is there, or is about to be */
	WORKER_MORE,				/* the worker left before all was done */
	WORKER_FAILED				/* the last visit ended with an error */
} WorkerState;

#define WORKER_MESSAGE 128

/*
 * A database.  The first three members are read and written without a lock, all others
 * under the lock of the share.  A slot is freed when its database is gone; then no
 * session can be left that uses it.
 */
typedef struct WorkerSlot
{
	pg_atomic_uint64 commits;	/* of transactions that left work */
	pg_atomic_uint32 waiting;	/* 1: the next such commit wakes whoever waits */
	Latch	   *volatile worker;	/* whom to wake; NULL: the launcher */
	Oid			database;		/* InvalidOid: the slot is free */
	WorkerState state;
	int			pid;			/* of the worker; 0: there is none */
	uint64		consumed;		/* commits before the last visit began its
								 * last look */
	TimestampTz last_visit;		/* 0: there was none */
	TimestampTz next_visit;
	TimestampTz next_purge;
	int			failures;		/* in a row */
	int			sqlstate;		/* of the last failure */
	char		message[WORKER_MESSAGE];
	int			redis_failures; /* in a row */
	TimestampTz redis_since;	/* the first of them */
	TimestampTz redis_retry;	/* no attempt before */
	int64		redis_client;	/* a connection that may still have commands
								 * on their way; 0: none */
	uint32		redis_server;	/* a number for the server that these are
								 * about */
} WorkerSlot;

/* All of it. */
typedef struct WorkerShare
{
	LWLock	   *lock;
	Latch	   *volatile launcher;	/* NULL while there is none */
	int			launcher_pid;
	pg_atomic_uint32 unserved;	/* databases that are due, while all workers
								 * are busy */
	WorkerSlot	slots[WORKER_SLOTS];
} WorkerShare;

extern void WorkerShareInit(void);
extern WorkerShare *WorkerShareGet(void);
extern WorkerSlot *WorkerShareFind(Oid database, bool create);
extern void WorkerShareNote(void);
extern void WorkerShareRequest(void);
extern void WorkerShareWake(WorkerSlot *slot);

#endif							/* DMS_WORKERSHARE_H */
