/*
 * trackedchanges.c
 *		Deletes of documents, and changes of their keys: rows of dms.TrackedChange.
 *
 * Those who have a copy of the store must hear of both, and a deleted document cannot
 * be asked any more.  A row has the key that the document had, and the one that it has
 * got.  Deletes are recorded by the trigger on dms.Document, for plain DELETE
 * statements, too.  The delete of one document by a function is recorded by the library,
 * which is faster, and a setting lets the trigger leave it out.  Changed keys are
 * recorded by the library, for all documents of a closure, and of resources whose keys a
 * change of the schema changes.  If rows were changed by others, the old key is not
 * known, and neither is the etag: it is 0.
 *
 * Rows are deleted only by age.  dms.Store says up to which number some are gone, and
 * whoever has not read beyond it must begin anew.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "document/changes.h"
#include "document/document.h"
#include "document/trackedchanges.h"
#include "engine/attempt.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "model/keyquery.h"
#include "utils/builtins.h"

/* Rows that are written together. */
#define ROWS_AT_ONCE 1000

static const char *const tracked_columns[] = {
	"documentid", "etag", "kind", "resourcetypeid", "changeversion", "documentuuid", "oldkey", "newkey",
	"oldreferentialid", "oldaliasid"
};
static const Oid tracked_types[] = {
	INT8OID, INT8OID, CHAROID, INT4OID, INT8OID, UUIDOID, JSONOID, JSONOID, UUIDOID, UUIDOID
};
static KeyedTable tracked_changes =
{
	.schema = "dms",.name = "trackedchange", KEYED_COLUMNS(tracked_columns, tracked_types),.nkeys = 2
};

/* Write rows, and forget them. */
static void
WriteRows(StoredRows *rows)
{
	RowSet		set = StoredRowsSet(rows);

	if (set.nrows > 0 && RowWriteRun(&tracked_changes, KEYED_INSERT, &set) != (uint64) set.nrows)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("dms.TrackedChange did not take a row")));
	rows->nrows = 0;
}

/* Add the row of a document whose key has changed; its old key may not be known. */
static void
AddRow(StoredRows *rows, const DocumentHeader *header, int32 type_id, int64 version,
	   const DocumentKey *before, const DocumentKey *after, bool known)
{
	Datum	   *values = StoredRowValues(rows, rows->nrows);
	bool	   *nulls = StoredRowNulls(rows, rows->nrows);
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	*uuid = header->uuid;
	memset(nulls, false, sizeof(bool) * lengthof(tracked_columns));
	values[0] = Int64GetDatum(header->document_id);
	values[1] = Int64GetDatum(known ? header->etag : 0);
	values[2] = CharGetDatum('K');
	values[3] = Int32GetDatum(type_id);
	values[4] = Int64GetDatum(version);
	values[5] = UUIDPGetDatum(uuid);
	values[6] = PointerGetDatum(before->key);
	nulls[6] = !known;
	values[7] = PointerGetDatum(after->key);
	values[8] = UUIDPGetDatum(&before->primary);
	nulls[8] = !before->has_primary;
	values[9] = UUIDPGetDatum(&before->alias);
	nulls[9] = !before->has_alias;
	rows->nrows++;
}

/* Documents of a resource whose keys have changed; both lists of keys have all of them, ascending. */
typedef struct ChangedKeys
{
	Resource   *resource;
	const DocumentKey *before;
	int			nbefore;
	const DocumentKey *after;
	int			nafter;
	bool		known;			/* the old keys are what they say */
	StoredRows	rows;			/* to be written */
	int64		version;
} ChangedKeys;

/* Record a document. */
static void
Record(ChangedKeys *changed, const DocumentHeader *header, const DocumentKey *before, const DocumentKey *after)
{
	CHECK_FOR_INTERRUPTS();
	AddRow(&changed->rows, header, changed->resource->type_id, changed->version, before, after, changed->known);
	if (changed->rows.nrows == ROWS_AT_ONCE)
		WriteRows(&changed->rows);
}

/* Record documents whose ids ascend. */
static void
RecordAll(ChangedKeys *changed, const int64 *ids, int n)
{
	StoredRows	headers;

	if (n == 0)
		return;
	SnapshotBegin();
	DocumentHeadersRead(ids, n, &headers);
	SnapshotEnd();
	for (int i = 0; i < headers.nrows; i++)
	{
		DocumentHeader header;

		DocumentHeaderFromRow(StoredRowValues(&headers, i), &header);
		Record(changed, &header, DocumentKeyFind(changed->before, changed->nbefore, header.document_id),
			   DocumentKeyFind(changed->after, changed->nafter, header.document_id));
	}
}

