/*
 * workershare.c
 *		What sessions, the launcher and the background workers share, and how a
 *		commit wakes a worker.
 *
 * The shared memory exists if the library is in shared_preload_libraries.  A database
 * has a slot there.  A transaction that leaves work for a worker says so by
 * WorkerShareNote().  When it has committed, and others can see what it has done, it
 * counts itself in the slot, and wakes whoever waits for that.
 *
 * No wake-up is lost: who waits sets "waiting" before it compares the count with the one
 * that it knows, and a writer counts before it looks at "waiting".  Both are operations
 * with full barriers.  What is not noted at all (a prepared transaction, a restored dump)
 * is found by the visits that the launcher makes every now and then.
 */
#include "postgres.h"

#include "access/xact.h"
#include "engine/workershare.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#define NAME "dms"

static WorkerShare *share = NULL;	/* NULL: not preloaded */
static WorkerSlot *own_slot = NULL; /* of this session's database */
static bool noted = false;		/* the transaction leaves work */
static shmem_request_hook_type next_request = NULL;
static shmem_startup_hook_type next_startup = NULL;

/* Hook: request the shared memory. */
static void
RequestShare(void)
{
	if (next_request != NULL)
		next_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(WorkerShare)));
	RequestNamedLWLockTranche(NAME, 1);
}

/* Hook: find the shared memory, and initialize it at the start of the server. */
static void
StartShare(void)
{
	bool		found;

	if (next_startup != NULL)
		next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	share = ShmemInitStruct(NAME, sizeof(WorkerShare), &found);
	if (!found)
	{
		memset(share, 0, sizeof(WorkerShare));
		share->lock = &GetNamedLWLockTranche(NAME)->lock;
		pg_atomic_init_u32(&share->unserved, 0);
		for (int i = 0; i < WORKER_SLOTS; i++)
		{
			pg_atomic_init_u64(&share->slots[i].commits, 0);
			pg_atomic_init_u32(&share->slots[i].waiting, 0);
		}
	}
	LWLockRelease(AddinShmemInitLock);
}

/* Returns the shared memory; NULL if the library was not preloaded. */
WorkerShare *
WorkerShareGet(void)
{
	return share;
}

/*
 * Returns the slot of a database, and makes one if that is wanted; NULL if there is
 * none.  The caller holds the lock, exclusively if a slot may be made.
 */
WorkerSlot *
WorkerShareFind(Oid database, bool create)
{
	WorkerSlot *unused = NULL;

	for (int i = 0; i < WORKER_SLOTS; i++)
	{
		WorkerSlot *slot = &share->slots[i];

		if (slot->database == database)
			return slot;
		if (slot->database == InvalidOid && unused == NULL)
			unused = slot;
	}
	if (!create || unused == NULL)
		return NULL;
	pg_atomic_write_u64(&unused->commits, 0);
	pg_atomic_write_u32(&unused->waiting, 1);
	unused->worker = NULL;
	memset((char *) unused + offsetof(WorkerSlot, database), 0, sizeof(WorkerSlot) - offsetof(WorkerSlot, database));
	unused->database = database;
	return unused;
}

/* Wake whoever waits for work in a database. */
void
WorkerShareWake(WorkerSlot *slot)
{
	Latch	   *latch = slot->worker;

	if (latch == NULL)
		latch = share->launcher;
	if (latch != NULL)
		SetLatch(latch);
}

/* Count this transaction, which has committed, and wake whoever waits for it. */
static void
CountCommit(void)
{
	if (own_slot == NULL)
	{
		LWLockAcquire(share->lock, LW_EXCLUSIVE);
		own_slot = WorkerShareFind(MyDatabaseId, true);
		LWLockRelease(share->lock);
		if (own_slot == NULL)
			return;
	}
	(void) pg_atomic_fetch_add_u64(&own_slot->commits, 1);
	if (pg_atomic_exchange_u32(&own_slot->waiting, 0) != 0)
		WorkerShareWake(own_slot);
}

/* Callback: the transaction ends. */
static void
TransactionEnds(XactEvent event, void *arg pg_attribute_unused())
{
	if (!noted)
		return;
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			noted = false;
			CountCommit();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			noted = false;
			break;
		default:
			break;
	}
}

/* Note that this transaction leaves work for a worker, if it commits. */
void
WorkerShareNote(void)
{
	noted = share != NULL;
}

/* Ask for a look at this database now, whatever this transaction does. */
void
WorkerShareRequest(void)
{
	if (share != NULL)
		CountCommit();
}

/* Request the shared memory, if the server is about to start. */
void
WorkerShareInit(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request = shmem_request_hook;
	shmem_request_hook = RequestShare;
	next_startup = shmem_startup_hook;
	shmem_startup_hook = StartShare;
	RegisterXactCallback(TransactionEnds, NULL);
}
