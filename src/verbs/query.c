/*
 * query.c
 *		From filters to the ids of the documents that match.
 *
 * Plans are kept by the text of their statement.
 */
#include "postgres.h"

#include "base/ids.h"
#include "document/changes.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "utils/memutils.h"
#include "verbs/query.h"
#include "verbs/querysql.h"

/*
 * A page of a query of two branches is read by a statement for each, if it does not
 * end after this many documents.
 */
#define MAX_SEPARATE 500

struct DocumentQuery
{
	Resource   *resource;
	QuerySql   *sql;
	ChangeRange range;			/* of changes, if one was given */
};

/*
 * Make a query of filters, and of a range of changes unless that is NULL.  Identities
 * are looked up in the active snapshot.
 */
DocumentQuery *
QueryMake(Resource *resource, const Filter *filters, int n, const ChangeRange *range)
{
	DocumentQuery *query = palloc0(sizeof(DocumentQuery));

	query->resource = resource;
	if (range != NULL)
	{
		ChangesRequire();
		query->range = *range;
	}
	query->sql = QuerySqlMake(QueryTermsMake(resource->model, filters, n), resource->type_id, range);
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

	return !sql->impossible && sql->nbranches == 1 && *sql->branches[0] == '\0' && sql->changes == NULL;
}

/* Returns true if pages are in the order of the changes, and not in that of the ids. */
bool
QueryIsByChange(const DocumentQuery *query)
{
	return query->sql->by_change;
}

/*
 * Returns the range of changes if there is no other condition: then the journal leads to
 * all documents, in the order of their changes.  Returns NULL otherwise.
 */
const ChangeRange *
QueryRange(const DocumentQuery *query)
{
	return !query->sql->impossible && query->sql->by_change && query->sql->without_root ? &query->range : NULL;
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

/* A statement to run, whose plan may be kept. */
typedef struct KeptQuery
{
	const char *text;
	int			nargs;
	const Oid  *types;
	bool		adaptive;
} KeptQuery;

/* Put a statement in the place of another. */
static void
ReplaceKept(Resource *resource, Statement *statement, const KeptQuery *query)
{
	MemoryContext context = resource->context;
	Oid		   *types;

	StatementForget(statement);
	if (statement->sql != NULL)
	{
		pfree(unconstify(char *, statement->sql));
		pfree(unconstify(Oid *, statement->argtypes));
		statement->sql = NULL;
	}
	types = MemoryContextAlloc(context, sizeof(Oid) * Max(query->nargs, 1));
	memcpy(types, query->types, sizeof(Oid) * query->nargs);
	statement->argtypes = types;
	statement->nargs = query->nargs;
	statement->adaptive = query->adaptive;
	statement->sql = MemoryContextStrdup(context, query->text);
}

/* Find or make the statement of this text; it is kept while it is among the last used. */
static Statement *
KeptStatement(Resource *resource, const KeptQuery *query)
{
	int			place = FindKept(resource, query->text);
	Statement  *statement = &resource->queries[place];

	if (statement->sql == NULL || strcmp(statement->sql, query->text) != 0)
		ReplaceKept(resource, statement, query);
	resource->query_uses[place] = ++resource->nqueries;
	return statement;
}

/*
 * Run a statement.  Inside another statement of ours (a policy or a trigger may call
 * us) no kept plan may make room for a new one.
 */
static uint64
RunKept(Resource *resource, const KeptQuery *query, Datum *values)
{
	Oid		   *types = unconstify(Oid *, query->types);

	if (StatementsRunning() > 0)
		return StatementExecuteWithArgs(query->text, query->nargs, types, values, true);
	return StatementRead(KeptStatement(resource, query), values, 0);
}

/* Run a statement of the query. */
static void
RunQuery(const DocumentQuery *query, const char *command)
{
	const QuerySql *sql = query->sql;
	KeptQuery	kept = {.text = command,.nargs = sql->nargs,.types = sql->types};


	kept.adaptive = sql->terms->nconditions > 0 || sql->changes != NULL;
	(void) RunKept(query->resource, &kept, sql->values);
}

/* Run a statement that reads the root table of a resource; returns the number of rows. */
uint64
QueryRunKept(Resource *resource, const char *command, int nargs, const Oid *types, Datum *values)
{
	KeptQuery	kept = {.text = command,.nargs = nargs,.types = types};

	return RunKept(resource, &kept, values);
}

/*
 * Returns true if a page is to be read by a statement for each branch.  One for both
 * is planned anew for each call, because its plan depends on the limit, and planning
 * costs more than reading a short page.  A statement for the documents that lack
 * something seldom finds many, and its plan is kept.
 */
static bool
ReadsSeparately(const QuerySql *sql, int64 limit, int64 offset)
{
	return sql->nbranches == 2 && !sql->by_change && offset < MAX_SEPARATE && limit <= MAX_SEPARATE - offset;
}

/* Run a statement that returns ids, and append them. */
static int64 *
ReadIds(const DocumentQuery *query, const char *text, int64 *ids, int *n)
{
	int			found;

	RunQuery(query, text);
	found = (int) ResultRows();
	if (ids == NULL)
		ids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * Max(found, 1));
	else
		ids = repalloc_huge(ids, sizeof(int64) * Max(*n + found, 1));
	for (int i = 0; i < found; i++)
		ids[(*n)++] = ResultInt64(i, 1);
	ResultFree();
	return ids;
}

/* Read a page by a statement for each branch. */
static int64 *
ReadBranches(const DocumentQuery *query, int64 after, int64 limit, int64 offset, int *n)
{
	QuerySql   *sql = query->sql;
	int64	   *ids = NULL;

	for (int i = 0; i < sql->nbranches; i++)
		ids = ReadIds(query, QuerySqlBranch(sql, i, after, limit + offset, 0), ids, n);
	*n = IdsSort(ids, *n);
	*n = (int) Min(Max(*n - offset, 0), limit);
	if (*n > 0)
		memmove(ids, ids + offset, sizeof(int64) * *n);
	return ids;
}

/* Remove ids that repeat the one before; returns how many are left. */
static int
SkipRepeated(int64 *ids, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
		if (i == 0 || ids[i] != ids[kept - 1])
			ids[kept++] = ids[i];
	return kept;
}

/*
 * Returns the ids of the matching documents, ascending and greater than "after", or in
 * the order of their changes: skip offset rows, return at most limit.
 */
int64 *
QueryPage(DocumentQuery *query, int64 after, int64 limit, int64 offset, int *n)
{
	int64	   *ids;

	*n = 0;
	if (query->sql->impossible || limit == 0)
		return NULL;
	if (ReadsSeparately(query->sql, limit, offset))
		return ReadBranches(query, after, limit, offset, n);
	ids = ReadIds(query, QuerySqlPage(query->sql, after, limit, offset), NULL, n);

	/* A view in the place of a table may return a document twice. */
	*n = query->sql->by_change ? SkipRepeated(ids, *n) : IdsSort(ids, *n);
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
