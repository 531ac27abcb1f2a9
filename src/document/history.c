/*
 * history.c
 *		Versions of documents: rows of dms.DocumentVersion.
 *
 * A version is the representation that a document had at one etag, which is the
 * number of the version.  Versions are kept for resources that have the option
 * "history".  They are written by whoever has raised the etag, in the same
 * transaction, and never changed.
 *
 * The text is read back from storage, after the etag was raised, by the code that
 * answers dms.get_document().  So both cannot differ.  No other transaction can
 * change the text in between: whatever changes it must raise the etag, too, and
 * waits for the row of the document, which we hold.  The names of the documents that
 * it refers to are part of the text.  A transaction that has renamed one of them
 * either raised the etag before we did, and has committed, or will do so after us.
 *
 * This module has all statements on the table, but for those that find out which
 * versions are not retained (historypurge.c), and the trigger that records deleted
 * documents.
 */
#include "postgres.h"

#include <math.h>

#include "base/faults.h"
#include "base/ids.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "document/history.h"
#include "document/jobs.h"
#include "document/reconstitute.h"
#include "document/storedpage.h"
#include "document/versiondiffs.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

/* Documents whose rows are read together, and bytes of text that are written together. */
#define DOCUMENTS_AT_ONCE 1000
#define BYTES_AT_ONCE (8 * 1024 * 1024)

/* The most guesses in a search for the version of a time. */
#define MAX_GUESSES 4

/* So many versions, or fewer, are looked at one after the other. */
#define FEW_VERSIONS 16

/* The trigger that records deleted documents; it exists if there is anything to record. */
#define TRIGGER "document_history"

static const char *const kind_names[] = {
	[HISTORY_BASELINE] = "baseline",
	[HISTORY_INSERTED] = "inserted",
	[HISTORY_UPDATED] = "updated",
	[HISTORY_CASCADED] = "cascaded",
	[HISTORY_RESTORED] = "restored",
};

static const char *const version_columns[] = {
	"documentuuid", "versionnumber", "createdat", "resourcetypeid", "resourceversion", "kind", "createdby", "content"
};
static const Oid version_types[] = {UUIDOID, INT8OID, TIMESTAMPTZOID, INT4OID, TEXTOID, TEXTOID, TEXTOID, JSONOID};
static KeyedTable new_versions =
{
	.schema = "dms",.name = "documentversion", KEYED_COLUMNS(version_columns, version_types),.nkeys = 2
};

static const char *const time_columns[] = {"documentuuid", "versionnumber", "createdat"};
static const Oid time_types[] = {UUIDOID, INT8OID, TIMESTAMPTZOID};
static KeyedTable version_times =
{
	.schema = "dms",.name = "documentversion", KEYED_COLUMNS(time_columns, time_types),.nkeys = 2,.nsearch = 2
};

static const char *const text_columns[] = {"documentuuid", "versionnumber", "content"};
static const Oid text_types[] = {UUIDOID, INT8OID, JSONOID};
static KeyedTable version_texts =
{
	.schema = "dms",.name = "documentversion", KEYED_COLUMNS(text_columns, text_types),.nkeys = 2,.nsearch = 2,
	.nrequired = 2
};

static const Oid uuid_types[] = {UUIDOID, INT8OID, INT8OID};
static const Oid as_of_types[] = {UUIDOID, TIMESTAMPTZOID};

static Statement find_newest =
{
	.sql = "SELECT VersionNumber, CreatedAt, ResourceTypeId, Kind FROM dms.DocumentVersion"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 ORDER BY VersionNumber DESC LIMIT 1",
	.nargs = 1,
	.argtypes = uuid_types,
	.ordered = true,
};

static Statement find_oldest =
{
	.sql = "SELECT VersionNumber, CreatedAt, ResourceTypeId, Kind FROM dms.DocumentVersion"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 ORDER BY VersionNumber LIMIT 1",
	.nargs = 1,
	.argtypes = uuid_types,
	.ordered = true,
};

