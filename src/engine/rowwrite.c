/*
 * rowwrite.c
 *		Writing the rows of a document.
 *
 * A write of a document changes a few rows in each of several tables.  Starting and
 * ending a statement for each table costs more than its rows, so they are written
 * without statements, where that is certain to have the same result.  If it is not,
 * nothing has been written yet, and the statement does all of it.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "base/faults.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "engine/keyscan.h"
#include "engine/keywrite.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/snapshot.h"
#include "engine/tablewriter.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Returns true if values of a type can be assigned to a column here. */
static bool
IsAssignable(Form_pg_attribute column, Oid type)
{
	if (column->atttypid != type && !(column->atttypid == VARCHAROID && type == TEXTOID))
		return false;
	return column->atttypmod < 0 || column->atttypid == VARCHAROID || column->atttypid == NUMERICOID ||
		column->atttypid == TIMEOID || column->atttypid == TIMESTAMPTZOID;
}

/* Returns true if values can be assigned to the columns from first to end. */
static bool
AreAssignable(const KeyScan *opened, int first, int end)
{
	for (int i = first; i < end; i++)
		if (!IsAssignable(TupleDescAttr(RelationGetDescr(opened->relation), opened->columns[i] - 1),
						  opened->table->types[i]))
			return false;
	return true;
}

/*
 * Bring a value into the form in which a column stores it, as the assignment of a
 * statement does: to the length, precision or scale of the column.
 */
static Datum
Assign(Form_pg_attribute column, Datum value)
{
	Datum		typmod = Int32GetDatum(column->atttypmod);

	if (column->atttypmod < 0)
		return value;
	switch (column->atttypid)
	{
		case VARCHAROID:
			if ((int32) VARSIZE_ANY_EXHDR(DatumGetPointer(value)) <= column->atttypmod - VARHDRSZ)
				return value;
			return DirectFunctionCall3(varchar, value, typmod, BoolGetDatum(false));
		case NUMERICOID:
			return DirectFunctionCall2(numeric, value, typmod);
		case TIMEOID:
			return DirectFunctionCall2(time_scale, value, typmod);
		default:
			Assert(column->atttypid == TIMESTAMPTZOID);
			return DirectFunctionCall2(timestamptz_scale, value, typmod);
	}
}

/* Put the columns from first to end into a slot. */
static void
AssignColumns(TupleTableSlot *slot, const KeyScan *opened, int first, int end,
			  const Datum *values, const bool *nulls)
{
	for (int i = first; i < end; i++)
	{
		int			at = opened->columns[i] - 1;

		slot->tts_isnull[at] = nulls != NULL && nulls[i];
		slot->tts_values[at] = slot->tts_isnull[at] ? (Datum) 0 :
			Assign(TupleDescAttr(slot->tts_tupleDescriptor, at), values[i]);
	}
}

/*
 * Returns true if all columns that must not be NULL have values.  The descriptor of
 * the slot may be a copy, which does not say which columns these are.
 */
static bool
IsComplete(const TupleTableSlot *slot, Relation relation)
{
	TupleDesc	descriptor = RelationGetDescr(relation);

	for (int i = 0; i < descriptor->natts; i++)
		if (slot->tts_isnull[i] && TupleDescAttr(descriptor, i)->attnotnull)
			return false;
	return true;
}

/* Fill a slot with the defaults of all columns. */
static void
FillDefaults(TupleTableSlot *slot, const WriteFacts *facts)
{
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		const ColumnFill *fill = &facts->fills[i];

		slot->tts_isnull[i] = fill->kind == FILL_NULL || fill->kind == FILL_UNKNOWN;
		slot->tts_values[i] = fill->kind == FILL_CONSTANT ? fill->value :
			fill->kind == FILL_NOW ? TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()) : (Datum) 0;
	}
}

/* Returns true if the default of each column is known that is not among the first ngiven. */
static bool
AreDefaultsKnown(const KeyScan *opened, const WriteFacts *facts, int ngiven)
{
	int			unknown = facts->nunknown;

	for (int i = 0; i < ngiven && unknown > 0; i++)
		unknown -= facts->fills[opened->columns[i] - 1].kind == FILL_UNKNOWN;
	return unknown == 0;
}

/*
 * Open a table to insert up to capacity rows, of which the first ngiven columns are
 * given.  Returns false if a statement must do it, and nothing is open then.
 */
