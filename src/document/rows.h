/*
 * rows.h
 *		Reading the rows of a document, and writing the differences.
 */
#ifndef DMS_ROWS_H
#define DMS_ROWS_H

#include "postgres.h"

#include "document/flatten.h"
#include "model/modelcache.h"

extern bool RowsSameKey(Resource *resource, int64 document_id, const FlatDocument *flat);
extern bool RowsSameTargets(Resource *resource, int64 document_id, const FlatDocument *flat);
extern bool RowsUnchanged(Resource *resource, int64 document_id, const FlatDocument *flat);
extern void RowsInsert(Resource *resource, const FlatDocument *flat);
extern bool RowsSameColumns(Resource *resource, int64 document_id, const FlatDocument *flat,
							const int *columns, int n);
extern void RowsUpdateRoots(Resource *resource, const RowSet *roots);
extern bool RowsUpdate(Resource *resource, int64 document_id,
					   const FlatDocument *flat, bool identity);

#endif							/* DMS_ROWS_H */
