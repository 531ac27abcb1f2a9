/*
 * keyscan.c
 *		Reading rows by an indexed key, without a planner.
 *
 * A read by key has only one sensible plan.  To find it, the planner opens every
 * index of every table the first time a session uses them, which takes longer than
 * the rest of a first read.  So where an index alone determines the rows, it is
 * scanned directly: in the active snapshot, with the locks and privileges that a
 * SELECT needs.  All other cases (views, row-level security, inheritance, column
 * privileges) are left to the statement that is made from the same description.
 * See doc/direct-access.md.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "base/faults.h"
#include "base/ids.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/keyaccess.h"
#include "engine/keyscan.h"
#include "engine/ownercode.h"
#include "engine/result.h"
#include "engine/rowplaces.h"
#include "engine/statement.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/*
 * Documents that are written together have consecutive ids.  If the average length
 * of a run is at least this, walking along the index costs less than descending it
 * for each id.
 */
#define WORTHWHILE_RUN 4

/* So many rows, or fewer, are looked for where they were found before. */
#define FEW_PLACES 8

static bool direct_access = true;

/* Define the settings of this module. */
void
KeyScanInit(void)
{
	DefineCustomBoolVariable("dms.direct_access",
							 "Reads and writes rows by key without statements.",
							 "If it is off, statements do the same work, more slowly.",
							 &direct_access, true, PGC_SUSET, 0, NULL, NULL, NULL);
}

/*
 * Returns true if a SELECT by the current user would return exactly the rows of the
 * table.  A module that hooks into permission checks (pgaudit, sepgsql) expects to
 * see every access, so then statements are used.
 */
static bool
IsPlainlyUsable(Relation relation, AclMode rights)
{
	Oid			id = RelationGetRelid(relation);

	return relation->rd_rel->relkind == RELKIND_RELATION &&
		RelationIsPermanent(relation) &&
		!relation->rd_rel->relhassubclass &&
		ExecutorCheckPerms_hook == NULL &&
		pg_class_aclmask(id, GetUserId(), rights, ACLMASK_ALL) == rights &&
		(!relation->rd_rel->relrowsecurity || check_enable_rls(id, InvalidOid, true) != RLS_ENABLED);
}

/* Returns the number of a column; the guess is where to look first. */
static AttrNumber
ColumnNumber(TupleDesc descriptor, const char *name, int guess)
{
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, (guess + i) % descriptor->natts);

		if (!column->attisdropped && strcmp(NameStr(column->attname), name) == 0)
			return column->attnum;
	}
	return InvalidAttrNumber;
}

/*
 * Find the columns; returns false if one is missing or has another type.  The
 * statement then reports it.
 */
static bool
FindColumns(Relation relation, const KeyedTable *table, AttrNumber *numbers)
{
	TupleDesc	descriptor = RelationGetDescr(relation);

	for (int i = 0; i < table->ncolumns; i++)
	{
		numbers[i] = ColumnNumber(descriptor, table->columns[i], i);
		if (numbers[i] == InvalidAttrNumber ||
			!ResultTypeFits(TupleDescAttr(descriptor, numbers[i] - 1)->atttypid, table->types[i]))
			return false;
	}
	return true;
}

/* Returns the function that compares two values of a type for equality. */
static RegProcedure
EqualsFunction(Oid type)
{
	switch (type)
	{
		case INT8OID:
			return F_INT8EQ;
		case INT4OID:
			return F_INT4EQ;
		case UUIDOID:
			return F_UUID_EQ;
		default:
			Assert(type == TEXTOID);
			return F_TEXTEQ;
	}
}

/*
 * Returns true if the i-th column of the index is this column, in the default
 * order of its type.  User-defined operator classes are left to SQL.
 */
static bool
IsOrderedBy(Relation relation, Relation index, int i, AttrNumber column)
{
	return index->rd_index->indkey.values[i] == column &&
		(index->rd_indoption[i] & INDOPTION_DESC) == 0 &&
		index->rd_indcollation[i] == TupleDescAttr(RelationGetDescr(relation), column - 1)->attcollation &&
		index->rd_opfamily[i] < FirstNormalObjectId;
}

