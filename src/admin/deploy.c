/*
 * deploy.c
 *		dms.deploy_schema(), dms.migrate_schema(), dms.plan_schema() and
 *		dms.plan_migration().
 *
 * A deploy is one transaction of its caller.  It waits for other deploys on a
 * lock of the schema and for writers at the gate, and what it read of the store
 * before it had both locks counts for nothing.  The exception is a schema that is
 * deployed already: there is nothing to do, so nobody waits.
 */
#include "postgres.h"

#include "admin/migrate.h"
#include "base/faults.h"
#include "catalog/pg_type.h"
#include "engine/progress.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/resourcemodels.h"
#include "schema/deploycheck.h"
#include "schema/deployrecord.h"
#include "schema/deployschemas.h"
#include "schema/deploytypes.h"
#include "schema/grants.h"
#include "schema/modelbuild.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"

PG_FUNCTION_INFO_V1(dms_deploy_schema);
PG_FUNCTION_INFO_V1(dms_plan_schema);
PG_FUNCTION_INFO_V1(dms_migrate_schema);
PG_FUNCTION_INFO_V1(dms_plan_migration);

/* Report progress after this many tables. */
#define PROGRESS_STEP 100

/* The ApiSchema files of an argument. */
static ApiSchema *
ReadArgument(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	char	  **texts;
	int		   *lengths;

	deconstruct_array(array, JSONOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	texts = palloc(sizeof(char *) * Max(n, 1));
	lengths = palloc(sizeof(int) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "schema %d is null", i + 1);
		texts[i] = TextDatumGetCString(elements[i]);
		lengths[i] = strlen(texts[i]);
	}
	return ApiSchemaRead(n, texts, lengths);
}

/* Identities are hashed as UTF-8, so no other encoding will do. */
static void
CheckEncoding(ApiSchema *schema)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		ProblemNote(schema->problems, "The encoding of the database is %s, and must be UTF8.",
					GetDatabaseEncodingName());
}

/* Compile a schema, and refuse it if anything is wrong. */
static void
CompileSchema(Deployment *deployment)
{
	ModelSet   *set = ModelBuildSet(deployment->schema);

	DeployCheckEdgeSources(set);
	DeployTypesCheck(set);
	deployment->set = set;
	deployment->ddl = DdlPlanModels(set);
	ApiSchemaRefuse(deployment->schema);
}

/*
 * Read files, and refuse those with problems.  The rest is compiled first, where
 * possible, so that all problems are listed at once.
 */
static Deployment *
ReadDeployment(ArrayType *files)
{
	Deployment *deployment = palloc0(sizeof(Deployment));
	ApiSchema  *schema = ReadArgument(files);

	deployment->schema = schema;
	CheckEncoding(schema);
	if (schema->problems->count > 0 && !schema->broken)
		CompileSchema(deployment);
	ApiSchemaRefuse(schema);
	deployment->hash = ApiSchemaHash(schema, MAPPING_VERSION);
	return deployment;
}

/* The statements that the last query returned. */
static List *
ResultStatements(void)
{
	List	   *statements = NIL;

	for (uint64 i = 0; i < ResultRows(); i++)
		statements = lappend(statements, DdlStatementNew(ResultText(i, 1)));
	return statements;
}

/* The statements that create the core tables. */
static List *
CoreStatements(void)
{
	StatementExecuteWithArgs("SELECT pg_catalog.btrim(s, E'\\n') FROM dms_internal.core_ddl() AS s",
							 0, NULL, NULL, true);
	return ResultStatements();
}

/* The statements that create the triggers of dms.Document. */
static List *
TriggerStatements(const DdlPlan *plan)
{
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(plan->clearing), CStringGetTextDatum(plan->truncated),
	CStringGetTextDatum(plan->keys)};

	StatementExecuteWithArgs("SELECT pg_catalog.btrim(s, E'\\n') FROM dms_internal.trigger_ddl($1, $2, $3) AS s",
							 lengthof(types), types, values, true);
	return ResultStatements();
}

