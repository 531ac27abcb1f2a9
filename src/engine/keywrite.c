/*
 * keywrite.c
 *		Writing many rows of a table at a time, without an executor.
 *
 * A change of identity may affect a hundred thousand documents, and makes the same
 * small change to a row of each.  A statement would insert the entries of each new
 * row into all indexes before it processes the next row; whatever the order of the
 * rows, it is random with respect to most indexes.  Here the rows of a batch are
 * written first, and then each index gets its entries in its own order, so that
 * neighboring entries are inserted into the same page while it is in cache.  No
 * other session needs an entry earlier: it sees the old version of the row until
 * we commit.
 *
 * Privileges, locks and conditions are those of a statement.  Everything that needs
 * an executor (triggers, rules, policies, check constraints, generated columns,
 * other kinds of indexes) is left to SQL, and so is a row that another transaction
 * changed concurrently.  See doc/direct-access.md.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/faults.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "engine/keywrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/sortsupport.h"

/* Number of rows that are written before their index entries, to bound memory. */
#define WRITE_BATCH 10000

/* The only texts that are written are names of projects and resources. */
#define LONGEST_NAME 256

/* The state of a direct write. */
typedef struct Writer
{
	Relation	relation;
	CmdType		operation;
	TupleDesc	descriptor;
	Relation   *indexes;
	IndexInfo **infos;
	int			nindexes;
	TupleTableSlot **slots;		/* new rows without index entries */
	int			nslots;			/* number of slots that exist */
	int			n;				/* number of slots that are in use */
	int		   *changed;		/* numbers of columns that an update replaces */
	int			nchanged;
	MemoryContext context;		/* of the slots */
	MemoryContext batch;		/* of FinishBatch(), reset after each batch */
} Writer;

/* A row that is to be inserted into an index. */
typedef struct Entry
{
	Datum		key;			/* the first column */
	bool		isnull;
	TupleTableSlot *slot;
} Entry;

/* Returns true if a statement of this kind would fire a trigger. */
static bool
HasTriggers(const TriggerDesc *triggers, CmdType operation)
{
	if (triggers == NULL)
		return false;
	switch (operation)
	{
		case CMD_UPDATE:
			return triggers->trig_update_before_row || triggers->trig_update_after_row ||
				triggers->trig_update_before_statement || triggers->trig_update_after_statement;
		case CMD_DELETE:
			return triggers->trig_delete_before_row || triggers->trig_delete_after_row ||
				triggers->trig_delete_before_statement || triggers->trig_delete_after_statement;
		default:
			return triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
				triggers->trig_insert_before_statement || triggers->trig_insert_after_statement;
	}
}

/* Returns true if writing a row affects nothing but the row and its index entries. */
static bool
IsPlainlyWritable(Relation relation, CmdType operation)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	return relation->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!relation->rd_rel->relhasrules && !relation->rd_rel->relispartition &&
		!HasTriggers(relation->trigdesc, operation) &&
		(constraints == NULL || (constraints->num_check == 0 && !constraints->has_generated_stored));
}

/*
 * Returns true if the index is a B-tree over plain columns of all rows, which checks
 * uniqueness immediately.
 */
