/*
 * tablewriter.c
 *		Writing rows and their index entries without an executor.
 *
 * A statement would insert the entries of each new row into all indexes before it
 * processes the next row; whatever the order of the rows, it is random with
 * respect to most indexes.  Here the rows of a batch are written first, and then
 * each index gets its entries; those of a large batch in its own order, so that
 * neighboring entries are inserted into the same page while it is in cache.  No
 * other session needs an entry earlier: it sees the old version of the row until
 * we commit.
 *
 * After that, foreign keys are checked (foreignkey.c).  Where they cannot be, or
 * where a deferrable unique key may be violated, the triggers of the table are
 * fired, as they are after a statement: they know whether the constraint is
 * deferred.  See doc/direct-access.md.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/faults.h"
#include "catalog/pg_index.h"
#include "commands/trigger.h"
#include "engine/foreignkey.h"
#include "engine/ownercode.h"
#include "engine/tablewriter.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/sortsupport.h"

/* A row that is to be inserted into an index. */
typedef struct Entry
{
	Datum		key;			/* the first column */
	bool		isnull;
	int			row;
} Entry;

/* Returns true if an operation can be done without a statement. */
static bool
IsAllowed(const WriteFacts *facts, CmdType operation)
{
	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
		return false;
	return operation == CMD_INSERT ? facts->inserts :
		operation == CMD_UPDATE ? facts->updates : facts->deletes;
}

/*
 * Prepare to write up to capacity rows at a time to an open table; returns false if
 * that must be left to SQL.  The caller must call TableWriterEnd() in either case.
 */
bool
TableWriterBegin(TableWriter *writer, Relation relation, CmdType operation, int capacity,
				 const TupleTableSlotOps *ops)
{
	memset(writer, 0, sizeof(TableWriter));
	writer->relation = relation;
	writer->operation = operation;
	writer->capacity = capacity;
	writer->ops = ops;
	writer->facts = WriteFactsOf(relation);
	writer->context = CurrentMemoryContext;
	writer->descriptor = RelationGetDescr(relation);
	if (!IsAllowed(writer->facts, operation))
		return false;
	CheckCmdReplicaIdentity(relation, operation);
	if (capacity <= FEW_ROWS)
		return true;

	/* A copy, because each slot would hold a reference to the original. */
	writer->context = AllocSetContextCreate(CurrentMemoryContext, "dms rows to write",
											ALLOCSET_DEFAULT_SIZES);
	writer->batch = AllocSetContextCreate(writer->context, "dms batch of rows",
										  ALLOCSET_DEFAULT_SIZES);
	writer->descriptor = CreateTupleDescCopy(writer->descriptor);
	return true;
}

/* Close the indexes and release the slots. */
void
TableWriterEnd(TableWriter *writer)
{
	for (int i = 0; i < writer->nslots; i++)
		ExecDropSingleTupleTableSlot(writer->slots[i]);
	for (int i = 0; writer->indexes != NULL && i < writer->facts->nindexes; i++)
		index_close(writer->indexes[i], RowExclusiveLock);
	if (writer->batch != NULL)
		MemoryContextDelete(writer->context);
}

