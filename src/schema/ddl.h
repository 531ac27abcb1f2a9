/*
 * ddl.h
 *		The DDL that a set of models needs.
 */
#ifndef DMS_DDL_H
#define DMS_DDL_H

#include "postgres.h"

#include "schema/ddltable.h"
#include "schema/ddlview.h"

typedef struct DdlStatement
{
	const char *sql;
	const DdlTable *table;		/* that it creates a part of; or NULL */
	bool		creates_table;
	bool		late;			/* a foreign key to a table that comes later */
} DdlStatement;

typedef struct DdlPlan
{
	List	   *statements;		/* DdlStatement */
	List	   *described;		/* DdlTable: the tables that they create */
	List	   *views;			/* DdlView */
	char	   *clearing;		/* for dms_internal.trigger_ddl() */
	char	   *truncated;		/* the same */
	char	   *keys;			/* the same */
	int			tables;
	int			indexes;		/* including those of constraints */
	int			foreign_keys;
} DdlPlan;

/* What the triggers on dms.Document do for one type of documents. */
typedef struct DdlTriggerPart
{
	char	   *type;			/* project:resource */
	List	   *clearing;		/* statements; NIL if it has no table of its
								 * own */
	char	   *truncated;		/* a table, or NULL */
	char	   *keys;			/* a statement that reads the keys; or NULL */
} DdlTriggerPart;

extern DdlStatement *DdlStatementNew(const char *sql);
extern DdlPlan *DdlPlanModels(const ModelSet *set);
extern DdlTriggerPart *DdlTriggerPartOf(const ResourceModel *model);
extern void DdlPlanTriggers(DdlPlan *plan, List *parts);
extern List *DdlPlanMissingIndexes(const ResourceModel *model);

#endif							/* DMS_DDL_H */
