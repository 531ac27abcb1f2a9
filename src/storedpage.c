/*
 * storedpage.c
 *		Reading the rows of a page of documents, in one statement a table, and
 *		of what they refer to, in one statement a type.
 *
 * How many statements a page takes depends on its resource, never on how many
 * documents it has.  All of them see one snapshot.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "faults.h"
#include "miscadmin.h"
#include "storedpage.h"
#include "projection.h"
#include "rowstatements.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

static const Oid ids_types[] = {INT8ARRAYOID};

static Statement read_descriptors = {
	.sql = "SELECT DocumentId, Uri FROM dms.Descriptor"
	" WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = ids_types,
};

/*
 * Run a statement of a read.  All that run under one active snapshot see the
 * same state; with snapshots of their own, a new body could come with an old
 * etag.
 */
uint64
ReadRun(Statement *statement, Datum *values, long limit)
{
	return StatementRun(statement, values, NULL, !FAULT_SKIP("read_snapshot"), limit);
}

/* Take the rows of the last result apart; they live as long as it does. */
static void
TakeRows(StoredRows *rows)
{
	rows->nrows = (int) SPI_processed;
	rows->ncolumns = SPI_tuptable->tupdesc->natts;
	rows->values = MemoryContextAllocHuge(CurrentMemoryContext,
										  sizeof(Datum) * Max(1, (Size) rows->nrows * rows->ncolumns));
	rows->nulls = MemoryContextAllocHuge(CurrentMemoryContext,
										 Max(1, (Size) rows->nrows * rows->ncolumns));
	for (int i = 0; i < rows->nrows; i++)
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  StoredRowValues(rows, i), StoredRowNulls(rows, i));
}

/* The rows of all tables.  Where a parent has none, its children have none. */
static void
ReadTables(StoredPage *page, const int64 *ids, int n)
{
	const ResourceModel *model = page->resource->model;
	Datum		values[1] = {Int8ArrayDatum(n, ids)};

	page->tables = palloc0(sizeof(StoredRows) * model->ntables);
	for (int i = 0; i < model->ntables; i++)
	{
		int			parent = model->tables[i].parent;

		if (parent >= 0 && page->tables[parent].nrows == 0)
			continue;
		ReadRun(RowStatementReadPage(page->resource, i), values, 0);
		TakeRows(&page->tables[i]);
		FAULT_PAUSE("read_between_statements");
	}
}

static void
AddTarget(StoredTargets *targets, int64 document_id)
{
	if (targets->n == targets->capacity)
	{
		targets->capacity = Max(32, targets->capacity * 2);
		targets->targets = targets->targets ?
			repalloc_huge(targets->targets, sizeof(StoredTarget) * targets->capacity) :
			palloc(sizeof(StoredTarget) * targets->capacity);
	}
	targets->targets[targets->n].document_id = document_id;
	targets->targets[targets->n++].row = -1;
}

/* Where the targets of a reference are kept. */
static StoredTargets *
TargetsOf(StoredPage *page, const ReferenceModel *reference)
{
	return reference->descriptor ? &page->descriptors : &page->targets[reference->projection];
}

/* Note all that the rows refer to. */
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

static int
CompareTargets(const void *a, const void *b)
{
	int64		left = ((const StoredTarget *) a)->document_id;
	int64		right = ((const StoredTarget *) b)->document_id;

	return left < right ? -1 : left > right;
}

/* Sort, and drop what stands twice. */
static void
SortTargets(StoredTargets *targets)
{
	int			n = 0;

	qsort(targets->targets, targets->n, sizeof(StoredTarget), CompareTargets);
	for (int i = 0; i < targets->n; i++)
		if (n == 0 || targets->targets[i].document_id != targets->targets[n - 1].document_id)
			targets->targets[n++] = targets->targets[i];
	targets->n = n;
}

static StoredTarget *
FindTarget(const StoredTargets *targets, int64 document_id)
{
	StoredTarget key = {.document_id = document_id};

	return bsearch(&key, targets->targets, targets->n, sizeof(StoredTarget), CompareTargets);
}

/* Read what is known of the targets: their id, then the values. */
static void
ReadTargets(StoredTargets *targets, Statement *statement)
{
	int64	   *ids;
	Datum		values[1];

	SortTargets(targets);
	ids = palloc(sizeof(int64) * targets->n);
	for (int i = 0; i < targets->n; i++)
		ids[i] = targets->targets[i].document_id;
	values[0] = Int8ArrayDatum(targets->n, ids);
	ReadRun(statement, values, 0);
	TakeRows(&targets->rows);
	for (int i = 0; i < targets->rows.nrows; i++)
		FindTarget(targets, DatumGetInt64(StoredRowValues(&targets->rows, i)[0]))->row = i;
}

/* The statement that reads the identities of documents of a type. */
static Statement *
TargetStatement(Resource *resource, int projection)
{
	Statement  *statement = &resource->targets[projection];
	StringInfoData sql;

	if (statement->sql != NULL)
		return statement;
	initStringInfo(&sql);
	ProjectionAppendSelect(&sql, &resource->model->projections[projection]);
	appendStringInfoString(&sql, " WHERE j0.documentid OPERATOR(pg_catalog.=) ANY ($1)");
	statement->nargs = 1;
	statement->argtypes = ids_types;
	statement->sql = MemoryContextStrdup(resource->context, sql.data);
	return statement;
}

/*
 * Read the rows of these documents and what they refer to.  Ids are ascending;
 * of those that are not there, or not visible to the caller, nothing comes.
 */
StoredPage *
StoredPageRead(Resource *resource, const int64 *ids, int n)
{
	StoredPage *page = palloc0(sizeof(StoredPage));

	page->resource = resource;
	ReadTables(page, ids, n);
	CollectTargets(page);
	if (page->descriptors.n > 0)
		ReadTargets(&page->descriptors, &read_descriptors);
	for (int i = 0; i < resource->model->nprojections; i++)
		if (page->targets[i].n > 0)
			ReadTargets(&page->targets[i], TargetStatement(resource, i));
	return page;
}

/* What dms.Document says of a document of the page; see RowStatementReadPage. */
void
StoredPageHeader(const StoredPage *page, int document, DocumentHeader *header)
{
	const Datum *values = StoredRowValues(&page->tables[0], document);
	const Datum *last = values + page->tables[0].ncolumns;

	header->document_id = DatumGetInt64(values[0]);
	header->uuid = *DatumGetUUIDP(last[-3]);
	header->etag = DatumGetInt64(last[-2]);
	header->last_modified = DatumGetTimestampTz(last[-1]);
}

/* The identity of a target: its id, then the values; NULL if it is not there. */
const Datum *
StoredPageTarget(const StoredTargets *targets, int64 document_id, const bool **nulls)
{
	StoredTarget *target = FindTarget(targets, document_id);

	if (target == NULL || target->row < 0)
		return NULL;
	*nulls = StoredRowNulls(&targets->rows, target->row);
	return StoredRowValues(&targets->rows, target->row);
}
