/*
 * migratedata.c
 *		Computing anew what depends on the schema: edges, ReferentialIds, members
 *		of abstract resources, etags.
 *
 * The gate is closed, so that rows need no locks.  What is computed is what a repair
 * would compute from the same rows.
 */
#include "postgres.h"

#include "admin/migratedata.h"
#include "admin/rebuildedges.h"
#include "admin/repairsql.h"
#include "base/ids.h"
#include "cascade/cascade.h"
#include "catalog/pg_type.h"
#include "document/descriptoruris.h"
#include "document/document.h"
#include "document/trackedchanges.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "miscadmin.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Add the documents of the last result, which has n rows. */
static void
AddResult(MigratedDocuments *documents, uint64 n)
{
	Size		size = sizeof(int64) * (documents->n + n + 1);

	CHECK_FOR_INTERRUPTS();
	if (documents->n + n > PG_INT32_MAX)
		elog(ERROR, "there are too many documents for one change of the schema");
	documents->ids = documents->ids == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, size) :
		repalloc_huge(documents->ids, size);
	for (uint64 i = 0; i < n; i++)
		documents->ids[documents->n++] = ResultInt64(i, 1);
	ResultFree();
}

/* Add the documents that a query returns. */
static void
AddDocuments(MigratedDocuments *documents, const char *sql)
{
	AddResult(documents, StatementExecuteWithArgs(sql, 0, NULL, NULL, false));
}

/* Put documents into order, each once. */
static void
SortDocuments(MigratedDocuments *documents)
{
	if (documents->n > 0)
		documents->n = IdsSort(documents->ids, documents->n);
}

/* Find the documents that read otherwise under the new schema, before anything is changed. */
MigratedDocuments
MigrateDataBumped(const MigrationPlan *plan)
{
	MigratedDocuments documents = {0};
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, plan->work)
	{
		foreach(inner, ((MigrationWork *) lfirst(cell))->bumped)
			AddDocuments(&documents, lfirst(inner));
		SortDocuments(&documents);
	}
	return documents;
}

/* Make the members of all abstract resources what their subclasses say. */
static void
ComputeMembers(const MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->views)
	{
		const DdlView *view = lfirst(cell);
		const ResourceModel *model = view->entry->model;
		const char *const names[] = {quote_qualified_identifier(model->member_schema, model->member_table), DdlViewName(view)};
		MigratedDocuments documents = {0};
		Oid			types[] = {INT8ARRAYOID};
		Datum		values[1];

		AddDocuments(&documents, psprintf("SELECT documentid FROM %s UNION SELECT documentid FROM %s", names[0], names[1]));
		values[0] = DatumInt8Array(documents.n, documents.ids);
		StatementExecuteWithArgs(RepairSql("repair_members_statement", 2, names), 1, types, values, false);
	}
}

/* Compute the ReferentialIds of all resources that need it, at once, because documents may swap theirs. */
static void
ComputeIdentities(const MigrationPlan *plan)
{
	MigratedDocuments documents = {0};
	ListCell   *cell;

	foreach(cell, plan->work)
	{
		const MigrationWork *work = lfirst(cell);

		if (work->identities)
			AddDocuments(&documents, RebuildEdgesDocuments(work->resource->after->model));
	}
	SortDocuments(&documents);
	if (documents.n == 0)
		return;
	ereport(NOTICE,
			(errmsg_plural("computing the ReferentialIds of %d document",
						   "computing the ReferentialIds of %d documents", documents.n, documents.n)));
	(void) CascadeRecompute(documents.ids, documents.n);
}

/* Compute all that follows from the rows by the new schema, whose models are recorded. */
void
MigrateDataCompute(const MigrationPlan *plan)
{
	ListCell   *cell;

	DescriptorUrisForget();
	if (plan->members)
		ComputeMembers(plan);
	foreach(cell, plan->work)
	{
		const MigrationWork *work = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (work->edges)
			(void) RebuildEdgesOf(work->resource->after->model);
	}
	ComputeIdentities(plan);
}

/* Keep the keys of documents that may get others, before anything is changed. */
void
MigrateDataKeepKeys(const MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->work)
	{
		const MigrationWork *work = lfirst(cell);
		const ResourceModel *before = work->resource->before->model;
		int32		type_id;

		if (!work->reads_otherwise)
			continue;
		SnapshotBeginLatest();
		type_id = ResourceTypeId(before->project, before->resource);
		SnapshotEnd();
		TrackedChangesKeepKeys(before, type_id);
	}
}

/* Record the keys that have changed, and add their documents to those that get new etags. */
void
MigrateDataCompareKeys(const MigrationPlan *plan, MigratedDocuments *bumped)
{
	bool		any = false;
	ListCell   *cell;
	uint64		n;

	foreach(cell, plan->work)
	{
		const MigrationWork *work = lfirst(cell);

		if (!work->reads_otherwise)
			continue;
		any = true;
		TrackedChangesRenewKeys(work->resource->after->model);
	}
	n = any ? TrackedChangesCompareKeys() : 0;
	if (n == 0)
		return;
	AddResult(bumped, n);
	SortDocuments(bumped);
}

/* Raise the etags of documents, except those that were deleted. */
void
MigrateDataBump(MigratedDocuments documents)
{
	MigratedDocuments left = {0};
	Oid			types[] = {INT8ARRAYOID};
	Datum		values[1];
	uint64		n;

	if (documents.n == 0)
		return;
	values[0] = DatumInt8Array(documents.n, documents.ids);
	n = StatementExecuteWithArgs(DOCUMENT_IDS_SQL "d.DocumentId = ANY ($1)", lengthof(types), types, values, false);
	left.ids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * (n + 1));
	for (uint64 i = 0; i < n; i++)
		left.ids[left.n++] = ResultInt64(i, 1);
	ResultFree();
	SortDocuments(&left);
	CascadeBump(left.ids, left.n);
	ereport(NOTICE,
			(errmsg_plural("%d document reads otherwise, and has a new etag",
						   "%d documents read otherwise, and have new etags", left.n, left.n)));
}
