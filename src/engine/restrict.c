/*
 * restrict.c
 *		Restrictions on functions that run with lent rights.
 *
 * Two roles could attack each other through a write, because the store's owner
 * can add triggers and other code to its tables, and this code runs in the
 * session of the caller:
 *
 * 1. The owner attacks the caller, who may be a superuser.  A trigger leaves
 * something in the session that runs later, when the rights of the caller are in
 * force again: a temporary view that hides a table, a cursor WITH HOLD, whose
 * query runs at commit, a deferred trigger on another table, another statement
 * under the name of a prepared one; or it becomes the caller by SET ROLE.
 * PostgreSQL refuses all of these in a security-restricted operation, as it does
 * for index expressions during VACUUM.  So functions that run with lent rights
 * are made such operations.  (Fetching from the caller's cursors is not refused;
 * see cursors.c.)
 *
 * 2. The caller attacks the owner: a function of the owner looks up a name that
 * finds a function in the caller's temporary schema, which then runs as the owner.
 * ownercode.c refuses functions of the tables that could do so, but it sees only
 * those, not the functions that they call in turn.  So each function is also
 * checked when it is called: it does not run with the rights of a role if the
 * owner of the function does not have them.
 *
 * The restriction applies to functions, not to whole statements, because a
 * security-restricted operation must not leave deferred triggers, but the store's
 * own unique and foreign keys may be deferred; ownercode.c has checked those.
 * Hence the hook of the function manager.  PostgreSQL calls it for functions that
 * have settings or rights of their own; for all other user-defined functions,
 * needs_fmgr_hook requests the call.
 *
 * (test/attack/ownership has a script for each of these attacks.)
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "base/report.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "engine/cursors.h"
#include "engine/restrict.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

/*
 * The call that began the restriction, or NULL while there is none.  A call may
 * recurse with the same FmgrInfo, so the depth is counted.
 */
static struct
{
	const FmgrInfo *function;
	int			depth;
}			restricting;

static needs_fmgr_hook_type next_needs_hook = NULL;
static fmgr_hook_type next_hook = NULL;

/* Returns the security context, and the current user in *user. */
static int
SecurityContext(Oid *user)
{
	int			context;

	GetUserIdAndSecContext(user, &context);
	return context;
}

/* Returns true while the rights of the store's owner are lent. */
bool
RestrictRightsAreLent(void)
{
	Oid			user;

	return (SecurityContext(&user) & SECURITY_RIGHTS_LENT) != 0;
}

/* Raise an error if a function would run with rights that its owner does not have. */
static void
RequireTrusted(Oid function, Oid owner)
{
	if (!StoreTrusts(GetUserId(), owner))
		ReportError(PROBLEM_STORE_UNSAFE, NULL,
					"function %s belongs to role \"%s\", which does not have the rights that it would run with",
					format_procedure_qualified(function), GetUserNameFromId(owner, true));
}

/*
 * Returns true if a function is neither built-in nor written in C; only superusers
 * can create those.  Raises an error if the function would run as the current user,
 * because it is not SECURITY DEFINER, and its owner does not have that user's rights.
 */
static bool
IsOfOthers(Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	bool		of_others;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	of_others = form->prolang != INTERNALlanguageId && form->prolang != ClanguageId;
	if (of_others && !form->prosecdef)
		RequireTrusted(function, form->proowner);
	ReleaseSysCache(tuple);
	return of_others;
}

/* Returns true if calls of a function must go through the hook. */
static bool
NeedsHook(Oid function)
{
	return (RestrictRightsAreLent() && IsOfOthers(function)) ||
		(next_needs_hook != NULL && next_needs_hook(function));
}

/*
 * Begin the restriction when a function is called, unless it is in force already.
 * Forced policies apply again: only our own statements are exempt from them, not
 * those of functions.
 */
static void
BeginCall(const FmgrInfo *function)
{
	Oid			user;
	int			context = SecurityContext(&user);

	if ((context & SECURITY_RESTRICTED_OPERATION) != 0)
	{
		restricting.depth += function == restricting.function;
		return;
	}
	restricting.function = NULL;
	if ((context & SECURITY_RIGHTS_LENT) == 0)
		return;
	SetUserIdAndSecContext(user, (context | SECURITY_RESTRICTED_OPERATION) & ~SECURITY_NOFORCE_RLS);
	restricting.function = function;
	restricting.depth = 1;
	CursorsGuard();
}

/*
 * End the restriction when the call that began it ends.  After an error, the end
 * of the (sub)transaction restores the security context.
 */
static void
EndCall(const FmgrInfo *function, bool aborted)
{
	Oid			user;
	int			context = SecurityContext(&user);

	if (function != restricting.function || --restricting.depth > 0)
		return;
	restricting.function = NULL;
	CursorsRelease();
	if (!aborted)
		SetUserIdAndSecContext(user, (context & ~SECURITY_RESTRICTED_OPERATION) | SECURITY_NOFORCE_RLS);
}

/* Function manager hook: a function is called, has returned, or has failed. */
static void
FunctionHook(FmgrHookEventType event, FmgrInfo *function, Datum *arg)
{
	if (next_hook != NULL)
		next_hook(event, function, arg);
	if (event == FHET_START)
		BeginCall(function);
	else
		EndCall(function, event == FHET_ABORT);
}

/* Install the hooks of the function manager. */
void
RestrictInit(void)
{
	next_needs_hook = needs_fmgr_hook;
	needs_fmgr_hook = NeedsHook;
	next_hook = fmgr_hook;
	fmgr_hook = FunctionHook;
}
