/*
 * keywrite.c
 *		Writing many rows of a table at a time, without an executor.
 *
 * A change of identity may reach a hundred thousand documents, and does the same
 * small thing to a row of each.  A statement would put the entries of each new
 * row into all indexes before it goes on to the next; in whatever order rows
 * come, they are in no order to most indexes.  Here the rows of a batch are
 * written first, and then each index gets its entries in its own order, so that
 * neighbours go to the same page while it is at hand.  Until then no other
 * session misses them: an entry is needed once its row is committed, or its old
 * version gone.
 *
 * Rights, locks and rules are those of a statement.  Whatever makes a table more
 * than its rows and B-trees (triggers, rules, policies, constraints that must be
 * computed, other kinds of indexes) is left to SQL, and so is a row that another
 * transaction changed while we came to it.
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
#include "engine/plan.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/sortsupport.h"

/* Rows that are written before their index entries are, to bound memory. */
#define BATCH 10000

/* The only texts that are written are names of projects and resources. */
#define LONGEST_NAME 256

typedef struct Writer
{
	Relation	relation;
	TupleDesc	descriptor;
	Relation   *indexes;
	IndexInfo **infos;
	int			nindexes;
	TupleTableSlot **slots;		/* new rows without index entries */
	int			nslots;			/* that were made */
	int			n;				/* that are in use */
	int		   *changed;		/* numbers of columns that an update replaces */
	int			nchanged;
	MemoryContext context;		/* of the slots */
	MemoryContext batch;		/* of what a batch takes to finish */
} Writer;

/* A row on its way into an index. */
typedef struct Entry
{
	Datum		key;			/* the first column */
	bool		isnull;
	TupleTableSlot *slot;
} Entry;

/* Would a statement have to call a trigger? */
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

/* Are rows what they are given, and nothing else happens? */
static bool
IsPlainlyWritable(Relation relation, CmdType operation)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	return relation->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!relation->rd_rel->relhasrules && !relation->rd_rel->relispartition &&
		!HasTriggers(relation->trigdesc, operation) &&
		(constraints == NULL || (constraints->num_check == 0 && !constraints->has_generated_stored));
}

/* Are its entries plain columns of every row, unique at once if at all? */
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
 * Open all indexes; false when one of them wants more than we give.  Nothing is
 * asked of such an index, because PostgreSQL would evaluate its expressions.
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
 * Get ready to write to a table that is open; false when that is for SQL to
 * do.  WriterEnd() must follow in any case.
 */
static bool
WriterBegin(Writer *writer, Relation relation, CmdType operation)
{
	memset(writer, 0, sizeof(Writer));
	writer->relation = relation;
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
 * Is a value of the type kept as it is, by this and all following columns?  A
 * statement would round or cut it as the column says.
 */
static bool
AreKeptAsGiven(const KeyScan *scan, const KeyScanTable *table, int first)
{
	for (int i = first; i < scan->ncolumns; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(scan->relation), scan->columns[i] - 1);
		bool		is_name = column->atttypid == VARCHAROID && column->atttypmod >= VARHDRSZ + LONGEST_NAME;

		if (!is_name && (column->atttypid != table->types[i] || column->atttypmod != -1))
			return false;
	}
	return true;
}

/* Put a row where it waits for its index entries; the slot owns it now. */
static TupleTableSlot *
HoldRow(Writer *writer, HeapTuple tuple)
{
	TupleTableSlot *slot;

	if (writer->n == writer->nslots)
	{
		MemoryContext saved = MemoryContextSwitchTo(writer->context);

		if (writer->slots == NULL)
			writer->slots = palloc(sizeof(TupleTableSlot *) * BATCH);
		writer->slots[writer->nslots++] = MakeSingleTupleTableSlot(writer->descriptor, &TTSOpsHeapTuple);
		MemoryContextSwitchTo(saved);
	}
	slot = writer->slots[writer->n];
	ExecStoreHeapTuple(tuple, slot, true);
	return slot;
}

