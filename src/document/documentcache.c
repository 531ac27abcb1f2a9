/*
 * documentcache.c
 *		Documents as they are read: rows of dms.DocumentCache.
 *
 * A row has the text that reconstitution gives for the document's etag.  It is fresh if
 * that is still the etag.  Who raises an etag need not touch the row, and a row that is
 * missing or not fresh costs a read nothing but the look.
 *
 * The text is read from storage, after the etag, in one snapshot with the etag.  A row
 * is never replaced by one of a lower etag: the projector may have read before a writer
 * wrote.  It is deleted with its document, by the trigger on dms.Document.
 *
 * A reader gets the text only if it could read all of it from the tables: if it has SELECT
 * on every table that it is made of, and no row-level security applies to it on any of
 * them.  Otherwise policies and missing grants would not hide what they should.
 *
 * This module has all statements on the table, but for the triggers and the audit.
 */
#include "postgres.h"

#include "access/table.h"
#include "base/faults.h"
#include "base/grow.h"
#include "base/ids.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "document/documentcache.h"
#include "document/reconstitute.h"
#include "document/storedpage.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keyaccess.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"

/* Documents, and bytes of text, that are written together. */
#define DOCUMENTS_AT_ONCE 500
#define BYTES_AT_ONCE (8 * 1024 * 1024)

static bool cache_reads = true;

static const char *const text_columns[] = {"documentid", "etag", "computedat", "documentjson"};
static const Oid text_types[] = {INT8OID, INT8OID, TIMESTAMPTZOID, JSONOID};
static KeyedTable cached_texts =
{
	.schema = "dms",.name = "documentcache", KEYED_COLUMNS(text_columns, text_types),.nkeys = 1
};

/* Columns of new rows: id, uuid, project, resource, version, etag, time, text. */
#define NEW_COLUMNS 8
static const Oid save_types[] = {INT8ARRAYOID, UUIDARRAYOID, TEXTOID, TEXTOID, TEXTOID, INT8ARRAYOID,
	TIMESTAMPTZARRAYOID, JSONARRAYOID, TIMESTAMPTZOID
};

#define SAVE_SQL(condition) \
	"INSERT INTO dms.DocumentCache AS c (DocumentId, DocumentUuid, ProjectName, ResourceName," \
	" ResourceVersion, Etag, LastModifiedAt, DocumentJson, ComputedAt)" \
	" SELECT n.id, n.uuid, $3, $4, $5, n.etag, n.modified, n.content, pg_catalog.clock_timestamp()" \
	" FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($6), pg_catalog.unnest($7)," \
	" pg_catalog.unnest($8)) AS n (id, uuid, etag, modified, content)" \
	" ON CONFLICT (DocumentId) DO UPDATE SET DocumentUuid = EXCLUDED.DocumentUuid, ProjectName = EXCLUDED.ProjectName," \
	" ResourceName = EXCLUDED.ResourceName, ResourceVersion = EXCLUDED.ResourceVersion, Etag = EXCLUDED.Etag," \
	" LastModifiedAt = EXCLUDED.LastModifiedAt, DocumentJson = EXCLUDED.DocumentJson, ComputedAt = EXCLUDED.ComputedAt" \
	" WHERE " condition

static Statement save =
{
	.sql = SAVE_SQL("c.Etag OPERATOR(pg_catalog.<) EXCLUDED.Etag OR (c.Etag OPERATOR(pg_catalog.=) EXCLUDED.Etag"
					" AND c.ComputedAt OPERATOR(pg_catalog.<) $9)"),
	.nargs = lengthof(save_types),
	.argtypes = save_types,
};
#ifdef DMS_FAULTS
static Statement save_any =
{
	.sql = SAVE_SQL("$9 IS NOT NULL"),.nargs = lengthof(save_types),.argtypes = save_types,
};
#endif

