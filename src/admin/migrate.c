/*
 * migrate.c
 *		Changing the schema of a store that has data.
 *
 * All runs in the transaction of the deploy.  Writers wait at the gate, and readers
 * wait for the stored models, so that nobody sees tables of one schema and models of
 * the other.
 */
#include "postgres.h"

#include "access/xact.h"
#include "admin/migrate.h"
#include "admin/migratedata.h"
#include "admin/migratekeys.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "document/changes.h"
#include "document/rowtables.h"
#include "engine/ownercode.h"
#include "engine/progress.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "model/modelstore.h"
#include "model/optionpaths.h"
#include "model/resourcemodels.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "model/uniqueoptions.h"
#include "schema/deploycheck.h"
#include "schema/deployrecord.h"
#include "schema/deployschemas.h"
#include "schema/deploytypes.h"
#include "schema/grants.h"
#include "schema/searchindex.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

/* Report progress after this many steps. */
#define PROGRESS_STEP 500

/* Raise an error that lists what the change would lose, if there is anything. */
static void
RefuseLosses(const MigrationPlan *plan)
{
	plan->losses->hint = "dms.migrate_schema() loses it if allow_destructive is true,"
		" and keeps it under another name if renames tells which.";
	ProblemRaise(plan->losses, ngettext("the change of the schema would lose data: %d finding",
										"the change of the schema would lose data: %d findings", plan->losses->count),
				 plan->losses->count);
}

/* Note what the options of a resource need, and the new schema does not have. */
static void
CheckOptions(const ResourceDiff *resource, Problem *problem)
{
	const ResourceModel *before = resource->before->model;
	const ResourceModel *after = resource->after == NULL ? NULL : resource->after->model;
	Jsonb	   *options = ResourceTypeOptions(ResourceTypeId(before->project, before->resource), NULL);
	ListCell   *cell;

	if (options == NULL)
		return;
	if ((after == NULL || SchemaDiffIsRenamed(resource)) && ResourceOptionsKeepHistory(options))
		ProblemAt(problem, SchemaDiffName(resource->before), "%s keeps versions of its documents.", resource->before->place);
	foreach(cell, UniqueOptionsPaths(options))
	{
		if (after == NULL || UniqueOptionsColumn(after, lfirst(cell)) < 0)
			ProblemAt(problem, SchemaDiffName(resource->before), "%s has the unique key %s.", resource->before->place,
					  (char *) lfirst(cell));
	}
}

/* Note new resources whose names in URNs were given to others, by the option resourceType. */
static void
CheckTypeNames(const SchemaDiff *diff, Problem *problem)
{
	ListCell   *cell;

	foreach(cell, diff->after->entries)
	{
		const ModelEntry *entry = lfirst(cell);
		int32		id = ResourceTypeId(entry->model->project, entry->model->resource);
		char	   *name = ResourceTypeName(entry->model->project, entry->model->resource);

		CHECK_FOR_INTERRUPTS();
		if (ResourceTypeOptions(id, NULL) == NULL && ResourceTypeIsTaken(name, id))
			ProblemAt(problem, SchemaDiffName(entry), "Another resource is called \"%s\".", name);
	}
}

/* Note what the options of all resources need, and the new schema does not have. */
static void
CheckAllOptions(const SchemaDiff *diff, Problem *problem)
{
	ListCell   *cell;

	CheckTypeNames(diff, problem);
	foreach(cell, diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (resource->before != NULL)
			CheckOptions(resource, problem);
	}
}

/*
 * Refuse a change that options contradict, whatever the caller agrees to lose.  Versions
 * belong to the number of their resource, and unique keys are made of its paths.
 */
static void
RefuseOptions(const SchemaDiff *diff)
{
	Problem    *problem = ProblemNew(PROBLEM_SCHEMA_REFUSED);

	CheckAllOptions(diff, problem);
	problem->hint = "Remove the options history, uniqueKeys or resourceType first, by dms.configure_resource().";
	if (problem->count > 0)
		ProblemRaise(problem, "options of resources contradict the new schema");
}

/* Plan the change from the schema of the store, and refuse it if it would lose what it must not. */
MigrationPlan *
MigratePlan(const Deployment *deployment)
{
	MigrationPlan *plan;
	SchemaDiff *diff;

	SnapshotBeginLatest();
	diff = SchemaDiffMake(ModelSetFromStore(), deployment->set, deployment->renames);
	DeploySchemasCheck(deployment->schema, diff->before, diff->after, deployment->ddl);
	plan = MigrationPlanMake(diff, deployment->ddl, deployment->triggers);
	if (!deployment->allow_destructive && plan->losses->count > 0)
	{
		CheckAllOptions(diff, plan->losses);
		RefuseLosses(plan);
	}
	RefuseOptions(diff);
	SnapshotEnd();
	return plan;
}

