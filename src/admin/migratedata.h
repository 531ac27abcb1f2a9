/*
 * migratedata.h
 *		What a change of the schema computes anew from the rows.
 */
#ifndef DMS_MIGRATEDATA_H
#define DMS_MIGRATEDATA_H

#include "postgres.h"

#include "schema/migrationplan.h"

/* Documents, ascending. */
typedef struct MigratedDocuments
{
	int64	   *ids;
	int			n;
} MigratedDocuments;

extern MigratedDocuments MigrateDataBumped(const MigrationPlan *plan);
extern void MigrateDataCompute(const MigrationPlan *plan);
extern void MigrateDataKeepKeys(const MigrationPlan *plan);
extern void MigrateDataCompareKeys(const MigrationPlan *plan, MigratedDocuments *bumped);
extern void MigrateDataBump(MigratedDocuments documents);

#endif							/* DMS_MIGRATEDATA_H */
