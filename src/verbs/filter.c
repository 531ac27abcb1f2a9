/*
 * filter.c
 *		Reading and checking the filters of a query.
 *
 * Values are brought into the canonical form that stored values have, so that
 * they can be compared for equality.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/report.h"
#include "base/uuid.h"
#include "miscadmin.h"
#include "model/value.h"
#include "verbs/filter.h"

typedef struct FilterState
{
	const ResourceModel *model;
	FilterIds	ids;
	Problem    *fields;			/* fields that there are not */
	Problem    *values;			/* values that do not fit */
} FilterState;

/* Find the field of this name, in any case; NULL if there is none. */
static const QueryModel *
FindField(const ResourceModel *model, const char *name)
{
	for (int i = 0; i < model->nqueries; i++)
		if (pg_strcasecmp(model->queries[i].name, name) == 0)
			return &model->queries[i];
	return NULL;
}

/* Remove the time of a date that came as a date and time. */
static void
CutTime(JNode *node)
{
	TimestampTz instant;

	if (node->kind == JNODE_STRING && DateTimeParse(node->text, node->length, &instant))
	{
		const char *start = &node->text[strspn(node->text, " ")];

		node->length = strcspn(start, "Tt ");
		node->text = pnstrdup(start, node->length);
	}
}

/* Returns the type of a value; integers are compared as int8, whatever their column. */
static ValueModel
ModelOfValue(const QueryPathModel *path)
{
	ValueModel	value = {.min_length = -1,.max_length = -1,.precision = -1,.scale = -1};

	value.type = path->type == VALUE_INT4 ? VALUE_INT8 : path->type;
	return value;
}

/* Read a value for one path.  Returns false if it is refused or fits no document. */
static bool
ReadValue(FilterState *state, const QueryPathModel *path, const JNode *source,
		  char **value)
{
	JNode		node = *source;
	ValueModel	model = ModelOfValue(path);
	ValueFault	fault;

	CHECK_FOR_INTERRUPTS();
	if (node.kind == JNODE_NULL)
	{
		ProblemAt(state->values, path->path, "must not be null.");
		return false;
	}
	if (path->column < 0)
	{
		pg_uuid_t	uuid;

		if (node.kind == JNODE_STRING && UuidParse(node.text, &uuid))
		{
			*value = pstrdup(node.text);
			return true;
		}
		if (state->ids == FILTER_IDS_STRICT || node.kind != JNODE_STRING)
			ProblemAt(state->values, path->path, "must be a UUID.");
		return false;
	}
	if (model.type == VALUE_DATE)
		CutTime(&node);
	if (!ValueCanonicalise(&node, &model, false, &fault))
	{
		ProblemAt(state->values, path->path, "%s", fault.message);
		return false;
	}
	*value = pnstrdup(node.text, node.length);
	return true;
}

/* Read a value, or an array of them, for one path. */
static void
ReadPath(FilterState *state, const QueryPathModel *path, const JNode *source,
		 FilterPath *into)
{
	into->path = path;
	into->values = palloc(sizeof(char *) * (source->nchildren + 1));
	into->nvalues = 0;
	if (source->kind == JNODE_ARRAY)
	{
		foreach_child(child, source)
		{
			if (ReadValue(state, path, child, &into->values[into->nvalues]))
				into->nvalues++;
		}
	}
	else if (ReadValue(state, path, source, &into->values[0]))
		into->nvalues = 1;
}

/*
 * Read the values of a field, for each of its paths.  Mistakes are reported at the
 * paths that the schema gives the field, not at those that are equal to them.
 */
static void
ReadFilter(FilterState *state, const QueryModel *field, const JNode *source,
		   Filter *filter)
{
	FilterState silent = *state;

	filter->field = field;
	filter->paths = palloc0(sizeof(FilterPath) * Max(field->npaths, 1));
	for (int i = 0; i < field->npaths; i++)
		ReadPath(state, &field->paths[i], source, &filter->paths[i]);
	if (field->nequals == 0)
		return;
	silent.values = ProblemNew(PROBLEM_QUERY_VALUE);
	filter->equals = palloc0(sizeof(FilterPath) * field->nequals);
	for (int i = 0; i < field->nequals; i++)
		ReadPath(&silent, &field->equals[i], source, &filter->equals[i]);
}

/*
 * Read the filters of an object {field: value or array of values}.  Unknown fields
 * and values that do not fit are errors, which list all of them.
 */
Filter *
FiltersRead(const ResourceModel *model, JNode *filters, FilterIds ids, int *n)
{
	FilterState state = {model, ids};
	Filter	   *read = palloc(sizeof(Filter) * Max(filters->nchildren, 1));

	if (filters->kind != JNODE_OBJECT)
		ReportError(PROBLEM_ARGUMENT, NULL, "filters must be an object, not %s",
					JsonTreeKindName(filters));
	state.fields = ProblemNew(PROBLEM_QUERY_FIELD);
	state.values = ProblemNew(PROBLEM_QUERY_VALUE);
	*n = 0;
	foreach_child(child, filters)
	{
		const QueryModel *field = FindField(model, child->name);

		CHECK_FOR_INTERRUPTS();
		if (field != NULL)
			ReadFilter(&state, field, child, &read[(*n)++]);
		else
			ProblemNote(state.fields, "%s cannot be queried by \"%s\".",
						model->resource, child->name);
	}
	if (state.fields->count > 0)
		ProblemRaise(state.fields, "query of %s names unknown fields", model->resource);
	if (state.values->count > 0)
		ProblemRaise(state.values, "values of the query do not fit their fields");
	return read;
}
