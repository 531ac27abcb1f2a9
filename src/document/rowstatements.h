/*
 * rowstatements.h
 *		The statements that read and write the rows of a resource's tables.
 */
#ifndef DMS_ROWSTATEMENTS_H
#define DMS_ROWSTATEMENTS_H

#include "postgres.h"

#include "model/modelcache.h"

/* Which columns a statement takes, behind the document. */
typedef struct RowColumns
{
	const TableModel *table;
	bool		single;			/* one row a document: values, not arrays */
	int		   *columns;
	int			ncolumns;
} RowColumns;

extern bool RowColumnIsIdentity(const TableModel *table, int column);
extern const KeyScanTable *RowStatementScan(Resource *resource, int table);
extern Statement *RowStatementRead(Resource *resource, int table);
extern Statement *RowStatementInsert(Resource *resource, int table, RowColumns *columns);
extern Statement *RowStatementUpdate(Resource *resource, int table, bool identity, RowColumns *columns);
extern Statement *RowStatementDelete(Resource *resource, int table, RowColumns *columns);
extern Statement *RowStatementMember(Resource *resource);
extern Statement *RowStatementClear(Resource *resource);

#endif							/* DMS_ROWSTATEMENTS_H */
