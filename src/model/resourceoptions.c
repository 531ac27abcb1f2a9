/*
 * resourceoptions.c
 *		The options of a resource: their rules, and their values for a session.
 *
 * Options are stored as JSON in dms.ResourceType, by the names of the resource, so
 * they outlive deploys.  They are changed while the gate is closed, and the generation
 * of the store is raised then.  So the options of a resource that was looked up after
 * passing the gate hold until the end of the transaction.
 *
 * A new option needs an entry in rules[], and, if sessions use it, a member of
 * ResourceOptions.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/optionlist.h"
#include "base/urn.h"
#include "engine/attempt.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "mb/pg_wchar.h"
#include "model/optionpaths.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "model/uniqueoptions.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define OPTION_HISTORY "history"
#define OPTION_HISTORY_LEVEL "historyLevel"
#define OPTION_ACCOUNT "account"
#define OPTION_RESOURCE_TYPE "resourceType"
#define OPTION_DIFF "diff"
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

/* Take whether documents have accounts. */
static bool
TakeAccount(JsonbValue *value)
{
	return IsString(value, "optional") || IsString(value, "required") || IsString(value, "self");
}

/* Take the name that the resource has in URNs. */
static bool
TakeResourceType(JsonbValue *value)
{
	return value->type == jbvString && UrnIsType(value->val.string.val, value->val.string.len);
}

/* Take true, false or the name of a queue. */
static bool
TakeQueue(JsonbValue *value)
{
	return value->type == jbvBool ||
		(value->type == jbvString && value->val.string.len > 0 &&
		 pg_mbstrlen_with_len(value->val.string.val, value->val.string.len) <= QUEUE_MAX_NAME);
}

static const OptionRule rules[] = {
	{OPTION_HISTORY, TakeBoolean, "true or false"},
	{OPTION_HISTORY_LEVEL, TakeLevel, "\"" LEVEL_READER "\" or \"" LEVEL_ADMIN "\""},
	{OPTION_DIFF, TakeQueue, "true, false or the name of a queue, which has 1 to 64 characters"},
	{"retainVersions", TakeVersions, "a whole number, at least 1"},
	{"retainFor", TakeInterval, "a positive interval, such as \"90 days\""},
	{OPTION_GENERATED_ID, OptionPathTake, "a path, such as \"$.documentUuid\""},
	{OPTION_TITLE, OptionPathTake, "a path, such as \"$.title\""},
	{OPTION_CONTENT, OptionPathTake, "a path, such as \"$.content\""},
	{OPTION_SEARCH, OptionPathsTake, "an array of 1 to 16 different paths, such as [\"$.title\"]"},
	{OPTION_SEARCH_CONFIGURATION, SearchVectorTakeConfiguration,
	"the name of a text search configuration, with its schema unless that is pg_catalog"},
	{OPTION_SEARCH_INDEX, SearchVectorTakeIndex, "a name of at most 63 bytes"},
	{OPTION_ACCOUNT, TakeAccount, "\"optional\", \"required\" or \"self\""},
	{OPTION_RESOURCE_TYPE, TakeResourceType, "1 to 513 ASCII letters, digits, \".\" and \"-\""},
	{OPTION_UNIQUE_KEYS, UniqueOptionsTake, "an array of paths"},
};

/* Set a list of all rules. */
static void
ListRules(const OptionRule **list)
{
	for (size_t i = 0; i < lengthof(rules); i++)
		list[i] = &rules[i];
}

/* Callback: add a contradiction to a problem. */
static void
AddFault(void *arg, const char *option, const char *message)
{
	ProblemNote(arg, "\"%s\": %s", option, message);
}

/*
 * Returns the current options with those that are given; null removes one.  Those that
 * are not valid, and contradictions to the model, are added to the problem, which
 * ResourceOptionsRefuse() raises.
 */
Jsonb *
ResourceOptionsTake(Jsonb *given, Jsonb *current, const ResourceModel *model, Problem *problem)
{
	const OptionRule *list[lengthof(rules)];
	Jsonb	   *merged;

	ListRules(list);
	UniqueOptionsCheck(given, model, problem);
	merged = OptionListMerge(current, OptionListCheck(given, list, lengthof(rules), problem));
	merged = DatumGetJsonbP(DirectFunctionCall1(jsonb_strip_nulls, JsonbPGetDatum(merged)));
	OptionPathsCheck(merged, model, AddFault, problem);
	return merged;
}

