/*
 * querysql.h
 *		The conditions of a query in SQL.
 */
#ifndef DMS_QUERYSQL_H
#define DMS_QUERYSQL_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "verbs/queryterms.h"

typedef struct QuerySql
{
	const QueryTerms *terms;
	StringInfoData where;
	int			nwhere;			/* parameters of where */
	bool		impossible;		/* no document can match */
	Datum	   *values;			/* parameters of the last statement */
	Oid		   *types;
	int			nargs;
} QuerySql;

extern QuerySql *QuerySqlMake(const QueryTerms *terms);
extern char *QuerySqlPage(QuerySql *sql, int64 after, int64 limit, int64 offset);
extern char *QuerySqlCount(QuerySql *sql);

#endif							/* DMS_QUERYSQL_H */
