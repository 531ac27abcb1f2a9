/*
 * migrationwork.c
 *		Finding out what a change of the schema has to compute anew: edges,
 *		ReferentialIds, members of abstract resources, and the etags of documents
 *		that read otherwise.
 *
 * An etag stands for one representation.  So a document whose representation differs
 * under the new schema gets another one.  Queries of these documents are written
 * here; they run before anything is changed.
 *
 * An operator may have run steps by hand that lose values.  Nobody knows any more
 * which documents had them, so all that could have had are taken.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "schema/conversion.h"
#include "schema/migrationdocuments.h"
#include "schema/migrationloss.h"
#include "schema/migrationwork.h"
#include "utils/builtins.h"

/* Add a query of the documents with rows of a table that meet a condition. */
static void
AddBumped(MigrationWork *work, const PlannedTable *table, const char *condition)
{
	work->bumped = lappend(work->bumped,
						   psprintf("SELECT %s FROM %s WHERE %s", table->columns[0].old_name, table->old_name, condition));
}

/* Returns the work for a resource of the new schema; NULL if it is new. */
static MigrationWork *
WorkOf(const MigrationPlan *plan, const char *project, const char *resource)
{
	const ResourceDiff *found = SchemaDiffOf(plan->diff, project, resource);
	ListCell   *cell;

	foreach(cell, plan->work)
	{
		MigrationWork *work = lfirst(cell);

		if (work->resource == found)
			return work;
	}
	return NULL;
}

/* Returns true if the members of a reference are called the same. */
static bool
SameMembers(const ReferenceModel *before, const ReferenceModel *after)
{
	if (before->nmembers != after->nmembers)
		return false;
	for (int i = 0; i < after->nmembers; i++)
		if (strcmp(before->members[i].name, after->members[i].name) != 0)
			return false;
	return true;
}

/* Returns true if the last part of a path, the name of a property, is the same. */
static bool
SamePlace(const char *before, const char *before_scope, const char *after, const char *after_scope)
{
	return strcmp(before + strlen(before_scope), after + strlen(after_scope)) == 0;
}

/* Add all documents of the resource. */
static void
AddAll(const MigrationPlan *plan, MigrationWork *work)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);

		if (table->resource == work->resource && table->wanted->number == 0 && table->found != NULL)
			AddBumped(work, table, "true");
	}
}

/* Returns true if values may have been lost when the type of a column was changed by hand. */
static bool
WasLossy(const PlannedTable *table, int number, const ColumnModel *before, const ColumnModel *after)
{
	const char *type = DdlTableColumnType(before);
	Conversion	conversion;

	if (before->reference >= 0 || strcmp(type, DdlTableColumnType(after)) == 0 ||
		strcmp(type, table->columns[number].was_type) == 0)
		return false;
	conversion = ConversionOf("", &before->value, &after->value);
	return conversion.kind != CONVERSION_HARMLESS && conversion.kind != CONVERSION_WIDER;
}

/* Look at a column that both schemas have. */
static void
WorkOnColumn(const MigrationPlan *plan, MigrationWork *work, const PlannedTable *table, int number, int old)
{
	const TableDiff *diff = table->diff;
	const ColumnModel *before = &diff->before->columns[old];
	const ColumnModel *after = &diff->after->columns[number];
	const PlannedColumn *column = &table->columns[number];
	const ReferenceModel *was = before->reference < 0 ? NULL : &work->resource->before->model->references[before->reference];
	const ReferenceModel *is = after->reference < 0 ? NULL : &work->resource->after->model->references[after->reference];
	bool		moved = before->path != NULL &&
	!SamePlace(before->path, diff->before->scope_path, after->path, diff->after->scope_path);

	if (column->old_name == NULL)
		return;
	if (WasLossy(table, number, before, after))
	{
		AddAll(plan, work);
		work->edges |= table->wanted->number > 0;
		if (diff->after->kind == TABLE_ROOT && after->identity)
			work->identities = work->reads_otherwise = true;
	}
	else if (moved || column->lossy || (was != NULL && !SameMembers(was, is)))
		AddBumped(work, table, psprintf("%s IS NOT NULL", column->old_name));
	if (was != NULL)
		work->edges |= was->edge_source_id != is->edge_source_id || was->identity != is->identity;
	if (diff->after->kind == TABLE_ROOT && after->identity && column->lossy)
		work->identities = work->reads_otherwise = true;
}

/* Look at a column that is new.  An operator may have filled it. */
static void
WorkOnNewColumn(MigrationWork *work, const PlannedTable *table, int number)
{
	const PlannedColumn *column = &table->columns[number];

	if (column->old_name == NULL || !MigrationLossHasRows(table->old_name, psprintf("%s IS NOT NULL", column->old_name)))
		return;
	work->edges |= table->diff->after->columns[number].reference >= 0;
	AddBumped(work, table, psprintf("%s IS NOT NULL", column->old_name));
}

