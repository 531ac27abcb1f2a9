/*
 * keyscan.c
 *		Reading rows by an indexed key, without a planner.
 *
 * Reads by key have only one sensible plan.  To find it, the planner would
 * open every index of every table the first time a session meets them, which
 * takes longer than all the rest of a first read.  So where nothing but the
 * index decides what comes, it is scanned directly: in the active snapshot,
 * with the locks and the rights that a SELECT needs.  Whatever is more than
 * that (a view, policies of row-level security, tables that inherit, rights on
 * single columns) is left to SQL.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "executor/tuptable.h"
#include "faults.h"
#include "keyscan.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "plan.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/* Make room for rows. */
void
StoredRowsInit(StoredRows *rows, int ncolumns, int expected)
{
	memset(rows, 0, sizeof(StoredRows));
	rows->ncolumns = ncolumns;
	rows->capacity = Max(expected, 1);
	rows->values = palloc_extended(sizeof(Datum) * rows->capacity * ncolumns, MCXT_ALLOC_HUGE);
	rows->nulls = palloc_extended(sizeof(bool) * rows->capacity * ncolumns, MCXT_ALLOC_HUGE);
}

/* Have room for one row more. */
void
StoredRowsGrow(StoredRows *rows)
{
	if (rows->nrows < rows->capacity)
		return;
	rows->capacity *= 2;
	rows->values = repalloc_huge(rows->values, sizeof(Datum) * rows->capacity * rows->ncolumns);
	rows->nulls = repalloc_huge(rows->nulls, sizeof(bool) * rows->capacity * rows->ncolumns);
}

/* Put a row in the place of another. */
void
StoredRowsMove(StoredRows *rows, int from, int to)
{
	if (from == to)
		return;
	memcpy(StoredRowValues(rows, to), StoredRowValues(rows, from), sizeof(Datum) * rows->ncolumns);
	memcpy(StoredRowNulls(rows, to), StoredRowNulls(rows, from), sizeof(bool) * rows->ncolumns);
}

/*
 * Run a statement of a read.  All that run under one active snapshot see the
 * same state; with snapshots of their own, a new body could come with an old
 * etag.
 */
uint64
ReadRun(Statement *statement, Datum *values, long limit)
{
	return StatementRun(statement, values, NULL, !FAULT_SKIP("read_snapshot"), limit);
}

/* Take the rows of the last result apart; they live as long as it does. */
void
StoredRowsTake(StoredRows *rows)
{
	StoredRowsInit(rows, SPI_tuptable->tupdesc->natts, (int) SPI_processed);
	rows->nrows = (int) SPI_processed;
	for (int i = 0; i < rows->nrows; i++)
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  StoredRowValues(rows, i), StoredRowNulls(rows, i));
}

/* Would a SELECT by the current user see all rows of it, and only of it? */
static bool
IsPlainlyReadable(Relation relation)
{
	Oid			id = RelationGetRelid(relation);

	return relation->rd_rel->relkind == RELKIND_RELATION &&
		!relation->rd_rel->relhassubclass &&
		pg_class_aclcheck(id, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(id, InvalidOid, true) != RLS_ENABLED;
}

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

/* Find the columns; false when one is not there, which SQL shall report. */
static bool
FindColumns(Relation relation, const KeyScanTable *table, AttrNumber *numbers)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		numbers[i] = ColumnNumber(RelationGetDescr(relation), table->columns[i], i);
		if (numbers[i] == InvalidAttrNumber)
			return false;
	}
	return true;
}

/* Does the index lead to all rows by these columns, in the order of their key? */
static bool
LeadsTo(Relation index, const AttrNumber *columns, int n)
{
	Form_pg_index form = index->rd_index;

	if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || form->indnkeyatts < n ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	for (int i = 0; i < n; i++)
		if (form->indkey.values[i] != columns[i])
			return false;
	return true;
}

/* Open the index if it serves; NULL if it does not. */
static Relation
OpenServing(Oid id, const AttrNumber *columns, int n)
{
	Relation	index;

	if (!OidIsValid(id))
		return NULL;
	index = index_open(id, AccessShareLock);
	if (LeadsTo(index, columns, n))
		return index;
	index_close(index, AccessShareLock);
	return NULL;
}

