/*
 * migrationkeys.c
 *		Planning how the keys and indexes of a table become those of the new
 *		schema.
 *
 * A key is recognized by what it does, not by its name: one that does what is
 * wanted gets the name that is wanted, and one with that name that does something
 * else is replaced.  Keys and indexes that no schema describes were added by the
 * owner, and are left alone.
 */
#include "postgres.h"

#include "schema/migrationkeys.h"
#include "schema/migrationnames.h"
#include "schema/naming.h"
#include "utils/builtins.h"

/* Returns true if the name is that of a key that a schema gives the table. */
static bool
DescribesKey(const DdlTable *table, const char *name)
{
	for (int i = 0; table != NULL && i < table->nkeys; i++)
		if (strcmp(table->keys[i].name, name) == 0)
			return true;
	return false;
}

/* Returns true if the name is that of an index that a schema gives the table. */
static bool
DescribesIndex(const DdlTable *table, const char *name)
{
	for (int i = 0; table != NULL && i < table->nindexes; i++)
		if (strcmp(table->indexes[i].name, name) == 0)
			return true;
	return false;
}

/* Returns true if a foreign key has the target that is wanted. */
static bool
SameTarget(const MigrationPlan *plan, const DdlKey *wanted, const CatalogKey *found)
{
	const CatalogTable *target = CatalogFind(plan->catalog, wanted->target_schema, wanted->target_table);

	return target != NULL && target->oid == found->target && wanted->cascades == found->cascades;
}

/* Returns true if a key does what is wanted, whatever its name and whether it is valid. */
static bool
SameKey(const MigrationPlan *plan, const PlannedTable *table, const DdlKey *wanted, const CatalogKey *found)
{
	static const char types[] = {[KEY_PRIMARY] = 'p',[KEY_UNIQUE] = 'u',[KEY_FOREIGN] = 'f'};

	if (found->type != types[wanted->kind] || found->ncolumns != wanted->ncolumns || !found->plain ||
		found->deferrable != (wanted->kind == KEY_UNIQUE) || found->nulls_not_distinct != wanted->nulls_not_distinct)
		return false;
	for (int i = 0; i < wanted->ncolumns; i++)
		if (found->columns[i] == NULL || found->columns[i] != table->columns[wanted->columns[i]].found)
			return false;
	return wanted->kind != KEY_FOREIGN || SameTarget(plan, wanted, found);
}

/*
 * Returns the key of the table that does what is wanted: one with the wanted name if
 * there is one, else one that the old schema describes and that is not taken yet.
 */
static CatalogKey *
FindKey(const MigrationPlan *plan, const PlannedTable *table, const DdlKey *wanted, const List *taken)
{
	CatalogKey *named = CatalogFindKey(table->found, wanted->name);
	ListCell   *cell;

	if (named != NULL && SameKey(plan, table, wanted, named))
		return named;
	foreach(cell, table->found->keys)
	{
		CatalogKey *key = lfirst(cell);

		if (DescribesKey(table->was, key->name) && !DescribesKey(table->wanted, key->name) &&
			!list_member_ptr(taken, key) && SameKey(plan, table, wanted, key))
			return key;
	}
	return NULL;
}

/*
 * Returns the first phase in which all columns of a key or index are there as wanted,
 * and nothing else has its name.
 */
static MigrationPhase
PhaseOfColumns(const MigrationPlan *plan, const PlannedTable *table, const char *name, const int *columns, int ncolumns)
{
	MigrationPhase phase = MigrationNameIsThere(plan, table->wanted->schema, name) ? PHASE_GATE : plan->phase;

	for (int i = 0; i < ncolumns; i++)
		phase = Max(phase, table->columns[columns[i]].phase);
	return phase;
}

/* Returns the table that a foreign key refers to, if it is there. */
static Oid
TargetOf(const MigrationPlan *plan, const DdlKey *key)
{
	const CatalogTable *target = key->kind == KEY_FOREIGN ?
	CatalogFind(plan->catalog, key->target_schema, key->target_table) : NULL;

	return target == NULL ? InvalidOid : target->oid;
}