static Statement find_as_of =
{
	.sql = "SELECT VersionNumber, CreatedAt, ResourceTypeId, Kind FROM dms.DocumentVersion"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 AND CreatedAt OPERATOR(pg_catalog.<=) $2"
	" ORDER BY VersionNumber DESC LIMIT 1",
	.nargs = 2,
	.argtypes = as_of_types,
	.ordered = true,
};

static Statement lock_version =
{
	.sql = "SELECT VersionNumber FROM dms.DocumentVersion WHERE DocumentUuid OPERATOR(pg_catalog.=) $1"
	" AND VersionNumber OPERATOR(pg_catalog.=) $2 FOR KEY SHARE",
	.nargs = 2,
	.argtypes = uuid_types,
	.ordered = true,
};

static Statement list_versions =
{
	.sql = "SELECT VersionNumber, Kind::pg_catalog.text, CreatedAt, CreatedBy::pg_catalog.text,"
	" ResourceVersion::pg_catalog.text, pg_catalog.octet_length(Content::pg_catalog.text)"
	" FROM dms.DocumentVersion WHERE DocumentUuid OPERATOR(pg_catalog.=) $1"
	" AND VersionNumber OPERATOR(pg_catalog.<) $2 ORDER BY VersionNumber DESC LIMIT $3",
	.nargs = 3,
	.argtypes = uuid_types,
	.ordered = true,
};

static Statement erase =
{
	.sql = "DELETE FROM dms.DocumentVersion AS v WHERE v.DocumentUuid OPERATOR(pg_catalog.=) $1"
	" AND NOT EXISTS (SELECT FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentUuid OPERATOR(pg_catalog.=) v.DocumentUuid"
	" AND v.VersionNumber OPERATOR(pg_catalog.>=) d.Etag)",
	.nargs = 1,
	.argtypes = uuid_types,
};

static bool purging = false;

/* Define the setting of this module. */
void
HistoryInit(void)
{
	DefineCustomBoolVariable("dms.purging",
							 "Versions of documents may be deleted.",
							 "It is set by the functions that delete versions, while they do.",
							 &purging, false, PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							 NULL, NULL, NULL);
}

/* Returns the name of a kind. */
const char *
HistoryKindName(HistoryKind kind)
{
	return kind_names[kind];
}

/* Returns true if versions of documents of a resource are kept. */
bool
HistoryIsKept(Resource *resource)
{
	return ResourceOptionsOf(resource)->history;
}

/* --- writing -------------------------------------------------------------- */

/* Returns who writes: the user of the application, or the role that has connected. */
static Datum
UserWhoWrites(void)
{
	const char *user = SessionUser();

	if (user[0] == '\0')
		user = GetUserNameFromId(GetSessionUserId(), false);
	return CStringGetTextDatum(user);
}

/* Versions that are to be written. */
typedef struct NewVersions
{
	StoredRows	rows;
	Resource   *resource;
	Datum		resource_version;
	Datum		kind;
	Datum		writer;
	Size		bytes;			/* of all texts */
} NewVersions;

/* Prepare to write up to n versions. */
static void
BeginVersions(NewVersions *versions, Resource *resource, int n, HistoryKind kind)
{
	StoredRowsInit(&versions->rows, lengthof(version_columns), n);
	memset(versions->rows.nulls, false, sizeof(bool) * n * lengthof(version_columns));
	versions->resource = resource;
	versions->resource_version = CStringGetTextDatum(resource->model->version);
	versions->kind = CStringGetTextDatum(HistoryKindName(kind));
	versions->writer = UserWhoWrites();
	versions->bytes = 0;
}

