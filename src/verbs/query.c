/*
 * query.c
 *		From filters to the ids of the documents that match.
 *
 * Plans are kept by the text of their statement.
 */
#include "postgres.h"

#include "base/ids.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "utils/memutils.h"
#include "verbs/query.h"
#include "verbs/querysql.h"

struct DocumentQuery
{
	Resource   *resource;
	QuerySql   *sql;
};

/* Make a query of filters; identities are looked up in the active snapshot. */
DocumentQuery *
QueryMake(Resource *resource, const Filter *filters, int n)
{
	DocumentQuery *query = palloc(sizeof(DocumentQuery));

	query->resource = resource;
	query->sql = QuerySqlMake(QueryTermsMake(resource->model, filters, n));
	return query;
}

/*
 * Returns true if there is no condition at all: every row of the root table is one
 * of a document that matches.
 */
bool
QueryMatchesAll(const DocumentQuery *query)
{
	const QuerySql *sql = query->sql;

	return !sql->impossible && sql->nbranches == 1 && *sql->branches[0] == '\0';
}

/* Find the place of the statement with this text, or else the one used longest ago. */
static int
FindKept(const Resource *resource, const char *text)
{
	int			oldest = 0;

	for (int i = 0; i < RESOURCE_QUERIES; i++)
	{
		const Statement *statement = &resource->queries[i];

		if (statement->sql != NULL && strcmp(statement->sql, text) == 0)
			return i;
		if (resource->query_uses[i] < resource->query_uses[oldest])
			oldest = i;
	}
	return oldest;
}

/* Put the query's statement in the place of another. */
static void
ReplaceKept(const DocumentQuery *query, Statement *statement, const char *text)
{
	MemoryContext context = query->resource->context;
	const QuerySql *sql = query->sql;
	Oid		   *types;

	StatementForget(statement);
	if (statement->sql != NULL)
	{
		pfree(unconstify(char *, statement->sql));
		pfree(unconstify(Oid *, statement->argtypes));
		statement->sql = NULL;
	}
	types = MemoryContextAlloc(context, sizeof(Oid) * Max(sql->nargs, 1));
	memcpy(types, sql->types, sizeof(Oid) * sql->nargs);
	statement->argtypes = types;
	statement->nargs = sql->nargs;
	statement->adaptive = sql->terms->nconditions > 0;
	statement->sql = MemoryContextStrdup(context, text);
}

/* Find or make the statement of this text; it is kept while it is among the last used. */
static Statement *
KeptStatement(const DocumentQuery *query, const char *text)
{
	Resource   *resource = query->resource;
	int			place = FindKept(resource, text);
	Statement  *statement = &resource->queries[place];

	if (statement->sql == NULL || strcmp(statement->sql, text) != 0)
		ReplaceKept(query, statement, text);
	resource->query_uses[place] = ++resource->nqueries;
	return statement;
}

/*
 * Run the query's statement.  Inside another statement of ours (a policy or a
 * trigger may call us) no kept plan may make room for a new one.
 */
static void
RunQuery(const DocumentQuery *query, const char *text)
{
	const QuerySql *sql = query->sql;

	if (StatementsRunning() > 0)
		StatementExecuteWithArgs(text, sql->nargs, sql->types, sql->values, true);
	else
		StatementRead(KeptStatement(query, text), sql->values, 0);
}

/*
 * Returns the ids of the matching documents, ascending and greater than "after":
 * skip offset rows, return at most limit.
 */
int64 *
QueryPage(DocumentQuery *query, int64 after, int64 limit, int64 offset, int *n)
{
	int64	   *ids;

	*n = 0;
	if (query->sql->impossible || limit == 0)
		return NULL;
	RunQuery(query, QuerySqlPage(query->sql, after, limit, offset));
	*n = (int) SPI_processed;
	ids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		ids[i] = ResultInt64(i, 1);
	SPI_freetuptable(SPI_tuptable);

	/* A view in the place of a table may return a document twice. */
	*n = IdsSort(ids, *n);
	return ids;
}

/* Count the matching documents. */
int64
QueryCount(DocumentQuery *query)
{
	if (query->sql->impossible)
		return 0;
	RunQuery(query, QuerySqlCount(query->sql));
	return ResultInt64(0, 1);
}
