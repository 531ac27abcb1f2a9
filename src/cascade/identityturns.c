/*
 * identityturns.c
 *		Taking the locks of a change of identities without starving.
 *
 * PostgreSQL grants a share lock on a row that is share-locked already, even if
 * another transaction waits for an update lock.  On a document that is referred
 * to all the time, a change of identity could wait forever.  So a change first
 * tries for some milliseconds to find the identities free.  Then it closes the
 * turnstile, which keeps new writers from sharing identities, and waits until
 * those that share them have finished.
 *
 * One of these may be idle in its transaction, and would then delay all others.
 * So the turnstile is opened after a time, and the change waits with the others
 * for a while, before it closes it again.
 *
 * While the change waits for a busy identity, it holds no lock of this call.
 * Otherwise a transaction that shares it could need that lock in its next call,
 * and wait for us.
 *
 * A change may try very often.  So all that a run allocates is freed before the
 * next one, and a run that had nothing to wait for is followed by a pause.
 */
#include "postgres.h"

#include "base/faults.h"
#include "cascade/identityturns.h"
#include "cascade/turnstile.h"
#include "engine/attempt.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* The pauses between brief tries, in milliseconds. */
static const int pauses[] = {1, 2, 4, 8};

/* Room for busy identities from the start. */
#define BUSY_ROOM 16

/* A change that takes its locks. */
typedef struct Turn
{
	IdentityTurnsStep step;
	void	   *arg;
	MemoryContext run;			/* of the last run, or of the last wait */
	BusyIdentities busy;		/* not free in the last run */
	TimestampTz stop;			/* when the caller's lock_timeout is over */
} Turn;

/* A wait that ends with an error after some milliseconds; 0 means never. */
typedef struct LimitedWait
{
	Turn	   *turn;
	int64		id;				/* to wait for; 0: run the step */
	long		limit;
} LimitedWait;

/* Run the step without waiting for the identities that change. */
static bool
RunStep(void *arg)
{
	Turn	   *turn = arg;

	turn->busy.n = 0;
	return turn->step(turn->arg, &turn->busy);
}

/*
 * Call a function in a subtransaction, as AttemptCatch() does, in the context for
 * runs.  What was left there is freed first.
 */
static ErrorData *
RunAttempt(Turn *turn, AttemptFunction function, void *arg, bool *stays)
{
	MemoryContext saved;
	ErrorData  *error;

	MemoryContextReset(turn->run);
	saved = MemoryContextSwitchTo(turn->run);
	error = AttemptCatch(function, arg, stays);
	MemoryContextSwitchTo(saved);
	return error;
}

/* Pause for some milliseconds. */
static void
Pause(int ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Try to find the identities free for a moment, holding no locks between tries:
 * most transactions that share one are over in a few milliseconds.
 */
static bool
TryBriefly(Turn *turn)
{
	for (int i = 0;; i++)
	{
		bool		stays;
		ErrorData  *error = RunAttempt(turn, RunStep, turn, &stays);

		if (error != NULL)
			ReThrowError(error);
		if (stays)
			return true;
		if (i == lengthof(pauses) || FAULT_SKIP("brief_tries"))
			return false;
		FAULT_PAUSE("between_tries");
		Pause(pauses[i]);
	}
}

/*
 * Wait for one identity, or run the step; run in a subtransaction.  Those that
 * share the identity have finished when we get its lock, which is then released.
 */
static bool
WaitLimited(void *arg)
{
	LimitedWait *wait = arg;
	int			level = NewGUCNestLevel();
	bool		stays = false;
	int			nlocked;

	if (wait->limit > 0)
		StatementSetLocally("lock_timeout", psprintf("%ldms", wait->limit));
	if (wait->id != 0)
		(void) IdentityLocksTake(&wait->id, 1, &nlocked);
	else
		stays = RunStep(wait->turn);
	AtEOXact_GUC(true, level);
	return stays;
}

/* Returns the milliseconds until a time, and at least 1; 0 if there is no such time. */
static long
Remaining(TimestampTz time)
{
	return time == 0 ? 0 : Max(TimestampDifferenceMilliseconds(GetCurrentTimestamp(), time), 1);
}

/* Returns the time after some milliseconds; 0, which means never, after 0. */
static TimestampTz
TimeAfter(int64 ms)
{
	return ms == 0 ? 0 : GetCurrentTimestamp() + ms * 1000;
}

/* Returns true if a time has come. */
static bool
IsOver(TimestampTz time)
{
	return time != 0 && GetCurrentTimestamp() >= time;
}

/* Returns the earlier one of two times, each of which may be 0 for never. */
static TimestampTz
Earlier(TimestampTz a, TimestampTz b)
{
	if (a == 0 || b == 0)
		return Max(a, b);
	return Min(a, b);
}

/*
 * Run a wait until the deadline or the end of the caller's lock_timeout, which is
 * an error.  Returns false if the deadline has come.
 */
static bool
RunWait(LimitedWait *wait, TimestampTz deadline, bool *stays)
{
	ErrorData  *error;

	wait->limit = Remaining(Earlier(deadline, wait->turn->stop));
	error = RunAttempt(wait->turn, WaitLimited, wait, stays);
	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE || IsOver(wait->turn->stop))
		ReThrowError(error);
	return false;
}

