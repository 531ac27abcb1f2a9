/*
 * requestquery.c
 *		A page of documents: GET of an endpoint.
 *
 * Parameters that are not those of paging or of change queries are filters, or "q"
 * searches.  The page and the count see one state of the database.  A resource that has a
 * query field of that name keeps it, and is searched by dms.search_documents() only.
 */
#include "postgres.h"

#include "base/jsontree.h"
#include "base/report.h"
#include "miscadmin.h"
#include "request/requestparameters.h"
#include "request/requestquery.h"
#include "utils/builtins.h"
#include "verbs/read.h"
#include "verbs/search.h"

#define QUERY_PARAMETERS (PARAMETERS_PAGING | PARAMETERS_CHANGES)
#define SEARCH_PARAMETERS (PARAMETERS_PAGING | PARAMETER_QUERY | PARAMETER_SYNTAX | PARAMETER_SORT)

/* Returns true if an earlier parameter has this name. */
static bool
WasBefore(const Request *request, int position, const char *name)
{
	for (int i = 0; i < position; i++)
	{
		const QueryParameter *other = list_nth(request->parameters, i);

		if (pg_strcasecmp(other->name, name) == 0)
			return true;
	}
	return false;
}

/* Add an array of the values of all parameters of this name. */
static void
AddValues(JNode *filters, const Request *request, const char *name)
{
	JNode	   *values = JsonTreeAdd(filters, JNODE_ARRAY, name);
	ListCell   *cell;

	foreach(cell, request->parameters)
	{
		const QueryParameter *given = lfirst(cell);

		if (pg_strcasecmp(given->name, name) == 0)
			JsonTreeAddText(values, JNODE_STRING, NULL, given->value);
	}
}

/* Returns the filters as the query functions take them: {name: [any of these]}. */
static JNode *
FiltersOf(const Request *request)
{
	JNode	   *filters = JsonTreeAdd(NULL, JNODE_OBJECT, NULL);
	ListCell   *cell;

	foreach(cell, request->parameters)
	{
		const QueryParameter *given = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (!RequestParameterIsTaken(given->name, QUERY_PARAMETERS) &&
			!WasBefore(request, foreach_current_index(cell), given->name))
			AddValues(filters, request, given->name);
	}
	return filters;
}

/* Append a document to the array of a page, for ReadPage(). */
static void
AppendDocument(void *state, const DocumentHeader *header, text *body)
{
	StringInfo	out = state;

	ResponseListItem(out);
	appendBinaryStringInfo(out, VARDATA_ANY(body), VARSIZE_ANY_EXHDR(body));
}

/* Returns true if a request searches. */
static bool
IsSearch(const Request *request, const ResourceModel *model)
{
	ListCell   *cell;

	for (int i = 0; i < model->nqueries; i++)
		if (RequestParameterIsTaken(model->queries[i].name, PARAMETER_QUERY))
			return false;
	foreach(cell, request->parameters)
	{
		if (RequestParameterIsTaken(((QueryParameter *) lfirst(cell))->name, PARAMETER_QUERY))
			return true;
	}
	return false;
}

/* Answer with the documents that have some words, best or newest first. */
static void
SearchDocuments(RouteCall *call)
{
	Search		search = {.resource = call->resource};
	StringInfoData out;
	Parameters	parameters;

	RequestParametersReadOnly(call->request, SEARCH_PARAMETERS, &parameters);
	if (!SearchIsConfigured(search.resource))
		ReportError(PROBLEM_ARGUMENT, NULL, "%s cannot be searched.", search.resource->model->resource);
	search.query = parameters.query;
	search.web = parameters.web;
	search.newest = parameters.newest;
	ResponseListBegin(&out, call->context);
	SearchPage(&search, parameters.limit, parameters.offset, AppendDocument, &out);
	if (parameters.total)
		ResponseHeader(call->response, "Total-Count", psprintf(INT64_FORMAT, SearchCount(&search)));
	ResponseListEnd(call->response, &out);
}

/* Answer with the documents that match filters. */
static void
QueryDocuments(RouteCall *call)
{
	const Request *request = call->request;
	StringInfoData out;
	Parameters	parameters;
	Filter	   *filters;
	DocumentQuery *query;
	int			n;

	RequestParametersRead(request, QUERY_PARAMETERS, &parameters);
	filters = FiltersRead(call->resource->model, FiltersOf(request), FILTER_IDS_LENIENT, &n);
	ResponseListBegin(&out, call->context);
	query = QueryMake(call->resource, filters, n, RequestParametersRange(&parameters));
	ReadPage(call->resource, query, 0, parameters.limit, parameters.offset, AppendDocument, &out);
	if (parameters.total)
		ResponseHeader(call->response, "Total-Count", psprintf(INT64_FORMAT, QueryCount(query)));
	ResponseListEnd(call->response, &out);
}

/* Answer with a page of documents. */
void
RequestQueryPage(RouteCall *call)
{
	if (IsSearch(call->request, call->resource->model))
		SearchDocuments(call);
	else
		QueryDocuments(call);
}
