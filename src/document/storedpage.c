/*
 * storedpage.c
 *		Reading the rows of a page of documents with one scan per table, and
 *		the identities of the documents that they refer to.
 *
 * The number of scans depends on the resource of a page, never on the number
 * of its documents.  All scans use one snapshot.  A table that cannot be read
 * by scanning its index is read by a statement.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/grow.h"
#include "document/descriptoruris.h"
#include "document/projection.h"
#include "document/rowtables.h"
#include "document/storedpage.h"
#include "engine/result.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/builtins.h"

/* Keep the rows of two tables that have the same id in the first column. */
static void
KeepCommon(StoredRows *a, StoredRows *b)
{
	int			common = 0;

	for (int i = 0, j = 0; i < a->nrows && j < b->nrows;)
	{
		int64		left = DatumGetInt64(StoredRowValues(a, i)[0]);
		int64		right = DatumGetInt64(StoredRowValues(b, j)[0]);

		if (left == right)
		{
			StoredRowsMove(a, i++, common);
			StoredRowsMove(b, j++, common);
			common++;
		}
		else if (left < right)
			i++;
		else
			j++;
	}
	a->nrows = b->nrows = common;
}

/*
 * Read the rows of the tables from this one on.  If a parent table has none, its
 * children have none.
 */
static void
ReadTables(StoredPage *page, int first, const int64 *ids, int n)
{
	const ResourceModel *model = page->resource->model;

	for (int i = first; i < model->ntables; i++)
	{
		int			parent = model->tables[i].parent;

		FAULT_PAUSE("read_between_statements");
		if (parent < 0 || page->tables[parent].nrows > 0)
			KeyScanReadIds(RowTable(page->resource, i), ids, n, &page->tables[i]);
	}
}

/* Add a document that is referred to. */
static void
AddTarget(StoredTargets *targets, int64 document_id)
{
	StoredTarget target = {.document_id = document_id,.row = -1};

	APPEND(targets->targets, targets->n, target);
}

/* Returns the targets that those of a reference belong to. */
static StoredTargets *
TargetsOf(StoredPage *page, const ReferenceModel *reference)
{
	return reference->descriptor ? &page->descriptors : &page->targets[reference->projection];
}

/* Collect all documents that the rows refer to. */
static void
CollectTargets(StoredPage *page)
{
	const ResourceModel *model = page->resource->model;

	page->targets = palloc0(sizeof(StoredTargets) * model->nprojections);
	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *reference = &model->references[i];
		StoredRows *rows = &page->tables[reference->table];
		StoredTargets *targets = TargetsOf(page, reference);

		CHECK_FOR_INTERRUPTS();
		targets->can_change |= reference->can_change;
		for (int j = 0; j < rows->nrows; j++)
			if (!StoredRowNulls(rows, j)[reference->column])
				AddTarget(targets, DatumGetInt64(StoredRowValues(rows, j)[reference->column]));
	}
}

/* Order targets by their ids. */
static int
CompareTargets(const void *a, const void *b)
{
	int64		left = ((const StoredTarget *) a)->document_id;
	int64		right = ((const StoredTarget *) b)->document_id;

	return left < right ? -1 : left > right;
}

/* Sort and drop duplicates. */
static void
SortTargets(StoredTargets *targets)
{
	qsort(targets->targets, targets->n, sizeof(StoredTarget), CompareTargets);
	targets->n = (int) qunique(targets->targets, targets->n, sizeof(StoredTarget), CompareTargets);
}

/* Returns the target with an id, or NULL. */
static StoredTarget *
FindTarget(const StoredTargets *targets, int64 document_id)
{
	StoredTarget key = {.document_id = document_id};

	return bsearch(&key, targets->targets, targets->n, sizeof(StoredTarget), CompareTargets);
}

/* Sort the targets, and return their ids, ascending. */
static int64 *
TargetIds(StoredTargets *targets)
{
	int64	   *ids;

	SortTargets(targets);
	ids = palloc(sizeof(int64) * targets->n);
	for (int i = 0; i < targets->n; i++)
		ids[i] = targets->targets[i].document_id;
	return ids;
}

/* Assign the rows that were read to their targets. */
static void
AssignRows(StoredTargets *targets)
{
	for (int i = 0; i < targets->rows.nrows; i++)
	{
		StoredTarget *target = FindTarget(targets, DatumGetInt64(StoredRowValues(&targets->rows, i)[0]));

		if (target == NULL)
			ResultRefuse("a row that it was not asked for");
		target->row = i;
	}
}

/* Read the identities of the targets of a projection. */
static void
ReadTargets(StoredPage *page, int projection)
{
	StoredTargets *targets = &page->targets[projection];
	int64	   *ids = TargetIds(targets);

	ProjectionReadRows(page->resource, projection, ids, targets->n, targets->can_change,
					   &targets->rows);
	AssignRows(targets);
}

