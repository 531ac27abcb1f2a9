/*
 * requestroutes.h
 *		The table of routes: which handler serves which path and method.
 */
#ifndef DMS_REQUESTROUTES_H
#define DMS_REQUESTROUTES_H

#include "postgres.h"

#include "request/route.h"

/* What the table says about a request. */
typedef struct RouteMatch
{
	const Route *path;			/* the first route of the path; NULL: none */
	const Route *route;			/* that of the method, too; NULL: none */
} RouteMatch;

extern void RequestRoutesFind(const Request *request, RouteMatch *match);
extern char *RequestRoutesMethods(const Route *path);

#endif							/* DMS_REQUESTROUTES_H */
