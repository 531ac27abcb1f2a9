/*
 * configure.c
 *		dms.configure_store(): the options of the store itself.
 *
 * The settings that protect a store can be changed by superusers only.  Owners of
 * a store, who may not be superusers, set limits for all of its users here.  Of a
 * setting and an option, the stricter one holds.
 *
 * Options are columns of dms.Store.  A new one needs a column, an entry in
 * options[], and a place where it is used.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

PG_FUNCTION_INFO_V1(dms_configure_store);

/* Replaces a value by the one to store; returns false if it is not valid. */
typedef bool (*TakeValue) (JsonbValue *value);

/* An option, and the column of dms.Store that has it. */
typedef struct Option
{
	const char *key;
	const char *column;
	const char *type;			/* of the column */
	TakeValue	take;
	const char *expected;		/* what a value must be */
} Option;

/* Returns true if a number is whole and in range. */
static bool
IsWhole(const JsonbValue *value, int64 least)
{
	Datum		number;
	bool		overflow = false;
	int32		whole;

	if (value->type != jbvNumeric)
		return false;
	number = NumericGetDatum(value->val.numeric);
	if (DatumGetInt32(DirectFunctionCall1(numeric_min_scale, number)) > 0)
		return false;
	whole = numeric_int4_opt_error(value->val.numeric, &overflow);
	return !overflow && whole >= least;
}

/* Take a number of documents. */
static bool
TakeCount(JsonbValue *value)
{
	return IsWhole(value, 0);
}

/* Take a number of seconds. */
static bool
TakeSeconds(JsonbValue *value)
{
	return IsWhole(value, 1);
}

/* Take a fraction of writes: true is all of them, false is none. */
static bool
TakeFraction(JsonbValue *value)
{
	float8		fraction;

	if (value->type == jbvBool)
	{
		value->type = jbvNumeric;
		value->val.numeric = int64_to_numeric(value->val.boolean ? 1 : 0);
		return true;
	}
	if (value->type != jbvNumeric)
		return false;
	fraction = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
	return fraction >= 0 && fraction <= 1;
}

static const Option options[] = {
	{"maxCascadeSize", "MaxCascadeSize", "int4", TakeCount, "a whole number of documents, or 0 for no limit"},
	{"verifyEdges", "VerifyEdges", "float8", TakeFraction, "true, false, or a fraction of writes between 0 and 1"},
	{"idempotencyLease", "IdempotencyLease", "int4", TakeSeconds, "a whole number of seconds, at least 1"},
	{"idempotencyTtl", "IdempotencyTtl", "int4", TakeSeconds, "a whole number of seconds, at least 1"},
};

/* Returns the option of a key; NULL if there is none. */
static const Option *
FindOption(const JsonbValue *key)
{
	for (size_t i = 0; i < lengthof(options); i++)
		if (strlen(options[i].key) == (size_t) key->val.string.len &&
			memcmp(options[i].key, key->val.string.val, key->val.string.len) == 0)
			return &options[i];
	return NULL;
}

/* Check one member of the argument, and replace its value by the one to store. */
static void
TakeMember(const JsonbValue *key, JsonbValue *value, Problem *problem)
{
	char	   *name = pnstrdup(key->val.string.val, key->val.string.len);
	const Option *option = FindOption(key);

	if (option == NULL)
		ProblemNote(problem, "There is no option \"%s\".", name);
	else if (value->type != jbvNull && !option->take(value))
		ProblemNote(problem, "\"%s\" must be %s, or null to reset it.", name, option->expected);
}

/* Raise the problems of the argument, which name each key; the hint lists all of them. */
static void
RefuseProblems(Problem *problem)
{
	StringInfoData keys;

	if (problem->count == 0)
		return;
	initStringInfo(&keys);
	for (size_t i = 0; i < lengthof(options); i++)
		appendStringInfo(&keys, "%s\"%s\"", i > 0 ? ", " : "", options[i].key);
	problem->hint = psprintf("Options are %s.", keys.data);
	ProblemRaise(problem, "options of the store are not valid");
}

