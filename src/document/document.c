/*
 * document.c
 *		The rows of dms.Document: finding, locking, changing and deleting them.
 *
 * This module has all statements on the table.  An etag grows in two functions
 * only, DocumentBump() and DocumentsBump(), so every change of a document passes
 * through one of them.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "common/int.h"
#include "document/changes.h"
#include "document/document.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keywrite.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

static const char *const header_columns[] = {"documentid", "documentuuid", "etag", "lastmodifiedat"};
static const Oid header_types[] = {INT8OID, UUIDOID, INT8OID, TIMESTAMPTZOID};
static KeyedTable headers =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(header_columns, header_types),.nkeys = 1,.placed = true
};

static const char *const uuid_columns[] = {"documentuuid", "documentid", "projectname", "resourcename"};
static const Oid uuid_types[] = {UUIDOID, INT8OID, TEXTOID, TEXTOID};
static KeyedTable documents_by_uuid =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(uuid_columns, uuid_types),.nkeys = 1
};

static const char *const read_columns[] = {"documentuuid", "documentid", "etag", "lastmodifiedat", "projectname", "resourcename"};
static const Oid read_types[] = {UUIDOID, INT8OID, INT8OID, TIMESTAMPTZOID, TEXTOID, TEXTOID};
static KeyedTable headers_by_uuid =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(read_columns, read_types),.nkeys = 1
};

static const char *const type_columns[] = {"documentid", "projectname", "resourcename"};
static const Oid type_types[] = {INT8OID, TEXTOID, TEXTOID};
static KeyedTable document_types =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(type_columns, type_types),.nkeys = 1
};

static const char *const name_columns[] = {"documentid", "documentuuid", "createdat", "projectname", "resourcename"};
static const Oid name_types[] = {INT8OID, UUIDOID, TIMESTAMPTZOID, TEXTOID, TEXTOID};
static KeyedTable document_names =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(name_columns, name_types),.nkeys = 1
};

static const char *const etag_columns[] = {"documentid", "etag", "lastmodifiedat", "documentuuid"};
static const Oid etag_types[] = {INT8OID, INT8OID, TIMESTAMPTZOID, UUIDOID};
static KeyedTable etags =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(etag_columns, etag_types),.nkeys = 1,.nread = 1
};

static const char *const insert_columns[] = {
	"documentid", "documentuuid", "projectname", "resourcename", "resourceversion", "createdby", "etag", "lastmodifiedat"
};
static const Oid insert_types[] = {INT8OID, UUIDOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID};
static KeyedTable new_documents =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(insert_columns, insert_types),.nkeys = 1
};

/* The last of these columns have defaults, which an insertion returns. */
#define GIVEN_COLUMNS 6

static const char *const bump_columns[] = {"documentid", "etag", "lastmodifiedat", "resourceversion"};
static const Oid bump_column_types[] = {INT8OID, INT8OID, TIMESTAMPTZOID, TEXTOID};
static KeyedTable bumped_documents =
{
	.schema = "dms",.name = "document", KEYED_COLUMNS(bump_columns, bump_column_types),.nkeys = 1,.placed = true
};

static const Oid bump_types[] = {INT8OID, INT8OID, TEXTOID};

static Statement bump =
{
	.sql = "UPDATE dms.Document SET Etag = Etag OPERATOR(pg_catalog.+) 1,"
	" LastModifiedAt = GREATEST(pg_catalog.clock_timestamp(), LastModifiedAt), ResourceVersion = $3"
	" WHERE DocumentId OPERATOR(pg_catalog.=) $1"
	" AND ($2 IS NULL OR Etag OPERATOR(pg_catalog.=) $2)"
	" RETURNING Etag, LastModifiedAt",
	.nargs = 3,
	.argtypes = bump_types,
};

static Statement insert_document =
{
	.sql = DOCUMENT_INSERT_SQL " VALUES ($1, $2, $3, $4, $5, $6) RETURNING Etag, LastModifiedAt",
	.nargs = GIVEN_COLUMNS,
	.argtypes = insert_types,
};

static const Oid ids_type[] = {INT8ARRAYOID};