static bool
IsPlainIndex(Relation index)
{
	Form_pg_index form = index->rd_index;

	for (int i = 0; i < form->indnatts; i++)
		if (form->indkey.values[i] <= 0)
			return false;
	return index->rd_rel->relam == BTREE_AM_OID && form->indisready && form->indimmediate &&
		!form->indisexclusion && heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/*
 * Open all indexes; returns false if one of them is not plain.  For such an index
 * no IndexInfo is built, because that would evaluate its expressions.
 */
static bool
OpenIndexes(Writer *writer)
{
	List	   *ids = RelationGetIndexList(writer->relation);
	bool		plain = true;
	ListCell   *cell;

	writer->indexes = palloc(sizeof(Relation) * Max(list_length(ids), 1));
	writer->infos = palloc(sizeof(IndexInfo *) * Max(list_length(ids), 1));
	foreach(cell, ids)
	{
		Relation	index = index_open(lfirst_oid(cell), RowExclusiveLock);

		plain = plain && IsPlainIndex(index);
		writer->indexes[writer->nindexes] = index;
		writer->infos[writer->nindexes++] = plain ? BuildIndexInfo(index) : NULL;
	}
	list_free(ids);
	return plain;
}

/*
 * Prepare to write to an open table; returns false if that must be left to SQL.
 * The caller must call WriterEnd() in either case.
 */
static bool
WriterBegin(Writer *writer, Relation relation, CmdType operation)
{
	memset(writer, 0, sizeof(Writer));
	writer->relation = relation;
	writer->operation = operation;
	writer->context = AllocSetContextCreate(CurrentMemoryContext, "dms rows to write",
											ALLOCSET_DEFAULT_SIZES);
	writer->batch = AllocSetContextCreate(writer->context, "dms batch of rows",
										  ALLOCSET_DEFAULT_SIZES);
	if (!IsPlainlyWritable(relation, operation) || !OpenIndexes(writer))
		return false;
	CheckCmdReplicaIdentity(relation, operation);
	writer->descriptor = CreateTupleDescCopy(RelationGetDescr(relation));
	return true;
}

/* Close the indexes and release the slots. */
static void
WriterEnd(Writer *writer)
{
	for (int i = 0; i < writer->nslots; i++)
		ExecDropSingleTupleTableSlot(writer->slots[i]);
	for (int i = 0; i < writer->nindexes; i++)
		index_close(writer->indexes[i], RowExclusiveLock);
	MemoryContextDelete(writer->context);
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

/* Keep a row until its index entries are inserted; the slot takes ownership. */
static TupleTableSlot *
HoldRow(Writer *writer, HeapTuple tuple)
{
	TupleTableSlot *slot;

	Assert(writer->n < WRITE_BATCH);
	if (writer->n == writer->nslots)
	{
		MemoryContext saved = MemoryContextSwitchTo(writer->context);

		if (writer->slots == NULL)
			writer->slots = palloc(sizeof(TupleTableSlot *) * WRITE_BATCH);
		writer->slots[writer->nslots++] = MakeSingleTupleTableSlot(writer->descriptor, &TTSOpsHeapTuple);
		MemoryContextSwitchTo(saved);
	}
	slot = writer->slots[writer->n];
	ExecStoreHeapTuple(tuple, slot, true);
	return slot;
}

/* Compare two rows by the first column of an index, for qsort_arg(). */
static int
CompareEntries(const void *a, const void *b, void *arg)
{
	const Entry *left = a;
	const Entry *right = b;

	return ApplySortComparator(left->key, left->isnull, right->key, right->isnull, arg);
}

/* Returns the rows in the order of the first column of an index. */
static Entry *
SortEntries(Writer *writer, Relation index)
{
	Entry	   *entries = palloc(sizeof(Entry) * writer->n);
	SortSupportData sort = {0};

	sort.ssup_cxt = CurrentMemoryContext;
	sort.ssup_collation = index->rd_indcollation[0];
	sort.ssup_nulls_first = (index->rd_indoption[0] & INDOPTION_NULLS_FIRST) != 0;
	sort.ssup_attno = 1;
	PrepareSortSupportFromIndexRel(index, (index->rd_indoption[0] & INDOPTION_DESC) != 0 ?
								   BTGreaterStrategyNumber : BTLessStrategyNumber, &sort);
	for (int i = 0; i < writer->n; i++)
	{
		entries[i].slot = writer->slots[i];
		entries[i].key = slot_getattr(writer->slots[i], index->rd_index->indkey.values[0], &entries[i].isnull);
	}
	qsort_arg(entries, writer->n, sizeof(Entry), CompareEntries, &sort);
	return entries;
}

/* Returns true if an update changes no column of the index. */
static bool
IsUnchanged(const Writer *writer, const FormData_pg_index *index)
{
	for (int i = 0; i < index->indnatts; i++)
		for (int j = 0; j < writer->nchanged; j++)
			if (index->indkey.values[i] == writer->changed[j])
				return false;
	return writer->operation == CMD_UPDATE;
}

/*
 * Returns whether the index must check that keys are unique.  A key that the
 * update did not change was checked when its row was inserted.  A concurrent
 * insertion of the same key finds the old version in _bt_check_unique() and waits
 * for us, as it does after a HOT update, which inserts no entry at all.  But an
 * index that is still being built has not checked existing rows yet.
 */
static IndexUniqueCheck
UniqueCheck(const FormData_pg_index *index, bool unchanged)
{
	if (!index->indisunique || (unchanged && index->indisvalid))
		return UNIQUE_CHECK_NO;
	return UNIQUE_CHECK_YES;
}

/* Insert the entries of all rows of the batch into one index. */
static void
FillIndex(Writer *writer, int which)
{
	Relation	index = writer->indexes[which];
	Form_pg_index form = index->rd_index;
	Entry	   *entries = SortEntries(writer, index);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	bool		unchanged = IsUnchanged(writer, form);

	for (int i = 0; i < writer->n; i++)
	{
		TupleTableSlot *slot = entries[i].slot;

		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < form->indnatts; j++)
			values[j] = slot_getattr(slot, form->indkey.values[j], &nulls[j]);
		(void) index_insert(index, values, nulls, &slot->tts_tid, writer->relation,
							UniqueCheck(form, unchanged), unchanged, writer->infos[which]);
	}
}

/*
 * Finish a batch: write the rows of an insertion, then the index entries.  Until
 * then rows exist that have no index entries, so no statement that might have to
 * find them may run on the table.
 */
static void
FinishBatch(Writer *writer)
{
	MemoryContext saved = MemoryContextSwitchTo(writer->batch);

	if (writer->operation == CMD_INSERT && writer->n > 0)
		table_multi_insert(writer->relation, writer->slots, writer->n, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < writer->nindexes && writer->n > 0; i++)
		FillIndex(writer, i);
	MemoryContextSwitchTo(saved);
	MemoryContextReset(writer->batch);
	for (int i = 0; i < writer->n; i++)
		ExecClearTuple(writer->slots[i]);
	writer->n = 0;
}

/* Get the columns of the current row of a scan; returns false if one is NULL. */
static bool
ScannedRow(KeyScan *scan, Datum *values)
{
	bool		isnull = false;

	for (int i = 0; i < scan->table->ncolumns && !isnull; i++)
		values[i] = slot_getattr(scan->slot, scan->columns[i], &isnull);
	return !isnull;
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

/* Set the columns that an update replaces: all except the key. */
static void
NoteChanged(Writer *writer, const KeyScan *scan)
{
	const KeyedTable *table = scan->table;

	writer->nchanged = table->ncolumns - table->nkeys;
	writer->changed = palloc(sizeof(int) * writer->nchanged);
	for (int i = 0; i < writer->nchanged; i++)
		writer->changed[i] = scan->columns[table->nkeys + i];
}

/* Write a new version of a row; returns false if it was changed concurrently. */
static bool
UpdateRow(Writer *writer, KeyScan *scan, Datum *changed)
{
	static bool no_nulls[MaxTupleAttributeNumber];
	HeapTuple	old = ExecFetchSlotHeapTuple(scan->slot, false, NULL);
	TupleTableSlot *slot = HoldRow(writer, heap_modify_tuple_by_cols(old, RelationGetDescr(writer->relation),
																	 writer->nchanged, writer->changed,
																	 changed, no_nulls));
	TM_FailureData failure;
	LockTupleMode mode;
	CompatUpdateIndexes indexes;

	if (table_tuple_update(writer->relation, &scan->slot->tts_tid, slot, GetCurrentCommandId(true),
						   GetActiveSnapshot(), InvalidSnapshot, true, &failure, &mode, &indexes) != TM_Ok)
		return false;
	if (COMPAT_MUST_UPDATE_INDEXES(indexes))
		writer->n++;
	return true;
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
	Writer		writer;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&scan, table, RowExclusiveLock, ACL_SELECT | ACL_UPDATE))
		return false;
	SnapshotBegin();
	able = WriterBegin(&writer, scan.relation, CMD_UPDATE) &&
		AreStoredAsGiven(&scan, table->nkeys) && KeyScanBeginIds(&scan, ids, n);
	NoteChanged(&writer, &scan);
	while (able && KeyScanNext(&scan))
	{
		bool		complete = ScannedRow(&scan, values);

		if (complete)
			change(values, arg);
		if (!complete || !UpdateRow(&writer, &scan, values + table->nkeys))
			UpdateRowBySql(table, &scan, change, arg);
		if (writer.n == WRITE_BATCH)
			FinishBatch(&writer);
	}
	FinishBatch(&writer);
	WriterEnd(&writer);
	KeyScanClose(&scan);
	SnapshotEnd();
	CommandCounterIncrement();
	return able;
}

