/*
 * read.c
 *		Reading documents: dms.get_document(), dms.query_documents(),
 *		dms.count_documents() and dms.referencing_documents().
 *
 * Reads run with the rights of the caller, take no row locks, and see the
 * snapshot of the statement that called them: all their statements run
 * read-only under it.  So they work on a standby, too.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/jsontreebuild.h"
#include "base/report.h"
#include "base/uuid.h"
#include "document/documentcache.h"
#include "document/edges.h"
#include "document/reconstitute.h"
#include "document/storedpage.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
#include "verbs/changepage.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_get_document);
PG_FUNCTION_INFO_V1(dms_query_documents);
PG_FUNCTION_INFO_V1(dms_query_documents_text);
PG_FUNCTION_INFO_V1(dms_count_documents);
PG_FUNCTION_INFO_V1(dms_count_documents_text);
PG_FUNCTION_INFO_V1(dms_referencing_documents);

/*
 * Connect for a read.  Taking a lock takes in what deploys have changed, so
 * that models looked up afterwards are current.
 */
void
ReadBegin(Session *session)
{
	StoreLockModels();
	SessionBegin(session, RIGHTS_OF_CALLER);
}

/* Returns the options of a resource, which are read with the rights of the owner. */
const ResourceOptions *
ReadOptionsOf(Resource *resource)
{
	const ResourceOptions *options;
	Session		owner;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	options = ResourceOptionsOf(resource);
	SessionEnd(&owner);
	return options;
}

/*
 * Read a document in the active snapshot.  Returns false if there is none.  The
 * body is made in the given memory context.
 */
bool
ReadDocument(const pg_uuid_t *uuid, MemoryContext context, ReadResult *result)
{
	MemoryContext saved;
	StringInfoData out;
	StoredPage *page;

	if (!DocumentRead(uuid, &result->document, &result->resource))
		return false;
	result->body = DocumentCacheRead(result->resource, &result->document, context);
	if (result->body != NULL)
		return true;
	page = StoredPageReadOne(result->resource, &result->document);
	if (page->tables[0].nrows == 0)
		return false;
	saved = MemoryContextSwitchTo(context);
	initStringInfo(&out);
	MemoryContextSwitchTo(saved);
	result->body = ReconstituteValue(page, 0, &out);
	return true;
}

/*
 * Read some documents of a resource whose ids are greater than *from, or NULL, by walking
 * along the index of its root.  Returns false if a statement must find them.
 */
static bool
PutAlong(Resource *resource, const int64 *from, int some, int64 *last, int *n, ReadSink sink, void *state)
{
	StoredPage *page;
	int64	   *ids;

	if (DocumentCacheIsReadable(resource))
	{
		if (!StoredPageIdsAfter(resource, from, some, &ids, n))
			return false;
		if (*n > 0)
			*last = ids[*n - 1];
		ReadIdsPut(resource, ids, *n, sink, state);
		return true;
	}
	page = StoredPageReadAfter(resource, from, some, last, n);
	if (page != NULL)
		ReadIdsPutPage(page, sink, state);
	return page != NULL;
}

/*
 * Read the documents of a resource whose ids are greater than *after by walking along
 * the index of its root, and count them down from *limit.  Returns false if the rest,
 * which is after *after, must be found by a statement.
 */
static bool
ReadAlong(Resource *resource, int64 *after, int64 *limit, ReadSink sink, void *state)
{
	const int64 *from = *after > 0 ? after : NULL;
	int			some = 0;
	int			n;

	for (n = 0; n == some && *limit > 0; *limit -= n)
	{
		bool		able;

		some = (int) Min(*limit, READ_IDS_AT_ONCE);
		SessionBeginPart();
		able = PutAlong(resource, from, some, after, &n, sink, state);
		SessionEndPart();
		if (!able)
			return false;
		from = after;
	}
	return true;
}