static Statement delete_documents =
{
	.sql = "DELETE FROM dms.Document WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = ids_type,
};

static Statement delete_document =
{
	.sql = "DELETE FROM dms.Document WHERE DocumentId OPERATOR(pg_catalog.=) $1"
	" AND ($2 IS NULL OR Etag OPERATOR(pg_catalog.=) $2) RETURNING Etag",
	.nargs = 2,
	.argtypes = bump_types,
};

static const Oid id_type[] = {INT8OID};
static Statement read_version =
{
	.sql = "SELECT d.LastModifiedAt, " PROJECT_VERSION_NUMBER_SQL("d.ProjectName", "d.ResourceVersion")
	" FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = id_type,
};

/* Make a header from a row that was read by DocumentHeadersRead(). */
void
DocumentHeaderFromRow(const Datum *values, DocumentHeader *header)
{
	header->document_id = DatumGetInt64(values[0]);
	header->uuid = *DatumGetUUIDP(values[1]);
	header->etag = DatumGetInt64(values[2]);
	header->last_modified = DatumGetTimestampTz(values[3]);
}

/* Make a row like those of DocumentHeadersRead() from a header, which it points to. */
void
DocumentHeaderToRow(const DocumentHeader *header, StoredRows *rows)
{
	StoredRowsInit(rows, lengthof(header_columns), 1);
	rows->nrows = 1;
	memset(rows->nulls, false, lengthof(header_columns));
	rows->values[0] = Int64GetDatum(header->document_id);
	rows->values[1] = UUIDPGetDatum(&header->uuid);
	rows->values[2] = Int64GetDatum(header->etag);
	rows->values[3] = TimestampTzGetDatum(header->last_modified);
}

/* Read the headers of documents in the active snapshot; ids and rows ascend. */
void
DocumentHeadersRead(const int64 *ids, int n, StoredRows *rows)
{
	KeyScanReadIds(&headers, ids, n, rows);
}

/* Read the header of one document; returns false if there is none. */
bool
DocumentHeaderRead(int64 document_id, DocumentHeader *header)
{
	StoredRows	rows;

	DocumentHeadersRead(&document_id, 1, &rows);
	if (rows.nrows == 0)
		return false;
	DocumentHeaderFromRow(rows.values, header);
	return true;
}

/* Look up documents by their uuids (a uuid[]) in the active snapshot. */
FoundDocument *
DocumentsFind(Datum uuids, int *n)
{
	StoredRows	rows;
	FoundDocument *found;

	KeyScanReadAny(&documents_by_uuid, uuids, &rows);
	found = palloc(sizeof(FoundDocument) * Max(rows.nrows, 1));
	*n = rows.nrows;
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		found[i].uuid = DatumGetUUIDP(values[0]);
		found[i].document_id = DatumGetInt64(values[1]);
		found[i].resource = ModelCacheFind(TextDatumGetCString(values[2]), TextDatumGetCString(values[3]));
	}
	return found;
}

/* Read the row with a uuid in the active snapshot; returns false if there is none. */
static bool
ReadByUuid(KeyedTable *table, const pg_uuid_t *uuid, StoredRows *rows)
{
	Datum		key = UUIDPGetDatum(uuid);

	KeyScanRead(table, &key, rows);
	if (rows->nrows == 0)
		return false;
	if (memcmp(DatumGetUUIDP(rows->values[0]), uuid, UUID_LEN) != 0)
		ResultRefuse("a row that it was not asked for");
	return true;
}

/*
 * Look up a document by its uuid in the active snapshot, and its resource
 * unless that is NULL.  Returns false if there is none.
 */
bool
DocumentFind(const pg_uuid_t *uuid, int64 *document_id, Resource **resource)
{
	StoredRows	rows;

	if (!ReadByUuid(&documents_by_uuid, uuid, &rows))
		return false;
	*document_id = DatumGetInt64(rows.values[1]);
	if (resource)
		*resource = ModelCacheFind(TextDatumGetCString(rows.values[2]), TextDatumGetCString(rows.values[3]));
	return true;
}

/*
 * Read the header of the document with this uuid, and its resource, in the active
 * snapshot.  Returns false if there is none.
 */
