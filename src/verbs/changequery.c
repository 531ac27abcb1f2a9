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

#include "base/faults.h"
#include "base/report.h"
#include "catalog/pg_type.h"
#include "document/changes.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
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

static const Oid window_types[] = {INT4OID, INT8OID, INT8OID, INT8OID, INT8OID};

/*
 * Deleted documents, unless there is one with the identity or the id again.  One that
 * has taken over the identity after the window does not count: the client hears of it
 * later, if at all, for it may have given up the identity by then.
 */
#define DELETED_SQL " FROM dms.TrackedChange AS t WHERE t.ResourceTypeId OPERATOR(pg_catalog.=) $1" \
	" AND t.ChangeVersion OPERATOR(pg_catalog.>=) $2 AND t.ChangeVersion OPERATOR(pg_catalog.<=) $3" \
	" AND t.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'D' AND t.OldKey IS NOT NULL"
#define SUPPRESSED_SQL \
	" AND NOT EXISTS (SELECT FROM dms.ReferentialIdentity AS i" \
	" WHERE i.ReferentialId OPERATOR(pg_catalog.=) t.OldReferentialId" \
	" AND COALESCE((SELECT k.ChangeVersion FROM dms.TrackedChange AS k" \
	" WHERE k.DocumentId OPERATOR(pg_catalog.=) i.DocumentId AND k.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'K'" \
	" ORDER BY k.Etag DESC LIMIT 1), 0) OPERATOR(pg_catalog.<=) $3)" \
	" AND NOT " DOCUMENT_HAS_UUID_SQL("t.DocumentUuid")
#define DELETED_PAGE_SQL(suppressed) \
	"SELECT t.DocumentUuid, t.ChangeVersion, t.OldKey::pg_catalog.text, NULL::pg_catalog.text" DELETED_SQL suppressed \
	" ORDER BY t.ChangeVersion, t.DocumentId LIMIT $4 OFFSET $5"

static Statement find_deleted =
{
	.sql = DELETED_PAGE_SQL(SUPPRESSED_SQL),
	.nargs = lengthof(window_types),
	.argtypes = window_types,
	.ordered = true,
};

static Statement count_deleted =
{
	.sql = "SELECT pg_catalog.count(*)" DELETED_SQL SUPPRESSED_SQL,
	.nargs = 3,
	.argtypes = window_types,
};

/*
 * The first old key and the last new one, by etag: the numbers of transactions that
 * overlapped may be in the other order.  There and back again is no change.
 */
#define KEYS_SQL(order) \
	"SELECT DocumentUuid, Version, OldKey, NewKey FROM (SELECT t.DocumentId, t.DocumentUuid," \
	" pg_catalog.max(t.ChangeVersion) AS Version," \
	" (pg_catalog.array_agg(t.OldKey::pg_catalog.text ORDER BY t." order "))[1] AS OldKey," \
	" (pg_catalog.array_agg(t.NewKey::pg_catalog.text ORDER BY t." order " DESC))[1] AS NewKey" \
	" FROM dms.TrackedChange AS t WHERE t.ResourceTypeId OPERATOR(pg_catalog.=) $1" \
	" AND t.ChangeVersion OPERATOR(pg_catalog.>=) $2 AND t.ChangeVersion OPERATOR(pg_catalog.<=) $3" \
	" AND t.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'K' AND t.OldKey IS NOT NULL" \
	" GROUP BY t.DocumentId, t.DocumentUuid) AS k" \
	" WHERE OldKey OPERATOR(pg_catalog.<>) NewKey"
#define KEYS_PAGE_SQL(order) KEYS_SQL(order) " ORDER BY Version, DocumentId LIMIT $4 OFFSET $5"

static Statement find_keys =
{
	.sql = KEYS_PAGE_SQL("Etag"),
	.nargs = lengthof(window_types),
	.argtypes = window_types,
};

static Statement count_keys =
{
	.sql = "SELECT pg_catalog.count(*) FROM (" KEYS_SQL("Etag") ") AS c",
	.nargs = 3,
	.argtypes = window_types,
};

#ifdef DMS_FAULTS
static Statement find_all_deleted =
{
	.sql = DELETED_PAGE_SQL(""),
	.nargs = lengthof(window_types),
	.argtypes = window_types,
	.ordered = true,
};
static Statement find_keys_by_number =
{
	.sql = KEYS_PAGE_SQL("ChangeVersion"),
	.nargs = lengthof(window_types),
	.argtypes = window_types,
};
#endif

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

/* Run a statement on a window of a resource. */
static uint64
RunWindow(Statement *statement, const Resource *resource, const ChangePage *window)
{
	Datum		values[] = {Int32GetDatum(resource->type_id), Int64GetDatum(window->min_version),
		Int64GetDatum(window->max_version), Int64GetDatum(window->limit), Int64GetDatum(window->offset)
	};

	return StatementRun(statement, values, NULL, true, 0);
}

/* Hand the items of a window to the sink, if the caller may read them. */
static void
ReadWindow(Statement *statement, Resource *resource, const ChangePage *window, ChangedSink sink, void *state)
{
	Session		owner;
	uint64		n;

	ChangesRequire();
	if (!ChangeQueryMayRead(resource->model->project, resource->model->resource))
		return;
	SessionBegin(&owner, RIGHTS_OF_OWNER);
	n = RunWindow(statement, resource, window);
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
CountWindow(Statement *statement, Resource *resource, const ChangePage *window)
{
	Session		owner;
	int64		n;

	ChangesRequire();
	if (!ChangeQueryMayRead(resource->model->project, resource->model->resource))
		return 0;
	SessionBegin(&owner, RIGHTS_OF_OWNER);
	(void) RunWindow(statement, resource, window);
	n = ResultInt64(0, 1);
	SessionEnd(&owner);
	return n;
}

/*
 * Read the documents of a resource that were deleted, and whose identity nobody has
 * again.  The sink must not use SPI.
 */
void
ChangeQueryDeleted(Resource *resource, const ChangePage *window, ChangedSink sink, void *state)
{
	Statement  *statement = &find_deleted;

#ifdef DMS_FAULTS
	if (FAULT_SKIP("suppress_by_identity"))
		statement = &find_all_deleted;
#endif
	ReadWindow(statement, resource, window, sink, state);
}

/* Count them, whatever the page. */
int64
ChangeQueryCountDeleted(Resource *resource, const ChangePage *window)
{
	return CountWindow(&count_deleted, resource, window);
}

/* Read the documents of a resource whose keys have changed, each once. */
void
ChangeQueryKeys(Resource *resource, const ChangePage *window, ChangedSink sink, void *state)
{
	Statement  *statement = &find_keys;

#ifdef DMS_FAULTS
	if (FAULT_SKIP("collapse_by_etag"))
		statement = &find_keys_by_number;
#endif
	ReadWindow(statement, resource, window, sink, state);
}

/* Count them, whatever the page. */
int64
ChangeQueryCountKeys(Resource *resource, const ChangePage *window)
{
	return CountWindow(&count_keys, resource, window);
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
