/*
 * migrate.h
 *		Changing the schema of a store.
 */
#ifndef DMS_MIGRATE_H
#define DMS_MIGRATE_H

#include "postgres.h"

#include "schema/migrationplan.h"

/* A schema that is to be deployed. */
typedef struct Deployment
{
	ApiSchema  *schema;
	char	   *hash;
	ModelSet   *set;
	DdlPlan    *ddl;
	List	   *triggers;		/* DdlStatement: those of dms.Document */
	List	   *renames;		/* Rename */
	bool		allow_destructive;
} Deployment;

extern MigrationPlan *MigratePlan(const Deployment *deployment);
extern List *MigrateStatements(const MigrationPlan *plan);
extern void MigrateStore(const Deployment *deployment);

#endif							/* DMS_MIGRATE_H */
