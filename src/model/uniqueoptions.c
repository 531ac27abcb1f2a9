/*
 * uniqueoptions.c
 *		The option "uniqueKeys" of a resource: properties that only one document may
 *		have with a value.
 */
#include "postgres.h"

#include "base/grow.h"
#include "model/optionpaths.h"
#include "model/uniqueoptions.h"
#include "nodes/value.h"

/* Take an array of strings; UniqueOptionsCheck() looks at each of them. */
bool
UniqueOptionsTake(JsonbValue *value)
{
	JsonbIterator *iterator;
	JsonbValue	element;
	JsonbIteratorToken token;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data) ||
		JsonContainerIsScalar(value->val.binary.data) || JsonContainerSize(value->val.binary.data) == 0)
		return false;
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
		if (token == WJB_ELEM && element.type != jbvString)
			return false;
	return true;
}

/* Returns true if values can be unique keys: short texts, whole numbers, dates and times. */
static bool
CanBeUnique(const ValueModel *value)
{
	if (value->type == VALUE_TEXT)
		return value->max_length >= 0 && value->max_length <= UNIQUE_KEY_MAX_LENGTH;
	return value->type != VALUE_BOOL && value->type != VALUE_NUMERIC;
}

/* Returns the column of the root table for a path; -1 if there is none that can be a unique key. */
int
UniqueOptionsColumn(const ResourceModel *model, const char *path)
{
	const TableModel *root = &model->tables[0];

	if (model->kind != RESOURCE_PLAIN)
		return -1;
	for (int i = root->nkeys; i < root->ncolumns; i++)
	{
		const ColumnModel *column = &root->columns[i];

		if (column->role == COLUMN_SCALAR && strcmp(column->path, path) == 0)
			return CanBeUnique(&column->value) ? i : -1;
	}
	return -1;
}

/* Returns the paths of the unique keys among options. */
List *
UniqueOptionsPaths(Jsonb *options)
{
	List	   *paths = NIL;
	JsonbValue	value;
	JsonbIterator *iterator;
	JsonbIteratorToken token;

	if (!OptionPathFind(options, OPTION_UNIQUE_KEYS, &value) || !UniqueOptionsTake(&value))
		return NIL;
	iterator = JsonbIteratorInit(value.val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
		if (token == WJB_ELEM)
			paths = lappend(paths, pnstrdup(value.val.string.val, value.val.string.len));
	return paths;
}

/* Note unique keys that the resource cannot have, or that are named twice. */
void
UniqueOptionsCheck(Jsonb *given, const ResourceModel *model, Problem *problem)
{
	List	   *seen = NIL;
	ListCell   *cell;

	foreach(cell, UniqueOptionsPaths(given))
	{
		char	   *path = lfirst(cell);

		if (UniqueOptionsColumn(model, path) < 0)
			ProblemNote(problem, "\"" OPTION_UNIQUE_KEYS "\" has \"%s\", which is not the path of a text of at most %d characters,"
						" of a whole number, a date or a time, outside of arrays and references.", path, UNIQUE_KEY_MAX_LENGTH);
		if (list_member(seen, makeString(path)))
			ProblemNote(problem, "\"" OPTION_UNIQUE_KEYS "\" has \"%s\" twice.", path);
		seen = lappend(seen, makeString(path));
	}
}

/* Read the columns of the unique keys among options, into an array of a memory context. */
int *
UniqueOptionsRead(Jsonb *options, const ResourceModel *model, MemoryContext context, int *n)
{
	List	   *paths = UniqueOptionsPaths(options);
	int		   *columns = MemoryContextAlloc(context, sizeof(int) * Max(list_length(paths), 1));
	ListCell   *cell;

	*n = 0;
	foreach(cell, paths)
	{
		int			column = UniqueOptionsColumn(model, lfirst(cell));

		if (column >= 0)
			columns[(*n)++] = column;
	}
	return columns;
}
