/*
 * renames.c
 *		Reading what a change of the schema calls by another name.
 *
 * Names are those of the database: "schema.table" and "schema.table.column".
 * They are only ever compared with names of models, and are not parts of
 * statements.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "schema/renames.h"
#include "utils/builtins.h"

/* Names have a schema, a table, and perhaps a column. */
#define MAX_PARTS 3

/* Take a name apart; returns false if it is none. */
static bool
ParseName(const char *text, RenamedName *name)
{
	char	   *parts[MAX_PARTS] = {0};
	char	   *rest = pstrdup(text);
	int			n = 0;

	for (; rest != NULL && n < MAX_PARTS; n++)
	{
		char	   *dot = strchr(rest, '.');

		if (dot != NULL)
			*dot = '\0';
		parts[n] = rest;
		rest = dot != NULL ? dot + 1 : NULL;
		if (*parts[n] == '\0')
			return false;
	}
	name->text = text;

	name->schema = parts[0];
	name->table = parts[1];
	name->column = parts[2];
	return rest == NULL && n >= 2;
}

/* Returns the string of a jsonb value. */
static char *
StringOf(const JsonbValue *value)
{
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* Make a rename from its two names, and note what is wrong with it. */
static Rename *
MakeRename(Problem *problem, const char *from, const char *to)
{
	Rename	   *rename = palloc0(sizeof(Rename));

	if (!ParseName(from, &rename->from) || !ParseName(to, &rename->to))
		ProblemAt(problem, from, "\"%s\" and \"%s\" must be names of tables, \"schema.table\", or of columns, \"schema.table.column\".",
				  from, to);
	else if ((rename->from.column == NULL) != (rename->to.column == NULL))
		ProblemAt(problem, from, "a table cannot become a column, nor a column a table.");
	return rename;
}

/* Read {"old name": "new name", ...}. */
List *
RenamesRead(Jsonb *object)
{
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	JsonbIterator *iterator = JsonbIteratorInit(&object->root);
	JsonbValue	value;
	JsonbIteratorToken token;
	char	   *from = NULL;
	List	   *renames = NIL;

	if (!JB_ROOT_IS_OBJECT(object))
		ReportError(PROBLEM_ARGUMENT, NULL, "renames must be an object that maps old names to new ones");
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			from = StringOf(&value);
		if (token != WJB_VALUE)
			continue;
		if (value.type == jbvString)
			renames = lappend(renames, MakeRename(problem, from, StringOf(&value)));
		else
			ProblemAt(problem, from, "the new name must be a string.");
	}
	if (problem->count > 0)
		ProblemRaise(problem, "renames are not valid");
	return renames;
}

/* Returns true if a name is that of a table, or of a column if there is one. */
static bool
IsName(const RenamedName *name, const char *schema, const char *table, const char *column)
{
	if (strcmp(name->schema, schema) != 0 || strcmp(name->table, table) != 0)
		return false;
	return column == NULL ? name->column == NULL : name->column != NULL && strcmp(name->column, column) == 0;
}

/*
 * Returns the rename of an old name, or to a new name, of a table, or of a column if
 * there is one; NULL if there is none.
 */
Rename *
RenamesFind(List *renames, const char *schema, const char *table, const char *column, bool from)
{
	ListCell   *cell;

	CHECK_FOR_INTERRUPTS();
	foreach(cell, renames)
	{
		Rename	   *rename = lfirst(cell);

		if (!IsName(from ? &rename->from : &rename->to, schema, table, column))
			continue;
		if (from)
			rename->from_used = true;
		else
			rename->to_used = true;
		return rename;
	}
	return NULL;
}

/*
 * Refuse renames of something that is not there or that stays, or to something that
 * the new schema does not have or the old one has already: they would explain
 * nothing.
 */
void
RenamesRefuseUnused(List *renames)
{
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	ListCell   *cell;

	foreach(cell, renames)
	{
		const Rename *rename = lfirst(cell);

		if (!rename->from_used)
			ProblemAt(problem, rename->from.text, "\"%s\" is not a table or column that the new schema lacks.", rename->from.text);
		if (!rename->to_used)
			ProblemAt(problem, rename->from.text, "\"%s\" is not a table or column that the new schema adds, in the place of \"%s\".",
					  rename->to.text, rename->from.text);
	}
	if (problem->count > 0)
		ProblemRaise(problem, "renames do not fit the change of the schema");
}
