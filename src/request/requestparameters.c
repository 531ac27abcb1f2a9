/*
 * requestparameters.c
 *		Parameters of a query that are not filters: paging, and places in lists.
 *
 * A route says which of them it takes.  All that are not valid are reported at once,
 * in the order of the table below, but faults of paging alone if there are any.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/report.h"
#include "miscadmin.h"
#include "request/requestparameters.h"

/* Reads the value of a parameter; returns false if it is not valid. */
typedef bool (*ParameterTake) (Parameters *parameters, const char *value);

/* Read a number from 0 to max; returns false if it is none. */
bool
RequestParameterNumber(const char *value, int64 max, int64 *number)
{
	size_t		len = strlen(value);

	if (len == 0 || strspn(value, "0123456789") != len)
		return false;
	errno = 0;
	*number = strtoi64(value, NULL, 10);
	return errno == 0 && *number <= max;
}

/* Read the parameter "offset". */
static bool
TakeOffset(Parameters *parameters, const char *value)
{
	return RequestParameterNumber(value, PG_INT64_MAX, &parameters->offset);
}

/* Read the parameter "limit". */
static bool
TakeLimit(Parameters *parameters, const char *value)
{
	return RequestParameterNumber(value, PARAMETER_MAX_LIMIT, &parameters->limit);
}

/* Read the parameter "totalCount". */
static bool
TakeTotal(Parameters *parameters, const char *value)
{
	parameters->total = pg_strcasecmp(value, "true") == 0;
	return parameters->total || pg_strcasecmp(value, "false") == 0;
}

/* Read the parameter "before". */
static bool
TakeBefore(Parameters *parameters, const char *value)
{
	return RequestParameterNumber(value, PG_INT64_MAX, &parameters->before);
}

/* Read the parameter "from". */
static bool
TakeFrom(Parameters *parameters, const char *value)
{
	return RequestParameterNumber(value, PG_INT64_MAX, &parameters->from);
}

/* Read the parameter "after". */
static bool
TakeAfter(Parameters *parameters, const char *value)
{
	parameters->after = value;
	return true;
}

/* Read the parameter "type". */
static bool
TakeType(Parameters *parameters, const char *value)
{
	parameters->type = value;
	return true;
}

/* Read the parameter "pk". */
static bool
TakePk(Parameters *parameters, const char *value)
{
	parameters->pk = value;
	return true;
}

/* Read the parameter "sk". */
static bool
TakeSk(Parameters *parameters, const char *value)
{
	parameters->sk = value;
	return true;
}

/* Read the parameter "index". */
static bool
TakeIndex(Parameters *parameters, const char *value)
{
	parameters->index = value;
	return true;
}

/* Read the parameter "asOf". */
static bool
TakeAsOf(Parameters *parameters, const char *value)
{
	return DateTimeParseInstant(value, (int) strlen(value), &parameters->as_of);
}

/* Read the parameter "minChangeVersion". */
static bool
TakeMinChange(Parameters *parameters, const char *value)
{
	return RequestParameterNumber(value, PG_INT64_MAX, &parameters->range.min);
}

/* Read the parameter "maxChangeVersion". */
static bool
TakeMaxChange(Parameters *parameters, const char *value)
{
	parameters->range.has_max = true;
	return RequestParameterNumber(value, PG_INT64_MAX, &parameters->range.max);
}

/* Read the parameter "q". */
static bool
TakeQuery(Parameters *parameters, const char *value)
{
	parameters->query = value;
	return true;
}

/* Read the parameter "syntax". */
static bool
TakeSyntax(Parameters *parameters, const char *value)
{
	parameters->web = strcmp(value, "web") == 0;
	return parameters->web || strcmp(value, "plain") == 0;
}

/* Read the parameter "sort". */
static bool
TakeSort(Parameters *parameters, const char *value)
{
	parameters->newest = strcmp(value, "newest") == 0;
	return parameters->newest || strcmp(value, "rank") == 0;
}

/* Existing clients expect a plain content type for faults of parameters of paging. */
static const struct
{
	const char *name;
	int			bit;
	ParameterTake take;
	const char *rule;
	ProblemCase kind;
}			known[] = {
	{"offset", PARAMETER_OFFSET, TakeOffset, "a number that is not negative", PROBLEM_PAGING},
	{"limit", PARAMETER_LIMIT, TakeLimit, "a number from 0 to 500", PROBLEM_PAGING},
	{"totalCount", PARAMETER_TOTAL, TakeTotal, "true or false", PROBLEM_PAGING},
	{"minChangeVersion", PARAMETER_MIN_CHANGE, TakeMinChange, "a number that is not negative", PROBLEM_PAGING},
	{"maxChangeVersion", PARAMETER_MAX_CHANGE, TakeMaxChange, "a number that is not negative", PROBLEM_PAGING},
	{"before", PARAMETER_BEFORE, TakeBefore, "the number of a version", PROBLEM_ARGUMENT},
	{"from", PARAMETER_FROM, TakeFrom, "the number of a version", PROBLEM_ARGUMENT},
	{"after", PARAMETER_AFTER, TakeAfter, NULL, PROBLEM_ARGUMENT},
	{"type", PARAMETER_TYPE, TakeType, NULL, PROBLEM_ARGUMENT},
	{"pk", PARAMETER_PK, TakePk, NULL, PROBLEM_ARGUMENT},
	{"sk", PARAMETER_SK, TakeSk, NULL, PROBLEM_ARGUMENT},
	{"index", PARAMETER_INDEX, TakeIndex, NULL, PROBLEM_ARGUMENT},
	{"asOf", PARAMETER_AS_OF, TakeAsOf, "a date and a time, YYYY-MM-DDTHH:MM:SSZ", PROBLEM_ARGUMENT},
	{"q", PARAMETER_QUERY, TakeQuery, NULL, PROBLEM_ARGUMENT},
	{"syntax", PARAMETER_SYNTAX, TakeSyntax, "plain or web", PROBLEM_ARGUMENT},
	{"sort", PARAMETER_SORT, TakeSort, "rank or newest", PROBLEM_ARGUMENT},
};

