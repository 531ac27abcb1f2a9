/*
 * attempt.c
 *		The only subtransaction, and with it the only place that catches errors
 *		to go on after them.
 */
#include "postgres.h"

#include "access/xact.h"
#include "engine/attempt.h"
#include "engine/statement.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/*
 * Call a function in a subtransaction, and roll it back, locks included, unless
 * the function returns true.  An error rolls it back as well and is returned;
 * the caller's (sub)transaction is then current again, and usable.
 */
ErrorData *
AttemptCatch(AttemptFunction function, void *arg, bool *stays)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner resources = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	volatile bool may_stay = false;
	int			running = StatementsRunning();

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		may_stay = function(arg);
		if (may_stay)
			ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		StatementsSetRunning(running);
		may_stay = false;
	}
	PG_END_TRY();
	if (!may_stay)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = resources;
	*stays = may_stay;
	return error;
}

/* The same, but an error is raised again after the rollback. */
bool
Attempt(AttemptFunction function, void *arg)
{
	bool		stays;
	ErrorData  *error = AttemptCatch(function, arg, &stays);

	if (error != NULL)
		ReThrowError(error);
	return stays;
}
