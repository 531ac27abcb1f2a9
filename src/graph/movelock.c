/*
 * movelock.c
 *		The lock of transactions that move a document with its children.
 *
 * Two moves of subtrees could close a ring without touching the same document: A
 * below a descendant of B, while B is moved below a descendant of A.  So only one
 * transaction at a time moves a document that has children.
 *
 * As with the turnstile, the lock is on no table, so no command takes it, and it is
 * not an advisory lock either, which any role could take.  Its tag is that of an
 * object: the table dms.ParentChild, in a part that no object has.
 */
#include "postgres.h"

#include "base/faults.h"
#include "catalog/pg_class.h"
#include "engine/store.h"
#include "graph/movelock.h"
#include "miscadmin.h"
#include "storage/lock.h"

/* The part of the table in the lock's tag; commands lock part 0 only. */
#define LOCK_PART 1

/* Take the lock, until the transaction ends. */
void
MoveLockTake(void)
{
	LOCKTAG		tag;

	if (FAULT_SKIP("move_lock"))
		return;
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationRelationId, StoreTable(STORE_PARENT_CHILD), LOCK_PART);
	if (LockAcquire(&tag, ExclusiveLock, false, StoreLockNowait()) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on relations, because another transaction moves a document with its children")));
}
