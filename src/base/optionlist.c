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

/* Check one option, and replace its value by the one to store; returns false if it is not valid. */
static bool
TakeMember(const JsonbValue *key, JsonbValue *value, const OptionRule *rule, Problem *problem)
{
	char	   *name = pnstrdup(key->val.string.val, key->val.string.len);

	if (rule != NULL && (value->type == jbvNull || rule->take(value)))
		return true;
	if (rule == NULL)
		ProblemNote(problem, "There is no option \"%s\".", name);
	else
		ProblemNote(problem, "\"%s\" must be %s, or null to reset it.", name, rule->expected);
	return false;
}

/* Raise the problem if anything was found; the hint lists all options. */
void
OptionListRefuse(Problem *problem, const OptionRule *const *rules, int nrules, const char *of)
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
 * Check options, and return those that are valid, with the values to store.  Mistakes
 * are added to the problem.
 */
Jsonb *
OptionListCheck(Jsonb *given, const OptionRule *const *rules, int nrules, Problem *problem)
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
		if (!TakeMember(&key, &value, FindRule(&key, rules, nrules), problem))
			continue;
		pushJsonbValue(&state, WJB_KEY, &key);
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/*
 * Check options, and return them with the values to store.  Raises the problem if
 * there are mistakes; "of" says in the message what the options belong to.
 */
Jsonb *
OptionListTake(Jsonb *given, const OptionRule *const *rules, int nrules, Problem *problem, const char *of)
{
	Jsonb	   *taken = OptionListCheck(given, rules, nrules, problem);

	OptionListRefuse(problem, rules, nrules, of);
	return taken;
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
