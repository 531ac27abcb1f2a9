/*
 * requestversions.h
 *		Requests about versions of documents.
 */
#ifndef DMS_REQUESTVERSIONS_H
#define DMS_REQUESTVERSIONS_H

#include "postgres.h"

#include "request/route.h"

extern void RequestVersionAsOf(RouteCall *call, TimestampTz time);
extern void RequestVersionsGet(RouteCall *call);
extern void RequestVersionGet(RouteCall *call);
extern void RequestVersionDiff(RouteCall *call);
extern void RequestChangesGet(RouteCall *call);
extern void RequestVersionRestore(RouteCall *call);

#endif							/* DMS_REQUESTVERSIONS_H */
