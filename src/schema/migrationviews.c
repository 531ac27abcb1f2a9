/*
 * migrationviews.c
 *		Planning how the views of abstract resources become those of the new
 *		schema.
 *
 * A view that reads what is dropped, or a column whose type changes, is dropped first
 * and created again, with the rights that it had.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "schema/migrationviews.h"

/* Returns the planned table of a name. */
static const PlannedTable *
FindPlanned(const MigrationPlan *plan, const TableModel *model)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);

		if (strcmp(table->wanted->name, model->name) == 0 && strcmp(table->wanted->schema, model->schema) == 0)
			return table;
	}
	elog(ERROR, "table \"%s.%s\" is not planned", model->schema, model->name);
}

/* Returns true if a view reads just the wanted columns of a subclass; counts them. */
static bool
ReadsBranch(const MigrationPlan *plan, const CatalogTable *found, const DdlView *view, const DdlBranch *branch, int *count)
{
	const PlannedTable *table = FindPlanned(plan, branch->table);

	for (int i = 0; i < view->ncolumns; i++)
	{
		const CatalogColumn *column = table->found == NULL ? NULL : table->columns[branch->columns[i]].found;

		if (column == NULL || !CatalogViewUses(found, table->found->oid, column->number))
			return false;
		(*count)++;
	}
	return !SchemaDiffIsRenamed(table->resource);
}

/* Returns true if a view has the wanted columns and reads those of the wanted tables. */
static bool
IsViewCurrent(const MigrationPlan *plan, const CatalogTable *found, const DdlView *view)
{
	const TableModel *columns = &view->entry->model->tables[0];
	int			count = 0;

	if (list_length(found->columns) != view->ncolumns + 1)
		return false;
	for (int i = 0; i < view->ncolumns; i++)
		if (strcmp(((CatalogColumn *) list_nth(found->columns, i))->name, columns->columns[i].name) != 0)
			return false;
	for (int i = 0; i < view->nbranches; i++)
		if (!ReadsBranch(plan, found, view, &view->branches[i], &count))
			return false;
	return count == list_length(found->uses);
}

/* Returns true if a view reads a table that is dropped. */
static bool
ReadsDropped(const MigrationPlan *plan, const CatalogTable *view)
{
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, plan->dropped)
	{
		foreach(inner, view->uses)
		{
			if (((CatalogUse *) lfirst(inner))->table == ((CatalogTable *) lfirst(cell))->oid)
				return true;
		}
	}
	return false;
}

/* Returns true if a view reads a table or column that is dropped, or one that changes its type. */
static bool
IsInTheWay(const MigrationPlan *plan, const CatalogTable *view)
{
	ListCell   *cell;

	if (ReadsDropped(plan, view))
		return true;

	foreach(cell, plan->disturbed)
	{
		const CatalogUse *use = lfirst(cell);

		if (CatalogViewUses(view, use->table, use->column))
			return true;
	}
	return false;
}

/*
 * Returns true if the columns of a view stay the same, whatever it reads them from.
 * A view over texts of different lengths has none of these lengths.
 */
static bool
KeepsColumns(const CatalogTable *found, const DdlView *view)
{
	const TableModel *columns = &view->entry->model->tables[0];

	if (list_length(found->columns) != view->ncolumns + 1)
		return false;
	for (int i = 0; i < view->ncolumns; i++)
	{
		const CatalogColumn *column = list_nth(found->columns, i);

		if (strcmp(column->name, columns->columns[i].name) != 0)
			return false;
		for (int j = 0; j < view->nbranches; j++)
			if (strcmp(column->type, DdlTableColumnType(&view->branches[j].table->columns[view->branches[j].columns[i]])) != 0)
				return false;
	}
	return true;
}

/* Plan to drop a view. */
static void
PlanDroppedView(MigrationPlan *plan, const CatalogTable *view, const char *reason)
{
	MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DROP_VIEW, psprintf("DROP VIEW %s", CatalogTableName(view)), reason);
}

/* Plan to give others the rights on a view again that they had before it was dropped. */
static void
PlanRights(MigrationPlan *plan, const CatalogTable *found, const DdlView *view)
{
	ListCell   *cell;

	foreach(cell, found->rights)
	{
		const CatalogRight *right = lfirst(cell);

		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_GRANT,
						 psprintf("GRANT %s ON %s TO %s", right->privilege, DdlViewName(view), right->grantee),
						 psprintf("the view of %s is created again", view->entry->place));
	}
}

/* Plan the view of an abstract resource. */
static void
PlanView(MigrationPlan *plan, const DdlView *view)
{
	const CatalogTable *found = CatalogFind(plan->catalog, view->schema, view->name);
	bool		drop = found != NULL && IsInTheWay(plan, found);
	char	   *reason = psprintf("the view of %s reads other columns", view->entry->place);

	if (found != NULL && !drop && IsViewCurrent(plan, found, view))
		return;
	if (found != NULL && !KeepsColumns(found, view))
		drop = true;
	if (drop)
		PlanDroppedView(plan, found, reason);
	MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_CREATE_VIEW, DdlViewSql(view, found != NULL && !drop), reason);
	if (drop)
		PlanRights(plan, found, view);
	if (found == NULL || drop || !CatalogSameComment(found->comment, view->comment))
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_COMMENT, DdlViewCommentSql(view), reason);
}

/* Returns true if the new schema has a view of this name. */
static bool
HasViewNamed(const MigrationPlan *plan, const char *schema, const char *name)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->views)
	{
		const DdlView *view = lfirst(cell);

		if (strcmp(view->name, name) == 0 && strcmp(view->schema, schema) == 0)
			return true;
	}
	return false;
}

/* Plan to drop the views of the old schema that the new one does not have. */
static void
PlanLostViews(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->diff->before->entries)
	{
		const ModelEntry *entry = lfirst(cell);
		const TableModel *view = entry->model->kind == RESOURCE_ABSTRACT && entry->model->ntables > 0 ?
		&entry->model->tables[0] : NULL;
		const CatalogTable *found = view == NULL ? NULL : CatalogFind(plan->catalog, view->schema, view->name);

		if (found != NULL && found->kind == RELKIND_VIEW && !HasViewNamed(plan, view->schema, view->name))
			PlanDroppedView(plan, found, psprintf("%s is removed", entry->place));
	}
}

/* Plan the views, once the tables are planned. */
void
MigrationViewsPlan(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->views)
		PlanView(plan, lfirst(cell));
	PlanLostViews(plan);
}
