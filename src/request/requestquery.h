/*
 * requestquery.h
 *		Queries of requests.
 */
#ifndef DMS_REQUESTQUERY_H
#define DMS_REQUESTQUERY_H

#include "postgres.h"

#include "request/route.h"

extern void RequestQueryPage(RouteCall *call);

#endif							/* DMS_REQUESTQUERY_H */