bool
DocumentRead(const pg_uuid_t *uuid, DocumentHeader *header, Resource **resource)
{
	StoredRows	rows;

	if (!ReadByUuid(&headers_by_uuid, uuid, &rows))
		return false;
	header->uuid = *uuid;
	header->document_id = DatumGetInt64(rows.values[1]);
	header->etag = DatumGetInt64(rows.values[2]);
	header->last_modified = DatumGetTimestampTz(rows.values[3]);
	*resource = ModelCacheFind(TextDatumGetCString(rows.values[4]), TextDatumGetCString(rows.values[5]));
	return true;
}

/*
 * Look up a document that is to be written, in a new snapshot.  It must be of
 * *resource, unless that is NULL, which is then set.  Returns false if there is
 * no such document.
 */
bool
DocumentFindToWrite(const pg_uuid_t *uuid, int64 *document_id, Resource **resource)
{
	Resource   *stored;
	bool		found;

	SnapshotBegin();
	found = DocumentFind(uuid, document_id, &stored);
	SnapshotEnd();
	if (!found)
		return false;
	if (*resource == NULL)
		*resource = stored;
	return ModelCacheSame(*resource, stored);
}

/*
 * Read the resources of documents in the active snapshot: rows of id, project
 * and resource, in the order of the ids, which are ascending.
 */
void
DocumentsReadTypes(const int64 *ids, int n, StoredRows *rows)
{
	KeyScanReadIds(&document_types, ids, n, rows);
}

/*
 * Read what names documents in the active snapshot: rows of id, uuid, time of
 * creation, project and resource, in the order of the ids, which are ascending.
 */
void
DocumentsReadNames(const int64 *ids, int n, StoredRows *rows)
{
	KeyScanReadIds(&document_names, ids, n, rows);
}

/*
 * Read when a document was changed, and by which version of its project: versions count
 * from 1 as they were deployed.  Returns false if there is no such document.
 */
bool
DocumentReadVersion(int64 document_id, TimestampTz *modified, int64 *version)
{
	Datum		values[] = {Int64GetDatum(document_id)};

	if (StatementRead(&read_version, values, 0) == 0)
		return false;
	*modified = ResultTime(0, 1);
	*version = ResultInt64(0, 2);
	ResultFree();
	return true;
}

/*
 * Returns true if the row of a new document can be inserted without a statement, and
 * sets its id.
 */
bool
DocumentInserts(int64 *document_id)
{
	Oid			schema = get_namespace_oid("dms", false);
	Oid			sequence = get_relname_relid("document_documentid_seq", schema);

	if (!OidIsValid(sequence) || !RowWriteInserts(&new_documents, GIVEN_COLUMNS))
		return false;
	*document_id = nextval_internal(sequence, true);
	return true;
}

/* Returns who creates a document, as a text, if the application sets it; false if not. */
bool
DocumentCreator(Datum *creator)
{
	const char *user = SessionUser();

	if (user[0] == '\0')
		return false;
	*creator = CStringGetTextDatum(user);
	return true;
}

/*
 * Insert the row of a new document, for which DocumentInserts() has returned true.
 * Meanwhile an index that needs an executor may have become ready, which a statement
 * heeds.
 */
void
DocumentInsert(const ResourceModel *model, DocumentHeader *header)
{
	Datum		values[lengthof(insert_columns)] = {
		Int64GetDatum(header->document_id), UUIDPGetDatum(&header->uuid),
		CStringGetTextDatum(model->project), CStringGetTextDatum(model->resource),
		CStringGetTextDatum(model->version)
	};
	bool		nulls[lengthof(insert_columns)] = {false};
	Row			row = {.values = values,.nulls = nulls};

	nulls[5] = !DocumentCreator(&values[5]);
	if (!RowWriteReturning(&new_documents, &row, GIVEN_COLUMNS))
	{
		if (StatementRun(&insert_document, values, nulls[5] ? "     n" : NULL, false, 0) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					 errmsg("dms.Document did not take a row")));
		header->etag = ResultInt64(0, 1);
		header->last_modified = ResultTime(0, 2);
		return;
	}
	header->etag = DatumGetInt64(values[GIVEN_COLUMNS]);
	header->last_modified = DatumGetTimestampTz(values[GIVEN_COLUMNS + 1]);
}