/* Where the documents of a page go that are read along the journal. */
typedef struct PlainSink
{
	ReadSink	sink;
	void	   *state;
} PlainSink;

/* Callback: hand a document over without the number of its change. */
static void
PutPlain(void *state, int64 version pg_attribute_unused(), const DocumentHeader *header, text *body)
{
	const PlainSink *plain = state;

	plain->sink(plain->state, header, body);
}

/* Read the documents whose last changes are in a range, in the order of these changes. */
static void
ReadRange(Resource *resource, const ChangeRange *range, int64 limit, int64 offset, ReadSink sink, void *state)
{
	NotedChange after = {range->min, PG_INT64_MIN, PG_INT64_MIN};
	PlainSink	plain = {sink, state};

	ChangePageRead(resource, &after, range->max, limit, offset, PutPlain, &plain);
}

/*
 * Read the documents that match a query, in the active snapshot and in the order of
 * their ids, or of their changes: those with ids greater than "after", without the
 * first ones up to the offset, and no more than the limit.  The sink gets each while it
 * is in memory.
 */
void
ReadPage(Resource *resource, DocumentQuery *query, int64 after, int64 limit, int64 offset,
		 ReadSink sink, void *state)
{
	const ChangeRange *range = QueryRange(query);
	int64	   *ids;
	int			n;

	if (range != NULL)
	{
		ReadRange(resource, range, limit, offset, sink, state);
		return;
	}
	if (offset == 0 && QueryMatchesAll(query) && ReadAlong(resource, &after, &limit, sink, state))
		return;
	ids = QueryPage(query, after, limit, offset, &n);
	FAULT_PAUSE("read_between_statements");
	if (QueryIsByChange(query))
		ReadIdsInOrder(resource, ids, n, sink, state);
	else
		ReadIdsAscending(resource, ids, n, sink, state);
}

/* Return a document by its id; NULL if there is none. */
Datum
dms_get_document(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	ReadResult	result;
	bool		found;

	ReadBegin(&session);
	found = ReadDocument(PG_GETARG_UUID_P(0), context, &result);
	SessionEnd(&session);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result.body);
}

/* Reads the argument with the filters. */
typedef JNode *(*ReadFilters) (Datum value);

/* Read filters that are jsonb. */
static JNode *
FiltersOfJsonb(Datum value)
{
	return JsonTreeBuild(DatumGetJsonbP(value));
}

/* Read filters that are json or text. */
static JNode *
FiltersOfText(Datum value)
{
	text	   *json = DatumGetTextPP(value);
	JsonFault	fault;
	JNode	   *filters = JsonTreeParse(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), &fault);

	if (filters == NULL && fault.duplicates != NIL)
		ReportError(PROBLEM_ARGUMENT, NULL, "filters are not valid: %s %s",
					JsonTreePath(linitial(fault.duplicates)), fault.message);
	if (filters == NULL)
		ReportError(PROBLEM_ARGUMENT, NULL, "filters are not valid: %s", fault.message);
	return filters;
}

/* Read the range of changes from an argument and the next; returns NULL if there is none. */
static const ChangeRange *
RangeOfArguments(FunctionCallInfo fcinfo, int argument, ChangeRange *range)
{
	range->min = PG_ARGISNULL(argument) ? 0 : PG_GETARG_INT64(argument);
	range->has_max = !PG_ARGISNULL(argument + 1);
	range->max = range->has_max ? PG_GETARG_INT64(argument + 1) : 0;
	if (range->min < 0 || range->max < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "numbers of changes must not be negative");
	if (range->has_max && range->min > range->max)
		ReportError(PROBLEM_ARGUMENT, NULL, "min_change_version must not be greater than max_change_version");
	return PG_ARGISNULL(argument) && !range->has_max ? NULL : range;
}

/*
 * Make the query of the resource and filters in the first three arguments, and of the
 * range of changes in later ones.
 */