static bool
BeginInsert(KeyScan *opened, TableWriter *writer, KeyedTable *table, int ngiven, int capacity)
{
	AclMode		rights = ngiven == table->ncolumns ? ACL_INSERT : ACL_INSERT | ACL_SELECT;

	if (!KeyScanOpen(opened, table, RowExclusiveLock, rights))
		return false;
	if (TableWriterBegin(writer, opened->relation, CMD_INSERT, capacity, &TTSOpsVirtual) &&
		AreAssignable(opened, 0, ngiven) && AreDefaultsKnown(opened, writer->facts, ngiven))
		return true;
	TableWriterEnd(writer);
	KeyScanClose(opened);
	return false;
}

/* Close a table after an insertion. */
static void
EndInsert(KeyScan *opened, TableWriter *writer)
{
	TableWriterEnd(writer);
	KeyScanClose(opened);
	CommandCounterIncrement();
}

/*
 * Add a row to insert, of which the first ngiven columns are given; returns false if
 * a value is missing or refused.
 */
static bool
AddRow(TableWriter *writer, const KeyScan *opened, const Row *row, int ngiven)
{
	TupleTableSlot *slot = TableWriterAdd(writer);

	FillDefaults(slot, writer->facts);
	AssignColumns(slot, opened, 0, ngiven, row->values, row->nulls);
	if (!IsComplete(slot, writer->relation))
		return false;
	ExecStoreVirtualTuple(slot);
	return WriteFactsAccept(writer->facts, slot);
}

/* Insert rows without a statement; returns false if that cannot be done. */
static bool
InsertDirectly(KeyedTable *table, const RowSet *rows)
{
	KeyScan		opened;
	TableWriter writer;
	bool		able = true;

	if (!BeginInsert(&opened, &writer, table, table->ncolumns, rows->nrows))
		return false;
	for (int i = 0; able && i < rows->nrows; i++)
		able = AddRow(&writer, &opened, &rows->rows[i], table->ncolumns);
	if (able)
	{
		TableWriterInsert(&writer);
		TableWriterCheck(&writer, NULL);
	}
	EndInsert(&opened, &writer);
	return able;
}

/* Returns true if one of the first n columns of a description is this column. */
static bool
IsAmong(const KeyScan *opened, AttrNumber column, int n)
{
	for (int i = 0; i < n; i++)
		if (opened->columns[i] == column)
			return true;
	return false;
}

/*
 * Returns true if each column that must not be NULL, or that an insertion returns,
 * has a value if the first ngiven columns are given.
 */
static bool
AreDefaultsEnough(const KeyScan *opened, const WriteFacts *facts, int ngiven)
{
	TupleDesc	descriptor = RelationGetDescr(opened->relation);

	for (int i = 0; i < descriptor->natts; i++)
		if (facts->fills[i].kind == FILL_NULL && !IsAmong(opened, i + 1, ngiven) &&
			(TupleDescAttr(descriptor, i)->attnotnull || IsAmong(opened, i + 1, opened->table->ncolumns)))
			return false;
	return true;
}

/*
 * Returns true if rows can be inserted into a table without a statement, given their
 * first ngiven columns, and have no foreign keys: the row that they refer to may be
 * inserted later, by what would be the same statement.  The table stays locked, so
 * that this remains so.
 */
bool
RowWriteInserts(KeyedTable *table, int ngiven)
{
	KeyScan		opened;
	TableWriter writer;
	bool		able;

	if (!BeginInsert(&opened, &writer, table, ngiven, 1))
		return false;
	able = writer.facts->ninsert_keys == 0 && AreDefaultsEnough(&opened, writer.facts, ngiven);
	TableWriterEnd(&writer);
	KeyScanClose(&opened);
	return able;
}

/*
 * Insert a row without a statement, given its first ngiven columns; sets the others
 * to their defaults, which must not be NULL.  Returns false if that cannot be done.
 */
