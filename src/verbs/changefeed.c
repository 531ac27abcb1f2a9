/*
 * changefeed.c
 *		dms.read_changes(): the changes of the store, one after the other.
 *
 * Whoever follows the store reads in passes.  A pass begins with a snapshot, and
 * delivers what the snapshot sees and the last one did not: changes of keys, then
 * documents, each resource before those that refer to it, then deletes in reverse.  A
 * pass may be read by many calls, in as many transactions.  Documents that change
 * meanwhile are delivered by the next pass: their change is not in the snapshot of this
 * one.  So each change is delivered at least once, and each document with its latest
 * state.
 *
 * Documents are read with the rights of the caller; those that a policy hides are left
 * out.  Deletes and keys are read with the rights of the owner.  Who may not read the
 * keys of all documents of a resource gets deletes without keys, and no changes of keys.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "document/changes.h"
#include "document/reconstitute.h"
#include "document/rowtables.h"
#include "document/storedpage.h"
#include "document/trackedreads.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "verbs/changecursor.h"
#include "verbs/changequery.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_read_changes);

#define COLUMNS 10

/* Rows of the journal that are looked at together. */
#define ROWS_AT_ONCE 1000
#define FEWEST_ROWS 50

/* A resource that has changes. */
typedef struct ChangedType
{
	int32		id;
	char	   *project;
	char	   *resource;
} ChangedType;

/* A call. */
typedef struct Feed
{
	ReturnSetInfo *rsinfo;
	ChangeCursor cursor;
	char	   *prefix;			/* of the cursors of all rows */
	int			left;			/* rows that may still be delivered */
	bool		with_documents;
} Feed;

/* A row of the journal, or of deletes and keys, and what belongs to it. */
typedef struct ChangeRow
{
	int64		version;
	int64		document_id;
	int64		etag;
	bool		current;		/* the document has this etag, and may be read */
	pg_uuid_t	uuid;
	text	   *body;
	text	   *old_key;
	text	   *new_key;
} ChangeRow;

/* --- the result ----------------------------------------------------------- */

/* Set a value that may be missing. */
static void
SetText(Datum *values, bool *nulls, int column, text *value)
{
	nulls[column] = value == NULL;
	values[column] = PointerGetDatum(value);
}

/* Deliver a row. */
static void
PutRow(Feed *feed, const char *kind, const ChangedType *type, const ChangeRow *row)
{
	ChangePlace *place = &feed->cursor.place;
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	pg_uuid_t	uuid = row->uuid;

	place->type_id = type->id;
	place->version = row->version;
	place->document_id = row->document_id;
	place->etag = row->etag;
	values[0] = CStringGetTextDatum(kind);
	values[1] = Int64GetDatum(row->version);
	values[2] = UUIDPGetDatum(&uuid);
	values[3] = CStringGetTextDatum(type->project);
	values[4] = CStringGetTextDatum(type->resource);
	values[5] = Int64GetDatum(row->etag);
	SetText(values, nulls, 6, row->body);
	SetText(values, nulls, 7, row->old_key);
	SetText(values, nulls, 8, row->new_key);
	values[9] = CStringGetTextDatum(ChangeCursorText(feed->prefix, place));
	tuplestore_putvalues(feed->rsinfo->setResult, feed->rsinfo->setDesc, values, nulls);
	feed->left--;
}

/* Say that a pass is complete: its snapshot has been consumed. */
static void
PutEnd(Feed *feed)
{
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS];

	memset(nulls, true, sizeof(nulls));
	feed->cursor.start = false;
	feed->cursor.in_pass = false;
	values[0] = CStringGetTextDatum("end");
	values[9] = CStringGetTextDatum(ChangeCursorPrefix(&feed->cursor));
	nulls[0] = nulls[9] = false;
	tuplestore_putvalues(feed->rsinfo->setResult, feed->rsinfo->setDesc, values, nulls);
}

/* --- what belongs to a pass ----------------------------------------------- */

/* Take the numbers of rows from the last result. */
static ChangeRow *
TakeRows(uint64 n)
{
	ChangeRow  *rows = palloc0(sizeof(ChangeRow) * Max(n, 1));

	for (uint64 i = 0; i < n; i++)
	{
		rows[i].version = ResultInt64(i, 1);
		rows[i].document_id = ResultInt64(i, 2);
		rows[i].etag = ResultInt64(i, 3);
	}
	return rows;
}

