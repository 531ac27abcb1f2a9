/*
 * keywrite.c
 *		Writing rows of many documents at a time.
 *
 * A change of identity may affect a hundred thousand documents, and makes the same
 * small change to a row of each.  The rows are found by walking along an index, and
 * written in batches without an executor (tablewriter.c).
 *
 * Privileges, locks and conditions are those of a statement.  What tablewriter.c
 * cannot do is left to SQL, and so is a row that another transaction changed
 * concurrently.  See doc/direct-access.md.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/faults.h"
#include "catalog/pg_type.h"
#include "engine/keywrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/tablewriter.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* Number of rows that are written before their index entries, to bound memory. */
#define WRITE_BATCH 10000

/* The only texts that are written are names of projects and resources. */
#define LONGEST_NAME 256

/*
 * Get the columns of the current row of a scan; returns false if one is NULL that
 * must not be.
 */
static bool
ScannedRow(KeyScan *scan, Datum *values)
{
	bool		isnull;

	for (int i = 0; i < scan->table->ncolumns; i++)
	{
		values[i] = slot_getattr(scan->slot, scan->columns[i], &isnull);
		if (isnull && i < KeyedTableRequiredColumns(scan->table))
			return false;
	}
	return true;
}

/* Returns the id of the current row, which is its first column. */
static int64
ScannedId(const KeyScan *scan)
{
	bool		isnull;
	Datum		id = slot_getattr(scan->slot, scan->columns[0], &isnull);

	Assert(!isnull);
	return DatumGetInt64(id);
}

/*
 * Returns true if the columns from first on store values unchanged.  Otherwise a
 * statement must coerce them to the type or type modifier of the column.
 */
static bool
AreStoredAsGiven(const KeyScan *scan, int first)
{
	const KeyedTable *table = scan->table;

	for (int i = first; i < table->ncolumns; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(scan->relation), scan->columns[i] - 1);
		bool		is_name = column->atttypid == VARCHAROID && column->atttypmod >= VARHDRSZ + LONGEST_NAME;

		if (!is_name && (column->atttypid != table->types[i] || column->atttypmod != -1))
			return false;
	}
	return true;
}

/* Returns the numbers of the columns that an update replaces. */
static int *
ChangedColumns(const KeyScan *scan)
{
	int			n = KeyedTableChangedColumns(scan->table);
	int		   *changed = palloc(sizeof(int) * Max(n, 1));

	for (int i = 0; i < n; i++)
		changed[i] = scan->columns[scan->table->nkeys + i];
	return changed;
}

/*
 * Prepare to update rows.  Returns false if that must be left to SQL, also if
 * constraints would have to be checked afterwards.
 */
static bool
BeginUpdates(TableWriter *writer, const KeyScan *scan, int n)
{
	if (!TableWriterBegin(writer, scan->relation, CMD_UPDATE, Min(n, WRITE_BATCH), &TTSOpsHeapTuple) ||
		writer->facts->nupdate_keys > 0 || writer->facts->nreferenced > 0 || writer->facts->deferrable ||
		writer->facts->nchecks > 0 || !AreStoredAsGiven(scan, scan->table->nkeys) ||
		!WriteFactsUpdate(writer->facts, scan->columns + scan->table->nkeys,
						  KeyedTableChangedColumns(scan->table)))
		return false;
	writer->changed = ChangedColumns(scan);
	writer->nchanged = KeyedTableChangedColumns(scan->table);
	return true;
}

/* Write a new version of a row; returns false if it was changed concurrently. */
static bool
UpdateRow(TableWriter *writer, KeyScan *scan, Datum *changed)
{
	static bool no_nulls[MaxTupleAttributeNumber];
	HeapTuple	old = ExecFetchSlotHeapTuple(scan->slot, false, NULL);
	TupleTableSlot *slot = TableWriterAdd(writer);
	bool		entries = false;
	bool		able;

	ExecStoreHeapTuple(heap_modify_tuple_by_cols(old, RelationGetDescr(writer->relation), writer->nchanged,
												 unconstify(int *, writer->changed), changed, no_nulls),
					   slot, true);
	able = TableWriterUpdate(writer, scan->slot, slot, &entries);
	if (!entries)
		writer->n--;
	return able;
}

/* Write the index entries of a batch. */
static void
FinishBatch(TableWriter *writer)
{
	TableWriterFill(writer);
	TableWriterClear(writer);
}

/* Update rows by statements: lock and read them, then write the new values. */
static void
UpdateBySql(KeyedTable *table, const int64 *ids, int n, RowChange change, void *arg)
{
	SPITupleTable *locked;
	StoredRows	rows;
	RowSet		set;

	KeyedTableLock(table, ids, n, LCS_FORNOKEYUPDATE, LockWaitBlock, &rows);
	locked = SPI_tuptable;
	set = StoredRowsSet(&rows);
	for (int i = 0; i < set.nrows; i++)
		change(set.rows[i].values, arg);
	(void) KeyedTableRun(table, KEYED_UPDATE, &set);
	SPI_freetuptable(locked);
}

