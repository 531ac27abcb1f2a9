/*
 * ddl.h
 *		The DDL that a set of models needs.
 */
#ifndef DMS_DDL_H
#define DMS_DDL_H

#include "postgres.h"

#include "schema/ddltable.h"

typedef struct DdlStatement
{
	const char *sql;
	const DdlTable *table;		/* that it creates a part of; or NULL */
	bool		creates_table;
} DdlStatement;

typedef struct DdlPlan
{
	List	   *statements;		/* DdlStatement */
	char	   *clearing;		/* for dms_internal.trigger_ddl() */
	char	   *truncated;		/* the same */
	int			tables;
	int			indexes;		/* including those of constraints */
	int			foreign_keys;
} DdlPlan;

extern DdlStatement *DdlStatementNew(const char *sql);
extern DdlPlan *DdlPlanModels(const ModelSet *set);
extern List *DdlPlanMissingIndexes(const ResourceModel *model);

#endif							/* DMS_DDL_H */