/* Plan the validation of a foreign key that was added without looking at rows. */
static void
PlanValidation(MigrationPlan *plan, const PlannedTable *table, const DdlKey *key, bool added)
{
	MigrationPhase phase = PhaseOfColumns(plan, table, "", key->columns, key->ncolumns);
	MigrationStep *step = MigrationStepAdd(&plan->steps, phase, STEP_VALIDATE_KEY,
										   psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", DdlTableName(table->wanted),
													quote_identifier(key->name)),
										   psprintf("rows of %s are compared with a new foreign key", table->wanted->title));

	step->table = table->found->oid;
	step->target = TargetOf(plan, key);
	if (added)
		step->own = NULL;
}

/*
 * Plan a key that is missing.  Operators add a foreign key first and let it look at
 * rows later, beside writers; a transaction gains nothing by that.  A unique key
 * must not be there before the new schema is.
 */
static void
PlanNewKey(MigrationPlan *plan, const PlannedTable *table, const DdlKey *key)
{
	char	   *sql = psprintf("ALTER TABLE %s ADD %s", DdlTableName(table->wanted), DdlTableKeySql(table->wanted, key));
	bool		foreign = key->kind == KEY_FOREIGN;
	MigrationPhase phase = foreign ? PhaseOfColumns(plan, table, key->name, key->columns, key->ncolumns) : PHASE_GATE;
	MigrationStep *step = MigrationStepAdd(&plan->steps, phase, STEP_ADD_KEY, sql,
										   psprintf("%s has a new %s", table->wanted->title,
													foreign ? "foreign key" : "unique key"));

	step->table = table->found->oid;
	step->target = TargetOf(plan, key);
	if (step->phase != PHASE_BEFORE)
		return;
	step->sql = psprintf("%s NOT VALID", sql);
	PlanValidation(plan, table, key, true);
}

/* Add a step that gives a key of the table another name. */
static void
RenameKey(MigrationPlan *plan, const PlannedTable *table, CatalogKey *key, StepKind kind, const char *name)
{
	MigrationStepAdd(&plan->steps, PHASE_GATE, kind,
					 psprintf("ALTER TABLE %s RENAME CONSTRAINT %s TO %s", DdlTableName(table->wanted),
							  quote_identifier(key->name), quote_identifier(name)),
					 psprintf("a key of %s has another name", table->wanted->title))->table = table->found->oid;
	key->name = pstrdup(name);
}

/* Plan a new name for a key. */
static void
PlanKeyName(MigrationPlan *plan, const PlannedTable *table, CatalogKey *key, const char *name)
{
	if (MigrationNameIsWanted(plan, table->wanted->schema, key->name))
		RenameKey(plan, table, key, STEP_FREE_NAME, MigrationNameMeanwhile(plan, key->name));
	RenameKey(plan, table, key, STEP_RENAME_KEY, name);
}

/* Plan to drop the keys of the old schema that the new one does not have. */
static void
PlanDroppedKeys(MigrationPlan *plan, const PlannedTable *table, const List *taken)
{
	ListCell   *cell;

	foreach(cell, table->found->keys)
	{
		const CatalogKey *key = lfirst(cell);

		if (list_member_ptr(taken, key) ||
			(!DescribesKey(table->was, key->name) && !DescribesKey(table->wanted, key->name)))
			continue;
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DROP_KEY,
						 psprintf("ALTER TABLE %s DROP CONSTRAINT %s", table->old_name, quote_identifier(key->name)),
						 psprintf("a key of %s is not needed any more", table->wanted->title))->table = table->found->oid;
	}
}