/* Prepare to record. */
static void
BeginRecording(ChangedKeys *changed)
{
	changed->version = ChangesVersion() + 1;
	StoredRowsInit(&changed->rows, lengthof(tracked_columns), Min(changed->nafter, ROWS_AT_ONCE));
}

/* Record a document whose header is known; returns false if it is not. */
static bool
RecordKnown(ChangedKeys *changed, const DocumentKey *before, const DocumentKey *after,
			const RaisedDocuments *raised)
{
	int64		id = after->document_id;
	const ChangedDocument *found = ChangesFind(raised->documents, raised->n, changed->resource->type_id, id);
	DocumentHeader header = {.document_id = id};

	if (found != NULL)
	{
		header.uuid = found->uuid;
		header.etag = found->etag;
	}
	else if (raised->written != NULL && raised->written->document_id == id)
		header = *raised->written;
	else
		return false;
	Record(changed, &header, before, after);
	return true;
}

/*
 * Record the documents of a resource whose keys have changed, and whose etags were raised.
 * Both lists of keys are in ascending order of the documents.
 */
void
TrackedChangesNoteKeys(Resource *resource, const DocumentKey *before, int nbefore,
					   const DocumentKey *after, int nafter, const RaisedDocuments *raised)
{
	ChangedKeys changed = {resource, before, nbefore, after, nafter, true};
	int64	   *others = palloc_extended(sizeof(int64) * Max(nafter, 1), MCXT_ALLOC_HUGE);
	int			nothers = 0;

	BeginRecording(&changed);
	for (int i = 0; i < nafter; i++)
	{
		const DocumentKey *old = DocumentKeyFind(before, nbefore, after[i].document_id);

		if (old != NULL && !DocumentKeyIsSame(old, &after[i]) &&
			!RecordKnown(&changed, old, &after[i], raised))
			others[nothers++] = after[i].document_id;
	}
	RecordAll(&changed, others, nothers);
	WriteRows(&changed.rows);
}

/*
 * Record the documents of a resource that have got other ReferentialIds, because others
 * have changed their rows.  Nobody knows the old keys.  A document has one such row.
 */
void
TrackedChangesNoteRecomputed(Resource *resource, const DocumentKey *before, int nbefore,
							 const DocumentKey *after, int nafter)
{
	ChangedKeys changed = {resource, before, nbefore, after, nafter, false};
	Oid			types[] = {INT8ARRAYOID};
	int64	   *ids = palloc_extended(sizeof(int64) * Max(nafter, 1), MCXT_ALLOC_HUGE);
	Datum		values[1];
	int			n = 0;

	for (int i = 0; i < nafter; i++)
	{
		const DocumentKey *old = DocumentKeyFind(before, nbefore, after[i].document_id);

		if (old != NULL && !DocumentKeyHasSameIds(old, &after[i]))
			ids[n++] = after[i].document_id;
	}
	if (n == 0)
		return;
	values[0] = DatumInt8Array(n, ids);
	(void) StatementExecuteWithArgs("DELETE FROM dms.TrackedChange WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)"
									" AND Etag OPERATOR(pg_catalog.=) 0", lengthof(types), types, values, false);
	BeginRecording(&changed);
	RecordAll(&changed, ids, n);
	WriteRows(&changed.rows);
}

/*
 * Record the delete of a document, whose rows are still there.  Returns false if they
 * are not: the trigger records such a document without its key.
 */
bool
TrackedChangesNoteDelete(Resource *resource, const DocumentHeader *header)
{
	int64		id = header->document_id;
	StoredRows	rows;
	DocumentKey *key;
	int			n;

	key = DocumentKeysRead(resource, &id, 1, &id, 1, &n);
	if (n != 1)
		return false;
	StoredRowsInit(&rows, lengthof(tracked_columns), 1);
	AddRow(&rows, header, resource->type_id, ChangesVersion() + 1, key, key, true);
	StoredRowValues(&rows, 0)[1] = Int64GetDatum(header->etag + 1);
	StoredRowValues(&rows, 0)[2] = CharGetDatum('D');
	StoredRowNulls(&rows, 0)[7] = true;
	WriteRows(&rows);
	return true;
}

