/*
 * cursors.c
 *		Keeping the caller's cursors from being replaced.
 *
 * A function in PL/pgSQL can close any cursor of the session and open another
 * under its name, even in a security-restricted operation.  Whoever fetches from
 * it runs the other query.  So while functions of others run with lent rights, the
 * cursors that were there before are pinned, as those of a loop are.
 *
 * PostgreSQL has no list of cursors for C code other than the view pg_cursors,
 * which takes too long for every call of a trigger.  But each has a memory context
 * that is identified by its name.
 */
#include "postgres.h"

#include "cursors.h"
#include "nodes/memnodes.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"
#include "utils/portal.h"

/* Cursors that we have pinned. */
static List *pinned = NIL;

/* The context of all cursors; NULL if the session never had one. */
static MemoryContext
CursorContexts(void)
{
	static MemoryContext found = NULL;

	if (found == NULL)
		for (MemoryContext context = TopMemoryContext->firstchild;
			 context != NULL && found == NULL; context = context->nextchild)
			if (strcmp(context->name, "TopPortalContext") == 0)
				found = context;
	return found;
}

/*
 * Pin all cursors that have a name and are not pinned already.  CursorsUnpin() must
 * follow, also after an error.
 */
void
CursorsPin(void)
{
	MemoryContext contexts = CursorContexts();
	MemoryContext saved = MemoryContextSwitchTo(TopMemoryContext);

	pinned = NIL;
	for (MemoryContext context = contexts ? contexts->firstchild : NULL;
		 context != NULL; context = context->nextchild)
	{
		Portal		cursor = context->ident != NULL ? GetPortalByName(context->ident) : NULL;

		if (!PortalIsValid(cursor) || cursor->portalPinned)
			continue;
		pinned = lappend(pinned, cursor);
		PinPortal(cursor);
	}
	MemoryContextSwitchTo(saved);
}

/* Let go of the cursors that were pinned. */
void
CursorsUnpin(void)
{
	ListCell   *cell;

	foreach(cell, pinned)
	{
		UnpinPortal(lfirst(cell));
	}
	list_free(pinned);
	pinned = NIL;
}
