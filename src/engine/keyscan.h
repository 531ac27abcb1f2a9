/*
 * keyscan.h
 *		Rows of a table by an indexed key, read without a planner.
 */
#ifndef DMS_KEYSCAN_H
#define DMS_KEYSCAN_H

#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "engine/plan.h"
#include "executor/tuptable.h"
#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

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
	int			nrequired;		/* so many of the first are never NULL; 0: all */
	bool		any_order;		/* the index need not be of a key */
} KeyScanTable;

#define KEY_SCAN_MAX_KEYS 3

/* A table that is open, and a scan of it; slot holds the row it stands on. */
typedef struct KeyScan
{
	Relation	relation;
	AttrNumber *columns;		/* as the columns of the KeyScanTable */
	int			ncolumns;
	int			nrequired;		/* so many of the first are never NULL */
	bool		any_order;
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	const int64 *ids;			/* ascending; NULL: not scanned by runs */
	int			nids;
	int			run_end;		/* behind the last id of the run */
	ScanKeyData keys[1 + KEY_SCAN_MAX_KEYS];
	int			nkeys;
} KeyScan;

extern void StoredRowsInit(StoredRows *rows, int ncolumns, int expected);
extern void StoredRowsGrow(StoredRows *rows);
extern void StoredRowsMove(StoredRows *rows, int from, int to);
extern bool KeyScanOpen(KeyScan *scan, const KeyScanTable *table, LOCKMODE lock, AclMode rights);
extern bool KeyScanBegin(KeyScan *scan, const KeyScanKey *keys, int nkeys);
extern bool KeyScanBeginIds(KeyScan *scan, const int64 *ids, int n,
							const KeyScanKey *others, int nothers);
extern bool KeyScanNext(KeyScan *scan);
extern void KeyScanClose(KeyScan *scan);
extern bool KeyScanRead(const KeyScanTable *table, const KeyScanKey *keys, int nkeys,
						StoredRows *rows);
extern bool KeyScanReadIds(const KeyScanTable *table, const int64 *ids, int n,
						   StoredRows *rows);
extern void KeyRead(const KeyScanTable *table, Statement *statement,
					const KeyScanKey *keys, int nkeys, StoredRows *rows);
extern void KeyReadIds(const KeyScanTable *table, Statement *statement,
					   const int64 *ids, int n, StoredRows *rows);
extern void StoredRowsTake(StoredRows *rows, const Oid *types, int nrequired);
extern void StoredRowsRequireIds(const StoredRows *rows, const int64 *ids, int n);

#endif							/* DMS_KEYSCAN_H */
