/*
 * requestid.h
 *		Documents that requests name: by their ids, or by URNs.
 */
#ifndef DMS_REQUESTID_H
#define DMS_REQUESTID_H

#include "postgres.h"

#include "request/route.h"

extern bool RequestIdTake(RouteCall *call, const Route *route);
extern bool RequestIdFind(const char *name, pg_uuid_t *uuid);
extern void RequestIdRaiseNone(const char *name) pg_attribute_noreturn();

#endif							/* DMS_REQUESTID_H */
