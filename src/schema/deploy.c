/*
 * deploy.c
 *		dms.deploy_schema() and dms.plan_schema().
 *
 * A deploy is one transaction of its caller.  It waits for other deploys on a
 * lock of the schema and for writers at the gate, and what it read of the store
 * before it had both locks counts for nothing.  The exception is a schema that is
 * deployed already: there is nothing to do, so nobody waits.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/twophase.h"
#include "base/faults.h"
#include "base/uuid.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/modelstore.h"
#include "model/resourcemodels.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "schema/grants.h"
#include "schema/ddl.h"
#include "schema/deploy.h"
#include "schema/deploytypes.h"
#include "schema/modelbuild.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(dms_deploy_schema);
PG_FUNCTION_INFO_V1(dms_plan_schema);

/* Entries of the lock table that creating a relation takes, measured. */
#define LOCKS_PER_RELATION 2.1

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

/*
 * Report two places of references whose ids are equal: edges of one would be
 * taken for edges of the other.
 */
static void
CheckEdgeSources(ModelSet *set)
{
	ListCell   *cell;
	HASHCTL		control = {0};
	HTAB	   *seen;
	typedef struct
	{
		int64		id;
		const char *key;
	} SeenSource;

	control.keysize = sizeof(int64);
	control.entrysize = sizeof(SeenSource);
	control.hcxt = CurrentMemoryContext;
	seen = hash_create("dms edge sources", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	foreach(cell, set->entries)
	{
		ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		for (int i = 0; model->kind != RESOURCE_ABSTRACT && i < model->nreferences; i++)
		{
			ReferenceModel *r = &model->references[i];
			bool		found;
			SeenSource *source = hash_search(seen, &r->edge_source_id, HASH_ENTER, &found);

			if (found)
				ProblemAt(set->problems, r->edge_source_key,
						  "the edge sources %s and %s have the same id.", source->key, r->edge_source_key);
			source->key = r->edge_source_key;
		}
	}
}

/*
 * Refuse a deploy whose locks do not fit into the shared lock table, before
 * the first statement and with the setting to change.
 */
static void
CheckLockCapacity(const DdlPlan *plan)
{
	int			need = (int) ((plan->tables + plan->indexes) * LOCKS_PER_RELATION);
	int64		slots = MaxBackends + max_prepared_xacts;
	int64		capacity = max_locks_per_xact * slots;
	Problem    *problem;

	if (need <= capacity)
		return;
	problem = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	ProblemNote(problem, "The deploy creates %d tables and %d indexes and needs about %d locks; there is room for about " INT64_FORMAT ".",
				plan->tables, plan->indexes, need, capacity);
	problem->hint = psprintf("Set max_locks_per_transaction to " INT64_FORMAT " or more and restart the server.",
							 need / slots + 1);
	ProblemRaise(problem, "the server's lock table is too small for this schema");
}

/*
 * Refuse a schema whose owner, who could replace the tables that we create in it,
 * does not have our rights.
 */
static void
RefuseSchemaOfOther(ApiSchema *schema, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACENAME, CStringGetDatum(name));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return;
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);
	if (StoreTrusts(GetUserId(), owner))
		return;
	ProblemNote(schema->problems, "The database schema \"%s\" exists and belongs to the role \"%s\".",
				name, GetUserNameFromId(owner, true));
	schema->problems->hint = psprintf("ALTER SCHEMA %s OWNER TO %s, or deploy as the role that owns it.",
									  quote_identifier(name), quote_identifier(GetUserNameFromId(GetUserId(), false)));
}

/*
 * Refuse a trigger function that exists and belongs to another role: CREATE
 * OR REPLACE keeps its owner.
 */
static void
RefuseFunctionOfOther(ApiSchema *schema, const char *name)
{
	Oid			function = LookupFuncName(list_make2(makeString("dms"), makeString(unconstify(char *, name))),
										  0, NULL, true);
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return;
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	if (owner != GetUserId())
		ProblemNote(schema->problems, "The function dms.%s() exists and belongs to the role \"%s\".",
					name, GetUserNameFromId(owner, true));
}

/*
 * Refuse schemas and functions of other roles.  The owner of a schema can
 * replace its tables, whose triggers would run as the owner of the store, and
 * so would functions of others.  Must be called when all objects exist,
 * because others may create them while we work.
 */
static void
RefuseObjectsOfOthers(ApiSchema *schema)
{
	ListCell   *cell;

	RefuseSchemaOfOther(schema, "dms");
	foreach(cell, schema->projects)
		RefuseSchemaOfOther(schema, ((ApiProject *) lfirst(cell))->schema_name);
	RefuseFunctionOfOther(schema, "document_before_delete");
	RefuseFunctionOfOther(schema, "document_after_delete");
	RefuseFunctionOfOther(schema, "document_after_truncate");
	ApiSchemaRefuse(schema);
}

