/*
 * keyscan.h
 *		Reading rows by an indexed key, without a planner.
 */
#ifndef DMS_KEYSCAN_H
#define DMS_KEYSCAN_H

#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "engine/keyedtable.h"
#include "executor/tuptable.h"
#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

/* An open table, and a scan of it; slot holds the current row. */
typedef struct KeyScan
{
	KeyedTable *table;
	Relation	relation;
	AttrNumber *columns;		/* numbers of table->columns */
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	const int64 *ids;			/* ascending; NULL if not scanned by runs */
	int			nids;
	int			run_end;		/* index after the last id of the current run */
	bool		learns;			/* remembers where rows are */
	ScanKeyData keys[KEYED_TABLE_MAX_SEARCH + 1];
	int			nkeys;
} KeyScan;

extern void KeyScanInit(void);
extern bool KeyScanOpen(KeyScan *scan, KeyedTable *table, LOCKMODE lock, AclMode rights);
extern bool KeyScanFindPlaced(KeyScan *scan, Datum key);
extern void KeyScanLearnPlace(const KeyScan *scan, Datum key);
extern void KeyScanMovePlace(const KeyScan *scan, Datum key, const ItemPointerData *place);
extern bool KeyScanBegin(KeyScan *scan, const Datum *keys);
extern bool KeyScanBeginSeeking(KeyScan *scan);
extern bool KeyScanSeek(KeyScan *scan, const Datum *keys, int64 end);
extern bool KeyScanBeginFrom(KeyScan *scan, Datum first);
extern bool KeyScanBeginIds(KeyScan *scan, const int64 *ids, int n);
extern bool KeyScanNext(KeyScan *scan);
extern void KeyScanClose(KeyScan *scan);
extern bool KeyScanTryIds(KeyedTable *table, const int64 *ids, int n, StoredRows *rows);
extern bool KeyScanTryIdsAsOwner(KeyedTable *table, const int64 *ids, int n, StoredRows *rows);
extern bool KeyScanTryAfter(KeyedTable *table, const int64 *after, int limit, StoredRows *rows);
extern bool KeyScanHas(KeyedTable *table, int64 id);
extern void KeyScanRead(KeyedTable *table, const Datum *keys, StoredRows *rows);
extern void KeyScanReadAny(KeyedTable *table, Datum array, StoredRows *rows);
extern void KeyScanReadKeys(KeyedTable *table, Datum *keys, int n, StoredRows *rows);
extern void KeyScanReadIds(KeyedTable *table, const int64 *ids, int n, StoredRows *rows);

#endif							/* DMS_KEYSCAN_H */