bool
RowWriteReturning(KeyedTable *table, Row *row, int ngiven)
{
	KeyScan		opened;
	TableWriter writer;
	bool		able;

	if (!BeginInsert(&opened, &writer, table, ngiven, 1))
		return false;
	able = AddRow(&writer, &opened, row, ngiven);
	for (int i = ngiven; able && i < table->ncolumns; i++)
	{
		row->values[i] = writer.slots[0]->tts_values[opened.columns[i] - 1];
		able = !writer.slots[0]->tts_isnull[opened.columns[i] - 1];
	}
	if (able)
	{
		TableWriterInsert(&writer);
		TableWriterCheck(&writer, NULL);
	}
	EndInsert(&opened, &writer);
	return able;
}

/* Returns true if the key columns of an index are those that identify a row. */
static bool
IsOfKey(const KeyScan *opened, const IndexInfo *info)
{
	if (info->ii_NumIndexKeyAttrs != opened->table->nkeys)
		return false;
	for (int i = 0; i < info->ii_NumIndexKeyAttrs; i++)
		if (!IsAmong(opened, info->ii_IndexAttrNumbers[i], opened->table->nkeys))
			return false;
	return true;
}

/*
 * Returns the only unique index of just the key; InvalidOid if it is not the only one,
 * or ON CONFLICT would not use it.
 */
static Oid
ArbiterOf(const KeyScan *opened, const WriteFacts *facts)
{
	Oid			arbiter = InvalidOid;

	for (int i = 0; i < facts->nindexes; i++)
	{
		const IndexInfo *info = facts->indexes[i].info;

		if (!info->ii_Unique || !IsOfKey(opened, info))
			continue;
		if (OidIsValid(arbiter) || facts->indexes[i].filter > 0 || !facts->indexes[i].arbiter)
			return InvalidOid;
		arbiter = facts->indexes[i].index;
	}
	return arbiter;
}

/*
 * Insert a row unless another one has the same key, for which there must be a unique
 * index.  Returns false if nothing was written, and a statement must decide.  It also does if
 * there are foreign keys, as in RowWriteInserts().
 */
bool
RowWriteClaim(KeyedTable *table, const Row *row)
{
	KeyScan		opened;
	TableWriter writer;
	Oid			arbiter;
	bool		able;

	if (!BeginInsert(&opened, &writer, table, table->ncolumns, 1))
		return false;
	arbiter = ArbiterOf(&opened, writer.facts);
	able = OidIsValid(arbiter) && writer.facts->ninsert_keys == 0 &&
		AddRow(&writer, &opened, row, table->ncolumns) && TableWriterClaim(&writer, arbiter);
	if (able)
		TableWriterCheck(&writer, NULL);
	EndInsert(&opened, &writer);
	return able;
}

/* Returns true if the current row of a scan has the rest of the key of these values. */
static bool
HasKey(KeyScan *scan, const Datum *values)
{
	const KeyedTable *table = scan->table;

	for (int i = KeyedTableSearchColumns(table); i < table->nkeys; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(scan->relation), scan->columns[i] - 1);
		bool		isnull;
		Datum		stored = slot_getattr(scan->slot, scan->columns[i], &isnull);

		if (isnull || !datumIsEqual(stored, values[i], column->attbyval, column->attlen))
			return false;
	}
	return true;
}

/*
 * Find the row of these key values in the active snapshot.  Returns false if there
 * is none, or no way to find it.
 */
static bool
FindRow(KeyScan *scan, const Datum *values)
{
	bool		placed = scan->table->placed && scan->table->nkeys == 1;

	if (placed && KeyScanFindPlaced(scan, values[0]))
		return true;
	if (!KeyScanBegin(scan, values))
		return false;
	while (KeyScanNext(scan))
		if (HasKey(scan, values))
		{
			if (placed)
				KeyScanLearnPlace(scan, values[0]);
			return true;
		}
	return false;
}

/* Returns true if a foreign key that points at the row does so by a value that changes. */
static bool
IsReferenceLost(TableWriter *writer, TupleTableSlot *old, TupleTableSlot *row)
{
	const TriggerDesc *triggers = writer->relation->trigdesc;

	for (int i = 0; i < writer->facts->nreferenced; i++)
		if (RI_FKey_pk_upd_check_required(&triggers->triggers[writer->facts->referenced[i]],
										  writer->relation, old, row))
			return true;
	return false;
}