/*
 * The hash of the deployed schema; NULL before the first deploy.  Another
 * deploy may have committed after our snapshot was taken, while we waited for
 * the lock, so look with a new one.
 */
static char *
CurrentHash(void)
{
	if (!StoreExists())
		return NULL;
	PushActiveSnapshot(GetLatestSnapshot());
	StatementExecuteWithArgs("SELECT EffectiveSchemaHash FROM dms.EffectiveSchema"
							 " ORDER BY EffectiveSchemaId DESC LIMIT 1", 0, NULL, NULL, true);
	PopActiveSnapshot();
	return SPI_processed > 0 ? ResultText(0, 1) : NULL;
}

/* Compile a schema, and refuse it if anything is wrong. */
static DdlPlan *
CompileSchema(ApiSchema *schema, ModelSet **set)
{
	DdlPlan    *plan;

	*set = ModelBuildSet(schema);
	CheckEdgeSources(*set);
	DeployTypesCheck(*set);
	plan = DdlPlanModels(*set);
	ApiSchemaRefuse(schema);
	return plan;
}

/*
 * Refuse files with problems.  The rest is compiled first, where possible, so
 * that all problems are listed at once.
 */
static void
RefuseFaults(ApiSchema *schema)
{
	ModelSet   *set;

	CheckEncoding(schema);
	if (schema->problems->count > 0 && !schema->broken)
		CompileSchema(schema, &set);
	ApiSchemaRefuse(schema);
}

/* The statements that the last query returned. */
static List *
ResultStatements(void)
{
	List	   *statements = NIL;

	for (uint64 i = 0; i < SPI_processed; i++)
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
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(plan->clearing), CStringGetTextDatum(plan->truncated)};

	StatementExecuteWithArgs("SELECT pg_catalog.btrim(s, E'\\n') FROM dms_internal.trigger_ddl($1, $2) AS s",
							 lengthof(types), types, values, true);
	return ResultStatements();
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
		StatementExecute(statement->sql);
		if (statement->creates_table && ++created % PROGRESS_STEP == 0)
			ereport(NOTICE, (errmsg("created %d of %d tables", created, tables)));
	}
}

/* Run SQL with parameters that are all given. */
static void
RunWithArgs(const char *sql, int nargs, Oid *types, Datum *values)
{
	if (SPI_execute_with_args(sql, nargs, types, values, NULL, false, 0) < 0)
		elog(ERROR, "could not run \"%s\"", sql);
}

/* Record the deploy and its projects. */
static void
RecordDeploy(const ApiSchema *schema, const char *hash)
{
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[3];
	ListCell   *cell;

	values[0] = CStringGetTextDatum(hash);
	values[1] = CStringGetTextDatum(schema->format_version);
	values[2] = CStringGetTextDatum(MAPPING_VERSION);
	RunWithArgs("INSERT INTO dms.EffectiveSchema (EffectiveSchemaHash, ApiSchemaFormatVersion, MappingVersion)"
				" VALUES ($1, $2, $3)", 3, types, values);
	foreach(cell, schema->projects)
	{
		ApiProject *project = lfirst(cell);
		Oid			component_types[] = {TEXTOID, TEXTOID, TEXTOID, BOOLOID};
		Datum		component[4];

		component[0] = CStringGetTextDatum(project->endpoint);
		component[1] = CStringGetTextDatum(project->name);
		component[2] = CStringGetTextDatum(project->version);
		component[3] = BoolGetDatum(project->extension);
		RunWithArgs("INSERT INTO dms.SchemaComponent (EffectiveSchemaId, ProjectEndpointName, ProjectName,"
					" ProjectVersion, IsExtensionProject) SELECT pg_catalog.max(EffectiveSchemaId), $1, $2, $3, $4"
					" FROM dms.EffectiveSchema", 4, component_types, component);
	}
}

