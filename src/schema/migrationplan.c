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
#include "schema/migrationdocuments.h"
#include "schema/migrationempty.h"
#include "schema/migrationkeys.h"
#include "schema/migrationloss.h"
#include "schema/migrationnames.h"
#include "schema/migrationplan.h"
#include "schema/migrationviews.h"
#include "schema/migrationwork.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Read the tables of all schemas that have to do with the change. */
static Catalog *
ReadCatalog(const SchemaDiff *diff)
{
	List	   *names = lappend(list_concat(ModelSetSchemas(diff->before), ModelSetSchemas(diff->after)), pstrdup("dms"));
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

/* Plan another name for a table that is there, in its schema. */
static void
RenameTable(MigrationPlan *plan, PlannedTable *table, StepKind kind, const char *name, const char *reason)
{
	AddStep(plan, table, PHASE_GATE, kind,
			psprintf("ALTER TABLE %s RENAME TO %s", CatalogTableName(table->found), quote_identifier(name)), reason);
	table->found->name = pstrdup(name);
	plan->phase = PHASE_GATE;
}

/* Plan the new name of a table that is there. */
static void
PlanTableName(MigrationPlan *plan, PlannedTable *table)
{
	CatalogTable *found = table->found;
	const DdlTable *wanted = table->wanted;
	bool		moves = strcmp(found->schema, wanted->schema) != 0;

	if ((moves || strcmp(found->name, wanted->name) != 0) && MigrationNameIsWanted(plan, found->schema, found->name))
		RenameTable(plan, table, STEP_FREE_TABLE_NAME, MigrationNameMeanwhile(plan, found->name),
					psprintf("another table gets the name of %s", wanted->comment));
	if (moves)
	{
		AddStep(plan, table, PHASE_GATE, STEP_RENAME_TABLE,
				psprintf("ALTER TABLE %s SET SCHEMA %s", CatalogTableName(found), quote_identifier(wanted->schema)),
				psprintf("%s is in another schema", wanted->comment));
		found->schema = pstrdup(wanted->schema);
		plan->phase = PHASE_GATE;
	}
	if (strcmp(found->name, wanted->name) != 0)
		RenameTable(plan, table, STEP_RENAME_TABLE, wanted->name, psprintf("%s has another name", wanted->comment));
}

/* Find out what the old schema has of a table. */
static PlannedTable *
MatchTable(const MigrationPlan *plan, const DdlTable *wanted)
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
	return table;
}

/* Returns true if a table that is there is one of the new schema. */
static bool
IsTaken(const MigrationPlan *plan, const CatalogTable *found)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		if (((PlannedTable *) lfirst(cell))->found == found)
			return true;
	}
	return false;
}

/*
 * Find the table that is there for one of the old schema.  If its name is to be another
 * one, the operator may have renamed it by hand.  Comments decide: nothing has the old name
 * and the old comment any more.
 */
static CatalogTable *
FindOldTable(const MigrationPlan *plan, const DdlTable *was, const DdlTable *wanted)
{
	CatalogTable *old = CatalogFind(plan->catalog, was->schema, was->name);
	CatalogTable *renamed = CatalogFind(plan->catalog, wanted->schema, wanted->name);

	if (old != NULL && CatalogSameComment(old->comment, was->comment))
		return old;
	return renamed != NULL && CatalogSameComment(renamed->comment, wanted->comment) ? renamed : old;
}

/* Find the tables that are there.  One that is new may have been created by hand. */
static void
FindTables(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		PlannedTable *table = lfirst(cell);

		if (table->was != NULL)
			table->found = FindOldTable(plan, table->was, table->wanted);
	}
	foreach(cell, plan->tables)
	{
		PlannedTable *table = lfirst(cell);
		CatalogTable *found = table->found == NULL ? CatalogFind(plan->catalog, table->wanted->schema, table->wanted->name) : NULL;

		if (found != NULL && !IsTaken(plan, found) &&
			(!list_member_ptr(plan->dropped, found) || CatalogSameComment(found->comment, table->wanted->comment)))
			table->found = found;
	}
}

/* Add a table of the old schema to those that are dropped, if it is there. */
static void
AddDropped(MigrationPlan *plan, const char *schema, const char *name)
{
	CatalogTable *found = CatalogFind(plan->catalog, schema, name);

	if (found != NULL && found->kind == RELKIND_RELATION)
		plan->dropped = lappend(plan->dropped, found);
}