/* Returns true if a column is there and is dropped. */
static bool
IsDropped(const PlannedTable *table, const char *name)
{
	ListCell   *cell;

	foreach(cell, table->dropped)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* Look at the columns of the old schema that are dropped. */
static void
WorkOnLostColumns(MigrationWork *work, const PlannedTable *table)
{
	for (int i = 0; i < table->was->ncolumns; i++)
	{
		const char *name = table->was->columns[i].name;

		if (SchemaDiffKeepsColumn(table->diff, i))
			continue;
		work->edges |= table->diff->before->columns[i].reference >= 0;
		AddBumped(work, table, IsDropped(table, name) ? psprintf("%s IS NOT NULL", quote_identifier(name)) : "true");
	}
}

/* Returns true if a table is another array or extension of the document now. */
static bool
IsMoved(const PlannedTable *table, const MigrationWork *work)
{
	const ResourceModel *before = work->resource->before->model;
	const ResourceModel *after = work->resource->after->model;
	const TableDiff *diff = table->diff;

	if (diff->after->parent < 0)
		return false;
	return !SamePlace(diff->before->scope_path, before->tables[diff->before->parent].scope_path,
					  diff->after->scope_path, after->tables[diff->after->parent].scope_path);
}

/* Returns true if a column of the table became required by hand, and rows may have been deleted for it. */
static bool
LostRows(const PlannedTable *table)
{
	const TableDiff *diff = table->diff;

	for (int i = diff->after->nkeys; i < table->wanted->ncolumns; i++)
		if (diff->after->columns[i].required && table->columns[i].was_required &&
			(diff->columns[i] < 0 || !diff->before->columns[diff->columns[i]].required))
			return true;
	return false;
}

/* Look at a table that both schemas have. */
static void
WorkOnTable(const MigrationPlan *plan, MigrationWork *work, const PlannedTable *table)
{
	for (int i = table->diff->after->nkeys; i < table->wanted->ncolumns; i++)
	{
		int			old = table->diff->columns[i];

		if (old >= 0)
			WorkOnColumn(plan, work, table, i, old);
		else
			WorkOnNewColumn(work, table, i);
	}
	WorkOnLostColumns(work, table);
	if (IsMoved(table, work) || (table->loses_rows && table->wanted->number > 0))
		AddBumped(work, table, "true");
	work->edges |= table->loses_rows && table->wanted->number > 0;
	if (table->wanted->number > 0 && LostRows(table))
	{
		work->edges = true;
		AddAll(plan, work);
	}
}

/* Returns true if a table of the old schema is there and is dropped. */
static bool
IsDroppedTable(const MigrationPlan *plan, const TableModel *table)
{
	ListCell   *cell;

	foreach(cell, plan->dropped)
	{
		const CatalogTable *found = lfirst(cell);

		if (strcmp(found->name, table->name) == 0 && strcmp(found->schema, table->schema) == 0)
			return true;
	}
	return false;
}

/* Look at the tables of the old schema that are dropped. */
static void
WorkOnLostTables(const MigrationPlan *plan, MigrationWork *work)
{
	const ResourceModel *before = work->resource->before->model;

	for (int i = 1; i < before->ntables; i++)
	{
		const TableModel *table = &before->tables[i];

		if (SchemaDiffKeepsTable(work->resource, table))
			continue;
		work->edges = true;
		if (IsDroppedTable(plan, table))
			work->bumped = lappend(work->bumped,
								   psprintf("SELECT %s FROM %s", quote_identifier(table->columns[0].name),
											quote_qualified_identifier(table->schema, table->name)));
		else
			AddAll(plan, work);
	}
}

/* Returns true if two names are equal; there may be none. */
static bool
SameName(const char *left, const char *right)
{
	return left == NULL || right == NULL ? left == right : strcmp(left, right) == 0;
}

/* Returns true if ReferentialIds are made of the same names and paths. */
static bool
SameHashed(const ResourceModel *before, const ResourceModel *after)
{
	if (!SameName(before->project, after->project) || !SameName(before->resource, after->resource) ||
		!SameName(before->superclass_project, after->superclass_project) ||
		!SameName(before->superclass_resource, after->superclass_resource) ||
		!SameName(before->superclass_path, after->superclass_path) || before->nidentity != after->nidentity)
		return false;
	for (int i = 0; i < after->nidentity; i++)
		if (strcmp(before->identity[i].path, after->identity[i].path) != 0 ||
			before->identity[i].lower != after->identity[i].lower)
			return false;
	return true;
}

/*
 * Add the documents of a resource that has other names: they read as before, but who
 * follows the changes of the store has to hear of it.
 */
static void
AddRenamed(MigrationWork *work)
{
	const ResourceModel *before = work->resource->before->model;
	const ResourceModel *after = work->resource->after->model;

	work->bumped = lappend(work->bumped,
						   MigrationDocumentsOf(psprintf("(%s, %s), (%s, %s)",
														 quote_literal_cstr(before->project),
														 quote_literal_cstr(before->resource),
														 quote_literal_cstr(after->project),
														 quote_literal_cstr(after->resource))));
}

/* Look at a resource that both schemas have. */
static void
WorkOnResource(MigrationPlan *plan, MigrationWork *work)
{
	const ResourceDiff *resource = work->resource;
	bool		same = resource->tables == NULL || SchemaDiffSameIdentity(plan->diff, resource);
	ListCell   *cell;

	work->identities |= !same || !SameHashed(resource->before->model, resource->after->model);
	work->reads_otherwise |= !same;
	work->edges |= SchemaDiffIsRenamed(resource);
	plan->members |= SchemaDiffIsRenamed(resource) || !SchemaDiffSameSuperclass(plan->diff, resource);
	if (SchemaDiffIsRenamed(resource))
		AddRenamed(work);
	if (resource->tables == NULL)
		return;
	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);

		if (table->resource == resource && table->found != NULL && table->was != NULL && table->diff != NULL)
			WorkOnTable(plan, work, table);
	}
	WorkOnLostTables(plan, work);
}

