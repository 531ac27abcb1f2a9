/*
 * querysql.h
 *		The conditions of a query in SQL.
 */
#ifndef DMS_QUERYSQL_H
#define DMS_QUERYSQL_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "verbs/queryterms.h"

/* Documents match if they match in one of the branches. */
typedef struct QuerySql
{
	const QueryTerms *terms;
	StringInfoData term;		/* the term that is being written */
	char	  **branches;		/* " WHERE ..." each; "": all documents */
	int			nbranches;
	int			nwhere;			/* parameters of the branches */
	bool		overlap;		/* some documents may match in several
								 * branches */
	bool		impossible;		/* no document can match */
	Datum	   *values;			/* parameters of the last statement */
	Oid		   *types;
	int			nargs;
} QuerySql;

extern QuerySql *QuerySqlMake(const QueryTerms *terms);
extern char *QuerySqlBranch(QuerySql *sql, int branch, int64 after, int64 limit, int64 offset);
extern char *QuerySqlPage(QuerySql *sql, int64 after, int64 limit, int64 offset);
extern char *QuerySqlCount(QuerySql *sql);

#endif							/* DMS_QUERYSQL_H */