/*
 * Returns the number of leading columns that an index must have: those that are
 * searched, and the whole key if rows are expected in its order.
 */
static int
LeadingColumns(const KeyedTable *table)
{
	int			nsearch = KeyedTableSearchColumns(table);

	return table->any_order ? nsearch : Max(nsearch, table->nkeys);
}

/*
 * Returns true if a scan of the index finds all rows, in the expected order.  An
 * index with indcheckxmin that is newer than our snapshot may miss some.
 */
static bool
LeadsTo(const KeyScan *scan, Relation index)
{
	const KeyedTable *table = scan->table;
	Form_pg_index form = index->rd_index;
	int			nleading = LeadingColumns(table);

	if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || form->indnkeyatts < nleading ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	if (form->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin))
		return false;
	if (!table->any_order && !form->indisprimary && !(form->indisunique && form->indnkeyatts == nleading))
		return false;
	for (int i = 0; i < nleading; i++)
		if (!IsOrderedBy(scan->relation, index, i, scan->columns[i]))
			return false;
	for (int i = 0; i < KeyedTableSearchColumns(table); i++)
		if (index->rd_opcintype[i] != table->types[i])
			return false;
	return true;
}

/* Open the index if it can be used; returns NULL otherwise. */
static Relation
OpenUsable(const KeyScan *scan, Oid id)
{
	Relation	index;

	if (!OidIsValid(id))
		return NULL;
	index = index_open(id, AccessShareLock);
	KeyAccessWatch(id);
	if (LeadsTo(scan, index))
		return index;
	index_close(index, AccessShareLock);
	return NULL;
}

/* Open the index that an earlier call found; returns NULL if that is not known any more. */
static Relation
OpenKeptIndex(const KeyScan *scan)
{
	Oid			id;

	if (!KeyAccessHolds(scan->table) || !OidIsValid(scan->table->access->index))
		return NULL;
	id = scan->table->access->index;
	LockRelationOid(id, AccessShareLock);
	if (KeyAccessHolds(scan->table))
		return index_open(id, NoLock);
	UnlockRelationOid(id, AccessShareLock);
	return NULL;
}

/* Find an index to scan, preferably the primary key; returns NULL if there is none. */
static Relation
FindIndex(const KeyScan *scan)
{
	uint64		changes = KeyAccessChanges();
	List	   *ids = RelationGetIndexList(scan->relation);
	Oid			primary = scan->relation->rd_pkindex;
	Relation	found = OpenUsable(scan, primary);
	ListCell   *cell;

	foreach(cell, ids)
	{
		if (found == NULL && lfirst_oid(cell) != primary)
			found = OpenUsable(scan, lfirst_oid(cell));
	}
	list_free(ids);

	/* Whether an index with indcheckxmin can be used depends on the snapshot. */
	if (found != NULL && !found->rd_index->indcheckxmin)
		KeyAccessKeepIndex(scan->table, found, changes);
	return found;
}

/* Open an index to scan; returns NULL if there is none. */
static Relation
OpenIndex(const KeyScan *scan)
{
	Relation	kept = OpenKeptIndex(scan);

	return kept != NULL ? kept : FindIndex(scan);
}

/* Returns true if the columns are all columns of the table, in their order. */
static bool
TakesWholeRows(const KeyScan *scan)
{
	if (scan->table->ncolumns != RelationGetNumberOfAttributes(scan->relation))
		return false;
	for (int i = 0; i < scan->table->ncolumns; i++)
		if (scan->columns[i] != i + 1)
			return false;
	return true;
}

/*
 * Append the row in the slot to rows.  The scratch row is that of MakeScratch().
 */