/* Look up a parameter among those that a route takes; -1 if it is none of them. */
static int
Find(const char *name, int taken)
{
	for (int i = 0; i < (int) lengthof(known); i++)
		if ((known[i].bit & taken) != 0 && pg_strcasecmp(known[i].name, name) == 0)
			return i;
	return -1;
}

/* Returns true if a route that takes these parameters takes one of this name. */
bool
RequestParameterIsTaken(const char *name, int taken)
{
	return Find(name, taken) >= 0;
}

/* What is wrong with parameters, by their places in the table. */
typedef struct Faults
{
	bool		invalid[lengthof(known)];
	bool		repeated[lengthof(known)];
} Faults;

/* Note the faults of some parameters.  Those that any text is valid for can only be repeated. */
static void
NoteFaults(Problem *problem, const Faults *faults, int some)
{
	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if ((known[i].bit & some) == 0 || !(faults->invalid[i] || faults->repeated[i]))
			continue;
		if (known[i].kind == PROBLEM_PAGING)
			problem->kind = PROBLEM_PAGING;
		if (faults->repeated[i])
			ProblemNote(problem, "%s must be given once.", known[i].name);
		else
			ProblemNote(problem, "%s must be %s.", known[i].name, known[i].rule);
	}
}

/* Raise what is wrong with the parameters. */
static void
RaiseFaults(const Request *request, const Parameters *parameters, const Faults *faults)
{
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);

	if (request->query_malformed)
		ProblemNote(problem, "The query must be UTF-8 in which percent signs stand before two hexadecimal digits.");
	NoteFaults(problem, faults, PARAMETERS_PAGING);
	if (problem->count == 0)
		NoteFaults(problem, faults, ~PARAMETERS_PAGING);
	if (problem->count == 0 && parameters->range.has_max && parameters->range.min > parameters->range.max)
	{
		problem->kind = PROBLEM_PAGING;
		ProblemNote(problem, "minChangeVersion must not be greater than maxChangeVersion.");
	}
	if (problem->count > 0)
		ProblemRaise(problem, "parameters are not valid");
}

/* Returns true if a value counts as none: that of a bound of changes without anything in it. */
static bool
IsNone(int parameter, const char *value)
{
	return (known[parameter].bit & PARAMETERS_CHANGES) != 0 && value[strspn(value, " \t\r\n")] == '\0';
}

/* Read the parameters that a route takes.  Others are left to the caller. */
void
RequestParametersRead(const Request *request, int taken, Parameters *parameters)
{
	Faults		faults = {0};
	ListCell   *cell;

	memset(parameters, 0, sizeof(Parameters));
	parameters->limit = PARAMETER_MAX_LIMIT;
	parameters->before = PG_INT64_MAX;
	foreach(cell, request->parameters)
	{
		const QueryParameter *given = lfirst(cell);
		int			i = Find(given->name, taken);

		CHECK_FOR_INTERRUPTS();
		if (i < 0 || IsNone(i, given->value))
			continue;
		if ((parameters->given & known[i].bit) != 0)
			faults.repeated[i] = true;
		else if (!known[i].take(parameters, given->value))
			faults.invalid[i] = true;
		parameters->given |= known[i].bit;
	}
	RaiseFaults(request, parameters, &faults);
}

/* Returns the range of changes that parameters ask for; NULL if they ask for none. */
const ChangeRange *
RequestParametersRange(const Parameters *parameters)
{
	return (parameters->given & PARAMETERS_CHANGES) != 0 ? &parameters->range : NULL;
}

/* Read the parameters that a route takes, and refuse all others. */
void
RequestParametersReadOnly(const Request *request, int taken, Parameters *parameters)
{
	Problem    *problem = ProblemNew(PROBLEM_QUERY_FIELD);
	ListCell   *cell;

	RequestParametersRead(request, taken, parameters);
	problem->detail = "The query has parameters that this path does not take.";
	foreach(cell, request->parameters)
	{
		const QueryParameter *given = lfirst(cell);

		if (!RequestParameterIsTaken(given->name, taken))
			ProblemNote(problem, "There is no parameter \"%s\".", given->name);
	}
	if (problem->count > 0)
		ProblemRaise(problem, "parameters are not known");
}