/*
 * Update the rows of documents, whose ids are ascending, in this order.  The
 * callback sets the new values of all columns except the key.
 */
void
KeyWriteUpdate(KeyedTable *table, const int64 *ids, int n, RowChange change, void *arg)
{
	if (n > 0 && !UpdateDirectly(table, ids, n, change, arg))
		UpdateBySql(table, ids, n, change, arg);
}

/* Delete rows by statements: lock and read them, then delete the chosen ones. */
static void
DeleteBySql(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg)
{
	SPITupleTable *locked;
	StoredRows	rows;
	RowSet		set;
	int			chosen = 0;

	KeyedTableLock(table, ids, n, LCS_FORUPDATE, LockWaitBlock, &rows);
	locked = SPI_tuptable;
	set = StoredRowsSet(&rows);
	for (int i = 0; i < set.nrows; i++)
		if (choose(set.rows[i].values, arg))
			set.rows[chosen++] = set.rows[i];
	set.nrows = chosen;
	(void) KeyedTableRun(table, KEYED_DELETE, &set);
	SPI_freetuptable(locked);
}

/* Delete a row; returns false if it was changed concurrently. */
static bool
DeleteRow(KeyScan *scan)
{
	TM_FailureData failure;

	return table_tuple_delete(scan->relation, &scan->slot->tts_tid, GetCurrentCommandId(true),
							  GetActiveSnapshot(), InvalidSnapshot, true, &failure, false) == TM_Ok;
}