/* An index that leads with the columns: the primary key, or another. */
static Relation
OpenIndex(Relation relation, const AttrNumber *columns, int n)
{
	List	   *ids = RelationGetIndexList(relation);
	Relation	found = OpenServing(relation->rd_pkindex, columns, n);
	ListCell   *cell;

	foreach(cell, ids)
	{
		if (found == NULL && lfirst_oid(cell) != relation->rd_pkindex)
			found = OpenServing(lfirst_oid(cell), columns, n);
	}
	list_free(ids);
	return found;
}

/* Copy a row out of the slot; all its columns fit into the scratch row. */
static void
TakeRow(TupleTableSlot *slot, const AttrNumber *columns, StoredRows *scratch,
		StoredRows *rows)
{
	Datum	   *values;
	bool	   *nulls;

	heap_deform_tuple(ExecCopySlotHeapTuple(slot), slot->tts_tupleDescriptor,
					  scratch->values, scratch->nulls);
	StoredRowsGrow(rows);
	values = StoredRowValues(rows, rows->nrows);
	nulls = StoredRowNulls(rows, rows->nrows);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		values[i] = scratch->values[columns[i] - 1];
		nulls[i] = scratch->nulls[columns[i] - 1];
	}
	rows->nrows++;
}

/* Scan the index; rows come in its order. */
static void
ScanIndex(Relation relation, Relation index, const KeyScanKey *keys, int nkeys,
		  const AttrNumber *columns, StoredRows *rows)
{
	ScanKeyData scan_keys[KEY_SCAN_MAX_KEYS];
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	StoredRows	scratch;
	IndexScanDesc scan;

	StoredRowsInit(&scratch, RelationGetNumberOfAttributes(relation), 1);
	for (int i = 0; i < nkeys; i++)
		ScanKeyEntryInitialize(&scan_keys[i], keys[i].any ? SK_SEARCHARRAY : 0, i + 1,
							   BTEqualStrategyNumber, InvalidOid, index->rd_indcollation[i],
							   keys[i].equals, keys[i].value);
	scan = index_beginscan(relation, index,
						   FAULT_SKIP("read_snapshot") ? GetLatestSnapshot() : GetActiveSnapshot(),
						   nkeys, 0);
	index_rescan(scan, scan_keys, nkeys, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		TakeRow(slot, columns, &scratch, rows);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Read the rows whose leading columns equal the keys, in the order of the
 * index.  False when the table is not one that can be read like this; then
 * nothing was read.  The caller has made room for rows; values live in the
 * current memory context.
 */
bool
KeyScanRead(const KeyScanTable *table, const KeyScanKey *keys, int nkeys,
			StoredRows *rows)
{
	RangeVar   *name = makeRangeVar(unconstify(char *, table->schema),
									unconstify(char *, table->table), -1);
	AttrNumber *columns = palloc(sizeof(AttrNumber) * table->ncolumns);
	Relation	relation = table_openrv(name, AccessShareLock);
	Relation	index = NULL;

	if (IsPlainlyReadable(relation) && FindColumns(relation, table, columns))
		index = OpenIndex(relation, columns, nkeys);
	if (index != NULL)
	{
		ScanIndex(relation, index, keys, nkeys, columns, rows);
		index_close(index, AccessShareLock);
	}
	table_close(relation, NoLock);
	pfree(columns);
	return index != NULL;
}

/* Read the rows of these documents; the first column is their id. */
bool
KeyScanReadIds(const KeyScanTable *table, const int64 *ids, int n, StoredRows *rows)
{
	KeyScanKey	key = {.equals = F_INT8EQ,.any = true,.value = Int8ArrayDatum(n, ids)};

	return KeyScanRead(table, &key, 1, rows);
}

/*
 * Read rows by key in the active snapshot, or else by the statement that says
 * the same, to which the values of the keys are parameters.
 */
void
KeyRead(const KeyScanTable *table, Statement *statement, const KeyScanKey *keys,
		int nkeys, StoredRows *rows)
{
	Datum		values[KEY_SCAN_MAX_KEYS];

	StoredRowsInit(rows, table->ncolumns, 4);
	if (KeyScanRead(table, keys, nkeys, rows))
		return;
	for (int i = 0; i < nkeys; i++)
		values[i] = keys[i].value;
	ReadRun(statement, values, 0);
	StoredRowsTake(rows);
}
