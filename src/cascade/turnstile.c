/*
 * turnstile.c
 *		Makes transactions that are about to lock identities wait.
 *
 * A change of a busy identity needs a moment in which no other transaction
 * shares it, so it must keep new ones out for a while.  For this there is a
 * lock that every transaction takes and releases at once before it shares its
 * first identity.  While a change holds it, new transactions wait, and those
 * that have passed can finish.  They are not stopped again, because the change
 * may be waiting for them.
 *
 * The lock is on no table, so no command takes it: neither VACUUM nor another
 * maintenance command, which hold a table for as long as it is large, nor LOCK
 * TABLE.  It is not an advisory lock either, which any role could take.  Its tag
 * is that of an object: the table dms.IdentityLock, in a part that no object
 * has.
 *
 * Nothing but fairness depends on it.  What is true is decided by the locks on
 * the rows of dms.IdentityLock.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/faults.h"
#include "cascade/turnstile.h"
#include "catalog/pg_class.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/guc.h"

/* The part of the table in the lock's tag; commands lock part 0 only. */
#define LOCK_PART 1

/* The number of times to try to close it, and the pause between two tries. */
#define CLOSE_TRIES 10
#define CLOSE_PAUSE_US 500L

static int	turnstile_timeout = 500;
static LocalTransactionId passed = InvalidLocalTransactionId;	/* which has passed */

/* Define the settings of this module. */
void
TurnstileInit(void)
{
	DefineCustomIntVariable("dms.turnstile_timeout",
							"How long a change of a busy identity keeps new writers out at a time.",
							"Then they may pass before it tries again; 0 means no limit.",
							&turnstile_timeout, 500, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

/* Returns the longest time in milliseconds to keep it closed; 0 means no limit. */
int
TurnstileTimeout(void)
{
	return turnstile_timeout;
}

/* Set the tag of the lock. */
static void
SetTag(LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, RelationRelationId,
					   StoreTable(STORE_IDENTITY_LOCK), LOCK_PART);
}

/* Note that this transaction has identity locks, and must not be stopped again. */
void
TurnstileHavePassed(void)
{
	passed = COMPAT_LXID(MyProc);
}

/* Pass, once in a transaction: wait while a change keeps it closed. */
void
TurnstilePass(void)
{
	LOCKTAG		tag;

	if (passed == COMPAT_LXID(MyProc) || FAULT_SKIP("fair_gate"))
		return;
	SetTag(&tag);
	if (LockAcquire(&tag, ShareLock, false, StoreLockNowait()) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on identities, because one that is in use is about to change")));
	LockRelease(&tag, ShareLock, false);
	TurnstileHavePassed();
}

/*
 * Close it to transactions that have not passed.  Returns false if other changes
 * were always faster.  We do not queue for the exclusive lock: those that wait to
 * pass would have to wait for all changes in the queue, one after the other.
 * Instead we wait with them until the other change opens it, and try again.
 */
bool
TurnstileClose(void)
{
	LOCKTAG		tag;

	SetTag(&tag);
	for (int i = 0; i < CLOSE_TRIES; i++)
	{
		if (LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
			return true;
		(void) LockAcquire(&tag, ShareLock, false, false);
		LockRelease(&tag, ShareLock, false);

		/* Those that were waiting pass now, which takes some microseconds. */
		pg_usleep(CLOSE_PAUSE_US);
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* Open it again. */
void
TurnstileOpen(void)
{
	LOCKTAG		tag;

	SetTag(&tag);
	LockRelease(&tag, ExclusiveLock, false);
}
