/*
 * versions.c
 *		Reading versions: dms.get_document() of a version or a time, and
 *		dms.list_versions().
 *
 * A caller who may read a document may read its versions.  Privileges and policies are those
 * of the tables of the resource, which the rows of dms.DocumentVersion know nothing
 * of.  So the document is looked for with the rights of the caller, and its versions
 * are read with those of the owner.
 *
 * A version has what all tables of the resource had.  So the caller must be able to
 * read all of them, and no policy may hide rows of them, except of the root, where
 * the row itself is looked for.  Of a document that was deleted there is no row, so
 * there must be no policy on the root either.  Administrators may read all versions;
 * they are those who may read dms.DocumentVersion itself.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/uuid.h"
#include "catalog/namespace.h"
#include "document/rowtables.h"
#include "document/versiondiffs.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "verbs/read.h"
#include "verbs/readrights.h"
#include "verbs/versions.h"

PG_FUNCTION_INFO_V1(dms_get_document_version);
PG_FUNCTION_INFO_V1(dms_get_document_as_of);
PG_FUNCTION_INFO_V1(dms_list_versions);
PG_FUNCTION_INFO_V1(dms_history_stats);

#define LIST_COLUMNS 8
#define STATS_COLUMNS 5

/* --- rights --------------------------------------------------------------- */

/* Returns true if the caller may read all versions. */
static bool
IsAdministrator(void)
{
	Oid			versions = StoreTable(STORE_DOCUMENT_VERSION);

	return ReadRightsHave(versions) && !ReadRightsHideRows(versions);
}

/* Returns true if the caller may read versions of documents of a resource. */
static bool
MayReadVersions(Resource *resource, bool row_found)
{
	return IsAdministrator() ||
		(!ReadOptionsOf(resource)->history_admin && ReadRightsOfResource(resource->model, row_found));
}

/*
 * Returns true if the caller may read versions of all documents of a resource, those
 * that were deleted included.  NULL is a resource that is not deployed any more.
 */
static bool
MayReadDeleted(Resource *resource)
{
	return IsAdministrator() ||
		(resource != NULL && !ReadRightsHideRows(StoreTable(STORE_DOCUMENT)) && MayReadVersions(resource, false));
}

/* Returns true if the row of a document in its root table is visible to the caller. */
static bool
IsVisible(Resource *resource, int64 document_id)
{
	StoredRows	rows;

	KeyScanReadIds(RowTable(resource, 0), &document_id, 1, &rows);
	return rows.nrows > 0;
}

/* --- documents ------------------------------------------------------------ */

/*
 * Find the resource of a document that was deleted, by its last version.  Returns
 * false if there is none, or if the document exists, but is hidden from the caller.
 */
static bool
FindDeleted(const pg_uuid_t *uuid, VersionedDocument *document)
{
	Session		owner;
	HistoryVersion newest;
	int64		document_id;
	char	   *project;
	char	   *resource;
	bool		found;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	found = !DocumentFind(uuid, &document_id, NULL) && HistoryNewest(uuid, &newest);
	if (found && ResourceTypeNames(newest.type_id, &project, &resource))
		document->resource = ModelCacheTry(project, resource);
	SessionEnd(&owner);
	return found;
}

/*
 * Find a document, or what is left of it, in the active snapshot and with the rights of
 * the caller.  Returns false if there is nothing that the caller may know of.  Raises
 * an error if the caller may read the document, but not its versions.
 */
bool
VersionsFind(const pg_uuid_t *uuid, VersionedDocument *document)
{
	DocumentHeader header;

	memset(document, 0, sizeof(VersionedDocument));
	document->uuid = uuid;
	document->exists = DocumentRead(uuid, &header, &document->resource);
	if (!document->exists)
		return FindDeleted(uuid, document) && MayReadDeleted(document->resource);
	document->etag = header.etag;
	document->modified = header.last_modified;
	if (!IsVisible(document->resource, header.document_id))
		return false;
	if (!MayReadVersions(document->resource, true))
		ReportError(PROBLEM_NOT_PERMITTED, NULL, "permission denied for versions of %s.%s",
					document->resource->model->project, document->resource->model->resource);
	return true;
}

/* Returns a copy of a text in a memory context; NULL for NULL. */
static text *
CopyText(const text *value, MemoryContext context)
{
	text	   *copy;
	Size		length;

	if (value == NULL)
		return NULL;
	length = VARSIZE_ANY_EXHDR(value);
	copy = MemoryContextAlloc(context, length + VARHDRSZ);
	SET_VARSIZE(copy, length + VARHDRSZ);
	memcpy(VARDATA(copy), VARDATA_ANY(value), length);
	return copy;
}

/*
 * Returns the text of a version, in the given memory context; NULL if there is none.
 * The current version of a document without a history is read from its tables.
 */
text *
VersionsText(const VersionedDocument *document, int64 number, MemoryContext context)
{
	Session		owner;
	text	   *found;
	ReadResult	result;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	found = CopyText(HistoryText(document->uuid, number), context);
	SessionEnd(&owner);
	if (found == NULL && document->exists && number == document->etag &&
		ReadDocument(document->uuid, context, &result))
		found = result.body;
	return found;
}

/*
 * Returns the text that a document had at a time, and the number of that version; NULL
 * if it did not exist, or its history begins later.
 */
text *
VersionsTextAsOf(const VersionedDocument *document, TimestampTz time, MemoryContext context, int64 *number)
{
	Session		owner;
	text	   *found = NULL;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	*number = HistoryAsOf(document->uuid, document->etag, document->modified, time);
	if (*number > 0)
		found = CopyText(HistoryText(document->uuid, *number), context);
	SessionEnd(&owner);
	return found;
}

