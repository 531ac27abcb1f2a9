/*
 * migrationplan.c
 *		Planning a change of the schema.
 *
 * What the new schema describes is compared with what is there in the database, not
 * with what the old schema describes: an operator may have run some of the steps by
 * hand.  The old schema says which table and column is which, and what is not needed
 * any more.  What neither schema describes belongs to the owner of the store, and is
 * left alone.
 *
 * Tables get their new names first.  The catalog that was read is changed
 * accordingly, so that the steps that follow are planned with the new names.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "schema/conversion.h"
#include "schema/migrationkeys.h"
#include "schema/migrationloss.h"
#include "schema/migrationplan.h"
#include "schema/migrationwork.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Add a name to a list, unless it is there. */
static List *
AddName(List *names, const char *name)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return names;
	}
	return lappend(names, unconstify(char *, name));
}

/* Add the schemas that models have tables in. */
static List *
AddSchemas(List *names, const ModelSet *set)
{
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		const ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		for (int i = 0; i < model->ntables; i++)
			names = AddName(names, model->tables[i].schema);
		if (model->member_schema != NULL)
			names = AddName(names, model->member_schema);
	}
	return names;
}

/* Read the tables of all schemas that have to do with the change. */
static Catalog *
ReadCatalog(const SchemaDiff *diff)
{
	List	   *names = AddSchemas(AddSchemas(list_make1("dms"), diff->before), diff->after);
	const char **array = palloc(sizeof(char *) * list_length(names));
	ListCell   *cell;

	foreach(cell, names)
		array[foreach_current_index(cell)] = lfirst(cell);
	return CatalogRead(array, list_length(names));
}

/* Returns true if a resource has tables of its own. */
static bool
HasTables(const ModelEntry *entry)
{
	return entry != NULL && (entry->model->kind == RESOURCE_PLAIN || entry->model->kind == RESOURCE_SCHOOL_YEAR);
}

/* Add a step that changes a table that is there. */
static MigrationStep *
AddStep(MigrationPlan *plan, const PlannedTable *table, MigrationPhase phase, StepKind kind, const char *sql,
		const char *reason)
{
	MigrationStep *step = MigrationStepAdd(&plan->steps, Max(phase, plan->phase), kind, sql, reason);

	step->table = table->found->oid;
	return step;
}

/*
 * Returns true if the name is that of a table of the old schema that the new one does
 * not have.
 */
static bool
IsLostTable(const MigrationPlan *plan, const char *schema, const char *name)
{
	ListCell   *cell;

	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		for (int i = 0; HasTables(resource->before) && i < resource->before->model->ntables; i++)
		{
			const TableModel *table = &resource->before->model->tables[i];

			if (strcmp(table->name, name) == 0 && strcmp(table->schema, schema) == 0)
				return !SchemaDiffKeepsTable(resource, table);
		}
	}
	return false;
}

/* Plan the new name of a table that is there. */
static void
PlanTableName(MigrationPlan *plan, PlannedTable *table)
{
	CatalogTable *found = table->found;
	const DdlTable *wanted = table->wanted;

	if (strcmp(found->schema, wanted->schema) != 0)
	{
		AddStep(plan, table, PHASE_GATE, STEP_RENAME_TABLE,
				psprintf("ALTER TABLE %s SET SCHEMA %s", CatalogTableName(found), quote_identifier(wanted->schema)),
				psprintf("%s is in another schema", wanted->comment));
		found->schema = pstrdup(wanted->schema);
		plan->phase = PHASE_GATE;
	}
	if (strcmp(found->name, wanted->name) != 0)
	{
		AddStep(plan, table, PHASE_GATE, STEP_RENAME_TABLE,
				psprintf("ALTER TABLE %s RENAME TO %s", CatalogTableName(found), quote_identifier(wanted->name)),
				psprintf("%s has another name", wanted->comment));
		found->name = pstrdup(wanted->name);
		plan->phase = PHASE_GATE;
	}
}