/* --- a change of the schema ------------------------------------------------ */

/* What is kept of a resource. */
typedef struct KeptKeys
{
	const ResourceModel *model;
	int32		type_id;
	bool		readable;		/* the rows are still as the model says */
} KeptKeys;

/* Keep the keys that documents of a resource have now, for AttemptCatch(). */
static bool
KeepKeys(void *arg)
{
	const KeptKeys *kept = arg;
	const ResourceModel *model = kept->model;
	Oid			types[] = {INT4OID, INT8OID, TEXTOID, TEXTOID};
	Datum		values[] = {Int32GetDatum(kept->type_id), Int64GetDatum(ChangesVersion() + 1),
		CStringGetTextDatum(model->project), CStringGetTextDatum(model->resource)
	};
	char	   *keys = kept->readable ? KeyQuerySql(model) : "SELECT NULL::pg_catalog.int8, NULL::pg_catalog.json";

	(void) StatementExecuteWithArgs(psprintf("INSERT INTO dms.TrackedChange (DocumentId, Etag, Kind, ResourceTypeId, ChangeVersion,"
											 " DocumentUuid, OldKey, OldReferentialId, OldAliasId)"
											 " SELECT d.DocumentId, d.Etag OPERATOR(pg_catalog.+) 1, 'K', $1, $2, d.DocumentUuid, k.key,"
											 " p.ReferentialId, a.ReferentialId FROM " DOCUMENTS_SQL("d")
											 " LEFT JOIN (%s) AS k (documentid, key) ON k.documentid OPERATOR(pg_catalog.=) d.DocumentId"
											 " LEFT JOIN " REFERENTIAL_IDS_SQL("p") " ON p.DocumentId OPERATOR(pg_catalog.=) d.DocumentId"
											 " AND p.ProjectName OPERATOR(pg_catalog.=) d.ProjectName"
											 " AND p.ResourceName OPERATOR(pg_catalog.=) d.ResourceName"
											 " LEFT JOIN " REFERENTIAL_IDS_SQL("a") " ON a.DocumentId OPERATOR(pg_catalog.=) d.DocumentId"
											 " AND ROW (a.ProjectName, a.ResourceName) OPERATOR(pg_catalog.<>) ROW (d.ProjectName, d.ResourceName)"
											 " WHERE d.ProjectName OPERATOR(pg_catalog.=) $3 AND d.ResourceName OPERATOR(pg_catalog.=) $4", keys),
									lengthof(types), types, values, false);
	return true;
}

/*
 * Keep the keys that the documents of a resource have, before a change of the schema
 * that changes its identity.  The gate is closed.  If rows were changed by hand already,
 * the keys cannot be read any more.
 */
void
TrackedChangesKeepKeys(const ResourceModel *model, int32 type_id)
{
	KeptKeys	kept = {.model = model,.type_id = type_id,.readable = true};
	ErrorData  *error;
	bool		stays;

	if (!ChangesAreTracked())
		return;
	error = AttemptCatch(KeepKeys, &kept, &stays);
	if (error == NULL)
		return;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION)
		ReThrowError(error);
	kept.readable = false;
	(void) KeepKeys(&kept);
}

/* Rows that were kept: documents have not got their new etags yet. */
#define KEPT_SQL "t.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'K' AND t.ChangeVersion OPERATOR(pg_catalog.=) $1" \
	" AND t.DocumentId OPERATOR(pg_catalog.=) d.DocumentId AND t.Etag OPERATOR(pg_catalog.>) d.Etag"

/* The values of a key, whatever they are called. */
#define VALUES_SQL(key) "(SELECT pg_catalog.array_agg(v.value ORDER BY v.ordinality)" \
	" FROM pg_catalog.json_each_text(" key ") WITH ORDINALITY AS v)"

/* Add the keys that the documents of a resource have under the new schema. */
void
TrackedChangesRenewKeys(const ResourceModel *model)
{
	Oid			types[] = {INT8OID};
	Datum		values[1];

	if (!ChangesAreTracked())
		return;
	values[0] = Int64GetDatum(ChangesVersion() + 1);
	(void) StatementExecuteWithArgs(psprintf("UPDATE dms.TrackedChange AS t SET NewKey = k.key"
											 " FROM " DOCUMENTS_SQL("d") ", (%s) AS k (documentid, key)"
											 " WHERE k.documentid OPERATOR(pg_catalog.=) d.DocumentId AND " KEPT_SQL, KeyQuerySql(model)),
									lengthof(types), types, values, false);
}