/* Returns the statements that a deploy runs, as DdlStatement; the plan may be NULL. */
List *
MigrateStatements(const MigrationPlan *plan)
{
	List	   *statements = NIL;
	ListCell   *cell;

	foreach(cell, plan == NULL ? NIL : plan->steps.list)
	{
		const MigrationStep *step = lfirst(cell);

		if (step->own != NULL)
			statements = lappend(statements, DdlStatementNew(step->own));
	}
	return statements;
}

/* A table that is changed, or that a new foreign key refers to. */
typedef struct ChangedTable
{
	Oid			table;
	LOCKMODE	mode;
	bool		changes;
} ChangedTable;

/* qsort() comparator for tables. */
static int
CompareTables(const void *a, const void *b)
{
	Oid			left = ((const ChangedTable *) a)->table;
	Oid			right = ((const ChangedTable *) b)->table;

	return left == right ? 0 : left < right ? -1 : 1;
}

/* The lock on its table that a step takes, or a stronger one. */
static LOCKMODE
ModeOfStep(const MigrationStep *step)
{
	return step->kind == STEP_CREATE_INDEX || step->kind == STEP_ADD_KEY || step->kind == STEP_VALIDATE_KEY ?
		ShareRowExclusiveLock : AccessExclusiveLock;
}

/* Collect the tables of all steps, except comments; a table may be there several times. */
static ChangedTable *
ChangedTables(const MigrationPlan *plan, int *n)
{
	ChangedTable *tables = palloc(sizeof(ChangedTable) * Max(2 * list_length(plan->steps.list), 1));
	ListCell   *cell;

	*n = 0;
	foreach(cell, plan->steps.list)
	{
		const MigrationStep *step = lfirst(cell);

		if (OidIsValid(step->table) && step->kind != STEP_COMMENT)
			tables[(*n)++] = (ChangedTable)
		{
			step->table, ModeOfStep(step), true
		};
		if (OidIsValid(step->target))
			tables[(*n)++] = (ChangedTable)
		{
			step->target, ShareRowExclusiveLock, false
		};
	}
	qsort(tables, *n, sizeof(ChangedTable), CompareTables);
	return tables;
}

/* Lock the tables that are changed, each in the strongest mode that any step takes. */
static void
LockTables(const ChangedTable *tables, int n)
{
	for (int i = 0; i < n; i++)
	{
		LOCKMODE	mode = tables[i].mode;

		for (; i + 1 < n && tables[i + 1].table == tables[i].table; i++)
			mode = Max(mode, tables[i + 1].mode);
		CHECK_FOR_INTERRUPTS();
		LockRelationOid(tables[i].table, mode);
	}
}

/*
 * Check that the tables of the plan are still there under their names, and belong to
 * the owner of the store.
 */
static void
CheckNames(const MigrationPlan *plan)
{
	Oid			owner = StoreOwner();
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);

		if (table->found == NULL)
			continue;
		if (get_relname_relid(table->old_table, get_namespace_oid(table->old_schema, true)) != table->found->oid)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("table %s was replaced while the change of the schema was planned", table->old_name),
					 errhint("Try again.")));
		StoreCheckRelation(table->found->oid, RELKIND_RELATION, owner);
	}
}

/*
 * Lock the tables that are changed, and check their code: changing a table can run
 * expressions of its indexes and constraints with the owner's rights.  Without the
 * locks, code could be added after the check.
 */
static void
CheckTables(const MigrationPlan *plan)
{
	int			n;
	ChangedTable *tables = ChangedTables(plan, &n);

	LockTables(tables, n);
	CheckNames(plan);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (tables[i].changes)
			OwnerCodeCheckChange(tables[i].table);
		else
			OwnerCodeCheckTable(tables[i].table);
	}
}

/* Refuse more steps than the lock table has room for. */
static void
CheckLocks(const MigrationPlan *plan)
{
	int			tables = 0;
	int			others = 0;
	ListCell   *cell;

	foreach(cell, plan->steps.list)
	{
		const MigrationStep *step = lfirst(cell);

		tables += step->creates_table;
		others += !step->creates_table && step->kind != STEP_COMMENT;
	}
	DeployCheckLocks(tables, others);
}

/* Run the steps, and report progress. */
static void
RunSteps(const MigrationPlan *plan)
{
	int			done = 0;
	ListCell   *cell;

	foreach(cell, plan->steps.list)
	{
		const MigrationStep *step = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		ProgressReport("changing the schema, step %d of %d", done + 1, list_length(plan->steps.list));
		if (step->own != NULL && step->writes)
			(void) StatementExecuteWithArgs(step->own, 0, NULL, NULL, false);
		else if (step->own != NULL)
			StatementExecute(step->own);
		if (++done % PROGRESS_STEP == 0)
			ereport(NOTICE, (errmsg("%d of %d steps are done", done, list_length(plan->steps.list))));
	}
}

/*
 * Check the code on the tables of resources whose documents are deleted, which
 * triggers on dms.Document will delete from.
 */