/* Find out what the old schema and the database have of a table. */
static PlannedTable *
MatchTable(MigrationPlan *plan, const DdlTable *wanted)
{
	const ResourceModel *model = wanted->entry->model;
	PlannedTable *table = palloc0(sizeof(PlannedTable));

	table->wanted = wanted;
	table->resource = SchemaDiffOf(plan->diff, model->project, model->resource);
	if (wanted->number >= 0)
	{
		table->diff = &table->resource->tables[wanted->number];
		if (table->diff->before != NULL)
			table->was = DdlTableOf(plan->diff->before, table->resource->before,
									(int) (table->diff->before - table->resource->before->model->tables));
	}
	else if (table->resource->before != NULL)
		table->was = DdlTableOfMembers(table->resource->before);
	if (table->was != NULL)
		table->found = CatalogFind(plan->catalog, table->was->schema, table->was->name);
	if (table->found == NULL && !IsLostTable(plan, wanted->schema, wanted->name))
		table->found = CatalogFind(plan->catalog, wanted->schema, wanted->name);
	if (table->was != NULL && table->found == NULL)
		ProblemAt(plan->obstacles, MigrationName(table->was->schema, table->was->name, NULL), "this table is not there.");
	if (table->found != NULL && table->found->kind != RELKIND_RELATION)
		ProblemAt(plan->obstacles, MigrationName(table->found->schema, table->found->name, NULL), "this is not a table.");
	if (table->found != NULL)
	{
		table->old_schema = pstrdup(table->found->schema);
		table->old_name = CatalogTableName(table->found);
	}
	return table;
}

/* Match all tables of the new schema. */
static void
MatchTables(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->described)
	{
		CHECK_FOR_INTERRUPTS();
		plan->tables = lappend(plan->tables, MatchTable(plan, lfirst(cell)));
	}
	foreach(cell, plan->tables)
	{
		PlannedTable *table = lfirst(cell);

		if (table->found != NULL)
			PlanTableName(plan, table);
	}
}

/* Returns the number of the column in the old table; -1: new. */
static int
OldColumn(const PlannedTable *table, int column)
{
	if (table->was == NULL)
		return -1;
	return table->diff == NULL ? column : table->diff->columns[column];
}

/* Returns true if the name is that of a column of the old schema that the new one does not have. */
static bool
IsLostColumn(const PlannedTable *table, const char *name)
{
	for (int i = 0; table->was != NULL && table->diff != NULL && i < table->was->ncolumns; i++)
		if (strcmp(table->was->columns[i].name, name) == 0)
			return !SchemaDiffKeepsColumn(table->diff, i);
	return false;
}

/* Find the column that is there for each of the new schema. */
static void
MatchColumns(PlannedTable *table)
{
	table->columns = palloc0(sizeof(PlannedColumn) * table->wanted->ncolumns);
	for (int i = 0; i < table->wanted->ncolumns; i++)
	{
		const char *name = table->wanted->columns[i].name;
		int			old = OldColumn(table, i);
		PlannedColumn *column = &table->columns[i];

		if (old >= 0)
			column->found = CatalogFindColumn(table->found, table->was->columns[old].name);
		if (column->found == NULL && !IsLostColumn(table, name))
			column->found = CatalogFindColumn(table->found, name);
		if (column->found != NULL)
			column->old_name = quote_identifier(column->found->name);
	}
}

/* What a column holds, for reasons: "Ed-Fi.Student: $.birthDate". */
static char *
PlaceOfColumn(const PlannedTable *table, const DdlColumn *column)
{
	return psprintf("%s: %s", table->wanted->entry->place, column->comment);
}

/* Plan a column that is missing.  It is filled and becomes required later. */
static void
PlanNewColumn(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	PlannedColumn *column = &table->columns[number];

	column->phase = IsLostColumn(table, wanted->name) ? PHASE_GATE : plan->phase;
	AddStep(plan, table, column->phase, STEP_ADD_COLUMN,
			psprintf("ALTER TABLE %s ADD COLUMN %s %s", DdlTableName(table->wanted), quote_identifier(wanted->name), wanted->type),
			psprintf("%s is new", PlaceOfColumn(table, wanted)));
	column->found = palloc0(sizeof(CatalogColumn));
	column->found->name = pstrdup(wanted->name);
	column->found->type = pstrdup(wanted->type);
	table->found->columns = lappend(table->found->columns, column->found);
}

/* Plan the new name of a column. */
static void
PlanColumnName(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	PlannedColumn *column = &table->columns[number];

	AddStep(plan, table, PHASE_GATE, STEP_RENAME_COLUMN,
			psprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", DdlTableName(table->wanted),
					 quote_identifier(column->found->name), quote_identifier(wanted->name)),
			psprintf("%s has another name", PlaceOfColumn(table, wanted)));
	column->found->name = pstrdup(wanted->name);
	column->phase = PHASE_GATE;
}

