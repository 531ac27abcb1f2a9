/*
 * optionpaths.c
 *		Options of a resource that name places of its documents.
 *
 * A path names a text of the document itself, as opposed to an element of an array or
 * an extension, so its values are in a column of the root table.  Options are stored
 * apart from models.  So each use looks the path up in the model of the time, and what
 * does not fit has no effect: an owner may have changed the stored options by hand.
 */
#include "postgres.h"

#include "model/optionpaths.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* A UUID as text. */
#define UUID_CHARACTERS 36

/* Returns true if a value is a string that may be a path. */
static bool
IsPath(const JsonbValue *value)
{
	return value->type == jbvString && value->val.string.len > 2 && strncmp(value->val.string.val, "$.", 2) == 0;
}

/* Returns true if two paths are the same. */
static bool
SamePath(const JsonbValue *left, const JsonbValue *right)
{
	return left->val.string.len == right->val.string.len &&
		memcmp(left->val.string.val, right->val.string.val, left->val.string.len) == 0;
}

/* Take a path. */
bool
OptionPathTake(JsonbValue *value)
{
	return IsPath(value);
}

/* Read the elements of an array, no more than may be there; returns their number, or -1 if it is none. */
static int
ReadArray(const JsonbValue *value, JsonbValue *elements)
{
	JsonbIterator *iterator;
	JsonbValue	element;
	int			n = 0;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data) ||
		JsonContainerIsScalar(value->val.binary.data))
		return -1;
	iterator = JsonbIteratorInit(value->val.binary.data);
	(void) JsonbIteratorNext(&iterator, &element, true);
	while (n <= OPTION_MAX_PATHS && JsonbIteratorNext(&iterator, &element, true) == WJB_ELEM)
		elements[n++] = element;
	return n;
}

/* Take an array of different paths. */
bool
OptionPathsTake(JsonbValue *value)
{
	JsonbValue	paths[OPTION_MAX_PATHS + 1];
	int			n = ReadArray(value, paths);

	if (n < 1 || n > OPTION_MAX_PATHS)
		return false;
	for (int i = 0; i < n; i++)
	{
		if (!IsPath(&paths[i]))
			return false;
		for (int j = 0; j < i; j++)
			if (SamePath(&paths[i], &paths[j]))
				return false;
	}
	return true;
}

/* Find an option; returns false if it is not set. */
bool
OptionPathFind(Jsonb *options, const char *key, JsonbValue *value)
{
	return JB_ROOT_IS_OBJECT(options) &&
		getKeyJsonValueFromContainer(&options->root, key, strlen(key), value) != NULL;
}

/* Returns the column of the root table that has the texts at a path; -1 if there is none. */
static int
FindColumn(const JsonbValue *path, const ResourceModel *model)
{
	const TableModel *root = &model->tables[0];

	if (!IsPath(path) || model->ntables == 0)
		return -1;
	for (int i = root->nkeys; i < root->ncolumns; i++)
	{
		const ColumnModel *column = &root->columns[i];

		if (column->role == COLUMN_SCALAR && column->value.type == VALUE_TEXT && column->path != NULL &&
			strlen(column->path) == (size_t) path->val.string.len &&
			memcmp(column->path, path->val.string.val, path->val.string.len) == 0)
			return i;
	}
	return -1;
}

/* Returns the column of the root table that an option names; -1 if it is not set, or does not fit. */
int
OptionPathColumn(Jsonb *options, const char *key, const ResourceModel *model)
{
	JsonbValue	value;

	return OptionPathFind(options, key, &value) ? FindColumn(&value, model) : -1;
}

/*
 * Set the columns of the root table that an option lists; there is room for
 * OPTION_MAX_PATHS.  Returns their number, which is 0 if the option is not set, or if one
 * of its paths does not fit.
 */
