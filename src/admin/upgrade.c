/*
 * upgrade.c
 *		dms.upgrade_store(): bringing a store to the version of the library.
 *
 * The tables of a store are not members of the extension, so neither an update of
 * the extension nor restoring a dump changes them.  The owner of the store, or an
 * admin, upgrades them, in one transaction: the core tables by the statements of
 * dms_internal.upgrade_ddl(), and the stored models here, where the code is that
 * reads and compiles them.
 *
 * How to add a step: raise STORE_VERSION.  Add the statements that change existing
 * core tables to dms_internal.upgrade_ddl(), under the new version.  If the form of
 * models changes, raise MODEL_FORMAT, and extend ConvertModel().  Afterwards a
 * store must have the same catalog as a new one, except for the positions of
 * columns; a test compares them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/changes.h"
#include "document/trackedchanges.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/modelstore.h"
#include "model/resourcemodels.h"
#include "model/resourcetypes.h"
#include "schema/ddl.h"
#include "schema/grants.h"
#include "schema/modelbind.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(dms_upgrade_store);

/* The version in which resources got numbers. */
#define VERSION_WITH_RESOURCE_TYPES 2

/* The version in which changes were recorded. */
#define VERSION_WITH_CHANGES 5

/* The format of models whose query fields had no equal paths. */
#define FORMAT_WITHOUT_EQUAL_PATHS 2

/*
 * Returns the statements that a function of the extension writes, in the given
 * context.  They are read with the rights of the caller, who may call the
 * function; it must not run with those of the owner.
 */
static char **
ReadStatements(const char *sql, int nargs, Oid *types, Datum *values, MemoryContext context, uint64 *n)
{
	char	  **statements;
	MemoryContext saved;

	SessionBeginPart();
	*n = StatementExecuteWithArgs(sql, nargs, types, values, true);
	saved = MemoryContextSwitchTo(context);
	statements = ResultNames(1);
	MemoryContextSwitchTo(saved);
	SessionEndPart();
	return statements;
}

/* Returns the statements that change core tables of a version. */
static char **
ReadUpgrade(int version, uint64 *n)
{
	Oid			types[] = {INT4OID};
	Datum		values[] = {Int32GetDatum(version)};

	return ReadStatements("SELECT pg_catalog.btrim(s, E'\\n') FROM dms_internal.upgrade_ddl($1) AS s",
						  lengthof(types), types, values, CurrentMemoryContext, n);
}

/* Returns the statements that create the triggers of dms.Document. */
static char **
ReadTriggers(const DdlPlan *plan, uint64 *n)
{
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(plan->clearing), CStringGetTextDatum(plan->truncated),
	CStringGetTextDatum(plan->keys)};

	return ReadStatements("SELECT pg_catalog.btrim(s, E'\\n') FROM dms_internal.trigger_ddl($1, $2, $3) AS s",
						  lengthof(types), types, values, CurrentMemoryContext, n);
}

/* Bring a model of an older format to that of today. */
static void
ConvertModel(ResourceModel *model)
{
	ModelEntry	entry = {.model = model};

	if (model->format <= FORMAT_WITHOUT_EQUAL_PATHS && model->kind != RESOURCE_ABSTRACT)
		ModelBindEqualPaths(NULL, &entry);
	model->format = MODEL_FORMAT;
}

/*
 * Upgrade a model that a store of some version has, and what depends on it: create
 * the indexes that are missing then, and record its number.  Returns the model.
 */
static const ResourceModel *
UpgradeModel(const char *json, int version)
{
	ResourceModel *model = ModelStoreFromOlder(json, strlen(json));
	ListCell   *cell;

	if (version < VERSION_WITH_RESOURCE_TYPES)
		ResourceTypesInsert((const char *const *) &model->project, (const char *const *) &model->resource, 1);
	if (model->format == MODEL_FORMAT)
		return model;
	ConvertModel(model);
	ResourceModelsReplace(model);
	foreach(cell, DdlPlanMissingIndexes(model))
		StatementExecute(((DdlStatement *) lfirst(cell))->sql);
	return model;
}

/*
 * Upgrade all models, each in a memory context of its own.  Returns their parts of
 * the triggers, in the context given.
 */
static List *
UpgradeModels(int version, MemoryContext kept)
{
	uint64		n;
	char	  **models;
	List	   *parts = NIL;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms upgraded model",
												  ALLOCSET_DEFAULT_SIZES);

	PushActiveSnapshot(GetLatestSnapshot());
	n = ResourceModelsAll();
	models = ResultNames(1);
	PopActiveSnapshot();
	for (uint64 i = 0; i < n; i++)
	{
		MemoryContext saved = MemoryContextSwitchTo(context);
		const ResourceModel *model;

		CHECK_FOR_INTERRUPTS();
		model = UpgradeModel(models[i], version);
		MemoryContextSwitchTo(kept);
		parts = lappend(parts, DdlTriggerPartOf(model));
		MemoryContextSwitchTo(saved);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return parts;
}

/* Run statements. */
static void
RunStatements(char **statements, uint64 n)
{
	for (uint64 i = 0; i < n; i++)
		StatementExecute(statements[i]);
	CommandCounterIncrement();
}

/*
 * Upgrade the store.  The gate is closed, and the whole check of the owner's
 * tables is repeated at the end, because there may be new ones.
 */
static void
UpgradeStore(int version)
{
	Session		session;
	uint64		n;
	char	  **statements;
	DdlPlan		plan = {0};
	List	   *parts;
	MemoryContext context = CurrentMemoryContext;

	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"the store cannot be upgraded under a snapshot that was taken before the writers were stopped");
	statements = ReadUpgrade(version, &n);
	SessionBeginUpgrade(&session);
	RunStatements(statements, n);
	parts = UpgradeModels(version, context);
	StoreRowUpgraded();
	if (version < VERSION_WITH_CHANGES)
		(void) ChangesFill();
	SessionEnd(&session);

	DdlPlanTriggers(&plan, parts);
	statements = ReadTriggers(&plan, &n);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	RunStatements(statements, n);
	TrackedChangesTrigger(ChangesAreTracked());
	GrantsReapply();
	SessionEnd(&session);
	ereport(NOTICE,
			(errmsg("upgraded the store from version %d to version %d", version, STORE_VERSION)));
}

/*
 * Bring the store to the version of the library, and return that version.  A
 * store that has it is left alone, and nobody waits.  Otherwise all who use the
 * store end first, readers included.
 */
Datum
dms_upgrade_store(PG_FUNCTION_ARGS)
{
	(void) StoreTable(STORE_STORE);
	if (StoreRowIsOlder())
	{
		PreventCommandIfReadOnly("dms.upgrade_store()");
		StoreDeployLock();
		StoreGate(AccessExclusiveLock);
		if (StoreRowIsOlder())
			UpgradeStore(StoreRowVersion());
	}
	StoreRowRequireVersion();
	PG_RETURN_INT32(STORE_VERSION);
}
