/*
 * query.h
 *		From filters to the documents that match.
 */
#ifndef DMS_QUERY_H
#define DMS_QUERY_H

#include "postgres.h"

#include "model/modelcache.h"
#include "verbs/filter.h"
#include "verbs/querysql.h"

typedef struct DocumentQuery DocumentQuery;

extern DocumentQuery *QueryMake(Resource *resource, const Filter *filters, int n, const ChangeRange *range);
extern bool QueryMatchesAll(const DocumentQuery *query);
extern bool QueryIsByChange(const DocumentQuery *query);
extern const ChangeRange *QueryRange(const DocumentQuery *query);
extern int64 *QueryPage(DocumentQuery *query, int64 after, int64 limit, int64 offset, int *n);
extern int64 QueryCount(DocumentQuery *query);
extern uint64 QueryRunKept(Resource *resource, const char *text, int nargs, const Oid *types, Datum *values);

#endif							/* DMS_QUERY_H */