/* Hand versions with numbers below "before" to the sink, newest first. */
void
VersionsList(const VersionedDocument *document, int64 before, int64 limit, VersionSink sink, void *state)
{
	Session		owner;
	uint64		n;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	n = HistoryList(document->uuid, before, limit);
	for (uint64 i = 0; i < n; i++)
	{
		ListedVersion version = {.number = ResultInt64(i, 1),.kind = ResultName(i, 2),
			.created_at = ResultTime(i, 3),.created_by = ResultName(i, 4),.resource_version = ResultName(i, 5),
			.deleted = ResultText(i, 6) == NULL
		};

		CHECK_FOR_INTERRUPTS();
		if (!version.deleted)
			version.bytes = ResultInt32(i, 6);
		version.current = document->exists && version.number == document->etag;
		sink(state, &version);
	}
	SessionEnd(&owner);
}

/* Returns the id of a version, which can be a part of URLs and of keys. */
char *
VersionsId(const pg_uuid_t *uuid, int64 number)
{
	return VersionDiffsId(uuid, number);
}

/* --- SQL functions -------------------------------------------------------- */

/* Return a version of a document; NULL if there is none. */
Datum
dms_get_document_version(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	VersionedDocument document;
	text	   *body = NULL;

	ReadBegin(&session);
	if (VersionsFind(PG_GETARG_UUID_P(0), &document))
		body = VersionsText(&document, PG_GETARG_INT64(1), context);
	SessionEnd(&session);
	if (body == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(body);
}

/* Return a document as it was at a time; NULL if it did not exist. */
Datum
dms_get_document_as_of(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	VersionedDocument document;
	text	   *body = NULL;
	int64		number;

	ReadBegin(&session);
	if (VersionsFind(PG_GETARG_UUID_P(0), &document))
		body = VersionsTextAsOf(&document, PG_GETARG_TIMESTAMPTZ(1), context, &number);
	SessionEnd(&session);
	if (body == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(body);
}

/* A list of versions that a function returns. */
typedef struct ListedResult
{
	ReturnSetInfo *rsinfo;
	const pg_uuid_t *uuid;
} ListedResult;

/* Return a row of dms.list_versions(). */
static void
PutVersion(void *state, const ListedVersion *version)
{
	ListedResult *result = state;
	Datum		values[LIST_COLUMNS] = {
		Int64GetDatum(version->number), CStringGetTextDatum(VersionsId(result->uuid, version->number)),
		CStringGetTextDatum(version->kind), TimestampTzGetDatum(version->created_at),
		CStringGetTextDatum(version->created_by), CStringGetTextDatum(version->resource_version),
		Int32GetDatum(version->bytes), BoolGetDatum(version->current)
	};
	bool		nulls[LIST_COLUMNS] = {false};

	nulls[6] = version->deleted;
	tuplestore_putvalues(result->rsinfo->setResult, result->rsinfo->setDesc, values, nulls);
}

/* Return the versions of a document, newest first. */
Datum
dms_list_versions(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "page_limit"};
	ListedResult result = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	Session		session;
	VersionedDocument document;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT32(1) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be negative");
	InitMaterializedSRF(fcinfo, 0);
	result.uuid = PG_GETARG_UUID_P(0);
	ReadBegin(&session);
	if (VersionsFind(result.uuid, &document))
		VersionsList(&document, PG_ARGISNULL(2) ? PG_INT64_MAX : PG_GETARG_INT64(2), PG_GETARG_INT32(1),
					 PutVersion, &result);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* The versions of a resource. */
typedef struct VersionStats
{
	int32		type_id;
	int64		versions;
	int64		bytes;
	TimestampTz oldest;
} VersionStats;

/* Count all versions with the rights of the owner; the result is in the given context. */
static VersionStats *
CountVersions(MemoryContext context, uint64 *n)
{
	Session		owner;
	VersionStats *stats;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	*n = HistoryCount();
	stats = MemoryContextAlloc(context, sizeof(VersionStats) * Max(*n, 1));
	for (uint64 i = 0; i < *n; i++)
	{
		stats[i].type_id = ResultInt32(i, 1);
		stats[i].versions = ResultInt64(i, 2);
		stats[i].bytes = ResultInt64(i, 3);
		stats[i].oldest = ResultTime(i, 4);
	}
	SessionEnd(&owner);
	return stats;
}

/* Return a row of dms.history_stats(), if the caller may read versions of all documents. */
static void
PutStats(ReturnSetInfo *rsinfo, const VersionStats *stats)
{
	Datum		values[STATS_COLUMNS];
	bool		nulls[STATS_COLUMNS] = {false};
	char	   *project;
	char	   *name;

	if (!ResourceTypeNames(stats->type_id, &project, &name) || !MayReadDeleted(ModelCacheTry(project, name)))
		return;
	values[0] = CStringGetTextDatum(project);
	values[1] = CStringGetTextDatum(name);
	values[2] = Int64GetDatum(stats->versions);
	values[3] = Int64GetDatum(stats->bytes);
	values[4] = TimestampTzGetDatum(stats->oldest);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return the number of versions of each resource, their size, and the oldest time. */
Datum
dms_history_stats(PG_FUNCTION_ARGS)
{
	Session		session;
	VersionStats *stats;
	uint64		n;

	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	stats = CountVersions(CurrentMemoryContext, &n);
	for (uint64 i = 0; i < n; i++)
		PutStats((ReturnSetInfo *) fcinfo->resultinfo, &stats[i]);
	SessionEnd(&session);
	PG_RETURN_NULL();
}