/* Returns the checked options of the argument, each with the value to store. */
static Jsonb *
TakeOptions(Jsonb *given)
{
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	JsonbParseState *state = NULL;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	key;
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(given))
		ReportError(PROBLEM_ARGUMENT, NULL, "options must be an object");
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	iterator = JsonbIteratorInit(&given->root);
	(void) JsonbIteratorNext(&iterator, &key, true);
	while ((token = JsonbIteratorNext(&iterator, &key, true)) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&iterator, &value, true);
		TakeMember(&key, &value, problem);
		pushJsonbValue(&state, WJB_KEY, &key);
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	RefuseProblems(problem);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/* Returns the options as they are now, with null for those that are not set. */
static Jsonb *
CurrentOptions(void)
{
	StringInfoData sql;
	bool		isnull;
	Datum		current;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT pg_catalog.jsonb_build_object(");
	for (size_t i = 0; i < lengthof(options); i++)
		appendStringInfo(&sql, "%s'%s', %s", i > 0 ? ", " : "", options[i].key, options[i].column);
	appendStringInfoString(&sql, ") FROM dms.Store");
	SnapshotBeginLatest();
	(void) StatementExecuteWithArgs(sql.data, 0, NULL, NULL, true);
	SnapshotEnd();
	if (SPI_processed != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" does not have its one row", "dms.store")));
	current = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	return DatumGetJsonbP(current);
}

/* Store options: all columns are set, those that were not given to what they are. */
static void
StoreOptions(Jsonb *wanted)
{
	StringInfoData assignments;

	initStringInfo(&assignments);
	for (size_t i = 0; i < lengthof(options); i++)
		appendStringInfo(&assignments, "%s%s = ($1 OPERATOR(pg_catalog.->>) '%s')::pg_catalog.%s",
						 i > 0 ? ", " : "", options[i].column, options[i].key, options[i].type);
	StoreRowConfigure(assignments.data, wanted);
}

/* Returns true if options are the same. */
static bool
SameOptions(Jsonb *left, Jsonb *right)
{
	return compareJsonbContainers(&left->root, &right->root) == 0;
}

/*
 * Merge the given options into the current ones, and store the result if that is
 * asked for.  Returns whether they differ; *merged is a copy in the given context.
 */
static bool
MergeOptions(Jsonb *given, bool store, MemoryContext context, Jsonb **merged)
{
	Session		session;
	MemoryContext saved;
	Jsonb	   *current;
	bool		differ;

	SessionBegin(&session, RIGHTS_OF_OWNER);
	current = CurrentOptions();
	saved = MemoryContextSwitchTo(context);
	*merged = DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(current), JsonbPGetDatum(given)));

	/* If nothing was given, the result may be the argument itself. */
	*merged = (Jsonb *) PG_DETOAST_DATUM_COPY(JsonbPGetDatum(*merged));
	differ = !SameOptions(current, *merged);
	MemoryContextSwitchTo(saved);
	if (differ && store)
		StoreOptions(*merged);
	SessionEnd(&session);
	return differ;
}

/*
 * Change options of the store, and return all of them.  They are changed behind
 * the gate, as models are by a deploy, so that no write runs under two limits.
 * Without a change, nobody waits.
 */
Datum
dms_configure_store(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"options"};
	Jsonb	   *given;
	Jsonb	   *merged;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	given = TakeOptions(PG_GETARG_JSONB_P(0));
	if (MergeOptions(given, false, CurrentMemoryContext, &merged))
	{
		PreventCommandIfReadOnly("dms.configure_store()");
		StoreDeployLock();
		if (!FAULT_SKIP("configure_gate"))
			StoreGate(ShareRowExclusiveLock);
		(void) MergeOptions(given, true, CurrentMemoryContext, &merged);
	}
	PG_RETURN_JSONB_P(merged);
}
