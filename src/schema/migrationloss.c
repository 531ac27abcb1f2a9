/*
 * migrationloss.c
 *		Finding out what a change of the schema would lose.
 *
 * Each finding has the name of a table or column, as in the argument renames of
 * dms.migrate_schema().  What the type of a column would lose is found where the
 * columns are planned.
 */
#include "postgres.h"

#include "engine/result.h"
#include "engine/statement.h"
#include "model/optionpaths.h"
#include "model/resourcetypes.h"
#include "schema/migrationloss.h"

/* "schema.table", or "schema.table.column" if there is a column. */
char *
MigrationLossName(const char *schema, const char *table, const char *column)
{
	return column != NULL ? psprintf("%s.%s.%s", schema, table, column) : psprintf("%s.%s", schema, table);
}

/* Returns true if a table, whose name is as SQL, has rows that meet a condition. */
bool
MigrationLossHasRows(const char *table, const char *condition)
{
	bool		found;

	StatementExecuteWithArgs(psprintf("SELECT EXISTS (SELECT FROM %s WHERE %s)", table, condition),
							 0, NULL, NULL, true);
	found = ResultBool(0, 1);
	ResultFree();
	return found;
}

/* Returns true if a resource has tables of its own. */
static bool
HasTables(const ModelEntry *entry)
{
	return entry->model->kind == RESOURCE_PLAIN || entry->model->kind == RESOURCE_SCHOOL_YEAR;
}

/* Find the tables of the old schema that the new one does not have. */
static void
FindLostTables(MigrationPlan *plan, const ResourceDiff *resource)
{
	const ResourceModel *model = resource->before->model;

	for (int i = 0; i < model->ntables; i++)
	{
		const TableModel *table = &model->tables[i];

		if (!SchemaDiffKeepsTable(resource, table))
			ProblemAt(plan->losses, MigrationLossName(table->schema, table->name, NULL), "%s: %s is removed.",
					  resource->before->place, table->scope_path);
	}
}

/* Returns true if a resource has documents. */
static bool
HasDocuments(const MigrationPlan *plan, const ResourceDiff *resource)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);

		if (table->resource == resource && table->wanted->number == 0)
			return table->found != NULL && MigrationLossHasRows(table->old_name, "true");
	}
	return false;
}

/* Find what changes about documents that stay. */
static void
FindChanges(MigrationPlan *plan, const ResourceDiff *resource)
{
	if (!SchemaDiffSameIdentity(plan->diff, resource) && HasDocuments(plan, resource))
		ProblemAt(plan->losses, SchemaDiffName(resource->before), "the identity of %s changes, and there are documents.",
				  resource->before->place);
}

/* A resource whose options are compared with the new schema. */
typedef struct ComparedOptions
{
	MigrationPlan *plan;
	const ResourceDiff *resource;
} ComparedOptions;

/* Callback: report an option that contradicts the new schema. */
static void
AddOption(void *arg, const char *option, const char *message)
{
	ComparedOptions *compared = arg;

	ProblemAt(compared->plan->losses, SchemaDiffName(compared->resource->before), "%s: option \"%s\": %s",
			  compared->resource->before->place, option, message);
}

/* Find the options of a resource that do not fit the new schema. */
static void
FindLostOptions(MigrationPlan *plan, const ResourceDiff *resource)
{
	const ResourceModel *before = resource->before->model;
	ComparedOptions compared = {plan, resource};
	Jsonb	   *options = ResourceTypeOptions(ResourceTypeId(before->project, before->resource), NULL);

	if (options != NULL && JB_ROOT_COUNT(options) > 0)
		OptionPathsCheck(options, resource->after->model, AddOption, &compared);
}

/* Find all that the new schema does not have any more, or has otherwise. */
void
MigrationLossFind(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (resource->before == NULL)
			continue;
		if (resource->after == NULL)
			ProblemAt(plan->losses, SchemaDiffName(resource->before), "%s is removed.", resource->before->place);
		else if (HasTables(resource->before) && HasTables(resource->after))
		{
			FindLostTables(plan, resource);
			FindChanges(plan, resource);
			FindLostOptions(plan, resource);
		}
	}
}