/* Delete the rows of one document by statements. */
static void
DeleteRowBySql(KeyedTable *table, const KeyScan *scan, RowChoice choose, void *arg)
{
	int64		id = ScannedId(scan);

	if (!FAULT_SKIP("row_by_sql"))
		DeleteBySql(table, &id, 1, choose, arg);
}

/* Delete rows without statements; returns false if that cannot be done. */
static bool
DeleteDirectly(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg)
{
	KeyScan		scan;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&scan, table, RowExclusiveLock, ACL_SELECT | ACL_DELETE))
		return false;
	SnapshotBegin();
	able = IsPlainlyWritable(scan.relation, CMD_DELETE) && KeyScanBeginIds(&scan, ids, n);
	if (able)
		CheckCmdReplicaIdentity(scan.relation, CMD_DELETE);
	while (able && KeyScanNext(&scan))
		if (!ScannedRow(&scan, values) || (choose(values, arg) && !DeleteRow(&scan)))
			DeleteRowBySql(table, &scan, choose, arg);
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
	if (n > 0 && !DeleteDirectly(table, ids, n, choose, arg))
		DeleteBySql(table, ids, n, choose, arg);
}

/* Form a tuple from the values of all columns. */
static HeapTuple
MakeRow(const Writer *writer, const KeyScan *opened, const Datum *values)
{
	Datum		ordered[MaxTupleAttributeNumber];
	bool		nulls[MaxTupleAttributeNumber];

	for (int i = 0; i < opened->table->ncolumns; i++)
	{
		ordered[opened->columns[i] - 1] = values[i];
		nulls[i] = false;
	}
	return heap_form_tuple(writer->descriptor, ordered, nulls);
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

/* Insert rows without a statement; returns false if that cannot be done. */
static bool
InsertDirectly(KeyedTable *table, int n, RowSource source, void *arg)
{
	KeyScan		opened;
	Writer		writer;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&opened, table, RowExclusiveLock, ACL_INSERT))
		return false;
	able = WriterBegin(&writer, opened.relation, CMD_INSERT) && AreStoredAsGiven(&opened, 0) &&
		RelationGetNumberOfAttributes(opened.relation) == table->ncolumns;
	for (int i = 0; able && i < n; i++)
	{
		source(i, values, arg);
		(void) HoldRow(&writer, MakeRow(&writer, &opened, values));
		if (++writer.n == WRITE_BATCH)
			FinishBatch(&writer);
	}
	FinishBatch(&writer);
	WriterEnd(&writer);
	KeyScanClose(&opened);
	CommandCounterIncrement();
	return able;
}

/* Insert rows; the callback sets the values of all columns of the table. */
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