static DocumentQuery *
QueryOfArguments(FunctionCallInfo fcinfo, ReadFilters read, int range_argument, Resource **resource)
{
	Filter	   *filters;
	ChangeRange range;
	const ChangeRange *given = RangeOfArguments(fcinfo, range_argument, &range);
	int			n;

	*resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							   text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ModelCacheRefuseAbstract(*resource);
	filters = FiltersRead((*resource)->model, read(PG_GETARG_DATUM(2)),
						  FILTER_IDS_STRICT, &n);
	return QueryMake(*resource, filters, n, given);
}

/* Returns the id of the document after which to continue; 0 if none was given. */
static int64
FindAfter(FunctionCallInfo fcinfo, int argument)
{
	int64		document_id;

	if (PG_ARGISNULL(argument))
		return 0;
	if (!DocumentFind(PG_GETARG_UUID_P(argument), &document_id, NULL))
		ReportError(PROBLEM_ARGUMENT, NULL, "there is no document %s to continue after",
					UuidText(PG_GETARG_UUID_P(argument)));
	return document_id;
}

/* Add a document to the set that a function returns. */
void
ReadPutDocument(void *state, const DocumentHeader *header, text *body)
{
	ReturnSetInfo *rsinfo = state;
	Datum		values[1] = {PointerGetDatum(body)};
	bool		nulls[1] = {false};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return the documents that match, in the order in which they were created. */
static Datum
QueryDocuments(FunctionCallInfo fcinfo, ReadFilters read)
{
	static const char *const names[] = {"project", "resource", "filters",
	"page_limit", "page_offset"};
	Session		session;
	Resource   *resource;
	DocumentQuery *query;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT32(3) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be negative");
	if (PG_GETARG_INT64(4) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_offset must not be negative");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	ReadBegin(&session);
	query = QueryOfArguments(fcinfo, read, 6, &resource);
	if (QueryIsByChange(query) && !PG_ARGISNULL(5))
		ReportError(PROBLEM_ARGUMENT, "dms.changed_documents() continues after a change.",
					"after cannot be given with max_change_version");
	ReadPage(resource, query, FindAfter(fcinfo, 5), PG_GETARG_INT32(3), PG_GETARG_INT64(4),
			 ReadPutDocument, fcinfo->resultinfo);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return the documents that match; filters are jsonb. */
Datum
dms_query_documents(PG_FUNCTION_ARGS)
{
	return QueryDocuments(fcinfo, FiltersOfJsonb);
}

/* Return the documents that match; filters are json or text. */
Datum
dms_query_documents_text(PG_FUNCTION_ARGS)
{
	return QueryDocuments(fcinfo, FiltersOfText);
}

/* Count the documents that match. */
static Datum
CountDocuments(FunctionCallInfo fcinfo, ReadFilters read)
{
	static const char *const names[] = {"project", "resource", "filters"};
	Session		session;
	Resource   *resource;
	int64		count;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	ReadBegin(&session);
	count = QueryCount(QueryOfArguments(fcinfo, read, 3, &resource));
	SessionEnd(&session);
	PG_RETURN_INT64(count);
}

/* Count the documents that match; filters are jsonb. */
Datum
dms_count_documents(PG_FUNCTION_ARGS)
{
	return CountDocuments(fcinfo, FiltersOfJsonb);
}

/* Count the documents that match; filters are json or text. */
Datum
dms_count_documents_text(PG_FUNCTION_ARGS)
{
	return CountDocuments(fcinfo, FiltersOfText);
}

/* Return the documents that refer to a document, and the places of the references. */
Datum
dms_referencing_documents(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;

	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	(void) EdgesFindReferencing(PG_GETARG_UUID_P(0));
	for (uint64 i = 0; i < ResultRows(); i++)
	{
		Datum		values[4];
		bool		nulls[4];

		CHECK_FOR_INTERRUPTS();
		ResultRow(i, values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
