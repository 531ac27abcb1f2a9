/*
 * requestquery.h
 *		Queries of requests.
 */
#ifndef DMS_REQUESTQUERY_H
#define DMS_REQUESTQUERY_H

#include "postgres.h"

#include "model/modelcache.h"
#include "request/request.h"
#include "request/response.h"

extern void RequestGetPage(const Request *request, Resource *resource,
						   MemoryContext context, Response *response);

#endif							/* DMS_REQUESTQUERY_H */