static const Oid stale_types[] = {INT8ARRAYOID, TIMESTAMPTZOID};
static Statement find_stale =
{
	.sql = "SELECT d.DocumentId, c.DocumentId IS NULL FROM " DOCUMENTS_SQL("d")
	" LEFT JOIN dms.DocumentCache AS c ON c.DocumentId OPERATOR(pg_catalog.=) d.DocumentId"
	" WHERE d.DocumentId OPERATOR(pg_catalog.=) ANY ($1) AND (c.DocumentId IS NULL"
	" OR c.Etag OPERATOR(pg_catalog.<>) d.Etag OR c.ComputedAt OPERATOR(pg_catalog.<) $2) ORDER BY d.DocumentId",
	.nargs = lengthof(stale_types),
	.argtypes = stale_types,
};

#define KEEP_SQL(lock) \
	"SELECT d.DocumentId FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.=) ANY ($1)" \
	" AND NOT EXISTS (SELECT FROM dms.DocumentCache AS c WHERE c.DocumentId OPERATOR(pg_catalog.=) d.DocumentId)" \
	" ORDER BY d.DocumentId FOR " lock " OF d SKIP LOCKED"

/* The lock keeps out deletes only. */
static Statement keep_documents =
{
	.sql = KEEP_SQL("KEY SHARE"),
	.nargs = 1,
	.argtypes = stale_types,
};
#ifdef DMS_FAULTS
static Statement keep_documents_from_all =
{
	.sql = KEEP_SQL("UPDATE"),
	.nargs = 1,
	.argtypes = stale_types,
};
#endif

static const Oid range_types[] = {INT8OID, INT8OID};
static Statement sweep =
{
	.sql = "DELETE FROM dms.DocumentCache AS c WHERE c.DocumentId OPERATOR(pg_catalog.>) $1"
	" AND c.DocumentId OPERATOR(pg_catalog.<=) $2"
	" AND NOT " DOCUMENT_EXISTS_SQL("c.DocumentId"),
	.nargs = lengthof(range_types),
	.argtypes = range_types,
};

/*
 * Changes are read by resource, along their index, and rows by id, whatever the planner
 * thinks of sizes.
 */
static Statement sweep_deleted =
{
	.sql = "DELETE FROM dms.DocumentCache AS c WHERE c.DocumentId OPERATOR(pg_catalog.=) ANY (ARRAY("
	"SELECT r.DocumentId FROM " RESOURCE_TYPES_SQL("t") " CROSS JOIN LATERAL ("
	"SELECT k.DocumentId FROM " TRACKED_CHANGES_SQL("k")
	" WHERE k.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId AND k.ChangeVersion OPERATOR(pg_catalog.>=) $1"
	" AND k.Kind OPERATOR(pg_catalog.=) 'D'::pg_catalog.\"char\" OFFSET 0) AS r))"
	" AND NOT " DOCUMENT_EXISTS_SQL("c.DocumentId"),
	.nargs = 1,
	.argtypes = range_types,
};

static const Oid uuid_types[] = {UUIDOID};
static Statement forget =
{
	.sql = "DELETE FROM dms.DocumentCache AS c WHERE c.DocumentUuid OPERATOR(pg_catalog.=) $1"
	" AND NOT " DOCUMENT_EXISTS_SQL("c.DocumentId"),
	.nargs = lengthof(uuid_types),
	.argtypes = uuid_types,
};

/* Define the setting of this module. */
void
DocumentCacheInit(void)
{
	DefineCustomBoolVariable("dms.cache_reads",
							 "Read documents from dms.DocumentCache where it is fresh.",
							 NULL, &cache_reads, true, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* Returns true if rows are published, with the ids of their documents as keys. */
bool
DocumentCacheIsPublished(void)
{
	Relation	relation = table_open(StoreTable(STORE_DOCUMENT_CACHE), AccessShareLock);
	bool		published = relation->rd_rel->relreplident == REPLICA_IDENTITY_INDEX;

	table_close(relation, NoLock);
	return published;
}

/* --- reading --------------------------------------------------------------- */

static bool IsReadable(Oid id);

/*
 * Walker over the query of a view: returns true if it reads something that the current user
 * could not read as a whole.  The view is in its own list of tables.
 */
static bool
ReadsMore(Node *node, void *view)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, ReadsMore, view, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (RangeTblEntry *) node;

		return entry->rtekind == RTE_RELATION && entry->relid != *(Oid *) view && !IsReadable(entry->relid);
	}
	return expression_tree_walker(node, ReadsMore, view);
}