/* Find the tables that only the old schema has. */
static void
FindDropped(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);
		const ResourceModel *model = resource->before == NULL ? NULL : resource->before->model;

		for (int i = 0; HasTables(resource->before) && i < model->ntables; i++)
			if (!SchemaDiffKeepsTable(resource, &model->tables[i]))
				AddDropped(plan, model->tables[i].schema, model->tables[i].name);
		if (model != NULL && model->kind == RESOURCE_ABSTRACT && resource->after == NULL)
			AddDropped(plan, model->member_schema, model->member_table);
	}
}

/*
 * Note what is wrong with the table that was found; keep its name.  A table that is to be
 * new may have been made by hand, as a step of the plan.  If it has rows, it is something
 * else: they belong to no document, and those who may read the store may not read them.
 */
static void
CheckFound(MigrationPlan *plan, PlannedTable *table)
{
	plan->dropped = list_delete_ptr(plan->dropped, table->found);
	if (table->was != NULL && table->found == NULL)
		ProblemAt(plan->obstacles, MigrationLossName(table->was->schema, table->was->name, NULL), "this table is not there.");
	if (table->found == NULL)
		return;
	if (table->found->kind != RELKIND_RELATION)
		ProblemAt(plan->obstacles, MigrationLossName(table->found->schema, table->found->name, NULL), "this is not a table.");
	else if (table->was == NULL && MigrationLossHasRows(CatalogTableName(table->found), "true"))
		ProblemAt(plan->obstacles, MigrationLossName(table->found->schema, table->found->name, NULL),
				  "this table is to be new, and has rows.");
	table->old_schema = pstrdup(table->found->schema);
	table->old_table = pstrdup(table->found->name);
	table->old_name = CatalogTableName(table->found);
}

/* Returns true if a table that is missing, or a key or index of it, gets a name of something else. */
static bool
TakesName(const MigrationPlan *plan, const PlannedTable *table)
{
	const DdlTable *wanted = table->wanted;
	bool		takes = MigrationNameIsThere(plan, wanted->schema, wanted->name);

	for (int i = 0; i < wanted->nkeys; i++)
		takes |= MigrationNameIsThere(plan, wanted->schema, wanted->keys[i].name);
	for (int i = 0; i < wanted->nindexes; i++)
		takes |= MigrationNameIsThere(plan, wanted->schema, wanted->indexes[i].name);
	return takes;
}

/* Match all tables of the new schema, and plan their names. */
static void
MatchTables(MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->described)
	{
		CHECK_FOR_INTERRUPTS();
		plan->tables = lappend(plan->tables, MatchTable(plan, lfirst(cell)));
	}
	FindDropped(plan);
	FindTables(plan);
	foreach(cell, plan->tables)
		CheckFound(plan, lfirst(cell));
	foreach(cell, plan->tables)
	{
		PlannedTable *table = lfirst(cell);

		if (table->found != NULL)
			PlanTableName(plan, table);
		else if (TakesName(plan, table))
			plan->phase = PHASE_GATE;
	}
}

/*
 * Plan to drop the tables that the new schema does not have, by the names that they have
 * before all else, in one statement, because they may refer to each other.
 */
static void
PlanDroppedTables(MigrationPlan *plan)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, plan->dropped)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", CatalogTableName(lfirst(cell)));
	if (list.len > 0)
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DROP_TABLE, psprintf("DROP TABLE %s", list.data),
						 "the new schema has no such tables");
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

/* Returns true if a column that is there is one of the new schema. */
static bool
IsTakenColumn(const PlannedTable *table, const CatalogColumn *found)
{
	for (int i = 0; i < table->wanted->ncolumns; i++)
		if (table->columns[i].found == found)
			return true;
	return false;
}

/* Find the column that is there for one of the old schema, as FindOldTable() does. */
static CatalogColumn *
FindOldColumn(const PlannedTable *table, int number, int old)
{
	const DdlColumn *was = &table->was->columns[old];
	const DdlColumn *wanted = &table->wanted->columns[number];
	CatalogColumn *found = CatalogFindColumn(table->found, was->name);
	CatalogColumn *renamed = CatalogFindColumn(table->found, wanted->name);

	if (found != NULL && CatalogSameComment(found->comment, was->comment))
		return found;
	return renamed != NULL && CatalogSameComment(renamed->comment, wanted->comment) ? renamed : found;
}