/* Note the columns in which two versions of a row differ. */
static void
NoteChanged(TableWriter *writer, TupleTableSlot *old, TupleTableSlot *row)
{
	TupleDesc	descriptor = writer->descriptor;
	int		   *changed = palloc(sizeof(int) * descriptor->natts);

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (old->tts_isnull[i] != row->tts_isnull[i] ||
			(!old->tts_isnull[i] && !datumIsEqual(old->tts_values[i], row->tts_values[i],
												  column->attbyval, column->attlen)))
			changed[writer->nchanged++] = i + 1;
	}
	writer->changed = changed;
}

/* Make the new version of the row that a scan has found; returns false if a statement must. */
static bool
MakeVersion(TableWriter *writer, KeyScan *scan, TupleTableSlot *row, const Datum *values, const bool *nulls)
{
	Size		natts = writer->descriptor->natts;

	slot_getallattrs(scan->slot);
	memcpy(row->tts_values, scan->slot->tts_values, sizeof(Datum) * natts);
	memcpy(row->tts_isnull, scan->slot->tts_isnull, sizeof(bool) * natts);
	AssignColumns(row, scan, scan->table->nkeys, scan->table->ncolumns, values, nulls);
	if (!IsComplete(row, writer->relation))
		return false;
	ExecStoreVirtualTuple(row);
	return WriteFactsAccept(writer->facts, row) && !IsReferenceLost(writer, scan->slot, row);
}

/*
 * Update the row that a scan has found; returns false if a statement must do it,
 * because another transaction changed it, or for another reason.
 */
static bool
UpdateFound(TableWriter *writer, KeyScan *scan, const Datum *values, const bool *nulls)
{
	TupleTableSlot *row = TableWriterAdd(writer);
	bool		entries;

	if (!MakeVersion(writer, scan, row, values, nulls))
		return false;
	NoteChanged(writer, scan->slot, row);
	if (!TableWriterUpdate(writer, scan->slot, row, &entries))
		return false;
	if (entries)
		TableWriterFill(writer);
	TableWriterCheck(writer, scan->slot);
	KeyScanMovePlace(scan, values[0], &row->tts_tid);
	return true;
}

/* The state of an update of one row. */
typedef struct RowUpdate
{
	bool		opened;
	KeyScan		scan;
	TableWriter writer;
} RowUpdate;

/* Open a table to update a row, and find the row; returns false if that cannot be done. */
static bool
BeginUpdate(RowUpdate *update, KeyedTable *table, const Datum *values)
{
	update->opened = KeyScanOpen(&update->scan, table, RowExclusiveLock, ACL_SELECT | ACL_UPDATE);
	if (!update->opened)
		return false;
	SnapshotBegin();
	return TableWriterBegin(&update->writer, update->scan.relation, CMD_UPDATE, 1, &TTSOpsVirtual) &&
		AreAssignable(&update->scan, table->nkeys, table->ncolumns) &&
		WriteFactsUpdate(update->writer.facts, update->scan.columns + table->nkeys,
						 table->ncolumns - table->nkeys) &&
		FindRow(&update->scan, values);
}

/* Close the table of an update, if it was opened. */
static void
EndUpdate(RowUpdate *update)
{
	if (!update->opened)
		return;
	TableWriterEnd(&update->writer);
	KeyScanClose(&update->scan);
	SnapshotEnd();
	CommandCounterIncrement();
}

/* Update a row without a statement; returns false if that cannot be done. */
static bool
UpdateDirectly(KeyedTable *table, const Row *row)
{
	RowUpdate	update;
	bool		able = BeginUpdate(&update, table, row->values) &&
	UpdateFound(&update.writer, &update.scan, row->values, row->nulls);

	EndUpdate(&update);
	return able;
}

/* Get the columns of the current row of a scan. */
static void
ScannedRow(KeyScan *scan, Datum *values, bool *nulls)
{
	for (int i = 0; i < scan->table->ncolumns; i++)
		values[i] = slot_getattr(scan->slot, scan->columns[i], &nulls[i]);
}

/*
 * Change the row that has a key, in its newest version.  The callback gets its
 * values.  Returns false if nothing was written, and a statement must decide.
 */
bool
RowWriteEdit(KeyedTable *table, const Datum *keys, RowEdit edit, void *arg)
{
	Datum	   *values = palloc(sizeof(Datum) * table->ncolumns);
	bool	   *nulls = palloc(sizeof(bool) * table->ncolumns);
	RowUpdate	update;
	bool		able;

	Assert(table->nkeys == KeyedTableSearchColumns(table));
	able = BeginUpdate(&update, table, keys);
	if (able)
	{
		ScannedRow(&update.scan, values, nulls);
		able = edit(values, nulls, arg) && UpdateFound(&update.writer, &update.scan, values, nulls);
	}
	EndUpdate(&update);
	return able;
}

