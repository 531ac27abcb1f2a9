/*
 * writeguard.c
 *		Running the part of a write that constraints of the store decide on.
 */
#include "postgres.h"

#include "verbs/violations.h"
#include "verbs/writeguard.h"

/*
 * Returns true if the error being handled may follow from the document: it violates a
 * unique or foreign key, or a limit of an index.
 */
static bool
IsViolation(void)
{
	return geterrcode() == ERRCODE_UNIQUE_VIOLATION ||
		geterrcode() == ERRCODE_FOREIGN_KEY_VIOLATION ||
		geterrcode() == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/*
 * Run a step of a write, and report what it violates in terms of the document that it
 * was at.  All other errors are passed on as they are.
 *
 * There is no subtransaction: the step cannot be undone here, and the document
 * may only be looked at in memory.
 */
void
WriteGuarded(GuardedStep step, GuardedDocument document, void *arg)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		step(arg);
	}
	PG_CATCH();
	{
		const FlatDocument *flat = document(arg);
		ErrorData  *error;

		if (flat == NULL || !IsViolation())
			PG_RE_THROW();

		/* The copy must not go with ErrorContext, which is reset here. */
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ViolationReport(flat, error);
		ReThrowError(error);
	}
	PG_END_TRY();
}
