/*
 * route.c
 *		A route: a path and a method, the function that callers need, and the handler.
 *
 * The table of routes is in requestroutes.c.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/report.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "request/route.h"

/* Returns true if the path of a route begins with a resource. */
bool
RouteNamesResource(const Route *route)
{
	return route->path[1] != NULL && strcmp(route->path[1], ROUTE_ENDPOINT) == 0;
}

/* Returns true if the path of a route begins with a document of a resource. */
bool
RouteNamesDocument(const Route *route)
{
	return RouteNamesResource(route) && route->path[2] != NULL && strcmp(route->path[2], ROUTE_ID) == 0;
}

/* Returns true if the caller may execute a function. */
bool
RouteMayRun(const RouteFunction *function)
{
	List	   *name;

	if (function->name == NULL)
		return true;
	(void) StoreSchema();		/* or another schema could have its name */
	name = list_make2(makeString("dms"), makeString(unconstify(char *, function->name)));
	return CompatMayExecute(LookupFuncName(name, function->nargs, function->types, false), GetUserId());
}

/* Refuse a request if the caller may not execute a function that it needs. */
void
RouteRequire(const Request *request, const RouteFunction *function)
{
	if (!RouteMayRun(function))
		ReportError(PROBLEM_NOT_PERMITTED,
					RequestIsWrite(request) ? "dms.grant_access() gives a role the level writer." :
					"dms.grant_access() gives a role the level reader.",
					"permission denied for function dms.%s()", function->name);
}