/* Report that the caller's lock_timeout is over. */
static void
RaiseTimeout(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("canceling statement due to lock timeout")));
}

/*
 * Pause after a round of waits that were over at once, so that we do not keep a
 * processor busy; longer if it was not the first one.  Returns the number of such
 * rounds in a row.
 */
static int
PauseAfterRound(TimestampTz began, int quick)
{
	if (TimestampDifferenceExceeds(began, GetCurrentTimestamp(), 1))
		return 0;
	Pause(pauses[Min(quick, (int) lengthof(pauses) - 1)]);
	return quick + 1;
}

/*
 * Wait for the identities that are not free, one after the other, and take all
 * locks then, until that succeeds or the deadline has come.
 */
static bool
TryUntil(Turn *turn, TimestampTz deadline)
{
	int			quick = 0;

	for (;;)
	{
		LimitedWait run = {.turn = turn};
		TimestampTz began = GetCurrentTimestamp();
		bool		stays;

		for (int i = 0; i < turn->busy.n; i++)
		{
			LimitedWait wait = {.turn = turn,.id = turn->busy.ids[i]};

			if (!RunWait(&wait, deadline, &stays))
				return false;
		}
		if (!RunWait(&run, deadline, &stays))
			return false;
		if (stays)
			return true;
		if (IsOver(turn->stop))
			RaiseTimeout();
		if (IsOver(deadline))
			return false;
		CHECK_FOR_INTERRUPTS();
		quick = PauseAfterRound(began, quick);
	}
}

/*
 * Take the locks with the turnstile closed, if no other change has closed it.
 * *closed is set to whether we did.
 */
static bool
TryClosed(Turn *turn, bool *closed)
{
	bool		done;

	*closed = TurnstileClose();
	if (!*closed)
		return false;
	done = TryUntil(turn, FAULT_SKIP("turnstile_opens") ? 0 : TimeAfter(TurnstileTimeout()));
	TurnstileOpen();
	return done;
}

/*
 * Take the locks of a change of identities.  The step takes all of them, in the
 * order of all sessions, without waiting for the identities that change.  If one
 * of these is not free, all locks of the step are released, and it is run again.
 *
 * The locks must be kept if they were free.  If they were only tested and taken
 * later, other transactions could share them in between.
 *
 * The step does wait for identities that depend on those that change, at first
 * for as long as it takes.  Otherwise one busy member of a large closure would
 * keep other writers out.
 *
 * A wait that is always cut short would never be found to be part of a deadlock,
 * so the waits with the turnstile open are longer than deadlock_timeout.
 *
 * What the last run of the step allocates lives as long as the context of the
 * caller.  What the others have allocated is gone, so a run must not use it.
 */
void
IdentityTurnsRun(IdentityTurnsStep step, void *arg)
{
	Turn		turn = {.step = step,.arg = arg};

	if (StoreLockNowait() || FAULT_SKIP("fair_gate"))
	{
		(void) step(arg, NULL);
		TurnstileHavePassed();
		return;
	}
	turn.run = AllocSetContextCreate(CurrentMemoryContext, "dms identity turn", ALLOCSET_DEFAULT_SIZES);
	turn.busy.ids = palloc(sizeof(int64) * BUSY_ROOM);
	if (!TryBriefly(&turn))
	{
		bool		closed;

		turn.stop = TimeAfter(LockTimeout);
		while (!TryClosed(&turn, &closed) &&
			   !TryUntil(&turn, TimeAfter(closed ? (int64) DeadlockTimeout * 2 : Max(TurnstileTimeout(), 1))))
			;
	}
	TurnstileHavePassed();
}

/* An identity to lock, and whether it exists. */
typedef struct OneIdentity
{
	int64		id;
	int			nlocked;
} OneIdentity;

/* Lock one identity. */
static bool
TakeOne(void *arg, BusyIdentities *busy)
{
	OneIdentity *one = arg;

	if (busy == NULL)
	{
		(void) IdentityLocksTake(&one->id, 1, &one->nlocked);
		return true;
	}
	return IdentityLocksTakeFree(&one->id, 1, &one->nlocked, busy) != NULL;
}

/*
 * Lock one identity, whose change needs no lock before this one.  If it is free,
 * this is one statement.  Returns false if the document is gone.
 */
bool
IdentityTurnsTakeOne(int64 document_id)
{
	OneIdentity one = {.id = document_id};
	BusyIdentities busy = {0};

	if (!StoreLockNowait() && !FAULT_SKIP("fair_gate") && TakeOne(&one, &busy))
	{
		TurnstileHavePassed();
		return one.nlocked == 1;
	}
	IdentityTurnsRun(TakeOne, &one);
	return one.nlocked == 1;
}
