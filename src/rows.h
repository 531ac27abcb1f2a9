/*
 * rows.h
 *		The rows of a document: reading them, and writing what differs.
 */
#ifndef DMS_ROWS_H
#define DMS_ROWS_H

#include "postgres.h"

#include "flatten.h"
#include "modelcache.h"

extern void RowsRead(Resource *resource, int table, int64 document_id, RowSet *rows);
extern bool RowsEqual(const TableModel *table, const RowSet *a, const RowSet *b);
extern bool RowsSameKey(Resource *resource, int64 document_id, const FlatDocument *flat);
extern bool RowsUnchanged(Resource *resource, int64 document_id, const FlatDocument *flat);
extern void RowsInsert(Resource *resource, const FlatDocument *flat);
extern bool RowsUpdate(Resource *resource, int64 document_id,
					   const FlatDocument *flat, bool identity);

#endif							/* DMS_ROWS_H */
