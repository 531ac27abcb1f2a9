/*
 * resourceoptions.c
 *		The options of a resource: their rules, and their values for a session.
 *
 * Options are stored as JSON in dms.ResourceType, by the names of the resource, so
 * they outlive deploys.  They are changed behind the closed gate, and the generation
 * of the store is raised then.  So the options of a resource that was looked up after
 * passing the gate hold until the end of the transaction.
 *
 * A new option needs an entry in rules[], and, if sessions use it, a member of
 * ResourceOptions.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/optionlist.h"
#include "engine/attempt.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define OPTION_HISTORY "history"
#define OPTION_HISTORY_LEVEL "historyLevel"
#define LEVEL_READER "reader"
#define LEVEL_ADMIN "admin"

/* Returns true if a value is this string. */
static bool
IsString(const JsonbValue *value, const char *string)
{
	return value->type == jbvString && (size_t) value->val.string.len == strlen(string) &&
		memcmp(value->val.string.val, string, value->val.string.len) == 0;
}

/* Take true or false. */
static bool
TakeBoolean(JsonbValue *value)
{
	return value->type == jbvBool;
}

/* Take the level of access that a role must have. */
static bool
TakeLevel(JsonbValue *value)
{
	return IsString(value, LEVEL_READER) || IsString(value, LEVEL_ADMIN);
}

/* Take a number of versions. */
static bool
TakeVersions(JsonbValue *value)
{
	return OptionListIsWhole(value, 1);
}

/* A text that may be an interval. */
typedef struct GivenInterval
{
	const char *given;
	char	   *canonical;		/* ISO 8601; NULL if the interval is not
								 * positive */
	MemoryContext context;		/* of canonical */
} GivenInterval;

/*
 * Read an interval; fails if it is none, or reaches back beyond the first time that
 * there is.  The setting IntervalStyle must not matter, because other sessions read
 * what is stored.
 */
static bool
ReadInterval(void *arg)
{
	GivenInterval *read = arg;
	int			level = NewGUCNestLevel();
	Interval	zero = {0};
	Datum		interval;

	StatementSetLocally("IntervalStyle", "postgres");
	interval = DirectFunctionCall3(interval_in, CStringGetDatum(read->given),
								   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	(void) DirectFunctionCall2(timestamptz_mi_interval,
							   TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()), interval);
	StatementSetLocally("IntervalStyle", "iso_8601");
	if (DatumGetBool(DirectFunctionCall2(interval_gt, interval, IntervalPGetDatum(&zero))))
		read->canonical = MemoryContextStrdup(read->context,
												DatumGetCString(DirectFunctionCall1(interval_out, interval)));
	AtEOXact_GUC(true, level);
	return true;
}

/* Take an interval, in any form that PostgreSQL reads. */
static bool
TakeInterval(JsonbValue *value)
{
	GivenInterval read = {.context = CurrentMemoryContext};
	bool		stays;

	if (value->type != jbvString)
		return false;
	read.given = pnstrdup(value->val.string.val, value->val.string.len);
	if (AttemptCatch(ReadInterval, &read, &stays) != NULL || read.canonical == NULL)
		return false;
	value->val.string.val = read.canonical;
	value->val.string.len = strlen(read.canonical);
	return true;
}

static const OptionRule rules[] = {
	{OPTION_HISTORY, TakeBoolean, "true or false"},
	{OPTION_HISTORY_LEVEL, TakeLevel, "\"" LEVEL_READER "\" or \"" LEVEL_ADMIN "\""},
	{"retainVersions", TakeVersions, "a whole number, at least 1"},
	{"retainFor", TakeInterval, "a positive interval, such as \"90 days\""},
};

/* Returns the checked options, with the values to store; raises an error that has all mistakes. */
Jsonb *
ResourceOptionsTake(Jsonb *given, const ResourceModel *model)
{
	const OptionRule *list[lengthof(rules)];

	for (size_t i = 0; i < lengthof(rules); i++)
		list[i] = &rules[i];
	return OptionListTake(given, list, lengthof(rules), ProblemNew(PROBLEM_OPTIONS_REFUSED),
						  psprintf("%s.%s", model->project, model->resource));
}

/* Returns the current options with those that are given; null removes one. */
Jsonb *
ResourceOptionsMerge(Jsonb *current, Jsonb *given)
{
	Jsonb	   *merged = OptionListMerge(current, given);

	return DatumGetJsonbP(DirectFunctionCall1(jsonb_strip_nulls, JsonbPGetDatum(merged)));
}

/* Find an option among stored ones; returns false if it is not set. */
static bool
FindOption(Jsonb *options, const char *key, JsonbValue *value)
{
	return JB_ROOT_IS_OBJECT(options) &&
		getKeyJsonValueFromContainer(&options->root, key, strlen(key), value) != NULL;
}

/* Returns true if options say that versions are kept. */
bool
ResourceOptionsKeepHistory(Jsonb *options)
{
	JsonbValue	value;

	return FindOption(options, OPTION_HISTORY, &value) && value.type == jbvBool && value.val.boolean;
}

/*
 * Read the options of a resource as they are now, whatever the snapshot of the
 * caller, as models are read.
 */
static void
ReadOptions(int32 type_id, ResourceOptions *options)
{
	Jsonb	   *stored;
	JsonbValue	value;

	SnapshotBeginCatalog();
	stored = ResourceTypeOptions(type_id, NULL);
	SnapshotEnd();
	if (stored == NULL)
		return;
	options->history = ResourceOptionsKeepHistory(stored);
	options->history_admin = FindOption(stored, OPTION_HISTORY_LEVEL, &value) && !IsString(&value, LEVEL_READER);
}

/*
 * Returns the options of a resource.  They are read when they are first asked for,
 * and kept with the resource.
 */
const ResourceOptions *
ResourceOptionsOf(Resource *resource)
{
	ResourceOptions options = {0};
	ResourceOptions *kept;

	if (resource->options != NULL)
		return resource->options;
	ReadOptions(resource->type_id, &options);
	kept = MemoryContextAlloc(resource->context, sizeof(ResourceOptions));
	*kept = options;
	resource->options = kept;
	return kept;
}
