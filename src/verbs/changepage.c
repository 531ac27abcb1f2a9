/*
 * changepage.c
 *		Pages of documents in the order of their changes.
 *
 * The journal is walked along its index, and the documents are read by their ids.  Those
 * that have another etag than the row of the journal are left out then: their last change
 * is elsewhere.  To join dms.Document first would look up each document twice.
 */
#include "postgres.h"

#include "base/ids.h"
#include "engine/result.h"
#include "engine/session.h"
#include "miscadmin.h"
#include "verbs/changepage.h"
#include "verbs/readids.h"

/* Rows of the journal that are read together. */
#define ROWS_AT_ONCE 1000

/* A page that is being read. */
typedef struct ChangedPage
{
	Resource   *resource;
	NotedChange place;			/* the last row of the journal that was read */
	int64		max;
	int64		chunk;			/* rows to read at a time */
	int64		offset;			/* documents that are still to be skipped */
	int64		left;			/* documents that are still to be found */
	const NotedChange *next;	/* of the rows whose documents are read */
	const NotedChange *end;		/* of these rows */
	ChangeSink	sink;
	void	   *state;
} ChangedPage;

/*
 * Callback: hand a document over if its change is the one that the journal has; both
 * lists are in one order.
 */
static void
PutCurrent(void *state, const DocumentHeader *header, text *body)
{
	ChangedPage *page = state;

	while (page->next < page->end && page->next->document_id != header->document_id)
		page->next++;
	if (page->next == page->end)
		ResultRefuse("rows in another order than they must have");
	if (page->next->etag != header->etag || page->left == 0)
		return;
	page->sink(page->state, page->next->version, header, body);
	page->left--;
}

/* Order rows by their documents, with the last change first. */
static int
CompareDocuments(const void *a, const void *b)
{
	const NotedChange *left = a;
	const NotedChange *right = b;
	int			order = IdsCompare(&left->document_id, &right->document_id);

	if (order == 0)
		order = IdsCompare(&right->etag, &left->etag);
	return order != 0 ? order : IdsCompare(&right->version, &left->version);
}

/* Order rows by their changes. */
static int
CompareChanges(const void *a, const void *b)
{
	const NotedChange *left = a;
	const NotedChange *right = b;
	int			order = IdsCompare(&left->version, &right->version);

	return order != 0 ? order : IdsCompare(&left->document_id, &right->document_id);
}

/* Keep the last row of each document; returns how many are left, in the order of changes. */
static int
KeepLast(NotedChange *changes, int n)
{
	bool		ascending = true;
	int			kept = 0;

	for (int i = 1; i < n && ascending; i++)
		ascending = changes[i - 1].document_id < changes[i].document_id;
	if (ascending)
		return n;
	qsort(changes, n, sizeof(NotedChange), CompareDocuments);
	for (int i = 0; i < n; i++)
		if (kept == 0 || changes[i].document_id != changes[kept - 1].document_id)
			changes[kept++] = changes[i];
	qsort(changes, kept, sizeof(NotedChange), CompareChanges);
	return kept;
}

/* Returns the documents of rows. */
static int64 *
DocumentsOf(const NotedChange *changes, int n)
{
	int64	   *ids = palloc(sizeof(int64) * Max(n, 1));

	for (int i = 0; i < n; i++)
		ids[i] = changes[i].document_id;
	return ids;
}

/*
 * Keep the rows that are the last changes of their documents; returns how many are left.
 * Without its key, dms.Document can have a row several times: it counts once.
 */
static int
KeepCurrent(NotedChange *changes, int n)
{
	int64	   *ids;
	int			at = 0;
	int			current = 0;
	StoredRows	headers;

	qsort(changes, n, sizeof(NotedChange), CompareDocuments);
	ids = DocumentsOf(changes, n);
	DocumentHeadersRead(ids, n, &headers);
	for (int i = 0; i < headers.nrows; i++)
	{
		DocumentHeader header;

		DocumentHeaderFromRow(StoredRowValues(&headers, i), &header);
		while (at < n && changes[at].document_id < header.document_id)
			at++;
		if (at < n && changes[at].document_id == header.document_id && changes[at].etag == header.etag)
			changes[current++] = changes[at++];
	}
	qsort(changes, current, sizeof(NotedChange), CompareChanges);
	return current;
}

/* Skip documents of some rows, and go to the last of them. */
static void
SkipSome(ChangedPage *page, NotedChange *changes, int n)
{
	NotedChange last = changes[n - 1];
	int			current = KeepCurrent(changes, KeepLast(changes, n));

	if (current >= page->offset)
		last = changes[page->offset - 1];
	page->offset -= Min(current, page->offset);
	page->place = last;
}

/* Read the documents of some rows. */
static void
PutSome(ChangedPage *page, NotedChange *changes, int n)
{
	page->place = changes[n - 1];
	n = KeepLast(changes, n);
	page->next = changes;
	page->end = changes + n;
	ReadIdsInOrder(page->resource, DocumentsOf(changes, n), n, PutCurrent, page);
}

/* Process the next rows of the journal; returns false if there are no more. */
static bool
ReadSome(ChangedPage *page)
{
	bool		skips = page->offset > 0;
	bool		more;
	int			n;
	NotedChange *changes = ChangesRead(page->resource->type_id, &page->place, page->max, (int) page->chunk, &n);

	if (n > 0 && skips)
		SkipSome(page, changes, n);
	else if (n > 0)
		PutSome(page, changes, n);
	if (skips && page->offset == 0)
	{
		page->chunk = Min(page->left, ROWS_AT_ONCE);
		return true;
	}

	/* If much is superseded, look further. */
	more = n == page->chunk;
	page->chunk = Min(2 * page->chunk, ROWS_AT_ONCE);
	return more;
}

/*
 * Read the documents of a resource whose last changes come after a place and have
 * numbers up to a maximum, in the active snapshot and in the order of these changes:
 * without the first ones up to the offset, and no more than the limit.
 */
void
ChangePageRead(Resource *resource, const NotedChange *after, int64 max, int64 limit, int64 offset,
			   ChangeSink sink, void *state)
{
	ChangedPage page = {.resource = resource,.place = *after,.max = max,.offset = offset,.left = limit,
	.chunk = Min(offset > 0 ? offset : limit, ROWS_AT_ONCE),.sink = sink,.state = state};
	bool		more = limit > 0;

	while (more && page.left > 0)
	{
		CHECK_FOR_INTERRUPTS();
		SessionBeginPart();
		more = ReadSome(&page);
		SessionEndPart();
	}
}
