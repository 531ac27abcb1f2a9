/*
 * migrationloss.h
 *		What a change of the schema would lose.
 */
#ifndef DMS_MIGRATIONLOSS_H
#define DMS_MIGRATIONLOSS_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern char *MigrationLossName(const char *schema, const char *table, const char *column);
extern bool MigrationLossHasRows(const char *table, const char *condition);
extern void MigrationLossFind(MigrationPlan *plan);

#endif							/* DMS_MIGRATIONLOSS_H */
