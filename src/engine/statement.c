/*
 * statement.c
 *		Running statements, and keeping their plans.
 *
 * Statements of verbs run here, so that plans are made with our planner
 * settings, and so that no query runs with lent rights before the code that it
 * would run has been checked (ownercode.c).
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/faults.h"
#include "catalog/namespace.h"
#include "engine/plansizes.h"
#include "engine/statement.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

/* Change a setting until the end of the current nest level. */
void
StatementSetLocally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/* Prepare a statement, and keep it for the session. */
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
 * Set the planner's settings.  Our statements find rows by key.  A plan that is
 * made while a table is still small would scan, hash or merge all of it, and be
 * kept while the table grows, so these methods are disabled whenever a plan is
 * made, and tables count as large; see plansizes.c.  JIT is disabled because it
 * looks at costs that are not real then.  Joins are written in the order of
 * execution: from given keys outwards along foreign keys.  Only adaptive
 * statements leave joins to the planner, at the sizes that tables have.
 */
static void
PreparePlanning(const Statement *statement)
{
	StatementSetLocally("enable_seqscan", "off");
	StatementSetLocally("jit", "off");
	if (statement->ordered)
		StatementSetLocally("enable_bitmapscan", "off");
	if (statement->adaptive)
		return;
	StatementSetLocally("enable_hashjoin", "off");
	StatementSetLocally("enable_mergejoin", "off");
	StatementSetLocally("join_collapse_limit", "1");
}

/* Returns the plan cache's entry of a statement. */
static CachedPlanSource *
PlanSource(const Statement *statement)
{
	return linitial(SPI_plan_get_plan_sources(statement->plan));
}

/*
 * Returns true if the kept plan was made with our settings and seems to be valid.
 * PostgreSQL may still replan when it runs the statement; see ForgetForeignPlan().
 */
static bool
HasPlan(const Statement *statement)
{
	CachedPlanSource *source = PlanSource(statement);

	return source->is_valid && source->gplan != NULL && source->gplan->is_valid &&
		source->gplan->generation == statement->generation &&
		COMPAT_SEARCH_PATH_MATCHES(source->search_path);
}

/* The number of statements that are running; a trigger may call us while one is. */
static int	running = 0;

/* The number of statements that were started in this session. */
static uint64 started = 0;

/* Returns a number that grows with each statement that is started. */
uint64
StatementsStarted(void)
{
	return started;
}

/* Returns the number of statements that are running. */
int
StatementsRunning(void)
{
	return running;
}

/*
 * Discard a plan that PostgreSQL made while it ran the statement, and therefore
 * without our settings: for a role with other policies, or after an invalidation
 * that arrived with the executor's locks.  Such a plan must not be kept.
 */
static void
ForgetForeignPlan(Statement *statement)
{
	CachedPlanSource *source = PlanSource(statement);

	if (source->gplan != NULL && source->gplan->generation != statement->generation && running == 0)
		StatementForget(statement);
}

/*
 * Returns the statement's plan, which is made as if tables were large.  A statement that
 * reads in the order of an index is not: what it reads before its limit is a guess in any
 * case, and becomes a worse one if statistics and sizes do not belong together.
 */
static CachedPlan *
GetPlan(const Statement *statement)
{
	CachedPlan *volatile plan = NULL;

	if (!statement->ordered)
		PlanSizesBegin();
	PG_TRY();
	{
		plan = SPI_plan_get_cached_plan(statement->plan);
	}
	PG_FINALLY();
	{
		PlanSizesEnd();
	}
	PG_END_TRY();
	return plan;
}

/*
 * Make the plan that the statement will run with.  It is not made during the
 * execution, because our planner settings would then also apply to statements in
 * triggers, whose plans are kept as well.
 */