/* Move the place past a row. */
static void
MovePast(Feed *feed, const ChangeRow *row)
{
	ChangePlace *place = &feed->cursor.place;

	place->version = row->version;
	place->document_id = row->document_id;
	place->etag = row->etag;
}

/* --- documents ------------------------------------------------------------ */

/* Order rows by document and etag. */
static int
CompareRows(const void *a, const void *b)
{
	const ChangeRow *left = *(const ChangeRow *const *) a;
	const ChangeRow *right = *(const ChangeRow *const *) b;

	if (left->document_id != right->document_id)
		return left->document_id < right->document_id ? -1 : 1;
	return left->etag < right->etag ? -1 : left->etag > right->etag;
}

/* Note that a document has been found with an etag, and return its row; NULL if it is another one. */
static ChangeRow *
FoundDocumentRow(ChangeRow **sorted, int n, const DocumentHeader *header)
{
	ChangeRow	wanted = {.document_id = header->document_id,.etag = header->etag};
	ChangeRow  *key = &wanted;
	ChangeRow **found = bsearch(&key, sorted, n, sizeof(ChangeRow *), CompareRows);

	if (found == NULL)
		return NULL;
	(*found)->current = true;
	(*found)->uuid = header->uuid;
	return *found;
}

/* Find the documents of rows that can be read, with their bodies. */
static void
FindBodies(Resource *resource, ChangeRow **sorted, int n, const int64 *ids, int nids)
{
	StoredPage *page = StoredPageRead(resource, ids, nids);

	for (int i = 0; i < page->tables[0].nrows; i++)
	{
		DocumentHeader header;
		StringInfoData out;
		ChangeRow  *row;

		CHECK_FOR_INTERRUPTS();
		StoredPageHeader(page, i, &header);
		row = FoundDocumentRow(sorted, n, &header);
		initStringInfo(&out);
		ReconstituteValue(page, i, &out);
		if (row != NULL)
			row->body = (text *) out.data;
		else
			pfree(out.data);
	}
}

/* The same without bodies: documents whose root rows the caller sees. */
static void
FindHeaders(Resource *resource, ChangeRow **sorted, int n, const int64 *ids, int nids)
{
	StoredRows	roots;
	StoredRows	headers;
	int64	   *seen;

	KeyScanReadIds(RowTable(resource, 0), ids, nids, &roots);
	seen = palloc(sizeof(int64) * Max(roots.nrows, 1));
	for (int i = 0; i < roots.nrows; i++)
		seen[i] = DatumGetInt64(StoredRowValues(&roots, i)[0]);
	/* A view in the place of the table may return a document twice. */
	DocumentHeadersRead(seen, IdsSort(seen, roots.nrows), &headers);
	for (int i = 0; i < headers.nrows; i++)
	{
		DocumentHeader header;

		DocumentHeaderFromRow(StoredRowValues(&headers, i), &header);
		(void) FoundDocumentRow(sorted, n, &header);
	}
}

/* Find the documents of rows, which are still those of their etags. */
static void
FindDocuments(const Feed *feed, Resource *resource, ChangeRow *rows, int n)
{
	ChangeRow **sorted = palloc(sizeof(ChangeRow *) * Max(n, 1));
	int64	   *ids = palloc(sizeof(int64) * Max(n, 1));
	int			nids = 0;

	for (int i = 0; i < n; i++)
		sorted[i] = &rows[i];
	qsort(sorted, n, sizeof(ChangeRow *), CompareRows);
	for (int i = 0; i < n; i++)
		if (nids == 0 || ids[nids - 1] != sorted[i]->document_id)
			ids[nids++] = sorted[i]->document_id;
	if (feed->with_documents)
		FindBodies(resource, sorted, n, ids, nids);
	else
		FindHeaders(resource, sorted, n, ids, nids);
}

/* Deliver the documents of rows of the journal, as many as are still asked for. */
static void
PutDocuments(Feed *feed, const ChangedType *type, ChangeRow *rows, int n)
{
	Resource   *resource = NULL;
	int			some;

	for (int i = 0; i < n && feed->left > 0; i += some)
	{
		some = Min(n - i, Max(feed->left, FEWEST_ROWS));
		if (resource == NULL)
			resource = ModelCacheTry(type->project, type->resource);
		if (resource == NULL)
			return;
		FindDocuments(feed, resource, rows + i, some);
		for (int j = i; j < i + some && feed->left > 0; j++)
			if (rows[j].current)
				PutRow(feed, "document", type, &rows[j]);
	}
}