static void
TakeRow(const KeyScan *scan, StoredRows *scratch, StoredRows *rows)
{
	HeapTuple	tuple = ExecCopySlotHeapTuple(scan->slot);
	TupleDesc	descriptor = scan->slot->tts_tupleDescriptor;
	Datum	   *values;
	bool	   *nulls;

	StoredRowsGrow(rows);
	values = StoredRowValues(rows, rows->nrows);
	nulls = StoredRowNulls(rows, rows->nrows);
	if (scratch == NULL)
		heap_deform_tuple(tuple, descriptor, values, nulls);
	else
	{
		heap_deform_tuple(tuple, descriptor, scratch->values, scratch->nulls);
		for (int i = 0; i < rows->ncolumns; i++)
		{
			values[i] = scratch->values[scan->columns[i] - 1];
			nulls[i] = scratch->nulls[scan->columns[i] - 1];
		}
	}
	StoredRowsRequireValues(nulls, KeyedTableRequiredColumns(scan->table));
	rows->nrows++;
}

/*
 * Open the table that an earlier call found.  Returns false if it has to be found
 * out again whether the table can be accessed directly.
 */
static bool
OpenKept(KeyScan *scan, LOCKMODE lock, AclMode rights)
{
	const KeyedTable *table = scan->table;
	Oid			id;

	if (!KeyAccessHolds(table) || !KeyAccessAllows(table, rights) || ExecutorCheckPerms_hook != NULL)
		return false;
	id = table->access->relation;
	LockRelationOid(id, lock);
	if (!KeyAccessHolds(table) && !FAULT_SKIP("kept_table"))
	{
		UnlockRelationOid(id, lock);
		return false;
	}
	scan->relation = table_open(id, NoLock);
	memcpy(scan->columns, table->access->columns, sizeof(AttrNumber) * table->ncolumns);
	return true;
}

/* Open a table by its name; returns false if it must not be accessed directly. */
static bool
OpenByName(KeyScan *scan, LOCKMODE lock, AclMode rights)
{
	KeyedTable *table = scan->table;
	RangeVar   *name = makeRangeVar(unconstify(char *, table->schema),
									unconstify(char *, table->name), -1);
	uint64		changes = KeyAccessChanges();

	scan->relation = table_openrv(name, lock);
	KeyAccessWatch(RelationGetRelid(scan->relation));
	if (!IsPlainlyUsable(scan->relation, rights) || !FindColumns(scan->relation, table, scan->columns))
		return false;
	KeyAccessKeep(table, scan->relation, scan->columns, changes);

	/* Whether row-level security applies depends on more than catalogs. */
	if (KeyAccessHolds(table) && !scan->relation->rd_rel->relrowsecurity)
		KeyAccessKeepRole(table, rights);
	return true;
}

/*
 * Open a table and find its columns; returns false if access to it must be left to
 * SQL.  A lock that was taken is kept in either case.
 */
bool
KeyScanOpen(KeyScan *scan, KeyedTable *table, LOCKMODE lock, AclMode rights)
{
	bool		able;

	memset(scan, 0, sizeof(KeyScan));
	if (!direct_access)
		return false;
	scan->table = table;
	scan->columns = palloc(sizeof(AttrNumber) * table->ncolumns);
	able = OpenKept(scan, lock, rights) || OpenByName(scan, lock, rights);
	if (OwnerCodeApplies())
		OwnerCodeCheckTable(RelationGetRelid(scan->relation));
	if (!able)
		KeyScanClose(scan);
	return able;
}

/* Returns the snapshot that decides which rows are seen. */
static Snapshot
ScanSnapshot(void)
{
	Assert(ActiveSnapshotSet());
	return FAULT_SKIP("read_snapshot") ? GetLatestSnapshot() : GetActiveSnapshot();
}

/* Returns true if the places of rows are remembered, and a key leads to one row at most. */
static bool
ArePlaced(const KeyScan *scan)
{
	return scan->table->placed && KeyAccessHolds(scan->table) && scan->table->access->single;
}

/* Returns the key of a row whose first column has this value. */
static RowKey
PlacedKey(const KeyScan *scan, Datum value)
{
	return (RowKey)
	{
		.column = scan->columns[0],.type = scan->table->types[0],.value = value
	};
}

/*
 * Go to the row of a key if it is where it was found before.  Returns false if the index
 * has to be scanned.
 */