static void
CheckDeletes(const MigrationPlan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->deleted)
	{
		const ResourceModel *model = ((ResourceDiff *) lfirst(cell))->before->model;

		StatementCheck(RowTablesClear(ModelCacheFind(model->project, model->resource)));
	}
	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);
		const ResourceModel *model = table->loses_rows && table->resource->before != NULL ?
		table->resource->before->model : NULL;

		if (model != NULL)
			StatementCheck(RowTablesClear(ModelCacheFind(model->project, model->resource)));
	}
}

/* Returns the options that a resource had; NULL if it had none. */
static Jsonb *
OptionsBefore(const ResourceModel *model)
{
	Jsonb	   *options;

	SnapshotBegin();
	options = ResourceTypeOptions(ResourceTypeId(model->project, model->resource), NULL);
	SnapshotEnd();
	return options != NULL && JB_ROOT_COUNT(options) > 0 ? options : NULL;
}

/*
 * Give a resource the options that it had, under its new names, and without those that
 * the caller has agreed to lose.  An index that was dropped with a column is created again.
 */
static void
KeepOptions(const ResourceDiff *resource)
{
	const ResourceModel *after = resource->after->model;
	Jsonb	   *options = OptionsBefore(resource->before->model);
	Jsonb	   *kept;
	ListCell   *cell;

	if (options == NULL)
	{
		if (SchemaDiffIsRenamed(resource))
			MigrateKeysRename(resource);
		return;
	}
	kept = OptionPathsKeepFitting(options, after);
	if (kept != options || SchemaDiffIsRenamed(resource))
		ResourceTypeSetOptions(ResourceTypeId(after->project, after->resource), kept);
	if (SchemaDiffIsRenamed(resource))
		MigrateKeysRename(resource);
	foreach(cell, SearchIndexDdl(after, kept, kept, NULL))
		StatementExecute(lfirst(cell));
}

/* Keep the options of resources that stay. */
static void
RecordOptions(const SchemaDiff *diff)
{
	ListCell   *cell;

	foreach(cell, diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (resource->before != NULL && resource->after != NULL && resource->after->model->kind != RESOURCE_ABSTRACT)
			KeepOptions(resource);
	}
}

/* Record the documents of resources that have other names, and so other numbers. */
static void
RecordChanges(const SchemaDiff *diff)
{
	ListCell   *cell;

	foreach(cell, diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (SchemaDiffIsRenamed(resource))
			ChangesMove(ResourceTypeId(resource->before->model->project, resource->before->model->resource),
						ResourceTypeId(resource->after->model->project, resource->after->model->resource));
	}
}

/* Store the models that differ from those of the old schema. */
static void
RecordModels(const SchemaDiff *diff)
{
	ListCell   *cell;

	foreach(cell, diff->before->entries)
	{
		const ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		if (ModelSetFind(diff->after, model->project, model->resource) == NULL)
			ResourceModelsDelete(model->project, model->resource);
	}

	foreach(cell, diff->after->entries)
	{
		const ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;
		const ModelEntry *before = ModelSetFind(diff->before, model->project, model->resource);

		CHECK_FOR_INTERRUPTS();
		if (before == NULL || !ModelStoreEqual(before->model, model))
			ResourceModelsPut(model);
	}
}

/* Record the new schema: from now on, models that are looked up are its models. */
static void
RecordSchema(const Deployment *deployment, const MigrationPlan *plan)
{
	DeployRecordEdgeSources(deployment->set);
	DeployTypesRecord(deployment->set);
	RecordOptions(plan->diff);
	RecordModels(plan->diff);
	DeployRecordSchema(deployment->schema, deployment->hash);
	StoreRowRaise();
}

/*
 * Change the schema of the store.  The gate is closed.  Runs with the rights of the
 * owner.
 */
void
MigrateStore(const Deployment *deployment)
{
	MigrationPlan *plan;
	MigratedDocuments bumped;
	bool		keys;

	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"the schema cannot be changed under a snapshot that was taken before the writers were stopped");
	plan = MigratePlan(deployment);
	CheckLocks(plan);
	StoreCloseModels();
	CheckTables(plan);
	CheckDeletes(plan);
	bumped = MigrateDataBumped(plan);
	MigrateDataKeepKeys(plan);
	keys = MigrateKeysRelease(plan->diff);
	RunSteps(plan);
	DeployCheckOwners(deployment->schema);
	RecordSchema(deployment, plan);
	ProgressReport("computing what depends on the schema");
	MigrateDataCompute(plan);
	if (keys)
		MigrateKeysRestore(plan->diff);
	DeployRecordForgetEdgeSources(deployment->set);
	MigrateDataCompareKeys(plan, &bumped);
	MigrateDataBump(bumped);
	RecordChanges(plan->diff);
	GrantsReapply();
	ProgressEnd();
	ereport(NOTICE,
			(errmsg_plural("changed the schema in %d step", "changed the schema in %d steps",
						   list_length(plan->steps.list), list_length(plan->steps.list))));
}