/* Read the URIs of descriptors. */
static void
ReadDescriptors(StoredTargets *targets)
{
	int64	   *ids = TargetIds(targets);

	FAULT_PAUSE("read_between_statements");
	DescriptorUrisRead(ids, targets->n, targets->can_change, &targets->rows);
	AssignRows(targets);
}

/* Returns a new page, without rows. */
static StoredPage *
NewPage(Resource *resource)
{
	StoredPage *page = palloc0(sizeof(StoredPage));

	page->resource = resource;
	page->tables = palloc0(sizeof(StoredRows) * resource->model->ntables);
	return page;
}

/*
 * Read what belongs to the rows of dms.Document and of the root, which have been
 * read.  Documents that are not in both are left out.
 */
static void
ReadRest(StoredPage *page, const int64 *ids, int n)
{
	KeepCommon(&page->documents, &page->tables[0]);
	ReadTables(page, 1, ids, n);
	CollectTargets(page);
	if (page->descriptors.n > 0)
		ReadDescriptors(&page->descriptors);
	for (int i = 0; i < page->resource->model->nprojections; i++)
		if (page->targets[i].n > 0)
			ReadTargets(page, i);
}

/* Read the rows of the root, and what belongs to them. */
static void
ReadRoot(StoredPage *page, const int64 *ids, int n)
{
	FAULT_PAUSE("read_between_statements");
	KeyScanReadIds(RowTable(page->resource, 0), ids, n, &page->tables[0]);
	ReadRest(page, ids, n);
}

/*
 * Read the rows of documents and the identities of those that they refer to.
 * Ids are ascending; documents that do not exist, or are not visible to the
 * caller, are left out.
 */
StoredPage *
StoredPageRead(Resource *resource, const int64 *ids, int n)
{
	StoredPage *page = NewPage(resource);

	DocumentHeadersRead(ids, n, &page->documents);
	ReadRoot(page, ids, n);
	return page;
}

/* The same for one document whose header has been read, and which the page points to. */
StoredPage *
StoredPageReadOne(Resource *resource, const DocumentHeader *header)
{
	StoredPage *page = NewPage(resource);

	DocumentHeaderToRow(header, &page->documents);
	ReadRoot(page, &header->document_id, 1);
	return page;
}

/*
 * Find the ids of the first documents of a resource that are greater than "after", or of all
 * documents if that is NULL, in order.  Returns false if a statement must find them.
 */
bool
StoredPageIdsAfter(Resource *resource, const int64 *after, int limit, int64 **ids, int *n)
{
	StoredRows	root;
	KeyedTable *table = RowTableIds(resource);

	StoredRowsInit(&root, table->ncolumns, limit);
	if (!KeyScanTryAfter(table, after, limit, &root))
		return false;
	*ids = palloc(sizeof(int64) * Max(root.nrows, 1));
	*n = root.nrows;
	for (int i = 0; i < *n; i++)
		(*ids)[i] = DatumGetInt64(StoredRowValues(&root, i)[0]);
	return true;
}

/*
 * The same for the first documents of a resource whose ids are greater than "after",
 * or of all documents if that is NULL.  Sets *last to the greatest id of the root
 * rows, and *n to their number.  Returns NULL if a statement must find the ids.
 */
StoredPage *
StoredPageReadAfter(Resource *resource, const int64 *after, int limit, int64 *last, int *n)
{
	StoredPage *page = NewPage(resource);
	StoredRows *root = &page->tables[0];
	KeyedTable *table = RowTable(resource, 0);
	int64	   *ids;

	StoredRowsInit(root, table->ncolumns, limit);
	if (!KeyScanTryAfter(table, after, limit, root))
		return NULL;
	*n = root->nrows;
	ids = palloc(sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		*last = ids[i] = DatumGetInt64(StoredRowValues(root, i)[0]);
	FAULT_PAUSE("read_between_statements");
	DocumentHeadersRead(ids, *n, &page->documents);
	ReadRest(page, ids, *n);
	return page;
}

/* Get the header of a document of the page. */
void
StoredPageHeader(const StoredPage *page, int document, DocumentHeader *header)
{
	DocumentHeaderFromRow(StoredRowValues(&page->documents, document), header);
}

/*
 * Returns the identity of a target, its id and then the values, or NULL if it
 * was not found.
 */
const Datum *
StoredPageTarget(const StoredTargets *targets, int64 document_id, const bool **nulls)
{
	StoredTarget *target = FindTarget(targets, document_id);

	if (target == NULL || target->row < 0)
		return NULL;
	*nulls = StoredRowNulls(&targets->rows, target->row);
	return StoredRowValues(&targets->rows, target->row);
}
