/*
 * search.c
 *		dms.search_documents(): the documents that have some words, best first, or
 *		newest first.
 *
 * The words of each row that matches are computed again to rank it, which is most of
 * the cost.  Who wants the newest ones pays for reading the index, and for one page.
 *
 * Reads run with the rights of the caller.  Where a policy hides rows of the table,
 * PostgreSQL must ask the policy before an operator that might reveal hidden rows, which
 * all text search operators might: they are not leakproof.  So it could not use the
 * index, and would read the whole table.  There, the matching ids are read from
 * the index with the rights of the owner, and nothing but ids.  The rows, their ranks and
 * their number are then read by these ids with the rights of the caller, so policies
 * decide about each row before anything is computed from it.
 */
#include "postgres.h"

#include "base/report.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "fmgr.h"
#include "funcapi.h"
#include "model/resourceoptions.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "verbs/search.h"

PG_FUNCTION_INFO_V1(dms_search_documents);

/* The parameters of all statements: the query, then ids, then the limits of a page. */
static const Oid search_types[] = {TSQUERYOID, INT8ARRAYOID, INT8OID, INT8OID};

static const Oid ids_types[] = {INT8ARRAYOID};

/*
 * The longest query, in bytes.  PostgreSQL takes a time that grows with the square of the
 * number of words, and a stack that grows with it.
 */
#define MAX_QUERY 10000

/* A search as parts of statements. */
typedef struct SearchSql
{
	const Search *search;
	const char *from;			/* the root table, as t */
	const char *id;				/* its key */
	const char *vector;			/* the words of a row */
	bool		hidden;			/* a policy hides rows from the caller */
	Datum		values[lengthof(search_types)];
} SearchSql;

/* Returns true if documents of a resource can be searched. */
bool
SearchIsConfigured(Resource *resource)
{
	return ReadOptionsOf(resource)->search.ncolumns > 0;
}

/* Set the syntax of a query; returns false if there is no such syntax. */
bool
SearchTakeSyntax(Search *search, const char *syntax)
{
	search->web = strcmp(syntax, "web") == 0;
	return search->web || strcmp(syntax, "plain") == 0;
}

/* Set the order of the documents; returns false if there is no such order. */
bool
SearchTakeSort(Search *search, const char *sort)
{
	search->newest = strcmp(sort, "newest") == 0;
	return search->newest || strcmp(sort, "rank") == 0;
}

/* Returns true if policies may hide rows of the root table from the caller. */
static bool
HidesRows(const TableModel *root)
{
	Oid			table = get_relname_relid(root->name, get_namespace_oid(root->schema, true));

	return OidIsValid(table) && check_enable_rls(table, InvalidOid, true) == RLS_ENABLED;
}

/*
 * Read the ids of all rows that match with the rights of the owner, in the active
 * snapshot.  Notices about words that are too long would reveal rows.
 */
static Datum
ReadHidden(SearchSql *sql)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext saved;
	Session		owner;
	int			level;
	Datum		array;
	bool		isnull;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	level = NewGUCNestLevel();
	StatementSetLocally("client_min_messages", "error");
	(void) QueryRunKept(sql->search->resource,
						psprintf("SELECT pg_catalog.array_agg(t.%s) FROM %s WHERE %s OPERATOR(pg_catalog.@@) $1",
								 sql->id, sql->from, sql->vector), 1, search_types, sql->values);
	AtEOXact_GUC(true, level);
	ResultExpect(ids_types);
	array = ResultDatum(0, 1, &isnull);
	saved = MemoryContextSwitchTo(context);
	array = isnull ? DatumInt8Array(0, NULL) : datumCopy(array, false, -1);
	MemoryContextSwitchTo(saved);
	SessionEnd(&owner);
	return array;
}

/*
 * Returns the words of a query.  They are taken apart once: statements would do so again
 * for each row that they rank.
 */
static Datum
TakeApart(const Search *search, const SearchVector *vector)
{
	Oid			configuration = SearchVectorConfiguration(vector);

	if (!OidIsValid(configuration))
		ReportError(PROBLEM_ARGUMENT, "Set the option \"searchConfiguration\" by dms.configure_resource().",
					"there is no text search configuration %s", vector->name);
	return DirectFunctionCall2(search->web ? websearch_to_tsquery_byid : plainto_tsquery_byid,
							   ObjectIdGetDatum(configuration), CStringGetTextDatum(search->query));
}

