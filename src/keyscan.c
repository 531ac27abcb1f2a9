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
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
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

/*
 * Take the rows of the last result apart; they live as long as it does.  Their
 * columns must be of these types.
 */
void
StoredRowsTake(StoredRows *rows, const Oid *types)
{
	ResultExpect(types);
	StoredRowsInit(rows, SPI_tuptable->tupdesc->natts, (int) SPI_processed);
	rows->nrows = (int) SPI_processed;
	for (int i = 0; i < rows->nrows; i++)
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  StoredRowValues(rows, i), StoredRowNulls(rows, i));
}

/*
 * Would a SELECT by the current user see all rows of it, and only of it?  Who
 * hooks into the checks of rights wants to see every SELECT.
 */
static bool
IsPlainlyReadable(Relation relation)
{
	Oid			id = RelationGetRelid(relation);

	return relation->rd_rel->relkind == RELKIND_RELATION &&
		RelationIsPermanent(relation) &&
		!relation->rd_rel->relhassubclass &&
		ExecutorCheckPerms_hook == NULL &&
		pg_class_aclcheck(id, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		(!relation->rd_rel->relrowsecurity || check_enable_rls(id, InvalidOid, true) != RLS_ENABLED);
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

/*
 * Find the columns; false when one is not there or of another type, which SQL
 * shall report.
 */
static bool
FindColumns(Relation relation, const KeyScanTable *table, AttrNumber *numbers)
{
	TupleDesc	descriptor = RelationGetDescr(relation);

	for (int i = 0; i < table->ncolumns; i++)
	{
		numbers[i] = ColumnNumber(descriptor, table->columns[i], i);
		if (numbers[i] == InvalidAttrNumber ||
			!TypeFits(TupleDescAttr(descriptor, numbers[i] - 1)->atttypid, table->types[i]))
			return false;
	}
	return true;
}

/* The type whose values a function compares. */
static Oid
TypeCompared(RegProcedure equals)
{
	switch (equals)
	{
		case F_INT8EQ:
			return INT8OID;
		case F_UUID_EQ:
			return UUIDOID;
		default:
			Assert(equals == F_TEXTEQ);
			return TEXTOID;
	}
}

/*
 * Is the key's function what this column of the index calls equal?  So it is in
 * all of PostgreSQL's own families of operators; others are left to SQL.
 */
static bool
IsSearchable(Relation relation, Relation index, int i, AttrNumber column, const KeyScanKey *key)
{
	return index->rd_index->indkey.values[i] == column &&
		(index->rd_indoption[i] & INDOPTION_DESC) == 0 &&
		index->rd_indcollation[i] == TupleDescAttr(RelationGetDescr(relation), column - 1)->attcollation &&
		index->rd_opfamily[i] < FirstNormalObjectId &&
		index->rd_opcintype[i] == TypeCompared(key->equals);
}

/*
 * Does the index lead to all rows by these columns, in the order of the
 * table's key?  One that is younger than our snapshot may not (indcheckxmin).
 */
static bool
LeadsTo(Relation relation, Relation index, const AttrNumber *columns,
		const KeyScanKey *keys, int n)
{
	Form_pg_index form = index->rd_index;

	if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || form->indnkeyatts < n ||
		(!form->indisprimary && !(form->indisunique && form->indnkeyatts == n)) ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	if (form->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin))
		return false;
	for (int i = 0; i < n; i++)
		if (!IsSearchable(relation, index, i, columns[i], &keys[i]))
			return false;
	return true;
}

/* Open the index if it serves; NULL if it does not. */
static Relation
OpenServing(Relation relation, Oid id, const AttrNumber *columns, const KeyScanKey *keys, int n)
{
	Relation	index;

	if (!OidIsValid(id))
		return NULL;
	index = index_open(id, AccessShareLock);
	if (LeadsTo(relation, index, columns, keys, n))
		return index;
	index_close(index, AccessShareLock);
	return NULL;
}

/* An index that leads with the columns: the primary key, or another. */
static Relation
OpenIndex(Relation relation, const AttrNumber *columns, const KeyScanKey *keys, int n)
{
	List	   *ids = RelationGetIndexList(relation);
	Oid			primary = relation->rd_pkindex;
	Relation	found = OpenServing(relation, primary, columns, keys, n);
	ListCell   *cell;

	foreach(cell, ids)
	{
		if (found == NULL && lfirst_oid(cell) != primary)
			found = OpenServing(relation, lfirst_oid(cell), columns, keys, n);
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
		index = OpenIndex(relation, columns, keys, nkeys);
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
	StoredRowsTake(rows, table->types);
}