/* Plan the keys of a table that is there. */
void
MigrationKeysPlan(MigrationPlan *plan, PlannedTable *table)
{
	List	   *taken = NIL;
	CatalogKey **found = palloc0(sizeof(CatalogKey *) * Max(table->wanted->nkeys, 1));

	for (int i = 0; i < table->wanted->nkeys; i++)
	{
		found[i] = FindKey(plan, table, &table->wanted->keys[i], taken);
		if (found[i] != NULL)
			taken = lappend(taken, found[i]);
	}
	PlanDroppedKeys(plan, table, taken);
	for (int i = 0; i < table->wanted->nkeys; i++)
	{
		const DdlKey *key = &table->wanted->keys[i];

		if (found[i] == NULL)
			PlanNewKey(plan, table, key);
		else if (strcmp(found[i]->name, key->name) != 0)
			PlanKeyName(plan, table, found[i], key->name);
		if (found[i] != NULL && !found[i]->valid)
			PlanValidation(plan, table, key, false);
	}
}

/* Returns true if an index does what is wanted, whatever its name. */
static bool
SameIndex(const PlannedTable *table, const DdlIndex *wanted, const CatalogIndex *found)
{
	return found->column != NULL && found->column == table->columns[wanted->column].found && found->valid &&
		found->hash == wanted->hash && found->partial == wanted->partial;
}

/* What an index is for: "Ed-Fi.Student: $.birthDate". */
static char *
PlaceOfIndex(const PlannedTable *table, const DdlIndex *index)
{
	return psprintf("%s: %s", table->wanted->entry->place, table->wanted->columns[index->column].comment);
}

/* Returns the index that does what is wanted, as FindKey() does. */
static CatalogIndex *
FindIndex(const PlannedTable *table, const DdlIndex *wanted, const List *taken)
{
	CatalogIndex *named = CatalogFindIndex(table->found, wanted->name);
	ListCell   *cell;

	if (named != NULL && SameIndex(table, wanted, named))
		return named;
	foreach(cell, table->found->indexes)
	{
		CatalogIndex *index = lfirst(cell);

		if (DescribesIndex(table->was, index->name) && !DescribesIndex(table->wanted, index->name) &&
			!list_member_ptr(taken, index) && SameIndex(table, wanted, index))
			return index;
	}
	return NULL;
}

/* Plan to drop an index; it goes at once if another one takes its name. */
static void
PlanDroppedIndex(MigrationPlan *plan, const PlannedTable *table, const CatalogIndex *index)
{
	bool		replaced = MigrationNameIsWanted(plan, table->old_schema, index->name);
	const char *name = quote_qualified_identifier(replaced ? table->old_schema : table->wanted->schema, index->name);
	MigrationStep *step = MigrationStepAdd(&plan->steps, replaced ? PHASE_GATE : PHASE_AFTER, STEP_DROP_INDEX,
										   psprintf("DROP INDEX %s%s", replaced ? "" : "CONCURRENTLY ", name),
										   psprintf("an index of %s is not needed any more", table->wanted->title));

	step->own = psprintf("DROP INDEX %s", name);
	step->table = table->found->oid;
}

/*
 * Plan an index whose name another one has.  Operators build it under a name of its
 * own, beside users of the other one, so that it only has to be renamed in the end.
 */
static void
PlanReplacedIndex(MigrationPlan *plan, const PlannedTable *table, const DdlIndex *index)
{
	const char *name = DdlTableName(table->wanted);
	const char *column = table->wanted->columns[index->column].name;
	const char *reason = psprintf("the index of %s is of another kind", PlaceOfIndex(table, index));
	char	   *built = NamePhysical(psprintf("%s_new", index->name));
	const CatalogIndex *found = CatalogFindIndex(table->found, built);
	bool		is_built = found != NULL && SameIndex(table, index, found);
	MigrationPhase phase = PhaseOfColumns(plan, table, built, &index->column, 1);
	MigrationStep *step;

	if (phase == PHASE_BEFORE && found == NULL)
		MigrationStepAdd(&plan->steps, phase, STEP_CREATE_INDEX, DdlTableIndexSql(name, column, index, built, true), reason)->own = NULL;
	step = MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_CREATE_INDEX,
							psprintf("ALTER INDEX %s RENAME TO %s", quote_qualified_identifier(table->wanted->schema, built),
									 quote_identifier(index->name)), reason);
	step->table = table->found->oid;
	if (!is_built)
		step->own = DdlTableIndexSql(name, column, index, index->name, false);
	if (!is_built && (phase != PHASE_BEFORE || found != NULL))
		step->sql = step->own;
	if (!is_built && found != NULL)
		PlanDroppedIndex(plan, table, found);
}

