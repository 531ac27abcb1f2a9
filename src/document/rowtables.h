/*
 * rowtables.h
 *		The tables of a resource as keyed tables.
 */
#ifndef DMS_ROWTABLES_H
#define DMS_ROWTABLES_H

#include "postgres.h"

#include "engine/statement.h"
#include "model/modelcache.h"

extern bool RowTableColumnIsIdentity(const TableModel *table, int column);
extern KeyedTable *RowTable(Resource *resource, int table);
extern KeyedTable *RowTableKeepingIdentity(Resource *resource);
extern KeyedTable *RowTableIds(Resource *resource);
extern KeyedTable *RowTableMember(Resource *resource);
extern Statement *RowTablesClear(Resource *resource);

#endif							/* DMS_ROWTABLES_H */