/* The same, read with the rights of the caller, who may call that function. */
static List *
ReadTriggers(const DdlPlan *plan)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext saved;
	List	   *statements = NIL;
	List	   *read;
	ListCell   *cell;

	SessionBeginPart();
	read = TriggerStatements(plan);
	saved = MemoryContextSwitchTo(context);
	foreach(cell, read)
		statements = lappend(statements, DdlStatementNew(pstrdup(((DdlStatement *) lfirst(cell))->sql)));
	MemoryContextSwitchTo(saved);
	SessionEndPart();
	return statements;
}

/* All statements of a first deploy, in order. */
static List *
PlanStatements(const DdlPlan *plan)
{
	return list_concat(list_concat(CoreStatements(), plan->statements), TriggerStatements(plan));
}

/* Run all statements, and report progress by the tables of resources. */
static void
RunStatements(List *statements, int tables)
{
	int			created = 0;
	ListCell   *cell;

	foreach(cell, statements)
	{
		const DdlStatement *statement = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		ProgressReport("creating the store, step %d of %d", foreach_current_index(cell) + 1, list_length(statements));
		StatementExecute(statement->sql);
		if (statement->creates_table && ++created % PROGRESS_STEP == 0)
			ereport(NOTICE, (errmsg("created %d of %d tables", created, tables)));
	}
	ProgressEnd();
}

/* Deploy for the first time. */
static void
FirstDeploy(Deployment *deployment)
{
	const DdlPlan *ddl = deployment->ddl;
	ListCell   *cell;

	DeploySchemasCheck(deployment->schema, NULL, deployment->set, ddl);
	DeployCheckLocks(ddl->tables, ddl->indexes);
	RunStatements(PlanStatements(ddl), ddl->tables);
	DeployCheckOwners(deployment->schema);
	StoreRowInsert();
	DeployRecordEdgeSources(deployment->set);
	DeployTypesRecord(deployment->set);
	foreach(cell, deployment->set->entries)
		ResourceModelsPut(((ModelEntry *) lfirst(cell))->model);
	DeployRecordSchema(deployment->schema, deployment->hash);
	StoreRowRaise();
	GrantsReapply();
	ereport(NOTICE,
			(errmsg("deployed %d resources: %d tables, %d indexes, %d foreign keys",
					list_length(deployment->schema->resources), ddl->tables, ddl->indexes, ddl->foreign_keys)));
}

/*
 * Returns true if the schema of this hash is deployed.  Takes no lock that a
 * writer would have to wait for.
 */
static bool
IsDeployed(const char *hash)
{
	Session		session;
	char	   *current;
	bool		same;

	if (!StoreExists())
		return false;
	SessionBegin(&session, RIGHTS_OF_OWNER);
	current = DeployRecordHash();
	same = current != NULL && strcmp(current, hash) == 0;
	SessionEnd(&session);
	return same;
}

/* Deploy into a database that has no store. */
static void
CreateStore(Deployment *deployment)
{
	Session		session;

	CompileSchema(deployment);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	FirstDeploy(deployment);
	SessionEnd(&session);
}

/*
 * Change the schema of the store, after waiting for writers.  The deploys that we
 * waited for may have deployed the same schema.
 */
static void
ChangeStore(Deployment *deployment)
{
	Session		session;
	char	   *current;

	StoreGate(ShareRowExclusiveLock);
	CompileSchema(deployment);
	deployment->triggers = ReadTriggers(deployment->ddl);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	current = DeployRecordHash();
	if (current == NULL)
		ReportError(PROBLEM_NOT_DEPLOYED,
					"Restore its data, or drop its tables and deploy again.",
					"the tables of a store are here, but no record of what was deployed");
	if (strcmp(current, deployment->hash) != 0 || FAULT_SKIP("deploy_compare_again"))
		MigrateStore(deployment);
	SessionEnd(&session);
}