/* Give a row the place of one in the journal. */
static void
SetPlaceOfRow(ChangeRow *row, const NotedChange *noted)
{
	row->version = noted->version;
	row->document_id = noted->document_id;
	row->etag = noted->etag;
}

/* Read one chunk of the journal of a type.  Returns false if it was the last one. */
static bool
DocumentsChunk(Feed *feed, const ChangedType *type)
{
	const ChangePlace *place = &feed->cursor.place;
	NotedChange after = {place->version, place->document_id, place->etag};
	int			chunk = Min(Max(feed->left, FEWEST_ROWS), ROWS_AT_ONCE);
	int			nread;
	NotedChange *noted = ChangesRead(type->id, &after, PG_INT64_MAX, chunk, &nread);
	ChangeRow  *rows = palloc0(sizeof(ChangeRow) * Max(nread, 1));
	int			n = 0;

	for (int i = 0; i < nread; i++)
		if (ChangeCursorHas(&feed->cursor, noted[i].version))
			SetPlaceOfRow(&rows[n++], &noted[i]);
	PutDocuments(feed, type, rows, n);
	if (feed->left > 0 && nread > 0)
	{
		ChangeRow	last = {0};

		SetPlaceOfRow(&last, &noted[nread - 1]);
		MovePast(feed, &last);
	}
	return nread == chunk;
}

/* --- deletes and keys ----------------------------------------------------- */

/* Take the other columns of deletes and keys from the last result. */
static void
TakeKeys(ChangeRow *rows, uint64 n)
{
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		value;

		rows[i].uuid = ResultUuid(i, 4);
		value = ResultDatum(i, 5, &isnull);
		rows[i].old_key = isnull ? NULL : DatumGetTextPCopy(value);
		value = ResultDatum(i, 6, &isnull);
		rows[i].new_key = isnull ? NULL : DatumGetTextPCopy(value);
	}
}

/* Read deletes or keys as the owner. */
static ChangeRow *
ReadTracked(const Feed *feed, int32 type_id, int chunk, int *n)
{
	const ChangePlace *place = &feed->cursor.place;
	MemoryContext context = CurrentMemoryContext;
	MemoryContext saved;
	Session		owner;
	ChangeRow  *rows;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	*n = (int) TrackedReadsAfter(place->phase == PHASE_KEYS ? TRACKED_KEYS : TRACKED_DELETES, type_id,
								 place->version, place->document_id, place->etag, chunk);
	saved = MemoryContextSwitchTo(context);
	rows = TakeRows(*n);
	TakeKeys(rows, *n);
	MemoryContextSwitchTo(saved);
	SessionEnd(&owner);
	return rows;
}

/* Read one chunk of deletes or keys of a type.  Returns false if it was the last one. */
static bool
TrackedChunk(Feed *feed, const ChangedType *type)
{
	bool		deletes = feed->cursor.place.phase == PHASE_DELETES;
	bool		may_read = ChangeQueryMayRead(type->project, type->resource);
	int			chunk = Min(Max(feed->left, FEWEST_ROWS), ROWS_AT_ONCE);
	int			nread;
	ChangeRow  *rows;

	if (!may_read && (!deletes || !ChangeQueryMaySeeIds()))
		return false;
	rows = ReadTracked(feed, type->id, chunk, &nread);
	for (int i = 0; i < nread && feed->left > 0; i++)
	{
		if (!may_read)
			rows[i].old_key = NULL;
		if (ChangeCursorHas(&feed->cursor, rows[i].version))
			PutRow(feed, deletes ? "delete" : "key", type, &rows[i]);
		else
			MovePast(feed, &rows[i]);
	}
	return nread == chunk;
}

/* --- a pass --------------------------------------------------------------- */

/*
 * Returns the types that have changes of the pass, in the order of a phase, and the one
 * of the place.  They are read as the owner, who sees all.
 */
static ChangedType *
TypesOf(const Feed *feed, int *n)
{
	const ChangePlace *place = &feed->cursor.place;
	MemoryContext context = CurrentMemoryContext;
	MemoryContext saved;
	Session		owner;
	ChangedType *types;
	uint64		rows;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	rows = ResourceTypesChanged(place->phase == PHASE_DOCUMENTS, ChangeCursorLowest(&feed->cursor),
								place->started ? place->type_id : 0);
	saved = MemoryContextSwitchTo(context);
	types = palloc(sizeof(ChangedType) * Max(rows, 1));
	for (uint64 i = 0; i < rows; i++)
	{
		ChangedType *type = &types[place->phase == PHASE_DELETES ? rows - 1 - i : i];

		type->id = ResultInt32(i, 1);
		type->project = ResultName(i, 2);
		type->resource = ResultName(i, 3);
	}
	MemoryContextSwitchTo(saved);
	SessionEnd(&owner);
	*n = (int) rows;
	return types;
}

