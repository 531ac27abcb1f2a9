/*
 * migrationsteps.h
 *		The steps of a change of the schema, in the order in which they run.
 */
#ifndef DMS_MIGRATIONSTEPS_H
#define DMS_MIGRATIONSTEPS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* When a step may run. */
typedef enum MigrationPhase
{
	PHASE_BEFORE,				/* beside users of the old schema */
	PHASE_GATE,					/* while nobody uses the store */
	PHASE_AFTER					/* beside users of the new schema */
} MigrationPhase;

/* What a step does.  Steps of a phase run in this order. */
typedef enum StepKind
{
	STEP_CREATE_SCHEMA,
	STEP_DROP_VIEW,
	STEP_DROP_KEY,
	STEP_DELETE_DOCUMENTS,		/* by the triggers of the old schema */
	STEP_DROP_INDEX,
	STEP_DROP_TABLE,
	STEP_FREE_TABLE_NAME,		/* that another table gets */
	STEP_RENAME_TABLE,
	STEP_DROP_COLUMN,
	STEP_FREE_NAME,				/* of a column, key or index */
	STEP_RENAME_COLUMN,
	STEP_RENAME_KEY,
	STEP_CREATE_TABLE,
	STEP_ADD_COLUMN,
	STEP_CHANGE_TYPE,
	STEP_CREATE_FUNCTION,
	STEP_WRITE_NAMES,
	STEP_DELETE_ROWS,			/* by the triggers of the new schema */
	STEP_CHANGE_NULL,
	STEP_CREATE_INDEX,
	STEP_ADD_KEY,
	STEP_VALIDATE_KEY,
	STEP_CREATE_VIEW,
	STEP_GRANT,
	STEP_COMMENT,
	STEP_RECOMPUTE
} StepKind;

typedef struct MigrationStep
{
	int			number;			/* in the order in which they were added */
	MigrationPhase phase;
	StepKind	kind;
	const char *sql;			/* as an operator can run it; NULL: only a
								 * deploy can */
	const char *own;			/* as a deploy runs it, in a transaction;
								 * NULL: nothing to run there */
	const char *reason;
	Oid			table;			/* that it changes, and that was there; or
								 * invalid */
	Oid			target;			/* of a foreign key that it adds or validates;
								 * or invalid */
	bool		creates_table;
	bool		writes;			/* rows, by a plain statement */
} MigrationStep;

typedef struct MigrationSteps
{
	List	   *list;			/* MigrationStep */
} MigrationSteps;

extern MigrationStep *MigrationStepAdd(MigrationSteps *steps, MigrationPhase phase, StepKind kind,
									   const char *sql, const char *reason);
extern void MigrationStepsSort(MigrationSteps *steps);
extern const char *MigrationStepPhase(MigrationPhase phase);

#endif							/* DMS_MIGRATIONSTEPS_H */