/*
 * Forget the keys that are as they were before; other names of the same values are no
 * change.  The statement returns the ids of documents whose keys have changed, which are
 * to get new etags.  Returns how many there are.
 */
uint64
TrackedChangesCompareKeys(void)
{
	Oid			types[] = {INT8OID};
	Datum		values[1];

	if (!ChangesAreTracked())
		return 0;
	values[0] = Int64GetDatum(ChangesVersion() + 1);
	(void) StatementExecuteWithArgs("DELETE FROM dms.TrackedChange AS t USING " DOCUMENTS_SQL("d") " WHERE " KEPT_SQL
									" AND (t.NewKey IS NULL"
									" OR t.OldKey::pg_catalog.jsonb OPERATOR(pg_catalog.=) t.NewKey::pg_catalog.jsonb"
									" OR " VALUES_SQL("t.OldKey") " OPERATOR(pg_catalog.=) " VALUES_SQL("t.NewKey")
									" OR (t.OldKey IS NULL AND EXISTS (SELECT FROM " REFERENTIAL_IDS_SQL("i")
									" WHERE i.ReferentialId OPERATOR(pg_catalog.=) t.OldReferentialId"
									" AND i.DocumentId OPERATOR(pg_catalog.=) t.DocumentId)))",
									lengthof(types), types, values, false);
	return StatementExecuteWithArgs("SELECT t.DocumentId FROM dms.TrackedChange AS t, " DOCUMENTS_SQL("d") " WHERE " KEPT_SQL,
									lengthof(types), types, values, false);
}

/* --- triggers, and age ------------------------------------------------------ */

/* The trigger leaves out what the library has recorded. */
#define NOT_RECORDED_SQL " WHEN (pg_catalog.current_setting('dms.delete_recorded', true) IS DISTINCT FROM 'on')"

/*
 * Let deletes be recorded, or not: the trigger exists only while they are, so that
 * others do not pay for it.
 */
void
TrackedChangesTrigger(bool tracked)
{
	bool		exists = OidIsValid(get_trigger_oid(StoreTable(STORE_DOCUMENT), "change_tracking", true));

	if (exists && !tracked)
		StatementExecute(DOCUMENT_NO_TRIGGER_SQL("change_tracking"));
	if (tracked && !exists)
		StatementExecute(DOCUMENT_TRIGGER_SQL("change_tracking", NOT_RECORDED_SQL));
}

/*
 * Returns the largest number up to which all rows are older than an interval, but not
 * above a given one; 0 if there are none.
 */
int64
TrackedChangesPurgeable(int64 highest, Datum older_than)
{
	Oid			types[] = {INT8OID, INTERVALOID};
	Datum		values[] = {Int64GetDatum(highest), older_than};

	SnapshotBeginLatest();
	(void) StatementExecuteWithArgs("SELECT COALESCE(pg_catalog.max(t.ChangeVersion), 0) FROM dms.TrackedChange AS t"
									" WHERE t.ChangeVersion OPERATOR(pg_catalog.<=) $1"
									" AND t.ChangeVersion OPERATOR(pg_catalog.<) COALESCE((SELECT pg_catalog.min(y.ChangeVersion)"
									" FROM dms.TrackedChange AS y WHERE y.CreatedAt OPERATOR(pg_catalog.>)"
									" (pg_catalog.now() OPERATOR(pg_catalog.-) $2)), $1 OPERATOR(pg_catalog.+) 1)",
									lengthof(types), types, values, true);
	SnapshotEnd();
	return ResultInt64(0, 1);
}

/* Delete rows up to a number, at most some of them; returns how many there were. */
int64
TrackedChangesPurge(int64 through, int64 max_rows)
{
	Oid			types[] = {INT8OID, INT8OID};
	Datum		values[] = {Int64GetDatum(through), Int64GetDatum(max_rows)};

	return (int64) StatementExecuteWithArgs("DELETE FROM dms.TrackedChange WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
											"SELECT t.ctid FROM dms.TrackedChange AS t"
											" WHERE t.ChangeVersion OPERATOR(pg_catalog.<=) $1 LIMIT $2))",
											lengthof(types), types, values, false);
}