/* Record the places of references. */
static void
RecordEdgeSources(const ModelSet *set)
{
	Oid			types[] = {INT8OID, TEXTOID};
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;
		const char **keys = palloc(sizeof(char *) * Max(model->nreferences, 1));
		Datum	   *ids = palloc(sizeof(Datum) * Max(model->nreferences, 1));
		Datum		values[2];

		if (model->kind == RESOURCE_ABSTRACT || model->nreferences == 0)
			continue;
		for (int i = 0; i < model->nreferences; i++)
		{
			keys[i] = model->references[i].edge_source_key;
			ids[i] = Int64GetDatum(model->references[i].edge_source_id);
		}
		values[0] = DatumArray(model->nreferences, ids, NULL, INT8OID);
		values[1] = DatumTextArray(model->nreferences, keys);
		types[0] = INT8ARRAYOID;
		types[1] = TEXTARRAYOID;
		RunWithArgs("INSERT INTO dms.EdgeSource (EdgeSourceId, EdgeSourceKey)"
					" SELECT * FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2))"
					" ON CONFLICT (EdgeSourceId) DO NOTHING", 2, types, values);
	}
}

/* Deploy for the first time. */
static void
FirstDeploy(ApiSchema *schema, const char *hash)
{
	ModelSet   *set;
	DdlPlan    *plan = CompileSchema(schema, &set);
	ListCell   *cell;

	CheckLockCapacity(plan);
	RunStatements(PlanStatements(plan), plan->tables);
	RefuseObjectsOfOthers(schema);
	StoreRowInsert();
	RecordEdgeSources(set);
	DeployTypesRecord(set);
	foreach(cell, set->entries)
		ResourceModelsInsert(((ModelEntry *) lfirst(cell))->model);
	RecordDeploy(schema, hash);
	StoreRowRaise();
	GrantsReapply();
	ereport(NOTICE,
			(errmsg("deployed %d resources: %d tables, %d indexes, %d foreign keys",
					list_length(schema->resources), plan->tables, plan->indexes,
					plan->foreign_keys)));
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
	current = CurrentHash();
	same = current != NULL && strcmp(current, hash) == 0;
	SessionEnd(&session);
	return same;
}

/*
 * Deploy the schema of this hash, after waiting for other deploys and for
 * writers.  One of those deploys may have been of the same schema.
 */
static void
DeploySchema(ApiSchema *schema, const char *hash)
{
	Session		session;
	char	   *current;
	bool		deployed;

	if (!FAULT_SKIP("deploy_queue"))
		StoreDeployLock();
	AcceptInvalidationMessages();
	deployed = StoreExists();
	if (deployed)
		StoreGate(ShareRowExclusiveLock);
	SessionBegin(&session, deployed ? RIGHTS_OF_OWNER : RIGHTS_OF_CALLER);
	current = CurrentHash();
	if (current == NULL && deployed)
		ReportError(PROBLEM_NOT_DEPLOYED,
					"Restore its data, or drop its tables and deploy again.",
					"the tables of a store are here, but no record of what was deployed");
	if (current == NULL)
		FirstDeploy(schema, hash);
	else if (strcmp(current, hash) != 0 || FAULT_SKIP("deploy_compare_again"))
		ReportError(PROBLEM_NOT_SUPPORTED,
					"Deploy it into a database of its own.",
					"another schema is deployed, and changing a deployed schema is not supported yet");
	SessionEnd(&session);
}

/*
 * Deploy ApiSchema files, and return the hash of what is then deployed.  The
 * role that deploys first owns the store; later, a role that may call this
 * acts for the owner.
 */
Datum
dms_deploy_schema(PG_FUNCTION_ARGS)
{
	ApiSchema  *schema = ReadArgument(PG_GETARG_ARRAYTYPE_P(0));
	char	   *hash;

	PreventCommandDuringRecovery("dms.deploy_schema()");
	RefuseFaults(schema);
	hash = ApiSchemaHash(schema, MAPPING_VERSION);
	if (FAULT_SKIP("deploy_compare_first") || !IsDeployed(hash))
		DeploySchema(schema, hash);
	PG_RETURN_TEXT_P(cstring_to_text(hash));
}

/* Return the statements that a deploy would run. */
Datum
dms_plan_schema(PG_FUNCTION_ARGS)
{
	ApiSchema  *schema = ReadArgument(PG_GETARG_ARRAYTYPE_P(0));
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	List	   *statements = NIL;
	ModelSet   *set;
	char	   *hash;
	char	   *current;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	RefuseFaults(schema);
	hash = ApiSchemaHash(schema, MAPPING_VERSION);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	current = CurrentHash();
	if (current == NULL)
		statements = PlanStatements(CompileSchema(schema, &set));
	else if (strcmp(current, hash) != 0)
		ReportError(PROBLEM_NOT_SUPPORTED,
					"Deploy it into a database of its own.",
					"another schema is deployed, and changing a deployed schema is not supported yet");
	foreach(cell, statements)
	{
		Datum		value = CStringGetTextDatum(((DdlStatement *) lfirst(cell))->sql);
		bool		isnull = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
