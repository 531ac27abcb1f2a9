/*
 * migrationkeys.h
 *		Changing the keys and indexes of a table to those of the new schema.
 */
#ifndef DMS_MIGRATIONKEYS_H
#define DMS_MIGRATIONKEYS_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern void MigrationKeysPlan(MigrationPlan *plan, PlannedTable *table);
extern void MigrationKeysPlanIndexes(MigrationPlan *plan, PlannedTable *table);

#endif							/* DMS_MIGRATIONKEYS_H */