bool
KeyScanFindPlaced(KeyScan *scan, Datum key)
{
	RowKey		placed = PlacedKey(scan, key);

	if (!ArePlaced(scan))
		return false;
	if (scan->slot == NULL)
		scan->slot = table_slot_create(scan->relation, NULL);
	return RowPlacesFind(scan->relation, &placed, ScanSnapshot(), scan->slot);
}

/* Remember where the current row is, which has this key. */
void
KeyScanLearnPlace(const KeyScan *scan, Datum key)
{
	RowKey		placed = PlacedKey(scan, key);

	if (ArePlaced(scan))
		RowPlacesLearn(scan->relation, &placed, scan->slot);
}

/* Remember where the new version of the row is that has this key. */
void
KeyScanMovePlace(const KeyScan *scan, Datum key, const ItemPointerData *place)
{
	RowKey		placed = PlacedKey(scan, key);

	if (ArePlaced(scan))
		RowPlacesMove(scan->relation, &placed, place);
}

/* Prepare the scan with the keys that were added. */
static void
PrepareScan(KeyScan *scan)
{
	if (scan->slot == NULL)
		scan->slot = table_slot_create(scan->relation, NULL);
	scan->scan = index_beginscan(scan->relation, scan->index, ScanSnapshot(), scan->nkeys, 0);
}

/* Start the scan with the keys that were added. */
static void
StartScan(KeyScan *scan)
{
	PrepareScan(scan);
	index_rescan(scan->scan, scan->keys, scan->nkeys, NULL, 0);
}

/* Add a scan key for a column of the index. */
static void
AddKey(KeyScan *scan, int column, int flags, StrategyNumber strategy,
	   RegProcedure function, Datum value)
{
	Assert(scan->nkeys < (int) lengthof(scan->keys));
	ScanKeyEntryInitialize(&scan->keys[scan->nkeys++], flags, column + 1, strategy, InvalidOid,
						   scan->index->rd_indcollation[column], function, value);
}

/*
 * Start to scan the rows whose search columns equal the keys, or whose first column
 * equals any element of an array.  Returns false if there is no suitable index.
 */
static bool
BeginKeys(KeyScan *scan, const Datum *keys, bool any)
{
	int			nkeys = any ? 1 : KeyedTableSearchColumns(scan->table);

	scan->index = OpenIndex(scan);
	if (scan->index == NULL)
		return false;
	for (int i = 0; i < nkeys; i++)
		AddKey(scan, i, any ? SK_SEARCHARRAY : 0, BTEqualStrategyNumber,
			   EqualsFunction(scan->table->types[i]), keys[i]);
	StartScan(scan);
	return true;
}

/*
 * Start to scan the rows whose search columns equal the keys, in the active snapshot.
 * Returns false if there is no suitable index.
 */
bool
KeyScanBegin(KeyScan *scan, const Datum *keys)
{
	return BeginKeys(scan, keys, false);
}

/*
 * Prepare to scan rows whose search columns equal keys, but for the last one, a bigint,
 * which is in a range: in order, in the active snapshot, and each time KeyScanSeek()
 * says where.  Returns false if there is no suitable index.
 */
bool
KeyScanBeginSeeking(KeyScan *scan)
{
	int			last = KeyedTableSearchColumns(scan->table) - 1;

	Assert(scan->table->types[last] == INT8OID && !scan->table->any_order);
	scan->index = OpenIndex(scan);
	if (scan->index == NULL)
		return false;
	for (int i = 0; i < last; i++)
		AddKey(scan, i, 0, BTEqualStrategyNumber, EqualsFunction(scan->table->types[i]), (Datum) 0);
	AddKey(scan, last, 0, BTGreaterEqualStrategyNumber, F_INT8GE, (Datum) 0);
	AddKey(scan, last, 0, BTLessEqualStrategyNumber, F_INT8LE, (Datum) 0);
	PrepareScan(scan);
	return true;
}

/*
 * Go to the first row of the keys, the last one of which is the beginning of a range;
 * returns false if there is none.
 */
