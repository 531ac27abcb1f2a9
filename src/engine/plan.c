/*
 * plan.c
 *		SPI connections, prepared plans, and small helpers around results.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/faults.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "engine/plan.h"
#include "engine/restrict.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* Set a setting until the end of the nest level. */
static void
SetLocally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Connect to SPI.  With the owner's rights, our own statements run as the
 * owner of the store, as the checks of foreign keys do; should an error leave
 * this function's caller, the end of the (sub)transaction restores the user.
 */
void
StoreBegin(StoreSession *session, StoreRights rights)
{
	session->rights = rights;
	GetUserIdAndSecContext(&session->saved_user, &session->saved_context);
	if (rights == RIGHTS_OF_OWNER)
		SetUserIdAndSecContext(StoreOwner(),
							   session->saved_context |
							   SECURITY_LOCAL_USERID_CHANGE |
							   SECURITY_NOFORCE_RLS |
							   SECURITY_RIGHTS_LENT);
	else
		SetUserIdAndSecContext(session->saved_user,
							   session->saved_context & ~SECURITY_RIGHTS_LENT);
	session->guc_level = 0;
	if (rights == RIGHTS_OF_OWNER && StoreLockNowait() && !FAULT_SKIP("nowait_everywhere"))
	{
		/* Unique indexes and foreign keys wait too, and know no NOWAIT. */
		session->guc_level = NewGUCNestLevel();
		SetLocally("lock_timeout", "1ms");
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
}

/* Disconnect, and be the caller again. */
void
StoreEnd(StoreSession *session)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "could not disconnect from SPI");
	if (session->guc_level > 0)
		AtEOXact_GUC(true, session->guc_level);
	SetUserIdAndSecContext(session->saved_user, session->saved_context);
}

/*
 * Do something in a subtransaction of its own, and undo it, locks included,
 * unless the function says that it may stay.  An error undoes it, too, and is
 * returned: the caller's subtransaction is the current one again, and usable.
 */
ErrorData *
AttemptCatch(AttemptFunction function, void *arg, bool *stays)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner resources = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	volatile bool may_stay = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		may_stay = function(arg);
		if (may_stay)
			ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		may_stay = false;
	}
	PG_END_TRY();
	if (!may_stay)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = resources;
	*stays = may_stay;
	return error;
}

/* The same, but errors pass through, for a handler further up. */
bool
Attempt(AttemptFunction function, void *arg)
{
	bool		stays;
	ErrorData  *error = AttemptCatch(function, arg, &stays);

	if (error != NULL)
		ReThrowError(error);
	return stays;
}

/* Make the statement's plan, once a session. */
static void
PrepareStatement(Statement *statement)
{
	SPIPlanPtr	plan;

	plan = SPI_prepare_cursor(statement->sql, statement->nargs,
							  unconstify(Oid *, statement->argtypes),
							  statement->adaptive ? 0 : CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", statement->sql,
			 SPI_result_code_string(SPI_result));
	if (SPI_keepplan(plan) != 0)
		elog(ERROR, "could not keep the plan of \"%s\"", statement->sql);
	statement->plan = plan;
}

/*
 * Our statements reach rows by key.  A plan that is made while a table is
 * still small would read it from end to end, to filter, to hash or to merge,
 * and be kept while it grows; so whenever a plan is about to be made, these
 * ways are made unattractive.  The price that the planner puts on what is left
 * must not lead it to compile the plan to machine code.  Joins are written in
 * the order to run them in: from keys that are given, outwards along foreign
 * keys.  Only adaptive statements leave joins to the planner.
 */
static void
PreparePlanning(const Statement *statement)
{
	SetLocally("enable_seqscan", "off");
	SetLocally("jit", "off");
	if (statement->ordered)
		SetLocally("enable_bitmapscan", "off");
	if (statement->adaptive)
		return;
	SetLocally("enable_hashjoin", "off");
	SetLocally("enable_mergejoin", "off");
	SetLocally("join_collapse_limit", "1");
}

/* Is the statement planned anew for its values? */
static bool
IsPlannedByValue(const Statement *statement)
{
	return statement->adaptive || plan_cache_mode == PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN;
}

/*
 * Will PostgreSQL plan the statement when it runs: for the first time, because
 * something that it depends on changed, or because the search path did?
 */
static bool
WillBePlanned(const Statement *statement)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(statement->plan));

	return IsPlannedByValue(statement) || !source->is_valid || source->gplan == NULL ||
		!source->gplan->is_valid || !COMPAT_SEARCH_PATH_MATCHES(source->search_path);
}

/*
 * Statements that run now: a trigger may call us while one does.  After an
 * error the number is too high until the transaction ends.
 */