int
OptionPathColumns(Jsonb *options, const char *key, const ResourceModel *model, int *columns)
{
	JsonbValue	value;
	JsonbValue	paths[OPTION_MAX_PATHS + 1];
	int			n = OptionPathFind(options, key, &value) ? ReadArray(&value, paths) : 0;

	if (n > OPTION_MAX_PATHS)
		return 0;
	for (int i = 0; i < n; i++)
	{
		columns[i] = FindColumn(&paths[i], model);
		if (columns[i] < 0)
			return 0;
	}
	return Max(n, 0);
}

/* --- contradictions ------------------------------------------------------- */

/* Report a path that names no text of the document itself. */
static void
CheckPath(const JsonbValue *path, const char *option, const ResourceModel *model, OptionFault fault, void *arg)
{
	if (FindColumn(path, model) < 0)
		fault(arg, option, psprintf("there is no text at %s, or it is not one of the document itself.",
									path->type == jbvString ? pnstrdup(path->val.string.val, path->val.string.len) : "this path"));
}

/* Returns why ids cannot be generated for this identity; NULL if they can. */
static const char *
FaultOfIdentity(const JsonbValue *path, const ResourceModel *model)
{
	int			column = FindColumn(path, model);
	const ValueModel *value;

	if (model->nidentity != 1 || column < 0 || model->identity[0].column != column || model->identity[0].reference >= 0)
		return "it must be the only part of the identity, and a text.";
	if (memchr(path->val.string.val + 2, '.', path->val.string.len - 2) != NULL)
		return "it must be a property of the document itself, not of an object inside it.";
	value = &model->tables[0].columns[column].value;
	if ((value->max_length >= 0 && value->max_length < UUID_CHARACTERS) || value->min_length > UUID_CHARACTERS)
		return "a UUID has 36 characters, which the schema does not allow.";
	if (model->allow_identity_updates)
		return "the schema allows the identity to change, but the id of a document never does.";
	return NULL;
}

/* Check the option "generatedId". */
static void
CheckGeneratedId(const JsonbValue *path, const ResourceModel *model, OptionFault fault, void *arg)
{
	const char *reason = IsPath(path) ? FaultOfIdentity(path, model) : "it is not a path.";

	if (reason != NULL)
		fault(arg, OPTION_GENERATED_ID, reason);
}

/* Check the option "search". */
static void
CheckSearch(const JsonbValue *value, const ResourceModel *model, OptionFault fault, void *arg)
{
	JsonbValue	paths[OPTION_MAX_PATHS + 1];
	int			n = Min(ReadArray(value, paths), OPTION_MAX_PATHS);

	if (model->kind == RESOURCE_DESCRIPTOR)
		fault(arg, OPTION_SEARCH, "descriptors of all kinds are in one table, which cannot be searched.");
	for (int i = 0; i < n; i++)
		CheckPath(&paths[i], OPTION_SEARCH, model, fault, arg);
}

/* Report all contradictions between options and a model. */
void
OptionPathsCheck(Jsonb *options, const ResourceModel *model, OptionFault fault, void *arg)
{
	JsonbValue	value;

	if (OptionPathFind(options, OPTION_GENERATED_ID, &value))
		CheckGeneratedId(&value, model, fault, arg);
	if (OptionPathFind(options, OPTION_TITLE, &value))
		CheckPath(&value, OPTION_TITLE, model, fault, arg);
	if (OptionPathFind(options, OPTION_CONTENT, &value))
		CheckPath(&value, OPTION_CONTENT, model, fault, arg);
	if (OptionPathFind(options, OPTION_SEARCH, &value))
		CheckSearch(&value, model, fault, arg);
}

/* Callback: take an option that does not fit away. */
static void
DropOption(void *arg, const char *option, const char *message pg_attribute_unused())
{
	Jsonb	  **options = arg;

	*options = DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(*options), CStringGetTextDatum(option)));
}

/* Returns options without those that contradict a model. */
Jsonb *
OptionPathsKeepFitting(Jsonb *options, const ResourceModel *model)
{
	Jsonb	   *kept = options;

	OptionPathsCheck(options, model, DropOption, &kept);
	return kept;
}