/* Returns true if a column that is there has the foreign key that the new schema wants for one. */
static bool
RefersAsWanted(const MigrationPlan *plan, const PlannedTable *table, int number, const CatalogColumn *found)
{
	const DdlKey *wanted = NULL;
	ListCell   *cell;

	for (int i = 0; i < table->wanted->nkeys && wanted == NULL; i++)
		if (table->wanted->keys[i].kind == KEY_FOREIGN && table->wanted->keys[i].columns[0] == number)
			wanted = &table->wanted->keys[i];
	foreach(cell, wanted == NULL ? NIL : table->found->keys)
	{
		const CatalogKey *key = lfirst(cell);
		const CatalogTable *target = CatalogFind(plan->catalog, wanted->target_schema, wanted->target_table);

		if (key->type == 'f' && key->ncolumns == 1 && key->columns[0] == found && target != NULL && target->oid == key->target)
			return true;
	}
	return false;
}

/*
 * Returns true if a column that is there is not the one of the old schema with this
 * name, but the new one.  The comment has its path, which does not tell if it is another
 * reference at the same place; but then it has another foreign key, except for
 * descriptors, which are all in one table.
 */
static bool
IsNewColumn(const MigrationPlan *plan, const PlannedTable *table, int number, const CatalogColumn *found)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	int			reference = table->diff == NULL ? -1 : table->diff->after->columns[number].reference;

	if (!IsLostColumn(table, wanted->name))
		return true;
	if (reference >= 0 && table->wanted->entry->model->references[reference].descriptor)
		return false;
	return CatalogSameComment(found->comment, wanted->comment) && RefersAsWanted(plan, table, number, found);
}

/* Find the column that is there for one that is new, and that was added by hand. */
static CatalogColumn *
FindNewColumn(const MigrationPlan *plan, const PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	CatalogColumn *found = CatalogFindColumn(table->found, wanted->name);

	return found != NULL && !IsTakenColumn(table, found) && IsNewColumn(plan, table, number, found) ? found : NULL;
}