bool
KeyScanSeek(KeyScan *scan, const Datum *keys, int64 end)
{
	for (int i = 0; i < scan->nkeys - 1; i++)
		scan->keys[i].sk_argument = keys[i];
	scan->keys[scan->nkeys - 1].sk_argument = Int64GetDatum(end);
	index_rescan(scan->scan, scan->keys, scan->nkeys, NULL, 0);
	return KeyScanNext(scan);
}

/*
 * Start to scan the rows whose first column, a uuid, is at least this one, in the
 * active snapshot and in order.  Returns false if there is no suitable index.
 */
bool
KeyScanBeginFrom(KeyScan *scan, Datum first)
{
	Assert(scan->table->types[0] == UUIDOID && !scan->table->any_order);
	scan->index = OpenIndex(scan);
	if (scan->index == NULL)
		return false;
	AddKey(scan, 0, 0, BTGreaterEqualStrategyNumber, F_UUID_GE, first);
	StartScan(scan);
	return true;
}

/* Returns the end of the run of consecutive ids that starts at first. */
static int
RunEnd(const int64 *ids, int n, int first)
{
	int			end = first + 1;

	while (end < n && ids[end - 1] < PG_INT64_MAX && ids[end] == ids[end - 1] + 1)
		end++;
	return end;
}

/* Returns true if the ids form runs that are long enough to scan run by run. */
static bool
HaveRuns(const int64 *ids, int n)
{
	int			runs = 0;

	for (int i = 0; i < n; i = RunEnd(ids, n, i))
		runs++;
	return n > 0 && runs <= n / WORTHWHILE_RUN;
}

/* Set the scan keys to the next run. */
static void
NextRun(KeyScan *scan)
{
	int			first = scan->run_end;

	scan->run_end = RunEnd(scan->ids, scan->nids, first);
	scan->keys[0].sk_argument = Int64GetDatum(scan->ids[first]);
	scan->keys[1].sk_argument = Int64GetDatum(scan->ids[scan->run_end - 1]);
}

#ifdef USE_ASSERT_CHECKING
/* Returns true if each id is greater than the one before it. */
static bool
AreAscending(const int64 *ids, int n)
{
	for (int i = 1; i < n; i++)
		if (ids[i - 1] >= ids[i])
			return false;
	return true;
}
#endif

/*
 * Start to scan the rows whose first column is one of these ids, which must be
 * ascending, in the active snapshot.  Returns false if there is no suitable index.
 */
bool
KeyScanBeginIds(KeyScan *scan, const int64 *ids, int n)
{
	Assert(AreAscending(ids, n));
	Assert(KeyedTableSearchColumns(scan->table) == 1);
	if (!HaveRuns(ids, n))
	{
		Datum		key = n == 1 ? Int64GetDatum(ids[0]) : DatumInt8Array(n, ids);

		return BeginKeys(scan, &key, n != 1);
	}
	scan->index = OpenIndex(scan);
	if (scan->index == NULL)
		return false;
	scan->ids = ids;
	scan->nids = n;
	AddKey(scan, 0, 0, BTGreaterEqualStrategyNumber, F_INT8GE, (Datum) 0);
	AddKey(scan, 0, 0, BTLessEqualStrategyNumber, F_INT8LE, (Datum) 0);
	NextRun(scan);
	StartScan(scan);
	return true;
}

/* Advance to the next row; returns false if there is none. */
bool
KeyScanNext(KeyScan *scan)
{
	CHECK_FOR_INTERRUPTS();
	while (!index_getnext_slot(scan->scan, ForwardScanDirection, scan->slot))
	{
		if (scan->run_end == scan->nids)
			return false;
		CHECK_FOR_INTERRUPTS();
		NextRun(scan);
		index_rescan(scan->scan, scan->keys, scan->nkeys, NULL, 0);
	}
	return true;
}

/* Close the table; its lock is kept until the transaction ends. */
void
KeyScanClose(KeyScan *scan)
{
	if (scan->scan != NULL)
		index_endscan(scan->scan);
	if (scan->slot != NULL)
		ExecDropSingleTupleTableSlot(scan->slot);
	if (scan->index != NULL)
		index_close(scan->index, AccessShareLock);
	table_close(scan->relation, NoLock);
	pfree(scan->columns);
}