static void
PlanNow(Statement *statement)
{
	MemoryContext planning = AllocSetContextCreate(CurrentMemoryContext, "dms planning",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(planning);
	int			nestlevel = NewGUCNestLevel();
	CachedPlan *plan;
	int			before;

	ForgetForeignPlan(statement);
	if (statement->plan == NULL)
		PrepareStatement(statement);
	before = PlanSource(statement)->generation;
	PreparePlanning(statement);
	plan = GetPlan(statement);

	/* A plan that could not be forgotten may still be there: it is not ours. */
	if (plan->generation > before)
		statement->generation = plan->generation;
	ReleaseCachedPlan(plan, CurrentResourceOwner);
	AtEOXact_GUC(true, nestlevel);
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(planning);
}

/*
 * Returns the rewritten queries of a prepared plan.  If they are not valid any
 * more, the statement is analyzed again: PostgreSQL does that only when it plans,
 * which is too late for a check.
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
 * Prepare to run a plan with lent rights, if they are lent: refuse unsafe code, and
 * make names and string literals independent of the caller's settings.  Otherwise,
 * names that are looked up at run time by functions in C, which need no search_path
 * of their own (a cast to regclass is one), could find the caller's objects.
 * Returns the nest level of settings that EndRights() takes.
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
		StatementSetLocally("search_path", "pg_catalog, pg_temp");
		if (!standard_conforming_strings)
			StatementSetLocally("standard_conforming_strings", "on");
	}
	return nestlevel;
}

/*
 * Restore the caller's settings, also those that user-defined code changed: a
 * trigger must not leave a search_path that makes the caller find its objects.
 */
static void
EndRights(int nestlevel)
{
	if (nestlevel > 0)
		AtEOXact_GUC(false, nestlevel);
}

/*
 * Prepare to run a statement: make its plan, or for an adaptive statement, set the
 * planner's settings.  Returns the nest level of settings to end, or 0.
 */
static int
BeginPlan(Statement *statement)
{
	int			nestlevel = 0;

	if (!statement->adaptive && plan_cache_mode != PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN)
	{
		if (!HasPlan(statement))
			PlanNow(statement);
		return 0;
	}
	nestlevel = NewGUCNestLevel();
	if (statement->adaptive)
		PreparePlanning(statement);
	else
	{
		/*
		 * The session asks for custom plans, which would be made during
		 * execution.
		 */
		StatementSetLocally("plan_cache_mode", "auto");
		if (!HasPlan(statement))
			PlanNow(statement);
	}
	return nestlevel;
}

/* Run the plan of a statement.  An error ends it, too, whoever catches it. */
static int
RunPlan(const Statement *statement, Datum *values, const char *nulls, bool read_only, long limit)
{
	int			result;

	running++;
	PG_TRY();
	{
		result = SPI_execute_plan(statement->plan, values, nulls, read_only, limit);
	}
	PG_FINALLY();
	{
		running--;
	}
	PG_END_TRY();
	return result;
}

/* Run a statement; returns the number of rows, which are in SPI_tuptable. */
uint64
StatementRun(Statement *statement, Datum *values, const char *nulls,
			 bool read_only, long limit)
{
	int			lent_level;
	int			nestlevel;
	int			result;

	if (statement->plan == NULL)
		PrepareStatement(statement);
	lent_level = LendRights(&statement->code, statement->plan);
	nestlevel = BeginPlan(statement);
	started++;
	result = RunPlan(statement, values, nulls, read_only, limit);
	if (nestlevel > 0)
		AtEOXact_GUC(true, nestlevel);
	EndRights(lent_level);
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", statement->sql,
			 SPI_result_code_string(result));
	if (!statement->adaptive)
		ForgetForeignPlan(statement);
	return SPI_processed;
}

/*
 * Check the code that a statement would run, without running it.  Used for
 * statements that a trigger of the store is going to run itself.
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
 * Run a statement that reads, in the active snapshot.  With snapshots of their
 * own, the statements of a read could combine a new body with an old etag.
 */
uint64
StatementRead(Statement *statement, Datum *values, long limit)
{
	return StatementRun(statement, values, NULL, !FAULT_SKIP("read_snapshot"), limit);
}

/* Release a statement's plan. */
void
StatementForget(Statement *statement)
{
	if (statement->plan != NULL)
		SPI_freeplan(statement->plan);
	statement->plan = NULL;
	statement->generation = 0;
	OwnerCodeForget(&statement->code);
}

/*
 * Run SQL that we generated and whose plan is not worth keeping, such as DDL.  User-defined
 * code that it runs is not checked.
 */
void
StatementExecute(const char *sql)
{
	int			result;

	started++;
	result = SPI_execute(sql, false, 0);

	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(result));
}

/* Empty a table, whose triggers are checked before. */
void
StatementTruncate(Oid table)
{
	int			nestlevel = NewGUCNestLevel();

	LockRelationOid(table, AccessExclusiveLock);
	if (OwnerCodeApplies())
		OwnerCodeCheckTruncate(table);
	StatementSetLocally("search_path", "pg_catalog, pg_temp");
	StatementExecute(psprintf("TRUNCATE %s", quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)),
																		get_rel_name(table))));
	AtEOXact_GUC(false, nestlevel);
}

/*
 * Run SQL that we generated, with a plan for these parameters only; nulls is as in
 * SPI.  JIT is disabled, because compiling is not worthwhile for a single execution.
 */
uint64
StatementExecuteWithNulls(const char *sql, int nargs, Oid *types, Datum *values,
						  const char *nulls, bool read_only)
{
	int			nestlevel = NewGUCNestLevel();
	SPIPlanPtr	plan = SPI_prepare_cursor(sql, nargs, types, CURSOR_OPT_PARALLEL_OK);
	OwnerCode	code = {0};
	int			lent_level;
	int			result;

	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	StatementSetLocally("jit", "off");
	lent_level = LendRights(&code, plan);
	started++;
	result = SPI_execute_plan(plan, values, nulls, read_only, 0);
	EndRights(lent_level);
	AtEOXact_GUC(true, nestlevel);
	SPI_freeplan(plan);
	OwnerCodeForget(&code);
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", sql, SPI_result_code_string(result));
	return SPI_processed;
}

/* Run SQL that we generated, with parameters that are all given. */
uint64
StatementExecuteWithArgs(const char *sql, int nargs, Oid *types, Datum *values,
						 bool read_only)
{
	return StatementExecuteWithNulls(sql, nargs, types, values, NULL, read_only);
}

/*
 * Open a cursor over the rows of a query that we generated.  The query must run with the
 * rights of the caller: code that a cursor runs later is not checked.
 */
Portal
StatementOpen(const char *sql, int nargs, Oid *types, Datum *values)
{
	SPIPlanPtr	plan;

	if (OwnerCodeApplies())
		elog(ERROR, "cursor with rights that are lent");
	plan = SPI_prepare(sql, nargs, types);
	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	started++;
	return SPI_cursor_open(NULL, plan, values, NULL, true);
}

/* Fetch the next rows of a cursor; returns how many there were. */
uint64
StatementFetch(Portal cursor, long limit)
{
	SPI_cursor_fetch(cursor, true, limit);
	return SPI_processed;
}

/* Close a cursor. */
void
StatementClose(Portal cursor)
{
	SPI_cursor_close(cursor);
}