/* Prepare the statements of a search. */
static void
PrepareSql(const Search *search, SearchSql *sql)
{
	const SearchVector *vector = &ReadOptionsOf(search->resource)->search;
	const ResourceModel *model = search->resource->model;
	const TableModel *root = &model->tables[0];

	if (vector->ncolumns == 0)
		ReportError(PROBLEM_ARGUMENT, "Set it by dms.configure_resource().",
					"%s.%s does not have the option \"search\"", model->project, model->resource);
	if (strlen(search->query) > MAX_QUERY)
		ReportError(PROBLEM_ARGUMENT, NULL, "a search must have at most %d bytes", MAX_QUERY);
	sql->search = search;
	sql->from = psprintf("%s AS t", quote_qualified_identifier(root->schema, root->name));
	sql->id = quote_identifier(root->columns[0].name);
	sql->vector = SearchVectorSql(vector, model, "t.");
	sql->values[0] = TakeApart(search, vector);
	sql->hidden = HidesRows(root);
	sql->values[1] = sql->hidden ? ReadHidden(sql) : DatumInt8Array(0, NULL);
}

/* Run a statement about the matching rows that the caller may see; returns the number of rows. */
static uint64
RunAsCaller(SearchSql *sql, const char *columns, const char *end)
{
	const char *condition = sql->hidden ?
	psprintf("t.%s OPERATOR(pg_catalog.=) ANY ($2)", sql->id) :
	psprintf("%s OPERATOR(pg_catalog.@@) $1", sql->vector);

	return QueryRunKept(sql->search->resource, psprintf("SELECT %s FROM %s WHERE %s%s", columns, sql->from, condition, end),
						lengthof(search_types), search_types, sql->values);
}

/*
 * Returns the order of the rows of a search.  Rows have ascending ids as they are created.
 * The id is not given alone: the planner could walk along the primary key then, and
 * compute the words of all rows until the page is full.
 */
static const char *
OrderSql(const SearchSql *sql)
{
	if (sql->search->newest)
		return psprintf("t.%s OPERATOR(pg_catalog.+) 0 DESC", sql->id);
	return psprintf("pg_catalog.ts_rank(%s, $1) DESC, t.%s", sql->vector, sql->id);
}

/*
 * Read the documents that match, in the active snapshot, in the order that is asked for,
 * without the first ones up to the offset, and no more than the limit.
 */
void
SearchPage(const Search *search, int64 limit, int64 offset, ReadSink sink, void *state)
{
	SearchSql	sql;
	int64	   *ids;
	int			n;

	PrepareSql(search, &sql);
	sql.values[2] = Int64GetDatum(limit);
	sql.values[3] = Int64GetDatum(offset);
	(void) RunAsCaller(&sql, psprintf("t.%s", sql.id),
					   psprintf(" ORDER BY %s LIMIT $3 OFFSET $4", OrderSql(&sql)));
	n = (int) ResultRows();
	ids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * Max(n, 1));
	for (int i = 0; i < n; i++)
		ids[i] = ResultInt64(i, 1);
	ResultFree();
	ReadIdsInOrder(search->resource, ids, n, sink, state);
}

/* Count the documents that match, in the active snapshot. */
int64
SearchCount(const Search *search)
{
	SearchSql	sql;

	PrepareSql(search, &sql);
	sql.values[2] = sql.values[3] = Int64GetDatum(0);
	(void) RunAsCaller(&sql, "pg_catalog.count(*)", "");
	return ResultInt64(0, 1);
}

/* Return the documents that match, best or newest first. */
Datum
dms_search_documents(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"project", "resource", "query", "page_limit", "page_offset", "syntax", "sort"};
	Session		session;
	Search		search;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT32(3) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be negative");
	if (PG_GETARG_INT64(4) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_offset must not be negative");
	if (!SearchTakeSyntax(&search, text_to_cstring(PG_GETARG_TEXT_PP(5))))
		ReportError(PROBLEM_ARGUMENT, NULL, "syntax must be \"plain\" or \"web\"");
	if (!SearchTakeSort(&search, text_to_cstring(PG_GETARG_TEXT_PP(6))))
		ReportError(PROBLEM_ARGUMENT, NULL, "sort must be \"rank\" or \"newest\"");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	ReadBegin(&session);
	search.resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ModelCacheRefuseAbstract(search.resource);
	search.query = text_to_cstring(PG_GETARG_TEXT_PP(2));
	SearchPage(&search, PG_GETARG_INT32(3), PG_GETARG_INT64(4), ReadPutDocument, fcinfo->resultinfo);
	SessionEnd(&session);
	PG_RETURN_NULL();
}