/*
 * Returns true if a view, through which abstract resources are read, has all rows for the
 * current user: if it reads with the user's rights, and nothing in it depends on who the user is.
 */
static bool
IsReadableView(Relation view)
{
	Query	   *query = get_view_query(view);
	Oid			id = RelationGetRelid(view);

	return RelationHasSecurityInvoker(view) && !contain_mutable_functions((Node *) query) &&
		!ReadsMore((Node *) query, &id);
}

/*
 * Returns true if a SELECT of the current user would return all rows of a table or view.
 * The lock is that of a read.
 */
static bool
IsReadable(Oid id)
{
	Relation	relation = table_open(id, AccessShareLock);
	bool		readable;

	KeyAccessWatch(id);
	readable = pg_class_aclcheck(id, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		(relation->rd_rel->relkind == RELKIND_RELATION ||
		 (relation->rd_rel->relkind == RELKIND_VIEW && IsReadableView(relation))) &&
		(FAULT_SKIP("cache_policies") || !relation->rd_rel->relrowsecurity ||
		 check_enable_rls(id, InvalidOid, true) != RLS_ENABLED);
	table_close(relation, NoLock);
	return readable;
}

/* The same for a table that is named. */
static bool
IsReadableTable(const char *schema, const char *name)
{
	return IsReadable(RangeVarGetRelid(makeRangeVar(unconstify(char *, schema), unconstify(char *, name), -1),
									   AccessShareLock, false));
}

/* Returns true if the current user could read all that documents of a resource are made of. */
static bool
CouldRead(const ResourceModel *model)
{
	if (!IsReadable(StoreTable(STORE_DOCUMENT)) || !IsReadableTable("dms", "descriptor"))
		return false;
	for (int i = 0; i < model->ntables; i++)
		if (!IsReadableTable(model->tables[i].schema, model->tables[i].name))
			return false;
	for (int i = 0; i < model->nprojections; i++)
		for (int j = 0; j < model->projections[i].njoins; j++)
			if (!IsReadableTable(model->projections[i].joins[j].schema, model->projections[i].joins[j].table))
				return false;
	return true;
}

/*
 * The same, remembered for the last role.  What it depends on changes with the number,
 * except for policies, which may let some users of a table pass and others not.
 */
static bool
MayRead(Resource *resource)
{
	uint64		changes = KeyAccessChanges();

	if (ExecutorCheckPerms_hook != NULL)
		return false;
	if (resource->cache_role == GetUserId() && resource->cache_changes == changes)
		return resource->cache_readable;
	resource->cache_readable = CouldRead(resource->model);
	resource->cache_role = GetUserId();
	resource->cache_changes = changes;
	return resource->cache_readable;
}

/* Returns true if documents of a resource may be taken from the cache, where it has them. */
bool
DocumentCacheIsReadable(Resource *resource)
{
	return StoreRowCache()->mode != CACHE_OFF && cache_reads && MayRead(resource);
}

/*
 * Returns the text of a document, in the given context, if there is a fresh one in the
 * active snapshot, and the current user may read it; NULL otherwise.
 */
text *
DocumentCacheRead(Resource *resource, const DocumentHeader *header, MemoryContext context)
{
	MemoryContext saved;
	StoredRows	rows;
	text	   *copy;

	if (!DocumentCacheIsReadable(resource))
		return NULL;
	FAULT_PAUSE("before_cached_text");
	StoredRowsInit(&rows, lengthof(text_columns), 1);
	if (FAULT_SKIP("cache_snapshot"))
		SnapshotBeginLatest();
	if (!KeyScanTryIdsAsOwner(&cached_texts, &header->document_id, 1, &rows))
		rows.nrows = 0;
	if (FAULT_SKIP("cache_snapshot"))
		SnapshotEnd();
	if (rows.nrows == 0 || (DatumGetInt64(rows.values[1]) != header->etag && !FAULT_SKIP("cache_snapshot")) ||
		DatumGetTimestampTz(rows.values[2]) < StoreRowCache()->valid_from)
		return NULL;
	saved = MemoryContextSwitchTo(context);
	copy = DatumGetTextPCopy(rows.values[3]);
	MemoryContextSwitchTo(saved);
	return copy;
}

/*
 * Add a document to those that the cache does not have.  One that is there several times,
 * because the owner has dropped the key of dms.Document, counts once: readers expect ids
 * that ascend.
 */
static void
AddMissing(CachedPage *page, int64 document_id)
{
	if (page->nmissing == 0 || page->missing[page->nmissing - 1] < document_id)
		page->missing[page->nmissing++] = document_id;
}

/*
 * Read documents, whose ids ascend, in the active snapshot: their headers, and the texts of
 * those that have a fresh row.  Returns false if the cache cannot be read.
 */
bool
DocumentCacheReadPage(Resource *resource, const int64 *ids, int n, CachedPage *page)
{
	StoredRows	rows;
	int			row = 0;

	if (n == 0 || !DocumentCacheIsReadable(resource))
		return false;
	StoredRowsInit(&rows, lengthof(text_columns), n);
	if (!KeyScanTryIdsAsOwner(&cached_texts, ids, n, &rows))
		return false;
	DocumentHeadersRead(ids, n, &page->headers);
	page->texts = palloc0(sizeof(text *) * Max(page->headers.nrows, 1));
	page->missing = palloc(sizeof(int64) * Max(page->headers.nrows, 1));
	page->nmissing = 0;
	for (int i = 0; i < page->headers.nrows; i++)
	{
		DocumentHeader header;
		Datum	   *values;

		DocumentHeaderFromRow(StoredRowValues(&page->headers, i), &header);
		while (row < rows.nrows && DatumGetInt64(StoredRowValues(&rows, row)[0]) < header.document_id)
			row++;
		values = row < rows.nrows ? StoredRowValues(&rows, row) : NULL;
		if (values != NULL && DatumGetInt64(values[0]) == header.document_id && DatumGetInt64(values[1]) == header.etag &&
			DatumGetTimestampTz(values[2]) >= StoreRowCache()->valid_from)
			page->texts[i] = DatumGetTextP(values[3]);
		else
			AddMissing(page, header.document_id);
	}
	return true;
}

/* --- writing --------------------------------------------------------------- */

/* Rows to be written. */
typedef struct NewTexts
{
	Resource   *resource;
	Datum	   *ids;
	Datum	   *uuids;
	Datum	   *etags;
	Datum	   *times;
	Datum	   *texts;
	int			n;
	Size		bytes;
	TimestampTz valid_from;		/* rows of the same etag that were written
								 * before are replaced */
} NewTexts;

/* Write the rows that were collected. */
static void
Save(NewTexts *texts)
{
	const ResourceModel *model = texts->resource->model;
	Datum		values[] = {
		DatumArray(texts->n, texts->ids, NULL, INT8OID),
		DatumArray(texts->n, texts->uuids, NULL, UUIDOID),
		CStringGetTextDatum(model->project),
		CStringGetTextDatum(model->resource),
		CStringGetTextDatum(model->version),
		DatumArray(texts->n, texts->etags, NULL, INT8OID),
		DatumArray(texts->n, texts->times, NULL, TIMESTAMPTZOID),
		DatumArray(texts->n, texts->texts, NULL, JSONOID),
		TimestampTzGetDatum(texts->valid_from)
	};

	if (texts->n > 0)
	{
#ifdef DMS_FAULTS
		if (FAULT_SKIP("cache_monotonic"))
			(void) StatementRun(&save_any, values, NULL, false, 0);
		else
#endif
			(void) StatementRun(&save, values, NULL, false, 0);
	}
	for (int i = 0; i < texts->n; i++)
		pfree(DatumGetPointer(texts->texts[i]));
	texts->n = 0;
	texts->bytes = 0;
}

/* Prepare to write up to n rows. */
static void
BeginTexts(NewTexts *texts, Resource *resource, int n)
{
	texts->resource = resource;
	texts->ids = palloc(sizeof(Datum) * n);
	texts->uuids = palloc(sizeof(Datum) * n);
	texts->etags = palloc(sizeof(Datum) * n);
	texts->times = palloc(sizeof(Datum) * n);
	texts->texts = palloc(sizeof(Datum) * n);
	texts->n = 0;
	texts->bytes = 0;
	texts->valid_from = StoreRowCache()->valid_from;
}

/* Add the document at a place of a page. */
static void
AddText(NewTexts *texts, StoredPage *page, int place)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	DocumentHeader header;
	StringInfoData out;

	StoredPageHeader(page, place, &header);
	*uuid = header.uuid;
	initStringInfo(&out);
	ReconstituteValue(page, place, &out);
	texts->ids[texts->n] = Int64GetDatum(header.document_id);
	texts->uuids[texts->n] = UUIDPGetDatum(uuid);
	texts->etags[texts->n] = Int64GetDatum(header.etag);
	texts->times[texts->n] = TimestampTzGetDatum(header.last_modified);
	texts->texts[texts->n++] = PointerGetDatum(out.data);
	texts->bytes += out.len;
}