static int	running = 0;

bool
StatementsAreRunning(void)
{
	return running > 0;
}

void
StatementsEnd(void)
{
	running = 0;
}

/*
 * Make the plan that the statement will run with.  Made while it runs, it would
 * leave the settings of our planning to the triggers of the tables' owner, whose
 * statements are planned and kept as well.
 */
static void
PlanNow(const Statement *statement)
{
	MemoryContext planning = AllocSetContextCreate(CurrentMemoryContext, "dms planning",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(planning);

	ReleaseCachedPlan(SPI_plan_get_cached_plan(statement->plan), CurrentResourceOwner);
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(planning);
}

/*
 * The rewritten queries of a prepared plan.  If they are not valid any more, the
 * statement is analyzed again: PostgreSQL does that only when it plans, which is
 * too late for a check.
 */
static List *
PlanQueries(void *arg)
{
	SPIPlanPtr	plan = arg;
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));

	if (!source->is_valid)
	{
		plan = SPI_prepare(source->query_string, source->num_params, source->param_types);
		if (plan == NULL)
			elog(ERROR, "could not prepare \"%s\": %s", source->query_string,
				 SPI_result_code_string(SPI_result));
		source = linitial(SPI_plan_get_plan_sources(plan));
	}
	return source->query_list;
}

/*
 * Get ready to run a plan, if with lent rights: refuse unsafe code.  Functions
 * that run must not depend on settings of the caller that determine the meaning
 * of names and string literals; functions in C may have no search_path of their
 * own.  Returns the nest level of settings to be passed to EndRights().
 */
static int
LendRights(OwnerCode *code, SPIPlanPtr plan)
{
	int			nestlevel;

	if (!OwnerCodeApplies())
		return 0;
	OwnerCodeCheck(code, PlanQueries, plan);
	nestlevel = NewGUCNestLevel();
	if (code->runs)
	{
		SetLocally("search_path", "pg_catalog, pg_temp");
		if (!standard_conforming_strings)
			SetLocally("standard_conforming_strings", "on");
	}
	return nestlevel;
}

/* Restore the caller's settings, also those that user-defined code changed. */
static void
EndRights(int nestlevel)
{
	if (nestlevel > 0)
		AtEOXact_GUC(false, nestlevel);
}

/* Run a statement and return the number of rows; they are in SPI_tuptable. */
uint64
StatementRun(Statement *statement, Datum *values, const char *nulls,
			 bool read_only, long limit)
{
	int			lent_level;
	int			nestlevel = 0;
	int			result;

	if (statement->plan == NULL)
		PrepareStatement(statement);
	lent_level = LendRights(&statement->code, statement->plan);
	if (WillBePlanned(statement))
	{
		nestlevel = NewGUCNestLevel();
		PreparePlanning(statement);
		if (!IsPlannedByValue(statement))
		{
			PlanNow(statement);
			AtEOXact_GUC(true, nestlevel);
			nestlevel = 0;
		}
	}
	running++;
	result = SPI_execute_plan(statement->plan, values, nulls, read_only, limit);
	running--;
	if (nestlevel > 0)
		AtEOXact_GUC(true, nestlevel);
	EndRights(lent_level);
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", statement->sql,
			 SPI_result_code_string(result));
	return SPI_processed;
}

/*
 * Refuse a statement as running it would, without running it.  Such a statement
 * stands for what a trigger of the store is going to do.
 */
void
StatementCheck(Statement *statement)
{
	if (statement->plan == NULL)
		PrepareStatement(statement);
	if (OwnerCodeApplies())
		OwnerCodeCheck(&statement->code, PlanQueries, statement->plan);
}

/*
 * Run a statement of a read.  All that run under one active snapshot see the
 * same state; with snapshots of their own, a new body could come with an old
 * etag.
 */
uint64
ReadRun(Statement *statement, Datum *values, long limit)
{
	return StatementRun(statement, values, NULL, !FAULT_SKIP("read_snapshot"), limit);
}

/* Let go of a statement's plan. */
void
StatementForget(Statement *statement)
{
	if (statement->plan != NULL)
		SPI_freeplan(statement->plan);
	statement->plan = NULL;
	OwnerCodeForget(&statement->code);
}

/* Run SQL of our own making that is not worth keeping, such as DDL. */
void
ExecuteSql(const char *sql)
{
	int			result = SPI_execute(sql, false, 0);

	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(result));
}

/*
 * Run SQL of our own making with parameters, planned for just these.  It runs
 * once, so machine code would never pay.
 */
