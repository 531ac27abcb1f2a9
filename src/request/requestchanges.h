/*
 * requestchanges.h
 *		Requests of those who follow the changes of a store.
 */
#ifndef DMS_REQUESTCHANGES_H
#define DMS_REQUESTCHANGES_H

#include "postgres.h"

#include "request/route.h"

extern void RequestAvailableChangesGet(RouteCall *call);
extern void RequestDeletesGet(RouteCall *call);
extern void RequestKeyChangesGet(RouteCall *call);

#endif							/* DMS_REQUESTCHANGES_H */