/*
 * Write rows for all documents of a page; returns their number.  If all are wanted, rows
 * are also written that are fresh.
 */
static int
SavePage(StoredPage *page, bool all)
{
	NewTexts	texts;
	int			n = page->tables[0].nrows;

	BeginTexts(&texts, page->resource, Max(n, 1));
	if (all)
		texts.valid_from = DT_NOEND;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		AddText(&texts, page, i);
		if (texts.bytes >= BYTES_AT_ONCE)
			Save(&texts);
	}
	Save(&texts);
	return n;
}

/*
 * Returns those of some documents that have no fresh row, in ascending order.  A row
 * must not be inserted for a document that is being deleted.  So documents without a row
 * are locked against deletes, and those that another transaction has locked are left
 * out, and returned in *busy.  (A delete meets a row that exists, and waits for us.)
 */
int64 *
DocumentCacheStale(const int64 *ids, int n, int *nstale, int64 **busy, int *nbusy)
{
	Datum		values[] = {DatumInt8Array(n, ids), TimestampTzGetDatum(StoreRowCache()->valid_from)};
	Statement  *keep = &keep_documents;
	int64	   *kept;
	int64	   *stale;
	int			nkept;
	uint64		rows;

#ifdef DMS_FAULTS
	if (FAULT_SKIP("projector_weak_lock"))
		keep = &keep_documents_from_all;
#endif
	SnapshotBeginLatest();
	kept = ResultIds(StatementRun(keep, values, NULL, false, 0), &nkept);
	SnapshotEnd();
	SnapshotBeginLatest();
	rows = StatementRun(&find_stale, values, NULL, true, 0);
	stale = palloc(sizeof(int64) * Max(rows, 1));
	*busy = palloc(sizeof(int64) * Max(rows, 1));
	*nstale = *nbusy = 0;
	for (uint64 i = 0; i < rows; i++)
	{
		int64		id = ResultInt64(i, 1);

		if (!ResultBool(i, 2) || IdsHave(kept, nkept, id) || FAULT_SKIP("cache_key_share"))
			stale[(*nstale)++] = id;
		else
			(*busy)[(*nbusy)++] = id;
	}
	SnapshotEnd();

	/* Tables without their keys may have a document more than once. */
	*nstale = IdsSort(stale, *nstale);
	*nbusy = IdsSort(*busy, *nbusy);
	return stale;
}

