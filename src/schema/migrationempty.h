/*
 * migrationempty.h
 *		Rows of extensions that a change of the schema leaves without values.
 */
#ifndef DMS_MIGRATIONEMPTY_H
#define DMS_MIGRATIONEMPTY_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern void MigrationEmptyPlan(MigrationPlan *plan);

#endif							/* DMS_MIGRATIONEMPTY_H */