/* Raise a problem of options, if anything was found. */
void
ResourceOptionsRefuse(Problem *problem, const ResourceModel *model)
{
	const OptionRule *list[lengthof(rules)];

	ListRules(list);
	OptionListRefuse(problem, list, lengthof(rules), psprintf("%s.%s", model->project, model->resource));
}

/* Returns true if options say that versions are kept. */
bool
ResourceOptionsKeepHistory(Jsonb *options)
{
	JsonbValue	value;

	return OptionPathFind(options, OPTION_HISTORY, &value) && value.type == jbvBool && value.val.boolean;
}

/* Returns the name of a resource in URNs that options give it; NULL if they do not. */
char *
ResourceOptionsType(Jsonb *options)
{
	JsonbValue	value;

	if (!OptionPathFind(options, OPTION_RESOURCE_TYPE, &value) || !TakeResourceType(&value))
		return NULL;
	return pnstrdup(value.val.string.val, value.val.string.len);
}

/* Returns the name of the property with the generated id, in a memory context; NULL if there is none. */
static char *
GeneratedProperty(Jsonb *options, MemoryContext context)
{
	JsonbValue	path;

	if (!OptionPathFind(options, OPTION_GENERATED_ID, &path))
		return NULL;
	return MemoryContextStrdup(context, pnstrdup(path.val.string.val + 2, path.val.string.len - 2));
}

/* Read the options that name places of documents. */
static void
ReadPaths(const Resource *resource, Jsonb *stored, ResourceOptions *options)
{
	const ResourceModel *model = resource->model;
	Jsonb	   *fitting = OptionPathsKeepFitting(stored, model);

	options->generated_id = GeneratedProperty(fitting, resource->context);
	options->title = OptionPathColumn(fitting, OPTION_TITLE, model);
	options->content = OptionPathColumn(fitting, OPTION_CONTENT, model);
	SearchVectorRead(fitting, model, &options->search);
	if (options->search.configuration == NULL)
		return;
	options->search.name = MemoryContextStrdup(resource->context, options->search.name);
	options->search.configuration = MemoryContextStrdup(resource->context, options->search.configuration);
}

/* Returns the queue that an option names; NULL if there is none. */
static const char *
QueueOf(const JsonbValue *value)
{
	if (value->type == jbvString)
		return pnstrdup(value->val.string.val, value->val.string.len);
	return value->type == jbvBool && value->val.boolean ? QUEUE_OWN : NULL;
}

/*
 * Read the options of a resource as they are now, whatever the snapshot of the
 * caller, as models are read.
 */
static void
ReadOptions(const Resource *resource, ResourceOptions *options)
{
	Jsonb	   *stored;
	JsonbValue	value;

	options->title = options->content = -1;
	SnapshotBeginCatalog();
	stored = ResourceTypeOptions(resource->type_id, NULL);
	SnapshotEnd();
	if (stored == NULL || !JB_ROOT_IS_OBJECT(stored))
		return;
	options->history = ResourceOptionsKeepHistory(stored);
	options->history_admin = OptionPathFind(stored, OPTION_HISTORY_LEVEL, &value) && !IsString(&value, LEVEL_READER);
	if (OptionPathFind(stored, OPTION_ACCOUNT, &value))
		options->account = IsString(&value, "self") ? ACCOUNT_SELF :
			IsString(&value, "required") ? ACCOUNT_REQUIRED : ACCOUNT_OPTIONAL;
	options->unique_columns = UniqueOptionsRead(stored, resource->model, resource->context, &options->nunique);
	ReadPaths(resource, stored, options);
	if (OptionPathFind(stored, OPTION_DIFF, &value))
		options->diff_queue = QueueOf(&value);
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
	ReadOptions(resource, &options);
	kept = MemoryContextAlloc(resource->context, sizeof(ResourceOptions));
	*kept = options;
	if (options.diff_queue != NULL)
		kept->diff_queue = MemoryContextStrdup(resource->context, options.diff_queue);
	resource->options = kept;
	return kept;
}
