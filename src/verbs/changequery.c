/*
 * changequery.c
 *		Changes of a resource between two numbers, for clients that keep the largest
 *		number that they have read.
 *
 * dms.available_change_versions() tells such clients how far they can read: no change
 * up to the newest number can appear later.  The functions are those behind the change
 * queries of the API.
 *
 * Deletes and keys are read with the rights of the owner, for those who may read the
 * keys of all documents of the resource.  Others get nothing.
 */
#include "postgres.h"

#include "base/report.h"
#include "document/changes.h"
#include "document/trackedreads.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "verbs/changepage.h"
#include "verbs/changequery.h"
#include "verbs/read.h"
#include "verbs/readrights.h"

PG_FUNCTION_INFO_V1(dms_available_change_versions);
PG_FUNCTION_INFO_V1(dms_changed_documents);
PG_FUNCTION_INFO_V1(dms_deleted_documents);
PG_FUNCTION_INFO_V1(dms_changed_keys);

/* --- rights --------------------------------------------------------------- */

/* Returns true if the caller may read all deletes and keys. */
static bool
IsAdministrator(void)
{
	Oid			tracked = StoreTable(STORE_TRACKED_CHANGE);

	return ReadRightsHave(tracked) && !ReadRightsHideRows(tracked);
}

/* Returns true if the caller may read the keys of all documents of a resource. */
bool
ChangeQueryMayRead(const char *project, const char *resource)
{
	Resource   *found;

	if (IsAdministrator())
		return true;
	found = ModelCacheTry(project, resource);
	return found != NULL && ReadRightsOfKeys(found->model);
}

/* Returns true if the caller may see the ids of all documents. */
bool
ChangeQueryMaySeeIds(void)
{
	Oid			documents = StoreTable(STORE_DOCUMENT);

	return ReadRightsHave(documents) && !ReadRightsHideRows(documents);
}

/* --- windows -------------------------------------------------------------- */

/*
 * Returns the newest number: a later snapshot sees nothing up to it that this one does
 * not.  *oldest is the number up to which deletes may be missing.
 */
int64
ChangeQueryNewest(int64 *oldest)
{
	Session		owner;
	int64		newest;

	ChangesRequire();
	*oldest = StoreRowJournal()->purged_through;
	SessionBegin(&owner, RIGHTS_OF_OWNER);
	newest = ChangesNewest();
	SessionEnd(&owner);
	return newest;
}

/* Hand the items of a window to the sink, if the caller may read them. */
static void
ReadWindow(TrackedKind kind, Resource *resource, const ChangePage *window, ChangedSink sink, void *state)
{
	Session		owner;
	uint64		n;

	ChangesRequire();
	if (!ChangeQueryMayRead(resource->model->project, resource->model->resource))
		return;
	SessionBegin(&owner, RIGHTS_OF_OWNER);
	n = TrackedReadsPage(kind, resource->type_id, window);
	for (uint64 i = 0; i < n; i++)
	{
		ChangedItem item = {.uuid = ResultUuid(i, 1),.version = ResultInt64(i, 2)};
		bool		isnull;
		Datum		value;

		value = ResultDatum(i, 3, &isnull);
		item.old_key = isnull ? NULL : DatumGetTextPP(value);
		value = ResultDatum(i, 4, &isnull);
		item.new_key = isnull ? NULL : DatumGetTextPP(value);
		sink(state, &item);
	}
	SessionEnd(&owner);
}

/* Count the items of a window; 0 if the caller may not read them. */
static int64
CountWindow(TrackedKind kind, Resource *resource, const ChangePage *window)
{
	Session		owner;
	int64		n;

	ChangesRequire();
	if (!ChangeQueryMayRead(resource->model->project, resource->model->resource))
		return 0;
	SessionBegin(&owner, RIGHTS_OF_OWNER);
	n = TrackedReadsCount(kind, resource->type_id, window);
	SessionEnd(&owner);
	return n;
}

/*
 * Read the documents of a resource that were deleted, and whose identity no other
 * document has again.  The sink must not use SPI.
 */
void
ChangeQueryDeleted(Resource *resource, const ChangePage *window, ChangedSink sink, void *state)
{
	ReadWindow(TRACKED_DELETES, resource, window, sink, state);
}

/* Count them, whatever the page. */
int64
ChangeQueryCountDeleted(Resource *resource, const ChangePage *window)
{
	return CountWindow(TRACKED_DELETES, resource, window);
}

/* Read the documents of a resource whose keys have changed, each once. */
void
ChangeQueryKeys(Resource *resource, const ChangePage *window, ChangedSink sink, void *state)
{
	ReadWindow(TRACKED_KEYS, resource, window, sink, state);
}