uint64
ExecuteWithArgs(const char *sql, int nargs, Oid *types, Datum *values,
				bool read_only)
{
	int			nestlevel = NewGUCNestLevel();
	SPIPlanPtr	plan = SPI_prepare_cursor(sql, nargs, types, CURSOR_OPT_PARALLEL_OK);
	OwnerCode	code = {0};
	int			lent_level;
	int			result;

	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	SetLocally("jit", "off");
	lent_level = LendRights(&code, plan);
	result = SPI_execute_plan(plan, values, NULL, read_only, 0);
	EndRights(lent_level);
	AtEOXact_GUC(true, nestlevel);
	SPI_freeplan(plan);
	OwnerCodeForget(&code);
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", sql, SPI_result_code_string(result));
	return SPI_processed;
}

/*
 * Can values of a type be read as those of another?  The owner of the store may
 * alter its tables, and must not make us read memory that is not theirs.
 */
bool
TypeFits(Oid found, Oid expected)
{
	if (found == expected)
		return true;
	return expected == TEXTOID && (found == VARCHAROID || found == BPCHAROID);
}

/* Refuse a result whose columns are not of these types. */
void
ResultExpect(const Oid *types)
{
	TupleDesc	descriptor = SPI_tuptable->tupdesc;

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (!TypeFits(column->atttypid, types[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" has type %s instead of %s", NameStr(column->attname),
							format_type_be(column->atttypid), format_type_be(types[i]))));
	}
}

/* A value of the last result; columns count from 1. */
Datum
ResultDatum(uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc,
						 column, isnull);
}

/* A text of the last result; NULL for NULL. */
char *
ResultText(uint64 row, int column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

/*
 * Refuse what a table gave.  The owner of the store may put something else in
 * the place of a table, which need not give what was asked for.
 */
void
RefuseRow(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a table of the store gave %s", what),
			 errhint("Something else is in the place of the table, or a constraint of it was dropped.")));
}

/* A value of the last result, which must be there and be of this type. */
static Datum
RequiredDatum(uint64 row, int column, Oid type)
{
	TupleDesc	descriptor = SPI_tuptable->tupdesc;
	bool		isnull;
	Datum		value;

	if (row >= SPI_tuptable->numvals || column > descriptor->natts)
		RefuseRow("fewer rows or columns than it must have");
	if (!TypeFits(TupleDescAttr(descriptor, column - 1)->atttypid, type))
		RefuseRow("a value of another type than it must have");
	value = ResultDatum(row, column, &isnull);
	if (isnull)
		RefuseRow("NULL where there must be a value");
	return value;
}

/* A text of the last result that must be there. */
char *
ResultName(uint64 row, int column)
{
	char	   *name = ResultText(row, column);

	if (name == NULL)
		RefuseRow("NULL where there must be a value");
	return name;
}

/* Numbers, truths and times of the last result, which must be there. */
int64
ResultInt64(uint64 row, int column)
{
	return DatumGetInt64(RequiredDatum(row, column, INT8OID));
}

int32
ResultInt32(uint64 row, int column)
{
	return DatumGetInt32(RequiredDatum(row, column, INT4OID));
}

bool
ResultBool(uint64 row, int column)
{
	return DatumGetBool(RequiredDatum(row, column, BOOLOID));
}

TimestampTz
ResultTime(uint64 row, int column)
{
	return DatumGetTimestampTz(RequiredDatum(row, column, TIMESTAMPTZOID));
}

/* An array of any of the types that our statements take. */
Datum
ArrayDatum(int n, Datum *values, bool *nulls, Oid type)
{
	int			dims[1] = {n};
	int			bounds[1] = {1};
	int16		length;
	bool		by_value;
	char		alignment;

	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, bounds,
											  type, length, by_value, alignment));
}

Datum
Int8ArrayDatum(int n, const int64 *numbers)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(numbers[i]);
	return ArrayDatum(n, values, NULL, INT8OID);
}

/* A text[] of C strings; NULL pointers become NULL elements. */
Datum
TextArrayDatum(int n, const char *const *texts)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		nulls[i] = texts[i] == NULL;
		values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
	}
	return ArrayDatum(n, values, nulls, TEXTOID);
}

/*
 * Statements that run read-only until SnapshotEnd() see one state of the
 * database: the newest, our own changes included.
 */
void
SnapshotBegin(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* The same, but newer than the transaction's snapshot where that is fixed. */
void
SnapshotBeginLatest(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
}

/*
 * Models are like catalogs: always read as they are now, however old the
 * snapshot of the statement or transaction that needs them.
 */
void
SnapshotBeginCatalog(void)
{
	PushActiveSnapshot(GetCatalogSnapshot(StoreTable(STORE_RESOURCE_MODEL)));
}

void
SnapshotEnd(void)
{
	PopActiveSnapshot();
}
