/*
 * migrationsteps.c
 *		Collecting the steps of a change of the schema.
 */
#include "postgres.h"

#include "schema/migrationsteps.h"

/* Add a step, which a deploy runs as operators do; returns it. */
MigrationStep *
MigrationStepAdd(MigrationSteps *steps, MigrationPhase phase, StepKind kind, const char *sql, const char *reason)
{
	MigrationStep *step = palloc0(sizeof(MigrationStep));

	step->number = list_length(steps->list);
	step->phase = phase;
	step->kind = kind;
	step->sql = sql;
	step->own = sql;
	step->reason = reason;
	steps->list = lappend(steps->list, step);
	return step;
}

/* list_sort() comparator for steps. */
static int
CompareSteps(const ListCell *a, const ListCell *b)
{
	const MigrationStep *left = lfirst(a);
	const MigrationStep *right = lfirst(b);

	if (left->phase != right->phase)
		return (int) left->phase - (int) right->phase;
	if (left->kind != right->kind)
		return (int) left->kind - (int) right->kind;
	return left->number - right->number;
}

/* Put steps into the order in which they run. */
void
MigrationStepsSort(MigrationSteps *steps)
{
	list_sort(steps->list, CompareSteps);
}

/* Returns the name of a phase. */
const char *
MigrationStepPhase(MigrationPhase phase)
{
	static const char *const names[] = {"before", "gate", "after"};

	return names[phase];
}