/* Deploy files, unless they are what is deployed. */
static void
Deploy(Deployment *deployment)
{
	if (!FAULT_SKIP("deploy_compare_first") && IsDeployed(deployment->hash))
		return;
	if (!FAULT_SKIP("deploy_queue"))
		StoreDeployLock();
	AcceptInvalidationMessages();
	if (StoreExists())
		ChangeStore(deployment);
	else
		CreateStore(deployment);
}

/*
 * Deploy ApiSchema files, and return the hash of what is then deployed.  The
 * role that deploys first owns the store; later, a role that may call this
 * acts for the owner.
 */
Datum
dms_deploy_schema(PG_FUNCTION_ARGS)
{
	Deployment *deployment;

	PreventCommandDuringRecovery("dms.deploy_schema()");
	deployment = ReadDeployment(PG_GETARG_ARRAYTYPE_P(0));
	Deploy(deployment);
	PG_RETURN_TEXT_P(cstring_to_text(deployment->hash));
}

/* Read the arguments of dms.migrate_schema() and dms.plan_migration(). */
static Deployment *
ReadMigration(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"schemas", "allow_destructive", "renames"};
	Deployment *deployment;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	deployment = ReadDeployment(PG_GETARG_ARRAYTYPE_P(0));
	deployment->allow_destructive = PG_GETARG_BOOL(1);
	deployment->renames = RenamesRead(PG_GETARG_JSONB_P(2));
	(void) StoreTable(STORE_DOCUMENT);
	return deployment;
}

/* Change the schema of a store, also if something is lost or renamed. */
Datum
dms_migrate_schema(PG_FUNCTION_ARGS)
{
	Deployment *deployment;

	PreventCommandDuringRecovery("dms.migrate_schema()");
	deployment = ReadMigration(fcinfo);
	Deploy(deployment);
	PG_RETURN_TEXT_P(cstring_to_text(deployment->hash));
}

/*
 * Plan the change of the store, and begin the session that the plan lives in.  It has the
 * rights of the owner, as that of the deploy: what the caller may not see could make
 * another plan.  Returns NULL if the schema is deployed already.
 */
static MigrationPlan *
PlanChange(Deployment *deployment, Session *session)
{
	bool		deployed = IsDeployed(deployment->hash);

	if (!deployed)
	{
		CompileSchema(deployment);
		deployment->triggers = ReadTriggers(deployment->ddl);
	}
	SessionBegin(session, RIGHTS_OF_OWNER);
	return deployed ? NULL : MigratePlan(deployment);
}

/* Plan the first deploy, and begin the session that the statements live in. */
static List *
PlanFirst(Deployment *deployment, Session *session)
{
	SessionBegin(session, RIGHTS_OF_CALLER);
	CompileSchema(deployment);
	DeploySchemasCheck(deployment->schema, NULL, deployment->set, deployment->ddl);
	return PlanStatements(deployment->ddl);
}

/* Return the statements that a deploy would run. */
Datum
dms_plan_schema(PG_FUNCTION_ARGS)
{
	Deployment *deployment = ReadDeployment(PG_GETARG_ARRAYTYPE_P(0));
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	List	   *statements;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	statements = StoreExists() ? MigrateStatements(PlanChange(deployment, &session)) : PlanFirst(deployment, &session);
	foreach(cell, statements)
	{
		Datum		value = CStringGetTextDatum(((DdlStatement *) lfirst(cell))->sql);
		bool		isnull = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return the steps of a change of the schema, for operators. */
Datum
dms_plan_migration(PG_FUNCTION_ARGS)
{
	Deployment *deployment = ReadMigration(fcinfo);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	MigrationPlan *plan;
	ListCell   *cell;
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	plan = PlanChange(deployment, &session);
	foreach(cell, plan == NULL ? NIL : plan->steps.list)
	{
		const MigrationStep *step = lfirst(cell);
		Datum		values[4] = {0};
		bool		nulls[4] = {false, false, step->sql == NULL, false};

		values[0] = Int32GetDatum(++n);
		values[1] = CStringGetTextDatum(MigrationStepPhase(step->phase));
		if (step->sql != NULL)
			values[2] = CStringGetTextDatum(step->sql);
		values[3] = CStringGetTextDatum(step->reason);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