/* Add a version of the document at a place of a page. */
static void
AddVersion(NewVersions *versions, StoredPage *page, int place)
{
	Datum	   *values = StoredRowValues(&versions->rows, versions->rows.nrows++);
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	DocumentHeader header;
	StringInfoData out;

	StoredPageHeader(page, place, &header);
	*uuid = header.uuid;
	initStringInfo(&out);
	ReconstituteValue(page, place, &out);
	values[0] = UUIDPGetDatum(uuid);
	values[1] = Int64GetDatum(header.etag);
	values[2] = TimestampTzGetDatum(header.last_modified);
	values[3] = Int32GetDatum(versions->resource->type_id);
	values[4] = versions->resource_version;
	values[5] = versions->kind;
	values[6] = versions->writer;
	values[7] = PointerGetDatum(out.data);
	versions->bytes += out.len;
}

/* Write the versions that were added, and free their texts. */
static void
WriteVersions(NewVersions *versions)
{
	RowSet		set = StoredRowsSet(&versions->rows);

	if (set.nrows > 0 && RowWriteRun(&new_versions, KEYED_INSERT, &set) != (uint64) set.nrows)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("dms.DocumentVersion did not take a row")));
	for (int i = 0; i < set.nrows; i++)
		pfree(DatumGetPointer(set.rows[i].values[7]));
	versions->rows.nrows = 0;
	versions->bytes = 0;
}

/* Write versions of all documents of a page. */
static void
AppendPage(StoredPage *page, HistoryKind kind)
{
	NewVersions versions;
	int			n = page->tables[0].nrows;

	BeginVersions(&versions, page->resource, Max(n, 1), kind);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		AddVersion(&versions, page, i);
		if (versions.bytes >= BYTES_AT_ONCE)
			WriteVersions(&versions);
	}
	WriteVersions(&versions);
}

/*
 * Write the version of a document that has just got its etag, if versions of its
 * resource are kept.
 */
void
HistoryAppendOne(Resource *resource, const DocumentHeader *header, HistoryKind kind)
{
	StoredPage *page;

	if (!HistoryIsKept(resource))
		return;
	if (!FAULT_SKIP("history_snapshot"))
		SnapshotBegin();
	page = StoredPageReadOne(resource, header);
	if (!FAULT_SKIP("history_snapshot"))
		SnapshotEnd();
	AppendPage(page, kind);
}

/*
 * The same for documents of one resource, whose ids are ascending.  Those that do not
 * exist any more are left out.
 */
void
HistoryAppend(Resource *resource, const int64 *ids, int n, HistoryKind kind)
{
	if (!HistoryIsKept(resource))
		return;
	for (int i = 0; i < n; i += DOCUMENTS_AT_ONCE)
	{
		StoredPage *page;

		SessionBeginPart();
		SnapshotBegin();
		page = StoredPageRead(resource, ids + i, Min(n - i, DOCUMENTS_AT_ONCE));
		SnapshotEnd();
		AppendPage(page, kind);
		SessionEndPart();
	}
}

/* --- reading -------------------------------------------------------------- */

/* Returns true if this is the kind of a version that records a deleted document. */
static bool
IsDeleted(const char *kind)
{
	return strcmp(kind, "deleted") == 0;
}

/* Take a version from the last result; returns false if there is none. */
static bool
TakeVersion(uint64 n, HistoryVersion *version)
{
	if (n == 0)
		return false;
	version->number = ResultInt64(0, 1);
	version->created_at = ResultTime(0, 2);
	version->type_id = ResultInt32(0, 3);
	version->deleted = IsDeleted(ResultName(0, 4));
	return true;
}

/* Find the newest version of a document in the active snapshot; returns false if there is none. */
bool
HistoryNewest(const pg_uuid_t *uuid, HistoryVersion *version)
{
	Datum		values[] = {UUIDPGetDatum(uuid)};

	return TakeVersion(StatementRun(&find_newest, values, NULL, true, 1), version);
}

/* Returns a column of the row that a scan of version_times is at. */
static Datum
ScannedColumn(KeyScan *scan, int column)
{
	bool		isnull;
	Datum		value = slot_getattr(scan->slot, scan->columns[column], &isnull);

	if (isnull)
		ResultRefuse("NULL where there must be a value");
	return value;
}