/* Plan an index that is missing. */
static void
PlanNewIndex(MigrationPlan *plan, const PlannedTable *table, const DdlIndex *index)
{
	const char *name = DdlTableName(table->wanted);
	const char *column = table->wanted->columns[index->column].name;
	MigrationStep *step;

	if (CatalogFindIndex(table->found, index->name) != NULL)
	{
		PlanReplacedIndex(plan, table, index);
		return;
	}
	step = MigrationStepAdd(&plan->steps, PhaseOfColumns(plan, table, index->name, &index->column, 1), STEP_CREATE_INDEX,
							DdlTableIndexSql(name, column, index, index->name, false),
							psprintf("%s has an index", PlaceOfIndex(table, index)));
	step->table = table->found->oid;
	if (step->phase == PHASE_BEFORE)
		step->sql = DdlTableIndexSql(name, column, index, index->name, true);
}

/* Add a step that gives an index of the table another name. */
static void
RenameIndex(MigrationPlan *plan, const PlannedTable *table, CatalogIndex *index, StepKind kind, const char *name)
{
	MigrationStepAdd(&plan->steps, PHASE_GATE, kind,
					 psprintf("ALTER INDEX %s RENAME TO %s",
							  quote_qualified_identifier(table->wanted->schema, index->name), quote_identifier(name)),
					 psprintf("an index of %s has another name", table->wanted->title))->table = table->found->oid;
	index->name = pstrdup(name);
}

/* Plan a new name for an index. */
static void
PlanIndexName(MigrationPlan *plan, const PlannedTable *table, CatalogIndex *index, const char *name)
{
	if (MigrationNameIsWanted(plan, table->wanted->schema, index->name))
		RenameIndex(plan, table, index, STEP_FREE_NAME, MigrationNameMeanwhile(plan, index->name));
	RenameIndex(plan, table, index, STEP_RENAME_KEY, name);
}

/* Plan the indexes of a table that is there. */
void
MigrationKeysPlanIndexes(MigrationPlan *plan, PlannedTable *table)
{
	List	   *taken = NIL;
	CatalogIndex **found = palloc0(sizeof(CatalogIndex *) * Max(table->wanted->nindexes, 1));
	ListCell   *cell;

	for (int i = 0; i < table->wanted->nindexes; i++)
	{
		found[i] = FindIndex(table, &table->wanted->indexes[i], taken);
		if (found[i] != NULL)
			taken = lappend(taken, found[i]);
	}
	foreach(cell, table->found->indexes)
	{
		const CatalogIndex *index = lfirst(cell);

		/* With a column that is dropped, its indexes are, too. */
		if (!list_member_ptr(taken, index) && (index->column == NULL || list_member_ptr(table->found->columns, index->column)) &&
			(DescribesIndex(table->was, index->name) || DescribesIndex(table->wanted, index->name)))
			PlanDroppedIndex(plan, table, index);
	}
	for (int i = 0; i < table->wanted->nindexes; i++)
	{
		const DdlIndex *index = &table->wanted->indexes[i];

		if (found[i] == NULL)
			PlanNewIndex(plan, table, index);
		else if (strcmp(found[i]->name, index->name) != 0)
			PlanIndexName(plan, table, found[i], index->name);
	}
}
