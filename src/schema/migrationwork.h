/*
 * migrationwork.h
 *		What a change of the schema has to compute anew from the rows.
 */
#ifndef DMS_MIGRATIONWORK_H
#define DMS_MIGRATIONWORK_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern void MigrationWorkFind(MigrationPlan *plan);

#endif							/* DMS_MIGRATIONWORK_H */
