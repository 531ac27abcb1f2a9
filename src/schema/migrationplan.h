/*
 * migrationplan.h
 *		What a change of the schema has to do in the database.
 */
#ifndef DMS_MIGRATIONPLAN_H
#define DMS_MIGRATIONPLAN_H

#include "postgres.h"

#include "schema/catalog.h"
#include "schema/ddl.h"
#include "schema/migrationsteps.h"
#include "schema/schemadiff.h"
#include "utils/hsearch.h"

/* A column of the new schema, and what is there of it. */
typedef struct PlannedColumn
{
	CatalogColumn *found;		/* or what it will be like once it is added */
	const char *old_name;		/* NULL: it is not there */
	const char *was_type;		/* as it is there; NULL: it is not */
	bool		was_required;
	MigrationPhase phase;		/* the first in which it is there as wanted */
	bool		lossy;			/* values may not fit into its type */
} PlannedColumn;

/* A table of the new schema, and what is there of it. */
typedef struct PlannedTable
{
	const DdlTable *wanted;
	const DdlTable *was;		/* by the old schema; NULL: new */
	const ResourceDiff *resource;
	const TableDiff *diff;		/* NULL: a table of members */
	CatalogTable *found;		/* NULL: to be created */
	const char *old_schema;		/* of what is there */
	const char *old_table;
	const char *old_name;		/* with the schema, quoted as necessary */
	PlannedColumn *columns;		/* as those of wanted; NULL: to be created */
	List	   *dropped;		/* names of columns that are */
	bool		loses_rows;		/* those without a required value */
} PlannedTable;

/* What has to be computed anew from the rows of a resource that stays. */
typedef struct MigrationWork
{
	const ResourceDiff *resource;
	bool		edges;
	bool		identities;		/* ReferentialIds */
	bool		reads_otherwise;	/* its identity, in references to it */
	List	   *bumped;			/* queries of documents that read otherwise */
} MigrationWork;

typedef struct MigrationPlan
{
	const SchemaDiff *diff;
	const DdlPlan *ddl;
	Catalog    *catalog;
	List	   *tables;			/* PlannedTable */
	List	   *dropped;		/* CatalogTable: described by the old schema
								 * alone */
	List	   *deleted;		/* ResourceDiff: with all documents */
	HTAB	   *names_wanted;	/* see migrationnames.c */
	HTAB	   *names_there;
	int			names_given;
	List	   *disturbed;		/* CatalogUse: columns that views must not
								 * read */
	List	   *work;			/* MigrationWork */
	bool		members;		/* superclasses change */
	MigrationSteps steps;
	Problem    *losses;			/* what would be lost */
	Problem    *obstacles;		/* what makes the change impossible */
	MigrationPhase phase;		/* the first in which tables have the names of
								 * the new schema */
} MigrationPlan;

extern MigrationPlan *MigrationPlanMake(const SchemaDiff *diff, const DdlPlan *ddl, List *trigger_statements);

#endif							/* DMS_MIGRATIONPLAN_H */
