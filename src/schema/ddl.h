/*
 * ddl.h
 *		The DDL that a set of models needs.
 */
#ifndef DMS_DDL_H
#define DMS_DDL_H

#include "postgres.h"

#include "schema/modelbuild.h"

typedef struct DdlPlan
{
	List	   *statements;		/* of char * */
	int			tables;
	int			indexes;		/* those behind constraints included */
	int			foreign_keys;
} DdlPlan;

extern DdlPlan *DdlPlanModels(ModelSet *set);
extern const char *DdlColumnType(const ColumnModel *column);

#endif							/* DMS_DDL_H */