/* Update one row by statements, because another transaction changed it. */
static void
UpdateRowBySql(KeyedTable *table, const KeyScan *scan, RowChange change, void *arg)
{
	int64		id = ScannedId(scan);

	if (!FAULT_SKIP("row_by_sql"))
		UpdateBySql(table, &id, 1, change, arg);
}

/* Update rows without statements; returns false if that cannot be done. */
static bool
UpdateDirectly(KeyedTable *table, const int64 *ids, int n, RowChange change, void *arg)
{
	KeyScan		scan;
	TableWriter writer;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&scan, table, RowExclusiveLock, ACL_SELECT | ACL_UPDATE))
		return false;
	SnapshotBegin();
	able = BeginUpdates(&writer, &scan, n) && KeyScanBeginIds(&scan, ids, n);
	while (able && KeyScanNext(&scan))
	{
		bool		complete = ScannedRow(&scan, values);

		if (complete)
			change(values, arg);
		if (!complete || !UpdateRow(&writer, &scan, values + table->nkeys))
			UpdateRowBySql(table, &scan, change, arg);
		if (writer.n == writer.capacity)
			FinishBatch(&writer);
	}
	FinishBatch(&writer);
	TableWriterEnd(&writer);
	KeyScanClose(&scan);
	SnapshotEnd();
	CommandCounterIncrement();
	return able;
}

/*
 * Update the rows of documents, whose ids are ascending, in this order.  The
 * callback sets the new values of all columns except the key and those that are only
 * read.
 */
void
KeyWriteUpdate(KeyedTable *table, const int64 *ids, int n, RowChange change, void *arg)
{
	if (n > 0 && !UpdateDirectly(table, ids, n, change, arg))
		UpdateBySql(table, ids, n, change, arg);
}

/*
 * Delete rows by statements: lock and read them, then delete the chosen ones.  Returns
 * their number.
 */
static uint64
DeleteBySql(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg)
{
	SPITupleTable *locked;
	StoredRows	rows;
	RowSet		set;
	int			chosen = 0;
	uint64		deleted;

	KeyedTableLock(table, ids, n, LCS_FORUPDATE, LockWaitBlock, &rows);
	locked = SPI_tuptable;
	set = StoredRowsSet(&rows);
	for (int i = 0; i < set.nrows; i++)
		if (choose(set.rows[i].values, arg))
			set.rows[chosen++] = set.rows[i];
	set.nrows = chosen;
	deleted = KeyedTableRun(table, KEYED_DELETE, &set);
	SPI_freetuptable(locked);
	return deleted;
}

/* Delete a row; returns false if it was changed concurrently. */
static bool
DeleteRow(KeyScan *scan)
{
	TM_FailureData failure;

	return table_tuple_delete(scan->relation, &scan->slot->tts_tid, GetCurrentCommandId(true),
							  GetActiveSnapshot(), InvalidSnapshot, true, &failure, false) == TM_Ok;
}

/* Delete the rows of one document by statements; returns their number. */
static uint64
DeleteRowBySql(KeyedTable *table, int64 id, RowChoice choose, void *arg)
{
	return FAULT_SKIP("row_by_sql") ? 0 : DeleteBySql(table, &id, 1, choose, arg);
}

/*
 * Delete the rows that a scan finds and the callback chooses; returns their number.
 * After a statement has deleted those of a document, the scan may still find them.
 */
static uint64
DeleteFound(KeyedTable *table, KeyScan *scan, RowChoice choose, void *arg)
{
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		by_sql = false;
	int64		last = 0;
	uint64		deleted = 0;

	while (KeyScanNext(scan))
	{
		bool		complete = ScannedRow(scan, values);

		if (by_sql && ScannedId(scan) == last)
			continue;
		by_sql = false;
		if (complete && !choose(values, arg))
			continue;
		if (complete && DeleteRow(scan))
		{
			deleted++;
			continue;
		}
		by_sql = true;
		last = ScannedId(scan);
		deleted += DeleteRowBySql(table, last, choose, arg);
	}
	return deleted;
}

/*
 * Delete the rows that the callback chooses among those of documents, whose ids are
 * ascending, without statements.  Returns false if that cannot be done.  *deleted is
 * set to the number of rows.
 */
bool
KeyWriteTryDelete(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg, uint64 *deleted)
{
	KeyScan		scan;
	TableWriter writer;
	bool		able;

	if (!KeyScanOpen(&scan, table, RowExclusiveLock, ACL_SELECT | ACL_DELETE))
		return false;
	SnapshotBegin();
	able = TableWriterBegin(&writer, scan.relation, CMD_DELETE, 0, NULL) && KeyScanBeginIds(&scan, ids, n);
	if (able)
		*deleted = DeleteFound(table, &scan, choose, arg);
	TableWriterEnd(&writer);
	KeyScanClose(&scan);
	SnapshotEnd();
	CommandCounterIncrement();
	return able;
}

/*
 * Delete the rows that the callback chooses among those of documents, whose ids
 * are ascending.
 */