/* Returns space for all columns of the table; NULL if these are the columns of rows. */
static StoredRows *
MakeScratch(const KeyScan *scan, StoredRows *scratch)
{
	if (TakesWholeRows(scan))
		return NULL;
	StoredRowsInit(scratch, RelationGetNumberOfAttributes(scan->relation), 1);
	return scratch;
}

/* Append the rows of a scan to rows, until there are as many as the limit. */
static void
ReadScan(KeyScan *scan, int limit, StoredRows *rows)
{
	StoredRows	space;
	StoredRows *scratch = MakeScratch(scan, &space);

	while (rows->nrows < limit && KeyScanNext(scan))
	{
		TakeRow(scan, scratch, rows);
		if (scan->learns)
			KeyScanLearnPlace(scan, StoredRowValues(rows, rows->nrows - 1)[0]);
	}
}

/*
 * Read the rows of a few documents where they were found before.  Returns false, and
 * reads nothing, if one is not there.
 */
static bool
ReadPlaced(KeyScan *scan, const int64 *ids, int n, StoredRows *rows)
{
	StoredRows	space;
	StoredRows *scratch;

	if (n > FEW_PLACES || !ArePlaced(scan))
		return false;
	scratch = MakeScratch(scan, &space);
	for (int i = 0; i < n; i++)
	{
		if (!KeyScanFindPlaced(scan, Int64GetDatum(ids[i])))
		{
			rows->nrows = 0;
			return false;
		}
		TakeRow(scan, scratch, rows);
	}
	return true;
}

/* Read rows by key without a statement; returns false if that cannot be done. */
static bool
ReadKeys(KeyedTable *table, const Datum *keys, bool any, StoredRows *rows)
{
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, table, AccessShareLock, ACL_SELECT))
		return false;
	able = BeginKeys(&scan, keys, any);
	if (able)
		ReadScan(&scan, PG_INT32_MAX, rows);
	KeyScanClose(&scan);
	return able;
}

/* Read the rows of documents with these privileges; see below. */
static bool
ReadIdsWith(KeyedTable *table, AclMode rights, const int64 *ids, int n, StoredRows *rows)
{
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, table, AccessShareLock, rights))
		return false;
	scan.learns = n <= FEW_PLACES;
	able = ReadPlaced(&scan, ids, n, rows);
	if (!able && KeyScanBeginIds(&scan, ids, n))
	{
		ReadScan(&scan, PG_INT32_MAX, rows);
		able = true;
	}
	KeyScanClose(&scan);
	return able;
}

/*
 * Read the rows of documents, whose ids are ascending, without a statement.
 * Returns false, and reads nothing, if that cannot be done.  The caller has
 * initialized rows; values are allocated in the current memory context.
 */
bool
KeyScanTryIds(KeyedTable *table, const int64 *ids, int n, StoredRows *rows)
{
	return ReadIdsWith(table, ACL_SELECT, ids, n, rows);
}

/*
 * The same without a privilege of the current user, for a caller who has found out that
 * the user may see these rows.
 */
bool
KeyScanTryIdsAsOwner(KeyedTable *table, const int64 *ids, int n, StoredRows *rows)
{
	return ReadIdsWith(table, ACL_NO_RIGHTS, ids, n, rows);
}

/*
 * Read the rows whose first column, a bigint, is greater than "after", or all rows if
 * that is NULL: in order, and no more than the limit.  Otherwise like KeyScanTryIds().
 */
bool
KeyScanTryAfter(KeyedTable *table, const int64 *after, int limit, StoredRows *rows)
{
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, table, AccessShareLock, ACL_SELECT))
		return false;
	scan.index = OpenIndex(&scan);
	able = scan.index != NULL;
	if (able)
	{
		if (after != NULL)
			AddKey(&scan, 0, 0, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(*after));
		StartScan(&scan);
		ReadScan(&scan, limit, rows);
	}
	KeyScanClose(&scan);
	return able;
}

