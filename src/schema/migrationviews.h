/*
 * migrationviews.h
 *		Changing the views of abstract resources to those of the new schema.
 */
#ifndef DMS_MIGRATIONVIEWS_H
#define DMS_MIGRATIONVIEWS_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern void MigrationViewsPlan(MigrationPlan *plan);

#endif							/* DMS_MIGRATIONVIEWS_H */