/* The rows to delete, in order of the key. */
typedef struct Deletion
{
	const KeyedTable *table;
	const RowSet *rows;
} Deletion;

/* Returns a column of a key as a number. */
static int64
KeyNumber(const KeyedTable *table, int column, const Datum *values)
{
	return table->types[column] == INT8OID ? DatumGetInt64(values[column]) : DatumGetInt32(values[column]);
}

/* Compare two keys. */
static int
CompareKeys(const KeyedTable *table, const Datum *a, const Datum *b)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		int64		left = KeyNumber(table, i, a);
		int64		right = KeyNumber(table, i, b);

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

/* Callback: returns true if a row is one of those to delete. */
static bool
IsToDelete(const Datum *values, void *arg)
{
	Deletion   *deletion = arg;
	int			low = 0;
	int			high = deletion->rows->nrows;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = CompareKeys(deletion->table, values, deletion->rows->rows[middle].values);

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* Returns true if the columns of a key are numbers. */
static bool
HasNumbersAsKey(const KeyedTable *table)
{
	for (int i = 0; i < table->nkeys; i++)
		if (table->types[i] != INT8OID && table->types[i] != INT4OID)
			return false;
	return true;
}

/*
 * Delete rows of one document without a statement; returns false if that cannot be
 * done.  *deleted is set to the number of rows.
 */
static bool
DeleteDirectly(KeyedTable *table, const RowSet *rows, uint64 *deleted)
{
	Deletion	deletion = {.table = table,.rows = rows};
	int64		id = DatumGetInt64(rows->rows[0].values[0]);

	if (!HasNumbersAsKey(table) || DatumGetInt64(rows->rows[rows->nrows - 1].values[0]) != id)
		return false;
	return KeyWriteTryDelete(table, &id, 1, IsToDelete, &deletion, deleted);
}

/*
 * Insert, update or delete rows of one document, in order of their keys.  Returns
 * the number of rows processed.
 */
uint64
RowWriteRun(KeyedTable *table, KeyedVerb verb, const RowSet *rows)
{
	uint64		deleted;

	if (rows->nrows == 0)
		return 0;
	if (verb == KEYED_INSERT && InsertDirectly(table, rows))
		return rows->nrows;
	if (verb == KEYED_UPDATE && rows->nrows == 1 && UpdateDirectly(table, &rows->rows[0]))
		return 1;
	if (verb == KEYED_DELETE && DeleteDirectly(table, rows, &deleted))
		return deleted;
	return KeyedTableRun(table, verb, rows);
}

/*
 * Lock the row whose key is an id, and get its values, which must not be NULL.
 * Returns false if it was not locked, and a statement must decide: the row may not
 * exist, or have been changed since, or be locked already.
 */
bool
RowWriteLock(KeyedTable *table, int64 id, LockTupleMode mode, LockWaitPolicy wait, Datum *values)
{
	KeyScan		scan;
	TM_FailureData failure;
	TupleTableSlot *slot;
	bool		nulls[MaxTupleAttributeNumber] = {false};
	Datum		key = Int64GetDatum(id);
	bool		locked;

	if (!KeyScanOpen(&scan, table, RowShareLock, ACL_SELECT | ACL_UPDATE))
		return false;
	SnapshotBegin();
	slot = table_slot_create(scan.relation, NULL);
	locked = FindRow(&scan, &key) &&
		table_tuple_lock(scan.relation, &scan.slot->tts_tid, GetActiveSnapshot(), slot,
						 GetCurrentCommandId(true), mode, wait,
						 TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS, &failure) == TM_Ok;
	if (locked)
		ScannedRow(&scan, values, nulls);
	for (int i = 0; locked && i < table->ncolumns; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(scan.relation), scan.columns[i] - 1);

		if (nulls[i])
			ResultRefuse("NULL where there must be a value");
		values[i] = datumCopy(values[i], column->attbyval, column->attlen);
	}
	ExecDropSingleTupleTableSlot(slot);
	KeyScanClose(&scan);
	SnapshotEnd();
	return locked;
}
