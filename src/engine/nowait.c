/*
 * nowait.c
 *		Failing instead of waiting for locks.
 *
 * With dms.lock_nowait, our own statements ask for locks with NOWAIT.  But unique
 * indexes and foreign keys wait for other transactions, too, and have no such
 * option.  A lock_timeout of a millisecond would end these waits.  It would also
 * end waits that are no conflict: for the lock that extends a table by a page,
 * which every insert may need for a moment.
 *
 * So a timer looks every millisecond what the session waits for.  If another
 * transaction must end first, it lets lock_timeout expire, which raises 55P03.
 */
#include "postgres.h"

#include <limits.h>

#include "engine/nowait.h"
#include "engine/statement.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/timeout.h"

/*
 * The value of lock_timeout that turns the timer on, in milliseconds.  It is long
 * enough never to expire by itself.  Since it is a setting, errors and rollbacks
 * restore the caller's value and so turn the timer off.
 */
#define LOOKING (INT_MAX - 1)

#define LOOK_MILLISECONDS 1

static TimeoutId timer = MAX_TIMEOUTS;	/* MAX_TIMEOUTS: not registered yet */

/*
 * Returns true if the session waits for a lock that is held until the end of a
 * transaction.  Called by a signal handler: the lock is not released while we wait
 * for it, so it can be looked at.
 */
static bool
WaitsForTransaction(void)
{
	LOCK	   *lock = MyProc != NULL ? MyProc->waitLock : NULL;

	if (lock == NULL)
		return false;
	switch ((LockTagType) lock->tag.locktag_type)
	{
		case LOCKTAG_RELATION_EXTEND:
		case LOCKTAG_PAGE:
		case LOCKTAG_DATABASE_FROZEN_IDS:
			return false;
		default:
			return true;
	}
}

/*
 * Handler of the timer.  The timeout that it sets must not be set again before it
 * expires, or after that, while the error is still to be raised.
 */
static void
LookAgain(void)
{
	bool		waits = WaitsForTransaction() && !get_timeout_indicator(LOCK_TIMEOUT, false);

	if (LockTimeout != LOOKING)
		return;
	if (waits)
		enable_timeout_after(LOCK_TIMEOUT, LOOK_MILLISECONDS);
	enable_timeout_after(timer, waits ? 10 * LOOK_MILLISECONDS : LOOK_MILLISECONDS);
}

/*
 * Fail from here on, instead of waiting.  Returns a level for NowaitEnd(); an error
 * ends it, too.
 */
int
NowaitBegin(void)
{
	int			level;

	if (LockTimeout == LOOKING)
		return 0;				/* a trigger of the call that began it */
	if (timer == MAX_TIMEOUTS)
		timer = RegisterTimeout(USER_TIMEOUT, LookAgain);
	level = NewGUCNestLevel();
	StatementSetLocally("lock_timeout", psprintf("%d", LOOKING));
	enable_timeout_after(timer, LOOK_MILLISECONDS);
	return level;
}

/* Wait for locks again. */
void
NowaitEnd(int level)
{
	if (level == 0)
		return;
	disable_timeout(timer, false);
	AtEOXact_GUC(true, level);
}
