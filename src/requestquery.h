/*
 * requestquery.h
 *		Queries of requests.
 */
#ifndef DMS_REQUESTQUERY_H
#define DMS_REQUESTQUERY_H

#include "postgres.h"

#include "modelcache.h"
#include "request.h"
#include "response.h"

extern void RequestGetPage(const Request *request, Resource *resource,
						   MemoryContext context, Response *response);

#endif							/* DMS_REQUESTQUERY_H */
