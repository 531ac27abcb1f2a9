/*
 * cursors.c
 *		Keeping the caller's cursors from functions of other roles.
 *
 * Portals belong to the session, not to a role.  The attack: a superuser has a
 * cursor open and calls a verb, and a trigger that the store's owner wrote runs
 * in that session.  A PL/pgSQL function can fetch from any cursor by its name,
 * and so read rows that only the caller may read.  It can also close the cursor
 * and open another one under the same name, whose query then runs as the caller
 * at the caller's next FETCH.  A security-restricted operation prevents neither.
 *
 * So while such functions run with lent rights (see restrict.c), the cursors
 * that existed before are marked as active.  PostgreSQL neither runs nor drops
 * an active portal: the function gets an error.
 * (test/attack/ownership/cursor-of-the-caller.sql)
 *
 * PostgreSQL offers C code no list of portals other than the view pg_cursors,
 * which is too slow for every call of a trigger.  But each portal has a memory
 * context below TopPortalContext, whose identifier is the name of the portal.
 */
#include "postgres.h"

#include "engine/cursors.h"
#include "nodes/memnodes.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"
#include "utils/portal.h"

/* Portals that are marked as active by us. */
static List *guarded = NIL;

/* Returns the parent of the contexts of all portals, or NULL before there is one. */
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
 * Mark all cursors that a function could fetch from or close.  The caller must
 * call CursorsRelease() afterwards, also after an error.
 */
void
CursorsGuard(void)
{
	MemoryContext contexts = CursorContexts();
	MemoryContext saved = MemoryContextSwitchTo(TopMemoryContext);

	guarded = NIL;
	for (MemoryContext context = contexts ? contexts->firstchild : NULL;
		 context != NULL; context = context->nextchild)
	{
		Portal		cursor = context->ident != NULL ? GetPortalByName(context->ident) : NULL;

		if (!PortalIsValid(cursor) || cursor->status != PORTAL_READY)
			continue;
		guarded = lappend(guarded, cursor);
		cursor->status = PORTAL_ACTIVE;
	}
	MemoryContextSwitchTo(saved);
}

/* Make the marked cursors usable again. */
void
CursorsRelease(void)
{
	ListCell   *cell;

	foreach(cell, guarded)
	{
		((Portal) lfirst(cell))->status = PORTAL_READY;
	}
	list_free(guarded);
	guarded = NIL;
}