/* Returns true if a view reads a column. */
static bool
IsInView(const MigrationPlan *plan, const PlannedTable *table, const CatalogColumn *column)
{
	ListCell   *cell;

	foreach(cell, plan->catalog->tables)
	{
		if (CatalogViewUses(lfirst(cell), table->found->oid, column->number))
			return true;
	}
	return false;
}

/* Note that no view may read a column while it is changed. */
static void
Disturb(MigrationPlan *plan, const PlannedTable *table, const CatalogColumn *column)
{
	CatalogUse *use = palloc(sizeof(CatalogUse));

	use->table = table->found->oid;
	use->column = column->number;
	plan->disturbed = lappend(plan->disturbed, use);
}

/* The conversion of a column to the type that is wanted. */
static Conversion
ConversionOfColumn(const PlannedTable *table, int number)
{
	int			old = OldColumn(table, number);

	if (old < 0 || table->diff == NULL)
		return ConversionMake(CONVERSION_OTHER, "NULL");
	return ConversionOf(quote_identifier(table->columns[number].found->name),
						&table->diff->before->columns[old].value, &table->diff->after->columns[number].value);
}

/*
 * Plan the new type of a column.  A view that reads the column has to be created
 * again, so nobody may use it meanwhile.  Values that do not fit become NULL.
 */
static void
PlanColumnType(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	PlannedColumn *column = &table->columns[number];
	Conversion	conversion = ConversionOfColumn(table, number);
	bool		harmless = conversion.kind == CONVERSION_HARMLESS;
	bool		optional = false;
	const char *name = quote_identifier(wanted->name);
	char	   *sql;

	column->lossy = !harmless && conversion.kind != CONVERSION_WIDER;
	if (column->lossy && MigrationHasRows(table->old_name, "true"))
		ProblemAt(plan->lost, MigrationName(table->wanted->schema, table->wanted->name, wanted->name),
				  "%s changes its type from %s to %s, and there are rows.", PlaceOfColumn(table, wanted),
				  column->found->type, wanted->type);
	if (column->lossy && column->found->not_null)
	{
		column->found->not_null = false;
		optional = true;
	}
	sql = psprintf("ALTER TABLE %s %sALTER COLUMN %s TYPE %s", DdlTableName(table->wanted),
				   optional ? psprintf("ALTER COLUMN %s DROP NOT NULL, ", name) : "", name, wanted->type);
	Disturb(plan, table, column->found);
	if (!harmless || IsInView(plan, table, column->found))
		column->phase = PHASE_GATE;
	AddStep(plan, table, column->phase, STEP_CHANGE_TYPE,
			harmless ? sql : psprintf("%s USING %s", sql, conversion.expression),
			psprintf("%s was %s", PlaceOfColumn(table, wanted), column->found->type));
}

/* Plan to delete rows without a value, which the new schema cannot express; with the root row, the document. */
static void
PlanDeletedRows(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlTable *wanted = table->wanted;
	const char *name = quote_identifier(wanted->columns[number].name);
	char	   *sql = wanted->number == 0 ?
	psprintf("DELETE FROM dms.Document WHERE DocumentId IN (SELECT %s FROM %s WHERE %s IS NULL)",
			 quote_identifier(wanted->columns[0].name), DdlTableName(wanted), name) :
	psprintf("DELETE FROM %s WHERE %s IS NULL", DdlTableName(wanted), name);

	AddStep(plan, table, PHASE_GATE, STEP_DELETE_ROWS, sql,
			psprintf("%s is required, and there are rows without a value", PlaceOfColumn(table, &wanted->columns[number])))->writes = true;
	table->loses_rows = true;
}

