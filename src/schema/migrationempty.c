/*
 * migrationempty.c
 *		Planning to delete rows of extensions that are left without values.
 *
 * A document has a row of an extension if it has a value in it, or an element of a
 * collection below it.  If the last of them goes with a column or a table, or because
 * it does not fit any more, the row has to go, too.  Otherwise the same document, sent
 * again, would not be equal to what is stored.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "schema/migrationempty.h"
#include "schema/migrationloss.h"
#include "utils/builtins.h"

/* Returns true if a table is one of an extension that both schemas have, with all columns optional. */
static bool
IsExtension(const PlannedTable *table)
{
	if (table->found == NULL || table->was == NULL || table->diff == NULL || table->diff->after->kind != TABLE_EXTENSION)
		return false;
	for (int i = table->diff->after->nkeys; i < table->wanted->ncolumns; i++)
		if (table->wanted->columns[i].required)
			return false;
	return true;
}

/* Returns true if a table holds the elements of a collection right below the rows of another. */
static bool
IsBelow(const PlannedTable *child, const PlannedTable *table)
{
	return child->resource == table->resource && child->wanted->number > 0 &&
		child->diff->after->parent == table->wanted->number;
}

/* Returns true if the change can take something from rows of an extension. */
static bool
LosesValues(const MigrationPlan *plan, const PlannedTable *table)
{
	const TableModel *before = table->diff->before;
	const ResourceModel *model = table->resource->before->model;
	ListCell   *cell;

	for (int i = before->nkeys; i < before->ncolumns; i++)
		if (!SchemaDiffKeepsColumn(table->diff, i))
			return true;
	for (int i = 0; i < table->wanted->ncolumns; i++)
		if (table->columns[i].lossy)
			return true;
	for (int i = 1; i < model->ntables; i++)
		if (&model->tables[model->tables[i].parent] == before && !SchemaDiffKeepsTable(table->resource, &model->tables[i]))
			return true;
	foreach(cell, plan->tables)
	{
		const PlannedTable *child = lfirst(cell);

		if (IsBelow(child, table) && child->loses_rows)
			return true;
	}
	return false;
}

/* Begin another condition, all of which must hold. */
static void
AppendAnd(StringInfo condition)
{
	if (condition->len > 0)
		appendStringInfoString(condition, " AND ");
}

/*
 * Add that there is no element in a table below.  The names are those of now, or those
 * that the change gives.
 */
static void
AppendNoElement(StringInfo condition, const PlannedTable *child, const PlannedTable *table, bool now)
{
	AppendAnd(condition);
	appendStringInfo(condition, "NOT EXISTS (SELECT FROM %s AS c WHERE ",
					 now ? child->old_name : DdlTableName(child->wanted));
	for (int i = 0; i < table->diff->after->nkeys; i++)
		appendStringInfo(condition, "%sc.%s = e.%s", i > 0 ? " AND " : "",
						 now ? child->columns[i].old_name : quote_identifier(child->wanted->columns[i].name),
						 now ? table->columns[i].old_name : quote_identifier(table->wanted->columns[i].name));
	appendStringInfoChar(condition, ')');
}

/* Returns the condition of rows that have nothing but values that the change takes, as they are now. */
static const char *
NothingKept(const MigrationPlan *plan, const PlannedTable *table)
{
	StringInfoData condition;
	ListCell   *cell;

	initStringInfo(&condition);
	for (int i = table->diff->after->nkeys; i < table->wanted->ncolumns; i++)
	{
		if (table->columns[i].old_name == NULL || table->columns[i].lossy)
			continue;
		AppendAnd(&condition);
		appendStringInfo(&condition, "e.%s IS NULL", table->columns[i].old_name);
	}
	foreach(cell, plan->tables)
	{
		const PlannedTable *child = lfirst(cell);

		if (IsBelow(child, table) && child->found != NULL && !child->loses_rows)
			AppendNoElement(&condition, child, table, true);
	}
	return condition.len > 0 ? condition.data : "true";
}

/* Returns the condition of rows that have nothing, as they will be. */
static const char *
NothingLeft(const MigrationPlan *plan, const PlannedTable *table)
{
	StringInfoData condition;
	ListCell   *cell;

	initStringInfo(&condition);
	for (int i = table->diff->after->nkeys; i < table->wanted->ncolumns; i++)
	{
		AppendAnd(&condition);
		appendStringInfo(&condition, "e.%s IS NULL", quote_identifier(table->wanted->columns[i].name));
	}
	foreach(cell, plan->tables)
	{
		if (IsBelow(lfirst(cell), table))
			AppendNoElement(&condition, lfirst(cell), table, false);
	}
	return condition.len > 0 ? condition.data : "true";
}

/* Plan to delete the rows of extensions that are left without values.  All tables are planned. */
void
MigrationEmptyPlan(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);
		MigrationStep *step;

		if (!IsExtension(table) || !LosesValues(plan, table) ||
			!MigrationLossHasRows(psprintf("%s AS e", table->old_name), NothingKept(plan, table)))
			continue;
		step = MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DELETE_ROWS,
								psprintf("DELETE FROM %s AS e WHERE %s", DdlTableName(table->wanted), NothingLeft(plan, table)),
								psprintf("rows of %s are left without values", table->wanted->comment));
		step->table = table->found->oid;
		step->writes = true;
	}
}