/* Write rows for documents of one resource: all, or those that are not fresh. */
static int
Project(Resource *resource, const int64 *ids, int n, bool all)
{
	int			written = 0;

	for (int i = 0; i < n; i += DOCUMENTS_AT_ONCE)
	{
		StoredPage *page;

		CHECK_FOR_INTERRUPTS();
		SessionBeginPart();
		SnapshotBeginLatest();
		page = StoredPageRead(resource, ids + i, Min(n - i, DOCUMENTS_AT_ONCE));
		SnapshotEnd();
		FAULT_PAUSE("before_cache_write");
		written += SavePage(page, all);
		SessionEndPart();
	}
	return written;
}

/* Write rows for documents of one resource, whose ids are ascending; returns their number. */
int
DocumentCacheProject(Resource *resource, const int64 *ids, int n)
{
	return Project(resource, ids, n, false);
}

/*
 * The same, also for rows that are fresh.  The text is stored anew each time: an update
 * that left it where it is would reach change data capture without it.
 */
void
DocumentCacheRepublish(Resource *resource, const int64 *ids, int n)
{
	(void) Project(resource, ids, n, true);
}

/* Write the row of a document that has just got its etag, if writers do that. */
void
DocumentCacheWriteOne(Resource *resource, const DocumentHeader *header)
{
	StoredPage *page;

	if (StoreRowCache()->mode < CACHE_WRITE_THROUGH)
		return;
	SnapshotBegin();
	page = StoredPageReadOne(resource, header);
	SnapshotEnd();
	(void) SavePage(page, false);
}