/* Plan whether a column must have a value. */
static void
PlanColumnNull(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	PlannedColumn *column = &table->columns[number];
	bool		lacking = wanted->required &&
	MigrationHasRows(table->old_name, column->old_name != NULL ? psprintf("%s IS NULL", column->old_name) : "true");

	if (lacking)
		ProblemAt(plan->lost, MigrationName(table->wanted->schema, table->wanted->name, wanted->name),
				  "%s is required now, and there are rows without a value.", PlaceOfColumn(table, wanted));
	if (lacking || (wanted->required && column->lossy))
		PlanDeletedRows(plan, table, number);
	AddStep(plan, table, wanted->required ? PHASE_GATE : column->phase, STEP_CHANGE_NULL,
			psprintf("ALTER TABLE %s ALTER COLUMN %s %s NOT NULL", DdlTableName(table->wanted), quote_identifier(wanted->name),
					 wanted->required ? "SET" : "DROP"),
			psprintf("%s is %s", PlaceOfColumn(table, wanted), wanted->required ? "required" : "not required"));
}

/* Plan the comment on a column. */
static void
PlanColumnComment(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];

	AddStep(plan, table, table->columns[number].phase, STEP_COMMENT,
			psprintf("COMMENT ON COLUMN %s.%s IS %s", DdlTableName(table->wanted), quote_identifier(wanted->name),
					 quote_literal_cstr(wanted->comment)),
			psprintf("%s is what the column holds", PlaceOfColumn(table, wanted)));
}

/* Returns true if the new schema has another column for the same place of the document. */
static bool
HoldsOther(const PlannedTable *table, int old)
{
	const char *path = table->diff->before->columns[old].path;

	for (int i = 0; i < table->diff->after->ncolumns; i++)
		if (path != NULL && table->diff->after->columns[i].path != NULL && strcmp(table->diff->after->columns[i].path, path) == 0)
			return true;
	return false;
}

/* Plan the columns of the old schema that the new one does not have. */
static void
PlanLostColumns(MigrationPlan *plan, PlannedTable *table)
{
	for (int i = 0; table->was != NULL && table->diff != NULL && i < table->was->ncolumns; i++)
	{
		const DdlColumn *was = &table->was->columns[i];
		CatalogColumn *found = CatalogFindColumn(table->found, was->name);

		if (SchemaDiffKeepsColumn(table->diff, i) || found == NULL)
			continue;
		ProblemAt(plan->lost, MigrationName(table->was->schema, table->was->name, was->name),
				  HoldsOther(table, i) ? "%s refers to another resource." : "%s is removed.", PlaceOfColumn(table, was));
		AddStep(plan, table, PHASE_GATE, STEP_DROP_COLUMN,
				psprintf("ALTER TABLE %s DROP COLUMN %s", DdlTableName(table->wanted), quote_identifier(was->name)),
				psprintf("%s is removed", PlaceOfColumn(table, was)));
		Disturb(plan, table, found);
		table->dropped = lappend(table->dropped, pstrdup(was->name));
		table->found->columns = list_delete_ptr(table->found->columns, found);
	}
}

/* Returns true if two comments are equal; there may be none. */
static bool
SameComment(const char *found, const char *wanted)
{
	return found != NULL && strcmp(found, wanted) == 0;
}

/* Plan the columns of a table that is there. */
static void
PlanColumns(MigrationPlan *plan, PlannedTable *table)
{
	MatchColumns(table);
	PlanLostColumns(plan, table);
	for (int i = 0; i < table->wanted->ncolumns; i++)
	{
		const DdlColumn *wanted = &table->wanted->columns[i];
		PlannedColumn *column = &table->columns[i];

		if (column->found == NULL)
			PlanNewColumn(plan, table, i);
		if (strcmp(column->found->name, wanted->name) != 0)
			PlanColumnName(plan, table, i);
		if (strcmp(column->found->type, wanted->type) != 0)
			PlanColumnType(plan, table, i);
		if (column->found->not_null != wanted->required)
			PlanColumnNull(plan, table, i);
		if (!SameComment(column->found->comment, wanted->comment))
			PlanColumnComment(plan, table, i);
	}
}

/* Plan the comment on a table that is there. */
static void
PlanTableComment(MigrationPlan *plan, PlannedTable *table)
{
	if (!SameComment(table->found->comment, table->wanted->comment))
		AddStep(plan, table, plan->phase, STEP_COMMENT,
				psprintf("COMMENT ON TABLE %s IS %s", DdlTableName(table->wanted), quote_literal_cstr(table->wanted->comment)),
				psprintf("%s is what the table holds", table->wanted->comment));
}

