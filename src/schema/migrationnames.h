/*
 * migrationnames.h
 *		Names that tables, keys and indexes take from each other when the schema
 *		changes.
 */
#ifndef DMS_MIGRATIONNAMES_H
#define DMS_MIGRATIONNAMES_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern void MigrationNamesCollect(MigrationPlan *plan);
extern bool MigrationNameIsWanted(const MigrationPlan *plan, const char *schema, const char *name);
extern bool MigrationNameIsThere(const MigrationPlan *plan, const char *schema, const char *name);
extern char *MigrationNameMeanwhile(MigrationPlan *plan, const char *name);

#endif							/* DMS_MIGRATIONNAMES_H */