/* Get the version that a scan is at; numbers and times are enough to search. */
static void
ScannedVersion(KeyScan *scan, HistoryVersion *version)
{
	version->number = DatumGetInt64(ScannedColumn(scan, 1));
	version->created_at = DatumGetTimestampTz(ScannedColumn(scan, 2));
}

/*
 * Find a version by its number, by a scan that seeks and then goes on with those up to
 * another number.  Returns false if there is none.
 */
static bool
FindVersions(KeyScan *scan, const pg_uuid_t *uuid, int64 number, int64 end, HistoryVersion *version)
{
	Datum		keys[] = {UUIDPGetDatum(uuid), Int64GetDatum(number)};

	if (!KeyScanSeek(scan, keys, end))
		return false;
	ScannedVersion(scan, version);
	return version->number == number;
}

/* Find a version by its number; returns false if there is none. */
static bool
FindVersion(KeyScan *scan, const pg_uuid_t *uuid, int64 number, HistoryVersion *version)
{
	return FindVersions(scan, uuid, number, number, version);
}

/*
 * Returns the number between two versions that a time would have if versions came at
 * equal intervals.
 */
static int64
GuessNumber(const HistoryVersion *first, const HistoryVersion *last, TimestampTz time)
{
	double		part = (double) (time - first->created_at) / (double) (last->created_at - first->created_at);

	return first->number + (int64) ((double) (last->number - first->number) * part);
}

/*
 * Walk along the numbers from *first, which was written up to a time, to last, which was
 * not, until *first is the last one up to then.  Returns false if a number is missing.
 */
static bool
WalkAsOf(KeyScan *scan, const pg_uuid_t *uuid, TimestampTz time, HistoryVersion *first, int64 last)
{
	HistoryVersion next;

	if (last - first->number <= 1)
		return true;
	if (!FindVersions(scan, uuid, first->number + 1, last - 1, &next))
		return false;
	while (next.created_at <= time)
	{
		*first = next;
		if (last - first->number <= 1)
			return true;
		if (!KeyScanNext(scan))
			return false;
		ScannedVersion(scan, &next);
		if (next.number != first->number + 1)
			return false;
	}
	return true;
}

/*
 * Search the numbers from *first, which was written up to a time, to last, which was
 * not, until *first is the last one up to then.  Returns false if a number is missing.
 *
 * The first numbers are guessed.  A guess is often close, but on the same side as the
 * one before; so each second one goes a little further.  Then what is left is halved,
 * until a walk over it is as cheap.
 */
static bool
SearchAsOf(KeyScan *scan, const pg_uuid_t *uuid, TimestampTz time, HistoryVersion *first, HistoryVersion last)
{
	bool		upwards = false;

	for (int i = 0; last.number - first->number > FEW_VERSIONS; i++)
	{
		int64		room = last.number - first->number;
		int64		number = i < MAX_GUESSES ? GuessNumber(first, &last, time) : first->number + room / 2;
		int64		further = i < MAX_GUESSES && i % 2 == 1 ? Max((int64) (sqrt((double) room) / 2), 1) : 0;
		HistoryVersion found;

		CHECK_FOR_INTERRUPTS();
		number += upwards ? further : -further;
		number = Min(Max(number, first->number + 1), last.number - 1);
		if (!FindVersion(scan, uuid, number, &found))
			return false;
		upwards = found.created_at <= time;
		if (upwards)
			*first = found;
		else
			last = found;
	}
	return WalkAsOf(scan, uuid, time, first, last.number);
}

/* Find the first version of a document that is kept; returns false if there is none. */
static bool
FindOldest(KeyScan *scan, const pg_uuid_t *uuid, HistoryVersion *version)
{
	Datum		values[] = {UUIDPGetDatum(uuid)};

	return FindVersion(scan, uuid, 1, version) ||
		TakeVersion(StatementRun(&find_oldest, values, NULL, true, 1), version);
}

