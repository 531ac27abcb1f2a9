/*
 * requestquery.h
 *		Queries of requests.
 */
#ifndef DMS_REQUESTQUERY_H
#define DMS_REQUESTQUERY_H

#include "postgres.h"

#include "model/modelcache.h"
#include "request/requestparse.h"
#include "request/response.h"

extern void RequestQueryPage(const Request *request, Resource *resource,
							 MemoryContext context, Response *response);

#endif							/* DMS_REQUESTQUERY_H */
