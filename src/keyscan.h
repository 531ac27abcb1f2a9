/*
 * keyscan.h
 *		Rows of a table by an indexed key, read without a planner.
 */
#ifndef DMS_KEYSCAN_H
#define DMS_KEYSCAN_H

#include "postgres.h"

#include "plan.h"

/* Rows of one table, or of one projection. */
typedef struct StoredRows
{
	int			nrows;
	int			ncolumns;
	int			capacity;
	Datum	   *values;			/* row by row */
	bool	   *nulls;
	int			next;			/* the row that a reader comes to next */
} StoredRows;

#define StoredRowValues(rows, row) (&(rows)->values[(Size) (row) * (rows)->ncolumns])
#define StoredRowNulls(rows, row) (&(rows)->nulls[(Size) (row) * (rows)->ncolumns])

/* What a leading column of an index must equal. */
typedef struct KeyScanKey
{
	RegProcedure equals;		/* pg_proc.oid of the operator's function */
	bool		any;			/* the value is an array: any of its elements */
	Datum		value;
} KeyScanKey;

/* A table, and the columns to be read; the first of them are the key. */
typedef struct KeyScanTable
{
	const char *schema;
	const char *table;
	const char *const *columns;
	const Oid  *types;			/* what the columns must hold */
	int			ncolumns;
} KeyScanTable;

#define KEY_SCAN_MAX_KEYS 3

extern void StoredRowsInit(StoredRows *rows, int ncolumns, int expected);
extern void StoredRowsGrow(StoredRows *rows);
extern void StoredRowsMove(StoredRows *rows, int from, int to);
extern bool KeyScanRead(const KeyScanTable *table, const KeyScanKey *keys, int nkeys,
						StoredRows *rows);
extern bool KeyScanReadIds(const KeyScanTable *table, const int64 *ids, int n,
						   StoredRows *rows);
extern void KeyRead(const KeyScanTable *table, Statement *statement,
					const KeyScanKey *keys, int nkeys, StoredRows *rows);
extern void StoredRowsTake(StoredRows *rows, const Oid *types);
extern uint64 ReadRun(Statement *statement, Datum *values, long limit);

#endif							/* DMS_KEYSCAN_H */
