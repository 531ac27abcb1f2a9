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
#include "base/optionlist.h"
#include "base/report.h"
#include "base/urn.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

PG_FUNCTION_INFO_V1(dms_configure_store);

/* An option, and the column of dms.Store that has it. */
typedef struct Option
{
	OptionRule	rule;
	const char *column;
	const char *type;			/* of the column */
} Option;

/* Take a number of documents. */
static bool
TakeCount(JsonbValue *value)
{
	return OptionListIsWhole(value, 0);
}

/* Take a number of seconds. */
static bool
TakeSeconds(JsonbValue *value)
{
	return OptionListIsWhole(value, 1);
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

/* Take the domain of URNs. */
static bool
TakeDomain(JsonbValue *value)
{
	return value->type == jbvString && UrnIsDomain(value->val.string.val, value->val.string.len);
}

static const Option options[] = {
	{{"maxCascadeSize", TakeCount, "a whole number of documents, or 0 for no limit"}, "MaxCascadeSize", "int4"},
	{{"verifyEdges", TakeFraction, "true, false, or a fraction of writes between 0 and 1"}, "VerifyEdges", "float8"},
	{{"idempotencyLease", TakeSeconds, "a whole number of seconds, at least 1"}, "IdempotencyLease", "int4"},
	{{"idempotencyTtl", TakeSeconds, "a whole number of seconds, at least 1"}, "IdempotencyTtl", "int4"},
	{{"maxDeleteSize", TakeCount, "a whole number of documents, or 0 for no limit"}, "MaxDeleteSize", "int4"},
	{{"urnDomain", TakeDomain, "1 to 32 ASCII letters, digits and hyphens"}, "UrnDomain", "varchar"},
};

/* Returns the checked options of the argument, each with the value to store. */
static Jsonb *
TakeOptions(Jsonb *given)
{
	const OptionRule *rules[lengthof(options)];

	for (size_t i = 0; i < lengthof(options); i++)
		rules[i] = &options[i].rule;
	return OptionListTake(given, rules, lengthof(options), ProblemNew(PROBLEM_ARGUMENT), "the store");
}

/* Returns the options as they are now, with null for those that are not set. */
static Jsonb *
CurrentOptions(void)
{
	StringInfoData members;

	initStringInfo(&members);
	for (size_t i = 0; i < lengthof(options); i++)
		appendStringInfo(&members, "%s'%s', %s", i > 0 ? ", " : "", options[i].rule.key, options[i].column);
	return StoreRowOptions(members.data);
}

/* Store options: all columns are set, those that were not given to what they are. */
static void
StoreOptions(Jsonb *wanted)
{
	StringInfoData assignments;

	initStringInfo(&assignments);
	for (size_t i = 0; i < lengthof(options); i++)
		appendStringInfo(&assignments, "%s%s = ($1 OPERATOR(pg_catalog.->>) '%s')::pg_catalog.%s",
						 i > 0 ? ", " : "", options[i].column, options[i].rule.key, options[i].type);
	StoreRowConfigure(assignments.data, wanted);
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
	*merged = OptionListMerge(current, given);
	differ = !OptionListSame(current, *merged);
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