/* Count them, whatever the page. */
int64
ChangeQueryCountKeys(Resource *resource, const ChangePage *window)
{
	return CountWindow(TRACKED_KEYS, resource, window);
}

/* --- functions ------------------------------------------------------------ */

/* Return how far clients can read. */
Datum
dms_available_change_versions(PG_FUNCTION_ARGS)
{
	Session		session;
	TupleDesc	descriptor;
	Datum		values[2];
	bool		nulls[2] = {false};
	int64		oldest;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	ReadBegin(&session);
	values[1] = Int64GetDatum(ChangeQueryNewest(&oldest));
	values[0] = Int64GetDatum(oldest);
	SessionEnd(&session);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls)));
}

/* Take the arguments that the functions have in common; only the maximum may be NULL. */
static Resource *
TakeWindow(FunctionCallInfo fcinfo, ChangePage *window)
{
	Resource   *resource;
	int64		oldest;

	for (int i = 0; i < 5; i++)
		if (i != 3 && PG_ARGISNULL(i))
			ReportError(PROBLEM_ARGUMENT, NULL, "only max_version may be null");
	resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ModelCacheRefuseAbstract(resource);
	window->min_version = PG_GETARG_INT64(2);
	window->max_version = PG_ARGISNULL(3) ? ChangeQueryNewest(&oldest) : PG_GETARG_INT64(3);
	window->limit = PG_GETARG_INT32(4);
	if (window->limit < 0)
		ReportError(PROBLEM_PAGING, NULL, "page_limit must not be negative");
	return resource;
}

/* Add a row of dms.changed_documents(). */
static void
PutChanged(void *state, int64 version, const DocumentHeader *header, text *body)
{
	ReturnSetInfo *rsinfo = state;
	Datum		values[] = {Int64GetDatum(version), Int64GetDatum(header->document_id), UUIDPGetDatum(&header->uuid),
	Int64GetDatum(header->etag), PointerGetDatum(body)};
	bool		nulls[lengthof(values)] = {false};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return the documents of a resource that have changed between two numbers, in the order of their changes. */
Datum
dms_changed_documents(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	ChangePage	window = {0};
	Resource   *resource;
	NotedChange place = {0};

	if (PG_ARGISNULL(5) != PG_ARGISNULL(6))
		ReportError(PROBLEM_ARGUMENT, NULL, "after_version and after_document_id belong together");
	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	ChangesRequire();
	resource = TakeWindow(fcinfo, &window);
	place.version = PG_ARGISNULL(5) || PG_GETARG_INT64(5) < window.min_version ? window.min_version : PG_GETARG_INT64(5);
	place.document_id = PG_ARGISNULL(5) || PG_GETARG_INT64(5) < window.min_version ? PG_INT64_MIN : PG_GETARG_INT64(6);
	place.etag = PG_INT64_MAX;
	ChangePageRead(resource, &place, window.max_version, window.limit, 0, PutChanged, rsinfo);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Add a row of dms.deleted_documents() or dms.changed_keys(). */
static void
PutItem(void *state, const ChangedItem *item)
{
	ReturnSetInfo *rsinfo = state;
	Datum		values[4] = {UUIDPGetDatum(&item->uuid), Int64GetDatum(item->version), PointerGetDatum(item->old_key),
	PointerGetDatum(item->new_key)};
	bool		nulls[4] = {false, false, item->old_key == NULL, item->new_key == NULL};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Take the arguments of a function that returns items, and call it. */
static void
ReturnItems(FunctionCallInfo fcinfo, void (*read) (Resource *, const ChangePage *, ChangedSink, void *))
{
	Session		session;
	ChangePage	window = {0};
	Resource   *resource;

	if (PG_ARGISNULL(5) || PG_GETARG_INT64(5) < 0)
		ReportError(PROBLEM_PAGING, NULL, "page_offset must be a number from 0 on");
	window.offset = PG_GETARG_INT64(5);
	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	ChangesRequire();
	resource = TakeWindow(fcinfo, &window);
	read(resource, &window, PutItem, fcinfo->resultinfo);
	SessionEnd(&session);
}

/* Return the documents of a resource that were deleted between two numbers. */
Datum
dms_deleted_documents(PG_FUNCTION_ARGS)
{
	ReturnItems(fcinfo, ChangeQueryDeleted);
	PG_RETURN_NULL();
}

/* Return the documents of a resource whose keys have changed between two numbers. */
Datum
dms_changed_keys(PG_FUNCTION_ARGS)
{
	ReturnItems(fcinfo, ChangeQueryKeys);
	PG_RETURN_NULL();
}
