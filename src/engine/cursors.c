/*
 * cursors.c
 *		Keeping the caller's cursors from functions of others.
 *
 * A function in PL/pgSQL can fetch from any cursor of the session, or close it and
 * open another under its name, even in a security-restricted operation.  It would
 * read what only the caller may, or have the caller run its query.  So while
 * functions of others run with lent rights, the cursors that were there before are
 * marked as active: PostgreSQL then neither runs nor drops them.
 *
 * PostgreSQL has no list of cursors for C code other than the view pg_cursors,
 * which takes too long for every call of a trigger.  But each has a memory context
 * that is identified by its name.
 */
#include "postgres.h"

#include "engine/cursors.h"
#include "nodes/memnodes.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"
#include "utils/portal.h"

/* Cursors that we have marked. */
static List *guarded = NIL;

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
 * Guard all cursors that have a name and could be used.  CursorsRelease() must
 * follow, also after an error.
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

/* Let the caller use the cursors again. */
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