/* Plan a table that is missing, by the statements of a first deploy. */
static void
PlanNewTable(MigrationPlan *plan, const PlannedTable *table)
{
	bool		replaces = CatalogFind(plan->catalog, table->wanted->schema, table->wanted->name) != NULL;
	ListCell   *cell;

	foreach(cell, plan->ddl->statements)
	{
		const DdlStatement *statement = lfirst(cell);

		if (statement->table == table->wanted)
			MigrationStepAdd(&plan->steps, replaces ? PHASE_GATE : plan->phase,
							 statement->late ? STEP_ADD_KEY : STEP_CREATE_TABLE, statement->sql,
							 psprintf("%s is new", table->wanted->comment))->creates_table = statement->creates_table;
	}
}

/* Plan the tables. */
static void
PlanTables(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		PlannedTable *table = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (table->found != NULL)
			PlanColumns(plan, table);
	}
	foreach(cell, plan->tables)
	{
		PlannedTable *table = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (table->found == NULL)
			PlanNewTable(plan, table);
		else
		{
			PlanTableComment(plan, table);
			MigrationPlanKeys(plan, table);
			MigrationPlanIndexes(plan, table);
		}
	}
}

/* Plan the schemas that are missing. */
static void
PlanSchemas(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->diff->after->schema->projects)
	{
		const ApiProject *project = lfirst(cell);

		if (!OidIsValid(get_namespace_oid(project->schema_name, true)))
			MigrationStepAdd(&plan->steps, PHASE_BEFORE, STEP_CREATE_SCHEMA,
							 psprintf("CREATE SCHEMA IF NOT EXISTS %s", quote_identifier(project->schema_name)),
							 psprintf("the project %s is new", project->name));
	}
}

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

/* Returns true if a view reads a column that is dropped or changes its type. */
static bool
IsInTheWay(const MigrationPlan *plan, const CatalogTable *view)
{
	ListCell   *cell;

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
			if (strcmp(column->type, DdlColumnType(&view->branches[j].table->columns[view->branches[j].columns[i]])) != 0)
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
	if (found == NULL || drop || !SameComment(found->comment, view->comment))
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_COMMENT, DdlViewCommentSql(view), reason);
}

/* Plan the views. */
static void
PlanViews(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->views)
		PlanView(plan, lfirst(cell));
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

/* Add a table to a list of tables to drop, if it is there. */
static void
AppendDropped(const MigrationPlan *plan, StringInfo list, const char *schema, const char *name)
{
	const CatalogTable *found = CatalogFind(plan->catalog, schema, name);

	if (found != NULL && found->kind == RELKIND_RELATION)
		appendStringInfo(list, "%s%s", list->len > 0 ? ", " : "", CatalogTableName(found));
}

/*
 * Plan to drop the tables that the new schema does not have, in one statement,
 * because they may refer to each other.
 */
static void
PlanLostTables(MigrationPlan *plan)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);
		const ResourceModel *model = resource->before == NULL ? NULL : resource->before->model;

		for (int i = 0; HasTables(resource->before) && i < model->ntables; i++)
			if (!SchemaDiffKeepsTable(resource, &model->tables[i]))
				AppendDropped(plan, &list, model->tables[i].schema, model->tables[i].name);
		if (model != NULL && model->kind == RESOURCE_ABSTRACT && resource->after == NULL)
			AppendDropped(plan, &list, model->member_schema, model->member_table);
	}
	if (list.len > 0)
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DROP_TABLE, psprintf("DROP TABLE %s", list.data),
						 "the new schema has no such tables");
}

/* Returns a condition on the names of a resource: ($project, $resource). */
static char *
NamesOf(const ModelEntry *entry)
{
	return psprintf("(%s, %s)", quote_literal_cstr(entry->model->project), quote_literal_cstr(entry->model->resource));
}

/*
 * Plan to delete the documents of resources that the new schema does not have, in one
 * statement, because they may refer to each other.
 */
static void
PlanDeletedDocuments(MigrationPlan *plan)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (resource->after == NULL && resource->before->model->kind != RESOURCE_ABSTRACT)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", NamesOf(resource->before));
	}
	if (names.len > 0)
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DELETE_DOCUMENTS,
						 psprintf("DELETE FROM dms.Document WHERE (ProjectName, ResourceName) IN (%s)", names.data),
						 "the new schema has no such resources")->writes = true;
}

