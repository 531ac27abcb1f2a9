/*
 * storedrows.h
 *		Rows of tables, in memory.
 */
#ifndef DMS_STOREDROWS_H
#define DMS_STOREDROWS_H

#include "postgres.h"

#include "executor/spi.h"

/* A row: the values of some columns of a table. */
typedef struct Row
{
	Datum	   *values;
	bool	   *nulls;			/* NULL if no value is null */
} Row;

/* Rows of a table that are compared or written. */
typedef struct RowSet
{
	Row		   *rows;			/* in order of the key */
	int			nrows;
} RowSet;

/* Rows that were read from one table or by one projection, as two arrays. */
typedef struct StoredRows
{
	int			nrows;
	int			ncolumns;
	int			capacity;
	Datum	   *values;			/* row by row */
	bool	   *nulls;
	int			next;			/* the next row for a reader to process */
	SPITupleTable *result;		/* where the values are, or NULL */
} StoredRows;

#define StoredRowValues(rows, row) (&(rows)->values[(Size) (row) * (rows)->ncolumns])
#define StoredRowNulls(rows, row) (&(rows)->nulls[(Size) (row) * (rows)->ncolumns])

extern void StoredRowsInit(StoredRows *rows, int ncolumns, int expected);
extern void StoredRowsGrow(StoredRows *rows);
extern void StoredRowsMove(StoredRows *rows, int from, int to);
extern void StoredRowsRequireValues(const bool *nulls, int nrequired);
extern void StoredRowsTake(StoredRows *rows, const Oid *types, int nrequired);
extern void StoredRowsFreeResult(StoredRows *rows);
extern void StoredRowsRequireIds(const StoredRows *rows, const int64 *ids, int n);
extern RowSet StoredRowsSet(const StoredRows *rows);

#endif							/* DMS_STOREDROWS_H */