/* Lock the row of a document against other writers of it. */
static bool
LockHeader(int64 document_id, LockWaitPolicy wait, DocumentHeader *header)
{
	Datum		values[lengthof(header_columns)];
	StoredRows	rows;
	bool		found;

	if (RowWriteLock(&headers, document_id, LockTupleNoKeyExclusive, wait, values))
	{
		DocumentHeaderFromRow(values, header);
		return true;
	}
	found = KeyedTableLockOne(&headers, document_id, LCS_FORNOKEYUPDATE, wait, &rows);

	if (found)
		DocumentHeaderFromRow(rows.values, header);
	ResultFree();
	return found;
}

/*
 * Serialize the writers of one document.  Transactions that only refer to it
 * are not blocked.  Returns false if it is gone.
 */
bool
DocumentLock(int64 document_id, DocumentHeader *header)
{
	return LockHeader(document_id, StoreLockNowait() ? LockWaitError : LockWaitBlock, header);
}

/*
 * The same without waiting; returns false also if another transaction holds
 * it.
 */
bool
DocumentLockAtOnce(int64 document_id, DocumentHeader *header)
{
	return LockHeader(document_id, LockWaitSkip, header);
}

/* Raise the etag in a row, at a time. */
static void
RaiseEtag(Datum *values, TimestampTz now)
{
	int64		etag;

	if (pg_add_s64_overflow(DatumGetInt64(values[1]), 1, &etag))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
	values[1] = Int64GetDatum(etag);
	if (!FAULT_SKIP("time_floor"))
		now = Max(now, DatumGetTimestampTz(values[2]));
	values[2] = TimestampTzGetDatum(now);
}

/* An etag that is to be raised. */
typedef struct Bump
{
	DocumentHeader *header;
	const char *version;
	bool		judge;			/* the etag must be that of the header */
} Bump;

/* Callback: raise the etag in the row of a document; returns false if it is another one. */
static bool
BumpRow(Datum *values, bool *nulls pg_attribute_unused(), void *arg)
{
	Bump	   *bump_arg = arg;
	DocumentHeader *header = bump_arg->header;
	TimestampTz now = GetCurrentTimestamp();

	if (bump_arg->judge && DatumGetInt64(values[1]) != header->etag)
		return false;
	RaiseEtag(values, now);
	values[3] = CStringGetTextDatum(bump_arg->version);
	header->etag = DatumGetInt64(values[1]);
	header->last_modified = DatumGetTimestampTz(values[2]);
	return true;
}

/* Raise the etag of one document, for DocumentBump(). */
static bool
RaiseOne(DocumentHeader *header, const char *version, bool judge)
{
	Datum		values[3];
	char		nulls[] = "   ";
	DocumentHeader bumped = *header;
	Bump		direct = {&bumped, version, judge && !FAULT_SKIP("etag_judge")};

	values[0] = Int64GetDatum(header->document_id);
	if (RowWriteEdit(&bumped_documents, values, BumpRow, &direct))
	{
		*header = bumped;
		return true;
	}
	values[1] = Int64GetDatum(header->etag);
	nulls[1] = direct.judge ? ' ' : 'n';
	values[2] = CStringGetTextDatum(version);
	if (StatementRun(&bump, values, nulls, false, 0) == 0)
		return false;
	header->etag = ResultInt64(0, 1);
	header->last_modified = ResultTime(0, 2);
	return true;
}

/*
 * Raise the etag of one document, as the last statement of its write.  If
 * judge is set, only if the etag is the one that the write relied on; returns
 * false if it is not.  The statement locks the newest version of the row, so
 * this check is reliable whatever the snapshot shows.
 */
bool
DocumentBump(const Resource *resource, DocumentHeader *header, bool judge)
{
	if (!RaiseOne(header, resource->model->version, judge))
		return false;
	ChangesNote(resource->type_id, header->document_id, header->etag);
	return true;
}