/* Returns true if writers also write rows of documents that change because others do. */
bool
DocumentCacheIsStrict(void)
{
	return StoreRowCache()->mode == CACHE_STRICT && !FAULT_SKIP("strict_flush");
}

/* The same for documents whose etags were raised because others changed, if writers do that. */
void
DocumentCacheWrite(Resource *resource, const int64 *ids, int n)
{
	if (!DocumentCacheIsStrict())
		return;
	(void) DocumentCacheProject(resource, ids, n);
}

/* --- deleting -------------------------------------------------------------- */

/* Delete rows in a range of ids that have no document. */
void
DocumentCacheSweep(int64 after, int64 last)
{
	Datum		values[] = {Int64GetDatum(after), Int64GetDatum(last)};

	SnapshotBeginLatest();
	(void) StatementRun(&sweep, values, NULL, false, 0);
	SnapshotEnd();
}

/*
 * Delete rows of documents whose delete has this number or a later one.  A delete that
 * began before the row was inserted does not see it, if its snapshot is fixed.
 */
void
DocumentCacheSweepDeleted(int64 from_version)
{
	Datum		values[] = {Int64GetDatum(from_version)};

	if (FAULT_SKIP("tombstone_sweep"))
		return;
	SnapshotBeginLatest();
	(void) StatementRun(&sweep_deleted, values, NULL, false, 0);
	SnapshotEnd();
}

/*
 * Delete the row that a document has left behind, before another one gets its uuid: a
 * delete under a fixed snapshot may not have seen it, and no projector has swept it
 * since.  Ids are unique while rows are published.
 */
void
DocumentCacheForget(const pg_uuid_t *uuid)
{
	Datum		values[] = {UUIDPGetDatum(uuid)};

	if (!DocumentCacheIsPublished() || FAULT_SKIP("cache_namesakes"))
		return;
	SnapshotBeginLatest();
	(void) StatementRun(&forget, values, NULL, false, 0);
	SnapshotEnd();
}

/* Delete all rows. */
void
DocumentCacheClear(void)
{
	StatementTruncate(StoreTable(STORE_DOCUMENT_CACHE));
}