/* Plan an UPDATE of the names of a resource in a core table. */
static void
PlanNames(MigrationPlan *plan, const ResourceDiff *resource, const char *table)
{
	MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_WRITE_NAMES,
					 psprintf("UPDATE %s SET (ProjectName, ResourceName) = %s WHERE (ProjectName, ResourceName) = %s", table,
							  NamesOf(resource->after), NamesOf(resource->before)),
					 psprintf("%s was %s", resource->after->place, resource->before->place))->writes = true;
}

/* Plan the names of a resource that has other names in the new schema. */
static void
PlanResourceNames(MigrationPlan *plan, const ResourceDiff *resource)
{
	if (resource->after->model->kind != RESOURCE_ABSTRACT)
		PlanNames(plan, resource, "dms.Document");
	PlanNames(plan, resource, "dms.ReferentialIdentity");
	if (resource->after->model->kind == RESOURCE_DESCRIPTOR)
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_WRITE_NAMES,
						 psprintf("UPDATE dms.Descriptor SET Discriminator = %s WHERE Discriminator = %s",
								  quote_literal_cstr(psprintf("%s:%s", resource->after->model->project, resource->after->model->resource)),
								  quote_literal_cstr(psprintf("%s:%s", resource->before->model->project, resource->before->model->resource))),
						 psprintf("%s was %s", resource->after->place, resource->before->place))->writes = true;
}

/* Plan to delete the identities of documents under the name of a superclass that they do not have any more. */
static void
PlanLostAlias(MigrationPlan *plan, const ResourceDiff *resource)
{
	const ResourceModel *before = resource->before->model;
	const TableModel *root = &resource->after->model->tables[0];

	MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_WRITE_NAMES,
					 psprintf("DELETE FROM dms.ReferentialIdentity WHERE (ProjectName, ResourceName) = (%s, %s)"
							  " AND DocumentId IN (SELECT documentid FROM %s)", quote_literal_cstr(before->superclass_project),
							  quote_literal_cstr(before->superclass_resource), quote_qualified_identifier(root->schema, root->name)),
					 psprintf("%s has another superclass", resource->after->place))->writes = true;
}

/* Plan what happens to the documents of resources that are removed or renamed. */
static void
PlanDocuments(MigrationPlan *plan)
{
	ListCell   *cell;

	PlanDeletedDocuments(plan);
	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (resource->before == NULL || resource->after == NULL)
			continue;
		if (resource->before->model->superclass_resource != NULL && !SchemaDiffSameSuperclass(plan->diff, resource))
			PlanLostAlias(plan, resource);
		if (SchemaDiffIsRenamed(resource))
			PlanResourceNames(plan, resource);
	}
}

/* Plan the functions of the triggers on dms.Document, which name the tables of all resources. */
static void
PlanFunctions(MigrationPlan *plan, List *trigger_statements)
{
	static const char *const names[] = {"document_after_delete", "document_after_truncate"};
	ListCell   *cell;

	foreach(cell, trigger_statements)
	{
		const char *sql = ((DdlStatement *) lfirst(cell))->sql;

		for (Size i = 0; i < lengthof(names); i++)
			if (strstr(sql, psprintf("CREATE OR REPLACE FUNCTION dms.%s()", names[i])) == sql &&
				!CatalogHasFunction(sql, names[i]))
				MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_CREATE_FUNCTION, sql,
								 "the triggers on dms.Document name the tables of all resources");
	}
}

/*
 * Plan what has to be done in the database, in the active snapshot.  The statements
 * of the triggers are those of dms_internal.trigger_ddl().
 */
MigrationPlan *
MigrationPlanMake(const SchemaDiff *diff, const DdlPlan *ddl, List *trigger_statements)
{
	MigrationPlan *plan = palloc0(sizeof(MigrationPlan));

	plan->diff = diff;
	plan->ddl = ddl;
	plan->lost = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	plan->obstacles = ProblemNew(PROBLEM_STORE_UNSAFE);
	plan->catalog = ReadCatalog(diff);
	PlanSchemas(plan);
	MatchTables(plan);
	if (plan->obstacles->count > 0)
		ProblemRaise(plan->obstacles, "tables of the store are missing or are no tables");
	MigrationFindLosses(plan);
	PlanTables(plan);
	PlanViews(plan);
	PlanLostViews(plan);
	PlanLostTables(plan);
	PlanDocuments(plan);
	PlanFunctions(plan, trigger_statements);
	MigrationFindWork(plan);
	MigrationStepsSort(&plan->steps);
	return plan;
}
