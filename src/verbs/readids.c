/*
 * readids.c
 *		Reading the documents of given ids: from the cache where it may be read, and else
 *		from the tables.
 *
 * A thousand are read at a time.  A page of an API has no more; a larger result is an
 * export, and must not need memory for all at once.
 */
#include "postgres.h"

#include "base/ids.h"
#include "document/documentcache.h"
#include "document/reconstitute.h"
#include "engine/session.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "verbs/readids.h"

/* Hand the documents of a page to the sink. */
void
ReadIdsPutPage(StoredPage *page, ReadSink sink, void *state)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < page->tables[0].nrows; i++)
	{
		DocumentHeader header;

		CHECK_FOR_INTERRUPTS();
		StoredPageHeader(page, i, &header);
		sink(state, &header, ReconstituteValue(page, i, &out));
	}
}

/* Hand documents to the sink that are in the cache, or in a page of the others. */
static void
PutCached(const CachedPage *cached, StoredPage *others, ReadSink sink, void *state)
{
	StringInfoData out;
	int			place = 0;

	initStringInfo(&out);
	for (int i = 0; i < cached->headers.nrows; i++)
	{
		DocumentHeader header;
		DocumentHeader other;

		CHECK_FOR_INTERRUPTS();
		DocumentHeaderFromRow(StoredRowValues(&cached->headers, i), &header);
		if (cached->texts[i] != NULL)
			sink(state, &header, cached->texts[i]);
		else if (place < others->tables[0].nrows)
		{
			StoredPageHeader(others, place, &other);
			if (other.document_id == header.document_id)
				sink(state, &header, ReconstituteValue(others, place++, &out));
		}
	}
}

/* Hand the documents of these ids, which are ascending, to the sink. */
void
ReadIdsPut(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state)
{
	CachedPage	cached;

	if (DocumentCacheReadPage(resource, ids, n, &cached))
		PutCached(&cached, cached.nmissing > 0 ? StoredPageRead(resource, cached.missing, cached.nmissing) : NULL,
				  sink, state);
	else
		ReadIdsPutPage(StoredPageRead(resource, ids, n), sink, state);
}

/*
 * Read the documents of these ids, which are ascending, in the active
 * snapshot; the sink gets each while it is in memory.
 */
void
ReadIdsAscending(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state)
{
	while (n > 0)
	{
		int			some = Min(n, READ_IDS_AT_ONCE);

		SessionBeginPart();
		ReadIdsPut(resource, ids, some, sink, state);
		SessionEndPart();
		ids += some;
		n -= some;
	}
}

/* A document of a page that is to be handed over in another order than that of ids. */
typedef struct PlacedDocument
{
	int64		document_id;
	int			place;
	DocumentHeader header;
	text	   *body;			/* NULL: it was not found */
} PlacedDocument;

/* Order documents by their ids. */
static int
ComparePlaced(const void *a, const void *b)
{
	int64		left = ((const PlacedDocument *) a)->document_id;
	int64		right = ((const PlacedDocument *) b)->document_id;

	return left < right ? -1 : left > right;
}

/* Order documents by their places. */
static int
ComparePlaces(const void *a, const void *b)
{
	return ((const PlacedDocument *) a)->place - ((const PlacedDocument *) b)->place;
}

/* Callback: keep a document; both lists are in the order of ids. */
static void
KeepPlaced(void *state, const DocumentHeader *header, text *body)
{
	PlacedDocument **next = state;

	while ((*next)->document_id < header->document_id)
		(*next)++;
	(*next)->header = *header;
	(*next)->body = palloc(VARSIZE(body));
	memcpy((*next)->body, body, VARSIZE(body));
}

/* Returns true if each id is greater than the one before. */
static bool
AreAscending(const int64 *ids, int n)
{
	for (int i = 1; i < n; i++)
		if (ids[i - 1] >= ids[i])
			return false;
	return true;
}

/* Read some documents, and hand them to the sink in the order of their ids in the list. */
static void
ReadSomeInOrder(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state)
{
	PlacedDocument *documents;
	PlacedDocument *next;
	int64	   *sorted;

	if (AreAscending(ids, n))
	{
		ReadIdsPut(resource, ids, n, sink, state);
		return;
	}
	documents = next = palloc0(sizeof(PlacedDocument) * n);
	sorted = palloc(sizeof(int64) * n);
	for (int i = 0; i < n; i++)
	{
		documents[i].document_id = ids[i];
		documents[i].place = i;
	}
	qsort(documents, n, sizeof(PlacedDocument), ComparePlaced);
	for (int i = 0; i < n; i++)
		sorted[i] = documents[i].document_id;
	ReadIdsPut(resource, sorted, IdsSort(sorted, n), KeepPlaced, &next);
	qsort(documents, n, sizeof(PlacedDocument), ComparePlaces);
	for (int i = 0; i < n; i++)
		if (documents[i].body != NULL)
			sink(state, &documents[i].header, documents[i].body);
}

/*
 * Read the documents of these ids, in any order, in the active snapshot.  The sink gets
 * them in the order of the ids; one that is there several times, it gets once.
 */
void
ReadIdsInOrder(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state)
{
	for (int i = 0; i < n; i += READ_IDS_AT_ONCE)
	{
		SessionBeginPart();
		ReadSomeInOrder(resource, ids + i, Min(n - i, READ_IDS_AT_ONCE), sink, state);
		SessionEndPart();
	}
}
