/*
 * optionlist.h
 *		Checking options that are given as a JSON object.
 */
#ifndef DMS_OPTIONLIST_H
#define DMS_OPTIONLIST_H

#include "postgres.h"

#include "base/report.h"
#include "utils/jsonb.h"

/* Replaces a value by the one to store; returns false if it is not valid. */
typedef bool (*OptionTake) (JsonbValue *value);

/* An option, and what its values must be. */
typedef struct OptionRule
{
	const char *key;
	OptionTake	take;
	const char *expected;		/* what a value must be, for messages */
} OptionRule;

extern bool OptionListIsWhole(const JsonbValue *value, int32 least);
extern Jsonb *OptionListCheck(Jsonb *given, const OptionRule *const *rules, int nrules, Problem *problem);
extern void OptionListRefuse(Problem *problem, const OptionRule *const *rules, int nrules, const char *of);
extern Jsonb *OptionListTake(Jsonb *given, const OptionRule *const *rules, int nrules, Problem *problem,
							 const char *of);
extern Jsonb *OptionListMerge(Jsonb *current, Jsonb *given);
extern bool OptionListSame(Jsonb *left, Jsonb *right);

#endif							/* DMS_OPTIONLIST_H */