/*
 * Find the last version of a document that was written up to a time, by a few looks at
 * single versions.  Times do not fall as numbers grow, and numbers have no gaps, unless
 * the history was switched off for a while.  Returns false if it cannot be found like
 * that; version->number is 0 if there is none.
 *
 * The newest one has number 0 if the document does not exist.  If it is too young, it
 * bounds the search, and need not be there.
 */
static bool
LookForAsOf(KeyScan *scan, const pg_uuid_t *uuid, HistoryVersion newest, TimestampTz time, HistoryVersion *version)
{
	bool		younger = newest.number > 0 && newest.created_at > time;

	version->number = 0;
	if (!younger && (newest.number == 0 || !FindVersion(scan, uuid, newest.number, &newest)) &&
		!HistoryNewest(uuid, &newest))
		return true;
	if (newest.created_at <= time)
	{
		*version = newest;
		return true;
	}
	if (FindOldest(scan, uuid, version) && version->created_at <= time)
		return SearchAsOf(scan, uuid, time, version, newest);
	version->number = 0;
	return true;
}

/* Look for it without a statement; returns false if that cannot be done. */
static bool
LookDirectly(const pg_uuid_t *uuid, HistoryVersion newest, TimestampTz time, HistoryVersion *version)
{
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, &version_times, AccessShareLock, ACL_SELECT))
		return false;
	able = KeyScanBeginSeeking(&scan) && LookForAsOf(&scan, uuid, newest, time, version);
	KeyScanClose(&scan);
	return able;
}

/*
 * Returns the number of the last version of a document that was written up to a time,
 * in the active snapshot; 0 if there is none.  The document has this etag since it was
 * modified; the etag is 0 if it does not exist.
 */
int64
HistoryAsOf(const pg_uuid_t *uuid, int64 etag, TimestampTz modified, TimestampTz time)
{
	HistoryVersion newest = {.number = etag,.created_at = modified};
	Datum		values[] = {UUIDPGetDatum(uuid), TimestampTzGetDatum(time)};
	HistoryVersion version;

	if (LookDirectly(uuid, newest, time, &version))
		return version.number;
	return TakeVersion(StatementRun(&find_as_of, values, NULL, true, 1), &version) ? version.number : 0;
}

/*
 * Returns the text of a version in the active snapshot; NULL if there is no such
 * version, or if the document was deleted then.
 */
text *
HistoryText(const pg_uuid_t *uuid, int64 number)
{
	Datum		keys[] = {UUIDPGetDatum(uuid), Int64GetDatum(number)};
	StoredRows	rows;

	KeyScanRead(&version_texts, keys, &rows);
	return rows.nrows == 0 || rows.nulls[2] ? NULL : DatumGetTextPP(rows.values[2]);
}

/* Keep a version from being deleted; returns false if there is none with this number. */
bool
HistoryLock(const pg_uuid_t *uuid, int64 number)
{
	Datum		values[] = {UUIDPGetDatum(uuid), Int64GetDatum(number)};

	return StatementRun(&lock_version, values, NULL, false, 0) > 0;
}

/*
 * List versions with smaller numbers than "before", newest first.  Result: number,
 * kind, time, who wrote it, version of the schema, bytes of the text or NULL.
 */
uint64
HistoryList(const pg_uuid_t *uuid, int64 before, int64 limit)
{
	Datum		values[] = {UUIDPGetDatum(uuid), Int64GetDatum(before), Int64GetDatum(limit)};

	return StatementRun(&list_versions, values, NULL, true, 0);
}

/* Count all versions.  Result: number of the resource, versions, bytes of rows, oldest time. */
uint64
HistoryCount(void)
{
	return StatementExecuteWithArgs("SELECT v.ResourceTypeId, pg_catalog.count(*),"
									" pg_catalog.sum(pg_catalog.pg_column_size(v.*))::pg_catalog.int8,"
									" pg_catalog.min(v.CreatedAt)"
									" FROM dms.DocumentVersion AS v GROUP BY v.ResourceTypeId", 0, NULL, NULL, true);
}

/* --- documents that existed before their history --------------------------- */

