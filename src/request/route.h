/*
 * route.h
 *		A route: a path and a method, the function that callers need, and the handler.
 */
#ifndef DMS_ROUTE_H
#define DMS_ROUTE_H

#include "postgres.h"

#include "model/modelcache.h"
#include "request/requestparse.h"
#include "request/response.h"
#include "utils/uuid.h"

/* Segments of paths that are not words. */
#define ROUTE_PROJECT "{project}"
#define ROUTE_ENDPOINT "{endpoint}"
#define ROUTE_ID "{id}"
#define ROUTE_NUMBER "{number}"
#define ROUTE_URN "{urn}"

/* The most arguments of a function of a route. */
#define ROUTE_ARGUMENTS 8

/* A function of the extension, by its name and the types of its arguments. */
typedef struct RouteFunction
{
	const char *name;			/* NULL: none */
	int			nargs;
	Oid			types[ROUTE_ARGUMENTS];
} RouteFunction;

/* A request on its way to the function that serves it. */
typedef struct RouteCall
{
	const Request *request;
	Resource   *resource;		/* that the path names; NULL: none */
	pg_uuid_t	uuid;			/* of the document that it names, if any */
	Oid			caller;			/* the role that sent the request */
	MemoryContext context;		/* of the body of the answer */
	Response   *response;
} RouteCall;

typedef void (*RouteHandler) (RouteCall *call);

/* Checks headers, and rights beyond that of the function of the route. */
typedef void (*RouteCheck) (const Request *request);

/* A path with one of its methods. */
typedef struct Route
{
	const char *path[REQUEST_SEGMENTS]; /* words, and the segments above */
	RequestMethod method;
	RouteFunction function;		/* callers need the right to execute it */
	RouteHandler handler;
	RouteCheck	check;			/* NULL: there is nothing else to check */
} Route;

extern bool RouteNamesResource(const Route *route);
extern bool RouteNamesDocument(const Route *route);
extern bool RouteMayRun(const RouteFunction *function);
extern void RouteRequire(const Request *request, const RouteFunction *function);

#endif							/* DMS_ROUTE_H */