static int
CompareEntries(const void *a, const void *b, void *arg)
{
	const Entry *left = a;
	const Entry *right = b;

	return ApplySortComparator(left->key, left->isnull, right->key, right->isnull, arg);
}

/* The rows, in the order of an index, as far as its first column tells it. */
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

/* Does an update leave all columns of the index as they are? */
static bool
IsUnchanged(const Writer *writer, const FormData_pg_index *index)
{
	for (int i = 0; i < index->indnatts; i++)
		for (int j = 0; j < writer->nchanged; j++)
			if (index->indkey.values[i] == writer->changed[j])
				return false;
	return writer->nchanged > 0;
}

/*
 * Must the index prove that keys are unique?  Not again those that the rows had
 * before: as with versions that need no entry at all, whoever wants to take such
 * a key meets the old version, and waits for us.  An index that is still being
 * built has proved nothing yet.
 */
static IndexUniqueCheck
UniqueCheck(const FormData_pg_index *index, bool unchanged)
{
	if (!index->indisunique || (unchanged && index->indisvalid))
		return UNIQUE_CHECK_NO;
	return UNIQUE_CHECK_YES;
}

/* Give all rows their entries in one index. */
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

/* Finish the rows of a batch: write those that are new, then index entries. */
static void
FinishBatch(Writer *writer)
{
	MemoryContext saved = MemoryContextSwitchTo(writer->batch);

	if (writer->nchanged == 0 && writer->n > 0)
		table_multi_insert(writer->relation, writer->slots, writer->n, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < writer->nindexes && writer->n > 0; i++)
		FillIndex(writer, i);
	MemoryContextSwitchTo(saved);
	MemoryContextReset(writer->batch);
	for (int i = 0; i < writer->n; i++)
		ExecClearTuple(writer->slots[i]);
	writer->n = 0;
}

/* The columns of the row that a scan stands on; false if one is NULL. */
static bool
ScannedRow(KeyScan *scan, Datum *values)
{
	bool		isnull = false;

	for (int i = 0; i < scan->ncolumns && !isnull; i++)
		values[i] = slot_getattr(scan->slot, scan->columns[i], &isnull);
	return !isnull;
}

/* A row that cannot be written as it was found is left to SQL. */
static void
LeaveToSql(RowBySql by_sql, const Datum *values, void *arg)
{
	if (!FAULT_SKIP("row_by_sql"))
		by_sql(values, arg);
}

/* Columns behind the id are what an update replaces. */
static void
NoteChanged(Writer *writer, const KeyScan *scan)
{
	writer->nchanged = scan->ncolumns - 1;
	writer->changed = palloc(sizeof(int) * writer->nchanged);
	for (int i = 0; i < writer->nchanged; i++)
		writer->changed[i] = scan->columns[1 + i];
}

/* Write a new version of a row; false when somebody else has. */
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

/*
 * Change the rows of some documents, in the order of their ids, which are
 * ascending.  False when the table is not one that can be written like this;
 * then nothing was done.
 */