/* Read rows by a statement. */
static void
ReadBySql(KeyedTable *table, const Datum *keys, bool many, StoredRows *rows)
{
	KeyedForm	form = {.verb = KEYED_READ,.many = many};

	StatementRead(KeyedTableStatement(table, form), unconstify(Datum *, keys), 0);
	StoredRowsTake(rows, table->types, KeyedTableRequiredColumns(table));
}

/* Read the rows whose search columns equal the keys, in the active snapshot. */
void
KeyScanRead(KeyedTable *table, const Datum *keys, StoredRows *rows)
{
	StoredRowsInit(rows, table->ncolumns, 4);
	if (!ReadKeys(table, keys, false, rows))
		ReadBySql(table, keys, false, rows);
}

/* Read the rows whose first column equals any element of an array. */
void
KeyScanReadAny(KeyedTable *table, Datum array, StoredRows *rows)
{
	StoredRowsInit(rows, table->ncolumns, 4);
	if (!ReadKeys(table, &array, true, rows))
		ReadBySql(table, &array, true, rows);
}

/* Read rows where they were found before.  Returns the number of other keys, and sets them. */
static int
ReadPlacedKeys(KeyScan *scan, Datum *keys, int n, StoredRows *rows, Datum *others)
{
	StoredRows	space;
	StoredRows *scratch = MakeScratch(scan, &space);
	int			nothers = 0;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (KeyScanFindPlaced(scan, keys[i]))
			TakeRow(scan, scratch, rows);
		else
			others[nothers++] = keys[i];
	}
	return nothers;
}

/* Read the rows of some keys without a statement; returns false if that cannot be done. */
static bool
TryKeys(KeyedTable *table, Datum *keys, int n, StoredRows *rows)
{
	Datum	   *others = palloc(sizeof(Datum) * Max(n, 1));
	KeyScan		scan;
	bool		able = true;

	if (!KeyScanOpen(&scan, table, AccessShareLock, ACL_SELECT))
		return false;
	scan.learns = true;
	n = ReadPlacedKeys(&scan, keys, n, rows, others);
	if (n > 0)
	{
		Datum		key = n == 1 ? others[0] : DatumArray(n, others, NULL, table->types[0]);

		able = BeginKeys(&scan, &key, n > 1);
		if (able)
			ReadScan(&scan, PG_INT32_MAX, rows);
	}
	KeyScanClose(&scan);
	return able;
}

/* Read the rows whose first column equals any of these keys, in no order. */
void
KeyScanReadKeys(KeyedTable *table, Datum *keys, int n, StoredRows *rows)
{
	Datum		array;

	StoredRowsInit(rows, table->ncolumns, Max(n, 1));
	if (TryKeys(table, keys, n, rows))
		return;
	array = DatumArray(n, keys, NULL, table->types[0]);
	ReadBySql(table, &array, true, rows);
}

/* Look for one row without a statement; returns false if that cannot be done. */
static bool
TryFind(KeyedTable *table, int64 id, bool *found)
{
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, table, AccessShareLock, ACL_SELECT))
		return false;
	able = KeyScanBeginIds(&scan, &id, 1);
	if (able)
		*found = KeyScanNext(&scan);
	KeyScanClose(&scan);
	return able;
}

/*
 * Returns true if there is a row whose first column is this id, in the active
 * snapshot.  Only one is read, however many there are.
 */
bool
KeyScanHas(KeyedTable *table, int64 id)
{
	KeyedForm	form = {.verb = KEYED_READ};
	Datum		key = Int64GetDatum(id);
	bool		found;

	if (TryFind(table, id, &found))
		return found;
	found = StatementRead(KeyedTableStatement(table, form), &key, 1) > 0;
	ResultFree();
	return found;
}

/* Read the rows of documents, whose ids are ascending. */
void
KeyScanReadIds(KeyedTable *table, const int64 *ids, int n, StoredRows *rows)
{
	Datum		array;

	StoredRowsInit(rows, table->ncolumns, n);
	if (KeyScanTryIds(table, ids, n, rows))
		return;
	array = DatumInt8Array(n, ids);
	ReadBySql(table, &array, true, rows);
	StoredRowsRequireIds(rows, ids, n);
}