/* Returns an empty slot for one more row. */
TupleTableSlot *
TableWriterAdd(TableWriter *writer)
{
	Assert(writer->n < writer->capacity);
	if (writer->n == writer->nslots)
	{
		MemoryContext saved = MemoryContextSwitchTo(writer->context);

		if (writer->slots == NULL)
		{
			writer->slots = palloc_extended(sizeof(TupleTableSlot *) * writer->capacity, MCXT_ALLOC_HUGE);
			writer->rechecks = palloc_extended(sizeof(List *) * writer->capacity,
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		}
		writer->slots[writer->nslots++] = MakeSingleTupleTableSlot(writer->descriptor, writer->ops);
		MemoryContextSwitchTo(saved);
	}
	return writer->slots[writer->n++];
}

/* Open all indexes, as a statement does. */
static void
OpenIndexes(TableWriter *writer)
{
	const WriteFacts *facts = writer->facts;
	MemoryContext saved;

	if (writer->indexes != NULL)
		return;
	saved = MemoryContextSwitchTo(writer->context);
	writer->indexes = palloc(sizeof(Relation) * Max(facts->nindexes, 1));
	for (int i = 0; i < facts->nindexes; i++)
		writer->indexes[i] = index_open(facts->indexes[i].index, RowExclusiveLock);
	MemoryContextSwitchTo(saved);
}

/* Compare two rows by the first column of an index, for qsort_arg(). */
static int
CompareEntries(const void *a, const void *b, void *arg)
{
	const Entry *left = a;
	const Entry *right = b;

	return ApplySortComparator(left->key, left->isnull, right->key, right->isnull, arg);
}

/* Put the entries of a B-tree in the order of its first column. */
static void
SortEntries(Entry *entries, int n, Relation index)
{
	SortSupportData sort = {0};

	sort.ssup_cxt = CurrentMemoryContext;
	sort.ssup_collation = index->rd_indcollation[0];
	sort.ssup_nulls_first = (index->rd_indoption[0] & INDOPTION_NULLS_FIRST) != 0;
	sort.ssup_attno = 1;
	PrepareSortSupportFromIndexRel(index, (index->rd_indoption[0] & INDOPTION_DESC) != 0 ?
								   BTGreaterStrategyNumber : BTLessStrategyNumber, &sort);
	qsort_arg(entries, n, sizeof(Entry), CompareEntries, &sort);
}

/* Collect the rows that get an entry in an index; returns their number. */
static int
CollectEntries(TableWriter *writer, int which, Entry *entries)
{
	const WriteIndex *described = &writer->facts->indexes[which];
	Relation	index = writer->indexes[which];
	AttrNumber	first = index->rd_index->indkey.values[0];
	int			n = 0;

	for (int i = 0; i < writer->n; i++)
	{
		if (described->filter > 0 &&
			slot_attisnull(writer->slots[i], described->filter) != described->filter_null)
			continue;
		entries[n].row = i;
		entries[n].key = slot_getattr(writer->slots[i], first, &entries[n].isnull);
		n++;
	}
	if (n > FEW_ROWS && described->btree)
		SortEntries(entries, n, index);
	return n;
}

/*
 * Returns true if an update changes no column of the index.  A change of the column
 * that its predicate tests may make the row enter the index.
 */
static bool
IsUnchanged(const TableWriter *writer, const FormData_pg_index *index, AttrNumber filter)
{
	for (int j = 0; j < writer->nchanged; j++)
	{
		if (filter == writer->changed[j])
			return false;
		for (int i = 0; i < index->indnatts; i++)
			if (index->indkey.values[i] == writer->changed[j])
				return false;
	}
	return writer->operation == CMD_UPDATE;
}

/*
 * Returns whether the index must check that keys are unique.  A key that the
 * update did not change was checked when its row was inserted.  A concurrent
 * insertion of the same key finds the old version in _bt_check_unique() and waits
 * for us, as it does after a HOT update, which inserts no entry at all.  But an
 * index that is still being built has not checked existing rows yet, and a
 * deferrable key may not have been checked yet: the check that is due would pass
 * over the old version, so there must be one for the new version.
 */
static IndexUniqueCheck
UniqueCheck(const FormData_pg_index *index, bool unchanged)
{
	if (!index->indisunique)
		return UNIQUE_CHECK_NO;
	if (!index->indimmediate)
		return UNIQUE_CHECK_PARTIAL;
	return unchanged && index->indisvalid ? UNIQUE_CHECK_NO : UNIQUE_CHECK_YES;
}

/* Insert the entry of a row into an index; returns false if its key may not be unique. */
static bool
InsertEntry(TableWriter *writer, int which, TupleTableSlot *slot, IndexUniqueCheck check, bool unchanged)
{
	Relation	index = writer->indexes[which];
	Form_pg_index form = index->rd_index;
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	for (int i = 0; i < form->indnatts; i++)
		values[i] = slot_getattr(slot, form->indkey.values[i], &nulls[i]);
	return index_insert(index, values, nulls, &slot->tts_tid, writer->relation, check, unchanged,
						writer->facts->indexes[which].info) || check != UNIQUE_CHECK_PARTIAL;
}

/* Note that a deferrable unique key of a row must be checked by its trigger. */
static void
NoteRecheck(TableWriter *writer, int row, Oid index)
{
	MemoryContext saved = MemoryContextSwitchTo(writer->context);

	writer->rechecks[row] = lappend_oid(writer->rechecks[row], index);
	writer->doubtful = true;
	MemoryContextSwitchTo(saved);
}

/* Insert the entries of all rows of the batch into one index. */
static void
FillIndex(TableWriter *writer, int which)
{
	Relation	index = writer->indexes[which];
	Entry	   *entries = palloc_extended(sizeof(Entry) * writer->n, MCXT_ALLOC_HUGE);
	int			n = CollectEntries(writer, which, entries);
	bool		unchanged = IsUnchanged(writer, index->rd_index, writer->facts->indexes[which].filter);
	IndexUniqueCheck check = UniqueCheck(index->rd_index, unchanged);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!InsertEntry(writer, which, writer->slots[entries[i].row], check, unchanged))
			NoteRecheck(writer, entries[i].row, RelationGetRelid(index));
	}
	pfree(entries);
}

/*
 * Insert the index entries of the rows that were added.  Until then rows exist that
 * have no index entries, so no statement that might have to find them may run on
 * the table.
 */
void
TableWriterFill(TableWriter *writer)
{
	MemoryContext saved = CurrentMemoryContext;

	if (writer->n == 0)
		return;
	OpenIndexes(writer);
	if (writer->batch != NULL)
		MemoryContextSwitchTo(writer->batch);
	for (int i = 0; i < writer->facts->nindexes; i++)
		FillIndex(writer, i);
	MemoryContextSwitchTo(saved);
	if (writer->batch != NULL)
		MemoryContextReset(writer->batch);
}

