/*
 * configureresource.c
 *		dms.configure_resource() and dms.plan_resource(): the options of a resource.
 *
 * Options are changed as models are by a deploy: after waiting for other deploys, and
 * while the gate is closed.  So no write runs under two sets of options, and a write
 * that follows sees the new ones.  Without a change, nobody waits.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/optionlist.h"
#include "base/report.h"
#include "document/generatedid.h"
#include "document/history.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "graph/uniquekeys.h"
#include "miscadmin.h"
#include "model/optionpaths.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "model/uniqueoptions.h"
#include "schema/declaredkeys.h"
#include "schema/searchindex.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

PG_FUNCTION_INFO_V1(dms_configure_resource);
PG_FUNCTION_INFO_V1(dms_plan_resource);

/* A call of the function. */
typedef struct Configuration
{
	const char *project;
	const char *resource;
	Jsonb	   *given;
	Jsonb	   *merged;			/* all options that hold then */
	List	   *ddl;			/* statements to run, if they are planned only */
	MemoryContext context;		/* of merged and ddl */
} Configuration;

/* Returns the options of a resource as they are now. */
static Jsonb *
CurrentOptions(const Resource *resource)
{
	Jsonb	   *options;

	SnapshotBeginLatest();
	options = ResourceTypeOptions(resource->type_id, NULL);
	SnapshotEnd();
	if (options != NULL)
		return options;
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
}

/*
 * Returns the statements that must be run beside storing options, or to get what
 * options need that are stored already.
 */
static List *
OptionsDdl(const Resource *resource, Jsonb *current, Jsonb *merged, Problem *problem)
{
	List	   *ddl = list_concat(HistoryDdl(resource->type_id, ResourceOptionsKeepHistory(merged)),
								  SearchIndexDdl(resource->model, current, merged, problem));
	List	   *keys = list_concat(DeclaredKeysSurplus(resource->model, current, merged),
								   DeclaredKeysMissing(resource->model, merged));

	if (keys != NIL)
		keys = lappend(keys, DeclaredKeysView(resource->model, merged));
	return list_concat(ddl, keys);
}

/* Returns the name that options give the resource in URNs. */
static char *
NameInUrns(const Resource *resource, Jsonb *options)
{
	char	   *name = ResourceOptionsType(options);

	return name != NULL ? name : ResourceTypeName(resource->model->project, resource->model->resource);
}

/* Find values that contradict new unique keys. */
static void
CheckKeys(const Resource *resource, Jsonb *current, Jsonb *merged, Problem *problem)
{
	ListCell   *cell;

	foreach(cell, UniqueOptionsPaths(merged))
	{
		if (UniqueKeysHaveKey(NameInUrns(resource, current), DeclaredKeyName(lfirst(cell))))
			ProblemAt(problem, lfirst(cell), "Values of this key were claimed by dms.claim_unique_key().");
	}
	DeclaredKeysCheckRows(resource->model, merged, problem);
}

/* Find what is stored and contradicts new options. */
static void
CheckStored(const Resource *resource, Jsonb *current, Jsonb *merged, Problem *problem)
{
	char	   *name = NameInUrns(resource, merged);
	int			column = OptionPathColumn(merged, OPTION_GENERATED_ID, resource->model);

	if (column >= 0 && OptionPathColumn(current, OPTION_GENERATED_ID, resource->model) != column)
		GeneratedIdFindOthers(resource->model, column, problem);
	if (ResourceTypeIsTaken(name, resource->type_id))
		ProblemNote(problem, "Another resource is called \"%s\".", name);
	CheckKeys(resource, current, merged, problem);
}

/* Store options, and let all sessions load the resource again. */
static void
StoreOptions(const Resource *resource, const List *ddl, Jsonb *current, Jsonb *options)
{
	char	   *before = NameInUrns(resource, current);
	char	   *after = NameInUrns(resource, options);
	const ListCell *cell;

	foreach(cell, ddl)
		StatementExecute(lfirst(cell));
	ResourceTypeSetOptions(resource->type_id, options);
	if (strcmp(before, after) != 0)
	{
		UniqueKeysRename(before, after);
		ResourceTypeRename(resource->type_id, after);
	}
	StoreRowRaise();
}

/* Keep the outcome of a call, which is to outlive its session. */
static void
KeepOutcome(Configuration *call, Jsonb *merged, const List *ddl)
{
	MemoryContext saved = MemoryContextSwitchTo(call->context);
	const ListCell *cell;

	call->merged = (Jsonb *) PG_DETOAST_DATUM_COPY(JsonbPGetDatum(merged));
	call->ddl = NIL;
	foreach(cell, ddl)
		call->ddl = lappend(call->ddl, pstrdup(lfirst(cell)));
	MemoryContextSwitchTo(saved);
}

/*
 * Merge the given options into the current ones, and store the result if that is
 * asked for.  Returns whether they differ, or something that they need is missing.
 */
static bool
MergeOptions(Configuration *call, bool store)
{
	Session		session;
	Problem    *problem = ProblemNew(PROBLEM_OPTIONS_REFUSED);
	Resource   *resource;
	Jsonb	   *current;
	Jsonb	   *merged;
	List	   *ddl;
	bool		differ;

	SessionBegin(&session, RIGHTS_OF_OWNER);
	resource = ModelCacheFind(call->project, call->resource);
	ModelCacheRefuseAbstract(resource);
	current = CurrentOptions(resource);
	merged = ResourceOptionsTake(call->given, current, resource->model, problem);
	ddl = OptionsDdl(resource, current, merged, problem);
	CheckStored(resource, current, merged, problem);
	ResourceOptionsRefuse(problem, resource->model);
	differ = ddl != NIL || !OptionListSame(current, merged);
	if (differ && store)
		StoreOptions(resource, ddl, current, merged);
	KeepOutcome(call, merged, ddl);
	SessionEnd(&session);
	return differ;
}

/* Take the arguments of a call, which looks models up then. */
static void
TakeArguments(FunctionCallInfo fcinfo, Configuration *call)
{
	static const char *const names[] = {"project", "resource", "options"};

	ReportRequireArguments(fcinfo, lengthof(names), names);
	memset(call, 0, sizeof(Configuration));
	call->context = CurrentMemoryContext;
	call->project = text_to_cstring(PG_GETARG_TEXT_PP(0));
	call->resource = text_to_cstring(PG_GETARG_TEXT_PP(1));
	call->given = PG_GETARG_JSONB_P(2);
	StoreLockModels();
}

/* Change options of a resource, and return all that hold then. */
Datum
dms_configure_resource(PG_FUNCTION_ARGS)
{
	Configuration call;

	/*
	 * Before the lock of models, as a deploy takes them.  A deploy that
	 * waited for a writer, and for us, would otherwise be in a deadlock.
	 */
	if (!XactReadOnly && !FAULT_SKIP("option_queue"))
		StoreDeployLock();
	TakeArguments(fcinfo, &call);
	if (MergeOptions(&call, false))
	{
		PreventCommandIfReadOnly("dms.configure_resource()");
		if (!FAULT_SKIP("option_gate"))
			StoreGate(ShareRowExclusiveLock);
		(void) MergeOptions(&call, true);
	}
	PG_RETURN_JSONB_P(call.merged);
}

/* Return the statements that setting options would run. */
Datum
dms_plan_resource(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Configuration call;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	TakeArguments(fcinfo, &call);
	(void) MergeOptions(&call, false);
	foreach(cell, call.ddl)
	{
		Datum		values[1] = {CStringGetTextDatum(lfirst(cell))};
		bool		nulls[1] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	PG_RETURN_NULL();
}
