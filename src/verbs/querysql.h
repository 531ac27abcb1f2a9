/*
 * querysql.h
 *		The conditions of a query in SQL.
 */
#ifndef DMS_QUERYSQL_H
#define DMS_QUERYSQL_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "verbs/queryterms.h"

/*
 * A range of changes: the last change of a document has a number in it.  With an upper
 * bound, documents are in the order of these numbers.
 */
typedef struct ChangeRange
{
	int64		min;			/* 0: none */
	int64		max;
	bool		has_max;
} ChangeRange;

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
	const char *changes;		/* " JOIN ..." their last changes; NULL: of no
								 * matter */
	bool		by_change;		/* pages are in the order of the changes */
	bool		without_root;	/* all documents with such changes match */
	Datum	   *values;			/* parameters of the last statement */
	Oid		   *types;
	int			nargs;
} QuerySql;

extern QuerySql *QuerySqlMake(const QueryTerms *terms, int32 type_id, const ChangeRange *range);
extern char *QuerySqlBranch(QuerySql *sql, int branch, int64 after, int64 limit, int64 offset);
extern char *QuerySqlPage(QuerySql *sql, int64 after, int64 limit, int64 offset);
extern char *QuerySqlCount(QuerySql *sql);

#endif							/* DMS_QUERYSQL_H */