bool
KeyUpdate(const KeyScanTable *table, const int64 *ids, int n, RowChange change,
		  RowBySql by_sql, void *arg)
{
	KeyScan		scan;
	Writer		writer;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&scan, table, RowExclusiveLock, ACL_SELECT | ACL_UPDATE))
		return false;
	SnapshotBegin();
	able = WriterBegin(&writer, scan.relation, CMD_UPDATE) && AreKeptAsGiven(&scan, table, 1) &&
		KeyScanBeginIds(&scan, ids, n, NULL, 0);
	NoteChanged(&writer, &scan);
	while (able && KeyScanNext(&scan))
	{
		if (!ScannedRow(&scan, values) || !change(values, arg) ||
			!UpdateRow(&writer, &scan, values + 1))
			LeaveToSql(by_sql, values, arg);
		if (writer.n == BATCH)
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
 * Delete those rows of some documents that are chosen, of which other columns
 * equal the keys.  False when the table is not one that can be written like
 * this; then nothing was done.
 */
bool
KeyDelete(const KeyScanTable *table, const int64 *ids, int n, const KeyScanKey *others,
		  int nothers, RowChoice choose, RowBySql by_sql, void *arg)
{
	KeyScan		scan;
	TM_FailureData failure;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&scan, table, RowExclusiveLock, ACL_SELECT | ACL_DELETE))
		return false;
	SnapshotBegin();
	able = IsPlainlyWritable(scan.relation, CMD_DELETE) &&
		KeyScanBeginIds(&scan, ids, n, others, nothers);
	if (able)
		CheckCmdReplicaIdentity(scan.relation, CMD_DELETE);
	while (able && KeyScanNext(&scan))
		if (!ScannedRow(&scan, values) ||
			(choose(values, arg) &&
			 table_tuple_delete(scan.relation, &scan.slot->tts_tid, GetCurrentCommandId(true),
								GetActiveSnapshot(), InvalidSnapshot, true, &failure, false) != TM_Ok))
			LeaveToSql(by_sql, values, arg);
	KeyScanClose(&scan);
	SnapshotEnd();
	CommandCounterIncrement();
	return able;
}

/* Make a row of the values of all columns. */
static HeapTuple
MakeRow(const Writer *writer, const KeyScan *table, const Datum *values)
{
	Datum		ordered[MaxTupleAttributeNumber];
	bool		nulls[MaxTupleAttributeNumber];

	for (int i = 0; i < table->ncolumns; i++)
	{
		ordered[table->columns[i] - 1] = values[i];
		nulls[i] = false;
	}
	return heap_form_tuple(writer->descriptor, ordered, nulls);
}

/*
 * Insert rows, of which all columns are given.  False when the table is not one
 * that can be written like this; then nothing was done.
 */
bool
KeyInsert(const KeyScanTable *table, int n, RowSource source, void *arg)
{
	KeyScan		opened;
	Writer		writer;
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool		able;

	if (!KeyScanOpen(&opened, table, RowExclusiveLock, ACL_INSERT))
		return false;
	able = WriterBegin(&writer, opened.relation, CMD_INSERT) && AreKeptAsGiven(&opened, table, 0) &&
		RelationGetNumberOfAttributes(opened.relation) == table->ncolumns;
	for (int i = 0; able && i < n; i++)
	{
		source(i, values, arg);
		(void) HoldRow(&writer, MakeRow(&writer, &opened, values));
		if (++writer.n == BATCH)
			FinishBatch(&writer);
	}
	FinishBatch(&writer);
	WriterEnd(&writer);
	KeyScanClose(&opened);
	CommandCounterIncrement();
	return able;
}

/*
 * Lock the rows of some documents for update, in the order of their ids, and
 * tell each.  Whoever changed or deleted one while we waited for it, SQL shall
 * judge.  False when the table is not one that can be locked like this; then
 * nothing was done.
 */
bool
KeyLock(const KeyScanTable *table, const int64 *ids, int n, LockWaitPolicy wait,
		RowTaken taken, RowBySql by_sql, void *arg)
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
	able = KeyScanBeginIds(&scan, ids, n, NULL, 0);
	while (able && KeyScanNext(&scan))
	{
		if (ScannedRow(&scan, values) &&
			table_tuple_lock(scan.relation, &scan.slot->tts_tid, GetActiveSnapshot(), slot,
							 GetCurrentCommandId(true), LockTupleExclusive, wait, 0, &failure) == TM_Ok)
			taken(values, arg);
		else
			LeaveToSql(by_sql, values, arg);
	}
	ExecDropSingleTupleTableSlot(slot);
	KeyScanClose(&scan);
	SnapshotEnd();
	return able;
}
