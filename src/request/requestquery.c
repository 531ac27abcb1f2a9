/*
 * requestquery.c
 *		A page of documents: GET of an endpoint.
 *
 * limit, offset and totalCount are parameters of paging; all others are filters.
 * The page and the count see one state of the database.
 */
#include "postgres.h"

#include "base/jsontree.h"
#include "base/report.h"
#include "engine/snapshot.h"
#include "miscadmin.h"
#include "request/requestparse.h"
#include "request/requestquery.h"
#include "utils/builtins.h"
#include "verbs/read.h"

#define MAX_LIMIT 500

typedef struct Paging
{
	int64		limit;
	int64		offset;
	bool		total;
} Paging;

typedef bool (*TakeParameter) (Paging *paging, const char *value);

/* Read a number from 0 to max. */
static bool
ParseNumber(const char *value, int64 max, int64 *number)
{
	size_t		len = strlen(value);

	if (len == 0 || strspn(value, "0123456789") != len)
		return false;
	errno = 0;
	*number = strtoi64(value, NULL, 10);
	return errno == 0 && *number <= max;
}

/* Read the parameter "limit". */
static bool
TakeLimit(Paging *paging, const char *value)
{
	return ParseNumber(value, MAX_LIMIT, &paging->limit);
}

/* Read the parameter "offset". */
static bool
TakeOffset(Paging *paging, const char *value)
{
	return ParseNumber(value, PG_INT64_MAX, &paging->offset);
}

/* Read the parameter "totalCount". */
static bool
TakeTotal(Paging *paging, const char *value)
{
	paging->total = pg_strcasecmp(value, "true") == 0;
	return paging->total || pg_strcasecmp(value, "false") == 0;
}

static const struct
{
	const char *name;
	TakeParameter take;
	const char *rule;
}			parameters[] = {
	{"limit", TakeLimit, "a number from 0 to 500"},
	{"offset", TakeOffset, "a number that is not negative"},
	{"totalCount", TakeTotal, "true or false"},
};

/* Look up a parameter of paging; -1 if the name is that of a filter. */
static int
FindParameter(const char *name)
{
	for (int i = 0; i < (int) lengthof(parameters); i++)
		if (pg_strcasecmp(parameters[i].name, name) == 0)
			return i;
	return -1;
}

/* Read the parameters of paging; everything that is wrong is reported at once. */
static void
ReadPaging(const Request *request, Paging *paging)
{
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	bool		seen[lengthof(parameters)] = {false};
	ListCell   *cell;

	paging->limit = MAX_LIMIT;
	paging->offset = 0;
	paging->total = false;
	if (request->query_malformed)
		ProblemNote(problem, "The query must be UTF-8 in which percent signs stand before two hexadecimal digits.");
	foreach(cell, request->parameters)
	{
		const QueryParameter *given = lfirst(cell);
		int			i = FindParameter(given->name);

		if (i < 0)
			continue;
		if (!seen[i] && parameters[i].take(paging, given->value))
		{
			seen[i] = true;
			continue;
		}
		problem->kind = PROBLEM_PAGING;
		if (seen[i])
			ProblemNote(problem, "%s must be given once.", parameters[i].name);
		else
			ProblemNote(problem, "%s must be %s.", parameters[i].name, parameters[i].rule);
		seen[i] = true;
	}
	if (problem->count > 0)
		ProblemRaise(problem, "parameters are not valid");
}

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
		if (FindParameter(given->name) < 0 &&
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

	if (out->len > VARHDRSZ + 1)
		appendStringInfoChar(out, ',');
	appendBinaryStringInfo(out, VARDATA_ANY(body), VARSIZE_ANY_EXHDR(body));
}

/* Answer with the documents that match; the body is allocated in the context. */
void
RequestQueryPage(const Request *request, Resource *resource, MemoryContext context,
				 Response *response)
{
	MemoryContext saved;
	StringInfoData out;
	Paging		paging;
	Filter	   *filters;
	DocumentQuery *query;
	int			n;

	ReadPaging(request, &paging);
	filters = FiltersRead(resource->model, FiltersOf(request), FILTER_IDS_LENIENT, &n);
	saved = MemoryContextSwitchTo(context);
	initStringInfo(&out);
	MemoryContextSwitchTo(saved);
	appendStringInfoSpaces(&out, VARHDRSZ);
	appendStringInfoChar(&out, '[');

	SnapshotBegin();
	query = QueryMake(resource, filters, n);
	ReadPage(resource, query, 0, paging.limit, paging.offset, AppendDocument, &out);
	if (paging.total)
		ResponseHeader(response, "Total-Count", psprintf(INT64_FORMAT, QueryCount(query)));
	SnapshotEnd();

	appendStringInfoChar(&out, ']');
	SET_VARSIZE(out.data, out.len);
	response->status = 200;
	ResponseHeader(response, "Content-Type", "application/json; charset=utf-8");
	response->body = (text *) out.data;
}