/* Forget the rows that were written. */
void
TableWriterClear(TableWriter *writer)
{
	for (int i = 0; i < writer->n; i++)
		ExecClearTuple(writer->slots[i]);
	if (writer->doubtful)
		memset(writer->rechecks, 0, sizeof(List *) * writer->n);
	writer->doubtful = false;
	writer->n = 0;
}

/* Write the rows that were added, and their index entries. */
void
TableWriterInsert(TableWriter *writer)
{
	MemoryContext saved = CurrentMemoryContext;

	if (writer->n == 0)
		return;
	if (writer->batch != NULL)
		MemoryContextSwitchTo(writer->batch);
	if (writer->n == 1)
		table_tuple_insert(writer->relation, writer->slots[0], GetCurrentCommandId(true), 0, NULL);
	else
		table_multi_insert(writer->relation, writer->slots, writer->n, GetCurrentCommandId(true), 0, NULL);
	MemoryContextSwitchTo(saved);
	TableWriterFill(writer);
}

/*
 * Write one row, unless another one may have its key in a unique index, the
 * arbiter.  Returns false if that is so, and nothing was written.  This is how
 * INSERT ... ON CONFLICT begins: until the row is confirmed, sessions that find it
 * wait for that, and not for the end of our transaction.
 */
bool
TableWriterClaim(TableWriter *writer, Oid arbiter)
{
	TransactionId xid = GetCurrentTransactionId();
	TupleTableSlot *slot = writer->slots[0];
	bool		taken = false;
	uint32		token;

	Assert(writer->n == 1);
	OpenIndexes(writer);
	token = SpeculativeInsertionLockAcquire(xid);
	table_tuple_insert_speculative(writer->relation, slot, GetCurrentCommandId(true), 0, NULL, token);
	for (int i = 0; i < writer->facts->nindexes && !taken; i++)
		if (writer->facts->indexes[i].index == arbiter)
			taken = !InsertEntry(writer, i, slot, UNIQUE_CHECK_PARTIAL, false);
	for (int i = 0; i < writer->facts->nindexes && !taken; i++)
		if (writer->facts->indexes[i].index != arbiter)
			FillIndex(writer, i);
	table_tuple_complete_speculative(writer->relation, slot, token, !taken);
	SpeculativeInsertionLockRelease(xid);
	return !taken;
}

/*
 * Write a new version of a row, which is in a slot that was added.  Returns false
 * if the old one was changed concurrently.  *entries is set to whether the new one
 * needs index entries.
 */
bool
TableWriterUpdate(TableWriter *writer, TupleTableSlot *old, TupleTableSlot *row, bool *entries)
{
	TM_FailureData failure;
	LockTupleMode mode;
	CompatUpdateIndexes indexes;

	if (table_tuple_update(writer->relation, &old->tts_tid, row, GetCurrentCommandId(true),
						   GetActiveSnapshot(), InvalidSnapshot, true, &failure, &mode, &indexes) != TM_Ok)
		return false;
	*entries = COMPAT_MUST_UPDATE_INDEXES(indexes);
	return true;
}

/* Check the code that the queries of foreign keys would run, before triggers run them. */
static void
CheckTargets(const ForeignKey *keys, int nkeys)
{
	for (int i = 0; i < nkeys && OwnerCodeApplies(); i++)
	{
		LockRelationOid(keys[i].target, RowShareLock);
		OwnerCodeCheckTarget(keys[i].target);
	}
}

/*
 * Fire the triggers that would be fired after a statement that wrote these rows.
 * The facts say that all of them belong to constraints.
 */
static void
FireTriggers(TableWriter *writer, TupleTableSlot *old)
{
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *info = makeNode(ResultRelInfo);

	InitResultRelInfo(info, writer->relation, 0, NULL, 0);
	estate->es_opened_result_relations = lappend(estate->es_opened_result_relations, info);
	AfterTriggerBeginQuery();
	for (int i = 0; i < writer->n; i++)
	{
		if (writer->operation == CMD_INSERT)
			ExecARInsertTriggers(estate, info, writer->slots[i], writer->rechecks[i], NULL);
		else
			ExecARUpdateTriggers(estate, info, NULL, NULL, &old->tts_tid, NULL, writer->slots[i],
								 writer->rechecks[i], NULL, false);
	}
	AfterTriggerEndQuery(estate);
	ExecResetTupleTable(estate->es_tupleTable, false);
	FreeExecutorState(estate);
}

/*
 * Check the constraints of the rows that were written: foreign keys, and unique keys
 * that may be violated.  An update has written one row, and old is its old version.
 */
void
TableWriterCheck(TableWriter *writer, TupleTableSlot *old)
{
	const WriteFacts *facts = writer->facts;
	bool		inserts = writer->operation == CMD_INSERT;
	const ForeignKey *keys = inserts ? facts->insert_keys : facts->update_keys;
	int			nkeys = inserts ? facts->ninsert_keys : facts->nupdate_keys;

	Assert(inserts || writer->n == 1);
	if (!writer->doubtful &&
		ForeignKeysHold(writer->relation, keys, nkeys, writer->slots, old, writer->n))
		return;
	CheckTargets(keys, nkeys);
	FireTriggers(writer, old);
}