void
KeyWriteDelete(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg)
{
	uint64		deleted;

	if (n > 0 && !KeyWriteTryDelete(table, ids, n, choose, arg, &deleted))
		(void) DeleteBySql(table, ids, n, choose, arg);
}

/* Insert rows by a statement. */
static void
InsertBySql(KeyedTable *table, int n, RowSource source, void *arg)
{
	StoredRows	rows;
	RowSet		set;

	StoredRowsInit(&rows, table->ncolumns, n);
	rows.nrows = n;
	memset(rows.nulls, false, sizeof(bool) * n * table->ncolumns);
	set = StoredRowsSet(&rows);
	for (int i = 0; i < n; i++)
		source(i, set.rows[i].values, arg);
	(void) KeyedTableRun(table, KEYED_INSERT, &set);
}

/* Add a row to insert, with the values of all columns, none of which is NULL. */
static void
AddRow(TableWriter *writer, const KeyScan *opened, const Datum *values)
{
	TupleTableSlot *slot = TableWriterAdd(writer);

	for (int i = 0; i < opened->table->ncolumns; i++)
	{
		slot->tts_values[opened->columns[i] - 1] = values[i];
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
}

/* Insert the rows of a batch. */
static void
InsertBatch(TableWriter *writer)
{
	TableWriterInsert(writer);
	TableWriterClear(writer);
}

/* Insert rows without a statement; returns false if that cannot be done. */
static bool
InsertDirectly(KeyedTable *table, int n, RowSource source, void *arg)
{
	KeyScan		opened;
	TableWriter writer;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&opened, table, RowExclusiveLock, ACL_INSERT))
		return false;
	able = TableWriterBegin(&writer, opened.relation, CMD_INSERT, Min(n, WRITE_BATCH), &TTSOpsVirtual) &&
		writer.facts->ninsert_keys == 0 && !writer.facts->deferrable && writer.facts->nchecks == 0 &&
		AreStoredAsGiven(&opened, 0) &&
		RelationGetNumberOfAttributes(opened.relation) == table->ncolumns;
	for (int i = 0; able && i < n; i++)
	{
		source(i, values, arg);
		AddRow(&writer, &opened, values);
		if (writer.n == writer.capacity)
			InsertBatch(&writer);
	}
	if (able)
		InsertBatch(&writer);
	TableWriterEnd(&writer);
	KeyScanClose(&opened);
	CommandCounterIncrement();
	return able;
}

/*
 * Insert rows; the callback sets the values of all columns of the table, which must
 * stay valid until all rows are inserted.
 */
void
KeyWriteInsert(KeyedTable *table, int n, RowSource source, void *arg)
{
	if (n > 0 && !InsertDirectly(table, n, source, arg))
		InsertBySql(table, n, source, arg);
}

/* Lock rows by a statement. */
static void
LockBySql(KeyedTable *table, const int64 *ids, int n, LockWaitPolicy wait,
		  RowTaken taken, void *arg)
{
	StoredRows	rows;

	KeyedTableLock(table, ids, n, LCS_FORUPDATE, wait, &rows);
	for (int i = 0; i < rows.nrows; i++)
		taken(StoredRowValues(&rows, i), arg);
	SPI_freetuptable(SPI_tuptable);
}

/* Lock one row by a statement, because another transaction changed it. */
static void
LockRowBySql(KeyedTable *table, const KeyScan *scan, LockWaitPolicy wait,
			 RowTaken taken, void *arg)
{
	int64		id = ScannedId(scan);

	if (!FAULT_SKIP("row_by_sql"))
		LockBySql(table, &id, 1, wait, taken, arg);
}

/* Lock rows without a statement; returns false if that cannot be done. */
static bool
LockDirectly(KeyedTable *table, const int64 *ids, int n, LockWaitPolicy wait,
			 RowTaken taken, void *arg)
{
	KeyScan		scan;
	TM_FailureData failure;
	TupleTableSlot *slot;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&scan, table, RowShareLock, ACL_SELECT | ACL_UPDATE))
		return false;
	SnapshotBegin();
	slot = table_slot_create(scan.relation, NULL);
	able = KeyScanBeginIds(&scan, ids, n);
	while (able && KeyScanNext(&scan))
	{
		if (ScannedRow(&scan, values) &&
			table_tuple_lock(scan.relation, &scan.slot->tts_tid, GetActiveSnapshot(), slot,
							 GetCurrentCommandId(true), LockTupleExclusive, wait, 0, &failure) == TM_Ok)
			taken(values, arg);
		else
			LockRowBySql(table, &scan, wait, taken, arg);
	}
	ExecDropSingleTupleTableSlot(slot);
	KeyScanClose(&scan);
	SnapshotEnd();
	return able;
}

/*
 * Lock the rows of documents, whose ids are ascending, FOR UPDATE in this order,
 * and call the callback for each.  Rows that do not exist any more are skipped.
 */
void
KeyWriteLock(KeyedTable *table, const int64 *ids, int n, LockWaitPolicy wait,
			 RowTaken taken, void *arg)
{
	if (n > 0 && !LockDirectly(table, ids, n, wait, taken, arg))
		LockBySql(table, ids, n, wait, taken, arg);
}
