/*
 * optionlist.c
 *		Checking options that are given as a JSON object.
 *
 * Functions that configure something take the options to change.  Those that are
 * not named stay, and null resets one.  All mistakes are collected, so that one call
 * names them all.
 */
#include "postgres.h"

#include "base/optionlist.h"
#include "lib/stringinfo.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

/* Returns true if a value is a whole number in the range of an integer. */
bool
OptionListIsWhole(const JsonbValue *value, int32 least)
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

/* Returns the rule of a key; NULL if there is none. */
static const OptionRule *
FindRule(const JsonbValue *key, const OptionRule *const *rules, int nrules)
{
	for (int i = 0; i < nrules; i++)
		if (strlen(rules[i]->key) == (size_t) key->val.string.len &&
			memcmp(rules[i]->key, key->val.string.val, key->val.string.len) == 0)
			return rules[i];
	return NULL;
}

/* Check one option, and replace its value by the one to store. */
static void
TakeMember(const JsonbValue *key, JsonbValue *value, const OptionRule *rule, Problem *problem)
{
	char	   *name = pnstrdup(key->val.string.val, key->val.string.len);

	if (rule == NULL)
		ProblemNote(problem, "There is no option \"%s\".", name);
	else if (value->type != jbvNull && !rule->take(value))
		ProblemNote(problem, "\"%s\" must be %s, or null to reset it.", name, rule->expected);
}

/* Raise the problems, if there are any; the hint lists all options. */
static void
RefuseProblems(Problem *problem, const OptionRule *const *rules, int nrules, const char *of)
{
	StringInfoData keys;

	if (problem->count == 0)
		return;
	initStringInfo(&keys);
	for (int i = 0; i < nrules; i++)
		appendStringInfo(&keys, "%s\"%s\"", i > 0 ? ", " : "", rules[i]->key);
	problem->hint = psprintf("Options are %s.", keys.data);
	ProblemRaise(problem, "options of %s are not valid", of);
}

/*
 * Check options, and return them with the values to store.  Raises the problem if
 * there are mistakes; "of" says in the message what the options belong to.
 */
Jsonb *
OptionListTake(Jsonb *given, const OptionRule *const *rules, int nrules, Problem *problem, const char *of)
{
	JsonbParseState *state = NULL;
	JsonbIterator *iterator;
	JsonbValue	key;
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(given))
		ReportError(PROBLEM_ARGUMENT, NULL, "options must be an object");
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	iterator = JsonbIteratorInit(&given->root);
	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&iterator, &value, true);
		TakeMember(&key, &value, FindRule(&key, rules, nrules), problem);
		pushJsonbValue(&state, WJB_KEY, &key);
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	RefuseProblems(problem, rules, nrules, of);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/* Returns the current options with those that are given; a copy, whatever is given. */
Jsonb *
OptionListMerge(Jsonb *current, Jsonb *given)
{
	Datum		merged = DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(current), JsonbPGetDatum(given));

	/* If one of them is empty, the result is the other one itself. */
	return (Jsonb *) PG_DETOAST_DATUM_COPY(merged);
}

/* Returns true if options are the same. */
bool
OptionListSame(Jsonb *left, Jsonb *right)
{
	return compareJsonbContainers(&left->root, &right->root) == 0;
}