#define UNRECORDED "NOT EXISTS (SELECT FROM dms.DocumentVersion AS v" \
	" WHERE v.DocumentUuid OPERATOR(pg_catalog.=) d.DocumentUuid" \
	" AND v.VersionNumber OPERATOR(pg_catalog.=) d.Etag)"

/*
 * Lock documents of a resource that have no version with their etag, in ascending
 * order after an id.  Unless wait is set, those that another transaction holds are
 * left out: it may write the version itself.
 */
int64 *
HistoryLockUnrecorded(const ResourceModel *model, int64 after, int limit, bool wait, int *n)
{
	Oid			types[] = {TEXTOID, TEXTOID, INT8OID, INT4OID};
	Datum		values[] = {CStringGetTextDatum(model->project), CStringGetTextDatum(model->resource),
		Int64GetDatum(after), Int32GetDatum(limit)
	};
	const char *sql = psprintf(DOCUMENT_IDS_SQL "d.ProjectName OPERATOR(pg_catalog.=) $1 AND d.ResourceName OPERATOR(pg_catalog.=) $2"
							   " AND d.DocumentId OPERATOR(pg_catalog.>) $3 AND " UNRECORDED
							   " ORDER BY d.DocumentId LIMIT $4%s",
							   FAULT_SKIP("baseline_lock") ? "" : wait ? " FOR NO KEY UPDATE OF d" : " FOR NO KEY UPDATE OF d SKIP LOCKED");

	return ResultIds(StatementExecuteWithArgs(sql, lengthof(types), types, values, false), n);
}

/*
 * Returns those of some documents that have no version with their etag, in a new
 * snapshot.  Under locks, because others may have written versions while we waited.
 */
int64 *
HistoryUnrecorded(const int64 *ids, int n, int *left)
{
	Oid			types[] = {INT8ARRAYOID};
	Datum		values[] = {DatumInt8Array(n, ids)};

	return ResultIds(StatementExecuteWithArgs(DOCUMENT_IDS_SQL "d.DocumentId OPERATOR(pg_catalog.=) ANY ($1) AND " UNRECORDED
											  " ORDER BY d.DocumentId", lengthof(types), types, values, false), left);
}

/* --- deleting versions ---------------------------------------------------- */

/*
 * Run a statement that deletes versions, which a trigger refuses otherwise.  Returns how
 * many there were.
 */
uint64
HistoryDeleteVersions(Statement *statement, Datum *values)
{
	int			level = NewGUCNestLevel();
	uint64		deleted;

	(void) set_config_option("dms.purging", "on", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	deleted = StatementRun(statement, values, NULL, false, 0);
	AtEOXact_GUC(true, level);
	return deleted;
}

/*
 * Delete all versions of a document but the current one; returns how many there were.
 * The caller has locked the document if it exists.  If it is restored meanwhile, either
 * the statement sees both the document and its version, or neither.
 */
int64
HistoryErase(const pg_uuid_t *uuid)
{
	Datum		values[] = {UUIDPGetDatum(uuid)};
	uint64		deleted = HistoryDeleteVersions(&erase, values);

	JobsErase(uuid);
	VersionDiffsErase(uuid);
	return (int64) deleted;
}

/* --- the trigger that records deleted documents ---------------------------- */

/*
 * Returns the statements that are to be run if versions of documents of a resource
 * are kept from now on, or are not.  The trigger on dms.Document exists while those
 * of any resource are, so that others do not pay for it.
 */
List *
HistoryDdl(int32 type_id, bool kept)
{
	bool		exists = OidIsValid(get_trigger_oid(StoreTable(STORE_DOCUMENT), TRIGGER, true));

	if (kept && !exists)
		return list_make1(DOCUMENT_TRIGGER_SQL(TRIGGER, ""));
	if (!kept && exists && !ResourceTypesHaveHistory(type_id))
		return list_make1(DOCUMENT_NO_TRIGGER_SQL(TRIGGER));
	return NIL;
}
