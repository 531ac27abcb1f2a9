/*
 * attempt.c
 *		Running a function in a subtransaction.
 *
 * This is the only place that catches an error in order to continue after it.
 * PostgreSQL guarantees a consistent state after an error only if a
 * (sub)transaction is rolled back, so nothing else in the library may do that.
 */
#include "postgres.h"

#include "access/xact.h"
#include "engine/attempt.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/*
 * Call a function in a subtransaction, and roll the subtransaction back, locks
 * included, unless the function returns true.  An error rolls it back as well
 * and is returned; the caller's (sub)transaction is then current again and
 * usable.  *stays is set to whether the changes were kept.
 */
ErrorData *
AttemptCatch(AttemptFunction function, void *arg, bool *stays)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner resources = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	volatile bool may_stay = false;

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

/* Like AttemptCatch(), but an error is raised again after the rollback. */
bool
Attempt(AttemptFunction function, void *arg)
{
	bool		stays;
	ErrorData  *error = AttemptCatch(function, arg, &stays);

	if (error != NULL)
		ReThrowError(error);
	return stays;
}
