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
#include "catalog/pg_type.h"
#include "document/projection.h"
#include "document/rowtables.h"
#include "document/storedpage.h"
#include "engine/result.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/builtins.h"

static const char *const descriptor_columns[] = {"documentid", "uri"};
static const Oid descriptor_types[] = {INT8OID, TEXTOID};
static KeyedTable descriptors =
{
	.schema = "dms",.name = "descriptor", KEYED_COLUMNS(descriptor_columns, descriptor_types),.nkeys = 1
};

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
 * Read the rows of all tables.  If a parent table has none, its children have
 * none.
 */
static void
ReadTables(StoredPage *page, const int64 *ids, int n)
{
	Resource   *resource = page->resource;
	const ResourceModel *model = resource->model;

	page->tables = palloc0(sizeof(StoredRows) * model->ntables);
	DocumentHeadersRead(ids, n, &page->documents);
	for (int i = 0; i < model->ntables; i++)
	{
		int			parent = model->tables[i].parent;

		FAULT_PAUSE("read_between_statements");
		if (parent >= 0 && page->tables[parent].nrows == 0)
			continue;
		KeyScanReadIds(RowTable(resource, i), ids, n, &page->tables[i]);
		if (i == 0)
			KeepCommon(&page->documents, &page->tables[0]);
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

	(void) ProjectionReadRows(page->resource, projection, ids, targets->n, &targets->rows);
	AssignRows(targets);
}

/* Read the URIs of descriptors. */
static void
ReadDescriptors(StoredTargets *targets)
{
	int64	   *ids = TargetIds(targets);

	FAULT_PAUSE("read_between_statements");
	KeyScanReadIds(&descriptors, ids, targets->n, &targets->rows);
	AssignRows(targets);
}

/*
 * Read the rows of documents and the identities of those that they refer to.
 * Ids are ascending; documents that do not exist, or are not visible to the
 * caller, are left out.
 */
StoredPage *
StoredPageRead(Resource *resource, const int64 *ids, int n)
{
	StoredPage *page = palloc0(sizeof(StoredPage));

	page->resource = resource;
	ReadTables(page, ids, n);
	CollectTargets(page);
	if (page->descriptors.n > 0)
		ReadDescriptors(&page->descriptors);
	for (int i = 0; i < resource->model->nprojections; i++)
		if (page->targets[i].n > 0)
			ReadTargets(page, i);
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
