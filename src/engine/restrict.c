/*
 * restrict.c
 *		Restrictions on functions that run with lent rights.
 *
 * Functions of the store's owner run in the session of the caller, who may be a
 * superuser.  They must not leave anything there that runs later, when the rights
 * of the caller are in force again: a temporary view that hides a table, a cursor
 * that is materialized at commit, a deferred trigger, a prepared statement.
 * PostgreSQL knows such operations as security-restricted, and refuses all that.
 *
 * The restriction applies to functions, not to whole statements: the deferrable
 * constraints of the tables that a statement writes to may be deferred, since
 * ownercode.c has looked at them.  So the function manager is hooked into.  It
 * calls the hook for functions that have settings or rights of their own; for all
 * others that are not as good as the server itself, the hook asks to be called.
 *
 * Asking is also the last defense against code of the caller's: whatever way it
 * found to be called, a function does not run with the rights of a role if its
 * owner does not have them.
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
 * The call that began the restriction; there is none while the restriction is not
 * in force.  A call may recurse by the same FmgrInfo.
 */
static struct
{
	const FmgrInfo *function;
	int			depth;
}			restricting;

static needs_fmgr_hook_type next_needs_hook = NULL;
static fmgr_hook_type next_hook = NULL;

/* The security context, and the user as a by-product. */
static int
SecurityContext(Oid *user)
{
	int			context;

	GetUserIdAndSecContext(user, &context);
	return context;
}

/* Returns true while rights of the store's owner are lent. */
bool
RestrictRightsAreLent(void)
{
	Oid			user;

	return (SecurityContext(&user) & SECURITY_RIGHTS_LENT) != 0;
}

/* Refuse a function that would run with rights that its owner does not have. */
static void
RequireTrusted(Oid function, Oid owner)
{
	if (!StoreTrusts(GetUserId(), owner))
		ReportError(PROBLEM_STORE_UNSAFE, NULL,
					"function %s belongs to role \"%s\", which does not have the rights that it would run with",
					format_procedure_qualified(function), GetUserNameFromId(owner, true));
}

/*
 * Returns true if a function is neither PostgreSQL's own nor written in C.  One that
 * does not bring rights of its own must be trusted with those of the current user.
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
 * Begin the restriction with a call, unless it is in force already.  That policies
 * are not forced on the owner is for our statements, not for those of functions.
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
 * End the restriction with the call that began it.  After an error, the end of the
 * (sub)transaction does that.
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

/* A function is called, or has returned. */
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

/* Hook into the function manager. */
void
RestrictInit(void)
{
	next_needs_hook = needs_fmgr_hook;
	needs_fmgr_hook = NeedsHook;
	next_hook = fmgr_hook;
	fmgr_hook = FunctionHook;
}