/* Documents whose etags are raised, in ascending order. */
typedef struct Bumps
{
	TimestampTz now;
	ChangedDocument *documents;
	int			next;			/* the first that may be the next row */
} Bumps;

/*
 * Callback: raise the etag in the row of one of the documents, and note it.  It may be
 * called twice for a row; the last etag is the one that was written.
 */
static void
BumpNext(Datum *values, void *arg)
{
	Bumps	   *bumps = arg;
	int64		id = DatumGetInt64(values[0]);

	RaiseEtag(values, bumps->now);
	while (bumps->documents[bumps->next].document_id < id)
		bumps->next++;
	Assert(bumps->documents[bumps->next].document_id == id);
	bumps->documents[bumps->next].etag = DatumGetInt64(values[1]);
	bumps->documents[bumps->next].uuid = *DatumGetUUIDP(values[3]);
}

/* Order documents by their ids. */
static int
CompareIds(const void *a, const void *b)
{
	return IdsCompare(&((const ChangedDocument *) a)->document_id, &((const ChangedDocument *) b)->document_id);
}

/*
 * Raise the etags of documents whose representation changed because others did.  Each
 * is in the list once.  The list is put in order, and rows are locked in ascending
 * order of the ids.
 */
void
DocumentsBump(ChangedDocument *documents, int n)
{
	Bumps		bumps = {GetCurrentTimestamp(), documents, 0};
	int64	   *ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);

	qsort(documents, n, sizeof(ChangedDocument), CompareIds);
	for (int i = 0; i < n; i++)
	{
		ids[i] = documents[i].document_id;
		documents[i].etag = 0;
	}
	KeyWriteUpdate(&etags, ids, n, BumpNext, &bumps);
	ChangesNoteAll(documents, n);
	pfree(ids);
}

/* Record the present etags of documents in the journal of changes.  The list is put in order. */
void
DocumentsNote(ChangedDocument *documents, int n)
{
	StoredRows	rows;
	int64	   *ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);
	int			at = 0;

	qsort(documents, n, sizeof(ChangedDocument), CompareIds);
	for (int i = 0; i < n; i++)
		ids[i] = documents[i].document_id;
	SnapshotBegin();
	DocumentHeadersRead(ids, n, &rows);
	SnapshotEnd();
	for (int i = 0; i < n; i++)
	{
		DocumentHeader header;

		documents[i].etag = 0;
		if (at == rows.nrows)
			continue;
		DocumentHeaderFromRow(StoredRowValues(&rows, at), &header);
		if (header.document_id != documents[i].document_id)
			continue;
		documents[i].etag = header.etag;
		at++;
	}
	ChangesNoteAll(documents, n);
}

/*
 * Delete the row of a document; triggers delete the rest.  With judge, only if
 * its etag is *etag.  Sets *etag to the one that was deleted; returns false if
 * there is no such row.
 */
bool
DocumentDelete(int64 document_id, bool judge, int64 *etag)
{
	Datum		values[2] = {Int64GetDatum(document_id), Int64GetDatum(*etag)};

	ChangesTellTrigger();
	if (StatementRun(&delete_document, values, judge ? "  " : " n", false, 0) == 0)
		return false;
	*etag = ResultInt64(0, 1);
	return true;
}

/* Callback: count a row that was locked. */
static void
CountLocked(const Datum *values pg_attribute_unused(), void *arg)
{
	++*(int *) arg;
}

/* Lock the rows of documents, whose ids are ascending, to delete them.  Returns how many there are. */
int
DocumentsLockToDelete(const int64 *ids, int n)
{
	int			nlocked = 0;

	KeyWriteLock(&headers, ids, n, StoreLockNowait() ? LockWaitError : LockWaitBlock, CountLocked, &nlocked);
	return nlocked;
}

/*
 * Delete the rows of documents in one statement, so that they may refer to each other;
 * triggers delete the rest.  Returns how many there were.
 */
uint64
DocumentsDelete(const int64 *ids, int n)
{
	Datum		values[1] = {DatumInt8Array(n, ids)};

	ChangesTellTrigger();
	return StatementRun(&delete_documents, values, NULL, false, 0);
}
