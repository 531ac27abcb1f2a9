/*
 * ddl.h
 *		The DDL that a set of models needs.
 */
#ifndef DMS_DDL_H
#define DMS_DDL_H

#include "postgres.h"

#include "schema/modelset.h"

typedef struct DdlStatement
{
	const char *sql;
	bool		creates_table;	/* of a resource */
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

extern DdlStatement *DdlStatementNew(const char *sql, bool creates_table);
extern DdlPlan *DdlPlanModels(const ModelSet *set);
extern List *DdlPlanMissingIndexes(const ResourceModel *model);
extern const char *DdlColumnType(const ColumnModel *column);

#endif							/* DMS_DDL_H */