/* Deliver the rows of a type after the place. */
static void
ReadType(Feed *feed, const ChangedType *type)
{
	bool		more = true;

	while (more && feed->left > 0)
	{
		CHECK_FOR_INTERRUPTS();
		SessionBeginPart();
		more = feed->cursor.place.phase == PHASE_DOCUMENTS ? DocumentsChunk(feed, type) : TrackedChunk(feed, type);
		SessionEndPart();
	}
}

/* Begin with a type, before its first row. */
static void
BeginType(Feed *feed, const ChangedType *type)
{
	ChangePlace *place = &feed->cursor.place;

	place->type_id = type->id;
	place->version = ChangeCursorLowest(&feed->cursor);
	place->document_id = PG_INT64_MAX;
	place->etag = PG_INT64_MAX;
	place->started = true;
}

/* Deliver the rows of a phase, from the place on. */
static void
ReadPhase(Feed *feed)
{
	ChangePlace *place = &feed->cursor.place;
	bool		resumed = place->started;
	int			first = 0;
	int			n;
	ChangedType *types = TypesOf(feed, &n);

	for (int i = 0; resumed && i < n; i++)
		if (types[i].id == place->type_id)
			first = i;
	for (int i = first; i < n && feed->left > 0; i++)
	{
		if (!resumed)
			BeginType(feed, &types[i]);
		resumed = false;
		ReadType(feed, &types[i]);
	}
}

/* Take the snapshot of the caller, for a new pass. */
static void
TakeSnapshot(Running *running)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext saved;
	Session		owner;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	saved = MemoryContextSwitchTo(context);
	ChangeCursorTake(running);
	MemoryContextSwitchTo(saved);
	SessionEnd(&owner);
}

/*
 * Go on with a pass, or begin one.  Returns false if there is nothing new.  A pass
 * begins anew if models have changed, because it would miss what has moved; who begins
 * to follow needs no deletes and no keys.
 */
static bool
BeginPass(Feed *feed)
{
	ChangeCursor *cursor = &feed->cursor;

	if (cursor->in_pass && cursor->generation == StoreRowRaised())
		return true;
	TakeSnapshot(&cursor->target);
	cursor->generation = StoreRowRaised();
	cursor->in_pass = true;
	memset(&cursor->place, 0, sizeof(ChangePlace));
	cursor->place.phase = cursor->start ? PHASE_DOCUMENTS : PHASE_KEYS;
	return cursor->start || !ChangeCursorCovers(&cursor->consumed, &cursor->target);
}

/* Deliver what is left of a pass, as far as it is asked for. */
static void
ReadPass(Feed *feed)
{
	ChangeCursor *cursor = &feed->cursor;
	ChangePhase last = cursor->start ? PHASE_DOCUMENTS : PHASE_DELETES;

	while (cursor->place.phase <= last)
	{
		ReadPhase(feed);
		if (feed->left <= 0)
			return;
		cursor->place.phase++;
		cursor->place.started = false;
	}
	if (FAULT_SKIP("pass_snapshot"))
		TakeSnapshot(&cursor->target);
	cursor->consumed = cursor->target;
	PutEnd(feed);
}

/* Return changes after a cursor, and the cursors after them. */
Datum
dms_read_changes(PG_FUNCTION_ARGS)
{
	Session		session;
	Feed		feed = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	char	   *given = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (PG_ARGISNULL(1) || PG_GETARG_INT32(1) < 1)
		ReportError(PROBLEM_ARGUMENT, NULL, "max_changes must be a number from 1 on");
	if (PG_ARGISNULL(2))
		ReportError(PROBLEM_ARGUMENT, NULL, "with_documents must not be null");
	feed.left = PG_GETARG_INT32(1);
	feed.with_documents = PG_GETARG_BOOL(2);
	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	ChangesRequire();
	ChangeCursorRead(given, &feed.cursor);
	ChangeCursorCheck(&feed.cursor);
	if (BeginPass(&feed))
	{
		feed.prefix = ChangeCursorPrefix(&feed.cursor);
		ReadPass(&feed);
	}
	else
		PutEnd(&feed);
	SessionEnd(&session);
	PG_RETURN_NULL();
}