/* Returns true if the identity of a resource, or of a subclass, reads otherwise. */
static bool
TargetReadsOtherwise(const MigrationPlan *plan, const ReferenceModel *r)
{
	const ModelEntry *target = r->descriptor ? NULL : ModelSetFind(plan->diff->after, r->project, r->resource);
	const MigrationWork *work = target == NULL ? NULL : WorkOf(plan, r->project, r->resource);
	ListCell   *cell;

	if (work != NULL && work->reads_otherwise)
		return true;
	foreach(cell, target == NULL ? NIL : target->subclasses)
	{
		const ResourceModel *subclass = ((ModelEntry *) lfirst(cell))->model;

		work = WorkOf(plan, subclass->project, subclass->resource);
		if (work != NULL && work->reads_otherwise)
			return true;
	}
	return false;
}

/*
 * Carry changed identities on to the resources whose identities they are a part of;
 * returns true if there were any.
 */
static bool
CarryOn(const MigrationPlan *plan)
{
	bool		found = false;
	ListCell   *cell;

	foreach(cell, plan->work)
	{
		MigrationWork *work = lfirst(cell);
		const ResourceModel *model = work->resource->after->model;

		for (int i = 0; !work->reads_otherwise && i < model->nreferences; i++)
			if (model->references[i].identity && TargetReadsOtherwise(plan, &model->references[i]))
				work->identities = work->reads_otherwise = found = true;
	}
	return found;
}

/* Bump the documents that refer to a resource whose identity reads otherwise. */
static void
BumpReferences(const MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);
		const ResourceModel *model = table->wanted->entry->model;
		MigrationWork *work = WorkOf(plan, model->project, model->resource);

		for (int i = 0; work != NULL && table->columns != NULL && table->diff != NULL && i < table->wanted->ncolumns; i++)
		{
			int			reference = table->diff->after->columns[i].reference;

			if (reference >= 0 && table->columns[i].old_name != NULL && TargetReadsOtherwise(plan, &model->references[reference]))
				AddBumped(work, table, psprintf("%s IS NOT NULL", table->columns[i].old_name));
		}
	}
}

/* Add a row to the plan that says what a deploy computes. */
static void
AddNote(MigrationPlan *plan, const char *reason)
{
	MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_RECOMPUTE, NULL, reason);
}

/* Add rows to the plan that say what a deploy computes for a resource. */
static void
AddNotes(MigrationPlan *plan, const MigrationWork *work)
{
	const char *place = work->resource->after->place;

	if (work->edges)
		AddNote(plan, psprintf("the deploy computes the edges of %s", place));
	if (work->identities)
		AddNote(plan, psprintf("the deploy computes the ReferentialIds of %s", place));
	if (work->bumped != NIL)
		AddNote(plan, psprintf("the deploy raises the etags of documents of %s that read otherwise", place));
}

/* Find out what has to be computed anew, once the tables are planned. */
void
MigrationWorkFind(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);
		MigrationWork *work;

		if (resource->after == NULL)
			plan->members = true;
		if (resource->before == NULL || resource->after == NULL || resource->after->model->kind == RESOURCE_ABSTRACT)
			continue;
		work = palloc0(sizeof(MigrationWork));
		work->resource = resource;
		plan->work = lappend(plan->work, work);
		WorkOnResource(plan, work);
	}
	while (CarryOn(plan))
		CHECK_FOR_INTERRUPTS();
	BumpReferences(plan);
	foreach(cell, plan->work)
		AddNotes(plan, lfirst(cell));
}