/* Find the column that is there for each of the new schema. */
static void
MatchColumns(const MigrationPlan *plan, PlannedTable *table)
{
	table->columns = palloc0(sizeof(PlannedColumn) * table->wanted->ncolumns);
	for (int i = 0; i < table->wanted->ncolumns; i++)
	{
		int			old = OldColumn(table, i);

		if (old >= 0)
			table->columns[i].found = FindOldColumn(table, i, old);
	}
	for (int i = 0; i < table->wanted->ncolumns; i++)
	{
		PlannedColumn *column = &table->columns[i];

		if (column->found == NULL)
			column->found = FindNewColumn(plan, table, i);
		if (column->found != NULL)
		{
			column->old_name = quote_identifier(column->found->name);
			column->was_type = column->found->type;
			column->was_required = column->found->not_null;
		}
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

	column->phase = CatalogFindColumn(table->found, wanted->name) != NULL || IsLostColumn(table, wanted->name) ?
		PHASE_GATE : plan->phase;
	AddStep(plan, table, column->phase, STEP_ADD_COLUMN,
			psprintf("ALTER TABLE %s ADD COLUMN %s %s", DdlTableName(table->wanted), quote_identifier(wanted->name), wanted->type),
			psprintf("%s is new", PlaceOfColumn(table, wanted)));
	column->found = palloc0(sizeof(CatalogColumn));
	column->found->name = pstrdup(wanted->name);
	column->found->type = pstrdup(wanted->type);
	table->found->columns = lappend(table->found->columns, column->found);
}

/* Returns true if a column of the new schema has this name. */
static bool
IsWantedColumn(const DdlTable *table, const char *name)
{
	for (int i = 0; i < table->ncolumns; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return true;
	return false;
}

/* Plan another name for a column. */
static void
RenameColumn(MigrationPlan *plan, PlannedTable *table, int number, StepKind kind, const char *name, const char *reason)
{
	PlannedColumn *column = &table->columns[number];

	AddStep(plan, table, PHASE_GATE, kind,
			psprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", DdlTableName(table->wanted),
					 quote_identifier(column->found->name), quote_identifier(name)), reason);
	column->found->name = pstrdup(name);
	column->phase = PHASE_GATE;
}

/* Plan the new name of a column. */
static void
PlanColumnName(MigrationPlan *plan, PlannedTable *table, int number)
{
	const DdlColumn *wanted = &table->wanted->columns[number];
	const char *name = table->columns[number].found->name;

	if (IsWantedColumn(table->wanted, name))
		RenameColumn(plan, table, number, STEP_FREE_NAME, MigrationNameMeanwhile(plan, name),
					 psprintf("another column gets the name of %s", PlaceOfColumn(table, wanted)));
	RenameColumn(plan, table, number, STEP_RENAME_COLUMN, wanted->name,
				 psprintf("%s has another name", PlaceOfColumn(table, wanted)));
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
	if (column->lossy && MigrationLossHasRows(table->old_name, "true"))
		ProblemAt(plan->losses, MigrationLossName(table->wanted->schema, table->wanted->name, wanted->name),
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
	char	   *sql = psprintf("DELETE FROM %s WHERE %s IS NULL", DdlTableName(wanted), name);

	if (wanted->number == 0)
	{
		char	   *documents = psprintf("SELECT %s FROM %s WHERE %s IS NULL", quote_identifier(wanted->columns[0].name),
										 DdlTableName(wanted), name);

		sql = MigrationDocumentsDelete(psprintf("DocumentId IN (%s)", documents));
		MigrationDocumentsPlanFreed(plan, documents);
	}
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
	MigrationLossHasRows(table->old_name, column->old_name != NULL ? psprintf("%s IS NULL", column->old_name) : "true");

	if (lacking)
		ProblemAt(plan->losses, MigrationLossName(table->wanted->schema, table->wanted->name, wanted->name),
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

		if (SchemaDiffKeepsColumn(table->diff, i) || found == NULL || IsTakenColumn(table, found))
			continue;
		ProblemAt(plan->losses, MigrationLossName(table->was->schema, table->was->name, was->name),
				  HoldsOther(table, i) ? "%s refers to another resource." : "%s is removed.", PlaceOfColumn(table, was));
		AddStep(plan, table, PHASE_GATE, STEP_DROP_COLUMN,
				psprintf("ALTER TABLE %s DROP COLUMN %s", DdlTableName(table->wanted), quote_identifier(was->name)),
				psprintf("%s is removed", PlaceOfColumn(table, was)));
		Disturb(plan, table, found);
		table->dropped = lappend(table->dropped, pstrdup(was->name));
		table->found->columns = list_delete_ptr(table->found->columns, found);
	}
}

/* Plan the columns of a table that is there. */
static void
PlanColumns(MigrationPlan *plan, PlannedTable *table)
{
	MatchColumns(plan, table);
	PlanLostColumns(plan, table);
	for (int i = 0; i < table->wanted->ncolumns; i++)
		if (table->columns[i].found == NULL)
			PlanNewColumn(plan, table, i);
	for (int i = 0; i < table->wanted->ncolumns; i++)
	{
		const DdlColumn *wanted = &table->wanted->columns[i];
		PlannedColumn *column = &table->columns[i];

		if (strcmp(column->found->name, wanted->name) != 0)
			PlanColumnName(plan, table, i);
		if (strcmp(column->found->type, wanted->type) != 0)
			PlanColumnType(plan, table, i);
		if (column->found->not_null != wanted->required)
			PlanColumnNull(plan, table, i);
		if (!CatalogSameComment(column->found->comment, wanted->comment))
			PlanColumnComment(plan, table, i);
	}
}

/* Plan the comment on a table that is there. */
static void
PlanTableComment(MigrationPlan *plan, PlannedTable *table)
{
	if (!CatalogSameComment(table->found->comment, table->wanted->comment))
		AddStep(plan, table, plan->phase, STEP_COMMENT,
				psprintf("COMMENT ON TABLE %s IS %s", DdlTableName(table->wanted), quote_literal_cstr(table->wanted->comment)),
				psprintf("%s is what the table holds", table->wanted->comment));
}

/* Plan a table that is missing, by the statements of a first deploy. */
static void
PlanNewTable(MigrationPlan *plan, const PlannedTable *table)
{
	ListCell   *cell;

	foreach(cell, plan->ddl->statements)
	{
		const DdlStatement *statement = lfirst(cell);

		if (statement->table == table->wanted)
			MigrationStepAdd(&plan->steps, plan->phase,
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
			MigrationKeysPlan(plan, table);
			MigrationKeysPlanIndexes(plan, table);
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
	plan->losses = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	plan->obstacles = ProblemNew(PROBLEM_STORE_UNSAFE);
	plan->catalog = ReadCatalog(diff);
	PlanSchemas(plan);
	MigrationNamesCollect(plan);
	MatchTables(plan);
	if (plan->obstacles->count > 0)
		ProblemRaise(plan->obstacles, "tables are not as a change of the schema needs them");
	MigrationLossFind(plan);
	PlanDroppedTables(plan);
	PlanTables(plan);
	MigrationEmptyPlan(plan);
	MigrationViewsPlan(plan);
	MigrationDocumentsPlan(plan, trigger_statements);
	MigrationWorkFind(plan);
	MigrationStepsSort(&plan->steps);
	return plan;
}
