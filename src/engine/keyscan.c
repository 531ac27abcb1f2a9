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
#include "base/faults.h"
#include "base/ids.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "engine/keyscan.h"
#include "engine/ownercode.h"
#include "engine/plan.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/*
 * Documents that are written together have ids that follow each other.  From so
 * many in the mean on, it costs less to walk along the index than to come down
 * it for each.
 */
#define WORTHWHILE_RUN 4

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

/* Refuse a row that has NULL in one of its first columns. */
static void
RequireValues(const bool *nulls, int nrequired)
{
	for (int i = 0; i < nrequired; i++)
		if (unlikely(nulls[i]))
			RefuseRow("NULL where there must be a value");
}

/* How many of the first columns of a table are never NULL. */
static int
RequiredColumns(const KeyScanTable *table)
{
	return table->nrequired > 0 ? table->nrequired : table->ncolumns;
}

/*
 * Take the rows of the last result apart; they live as long as it does.  Their
 * columns must be of these types, and so many of the first must not be NULL.
 */
void
StoredRowsTake(StoredRows *rows, const Oid *types, int nrequired)
{
	ResultExpect(types);
	StoredRowsInit(rows, SPI_tuptable->tupdesc->natts, (int) SPI_processed);
	rows->nrows = (int) SPI_processed;
	for (int i = 0; i < rows->nrows; i++)
	{
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  StoredRowValues(rows, i), StoredRowNulls(rows, i));
		RequireValues(StoredRowNulls(rows, i), nrequired);
	}
}

/*
 * Refuse rows of documents that were not asked for.  A view evaluates what it
 * gives and what it is asked for separately, and may give something else.  The
 * ids are ascending.
 */
void
StoredRowsRequireIds(const StoredRows *rows, const int64 *ids, int n)
{
	for (int i = 0; i < rows->nrows; i++)
		if (!IdsHave(ids, n, DatumGetInt64(StoredRowValues(rows, i)[0])))
			RefuseRow("a row that it was not asked for");
}

/*
 * Would a statement by the current user meet all rows of it, and only of it?
 * Who hooks into the checks of rights wants to see every statement.
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
 * Does the index lead to all rows by the first columns, in the order of the
 * table's key unless any will do?  One that is younger than our snapshot may not
 * (indcheckxmin).
 */
static bool
LeadsTo(const KeyScan *scan, Relation index, const KeyScanKey *keys, int n)
{
	Form_pg_index form = index->rd_index;

	if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || form->indnkeyatts < n ||
		(!scan->any_order && !form->indisprimary && !(form->indisunique && form->indnkeyatts == n)) ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	if (form->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin))
		return false;
	for (int i = 0; i < n; i++)
		if (!IsSearchable(scan->relation, index, i, scan->columns[i], &keys[i]))
			return false;
	return true;
}

/* Open the index if it serves; NULL if it does not. */
static Relation
OpenServing(const KeyScan *scan, Oid id, const KeyScanKey *keys, int n)
{
	Relation	index;

	if (!OidIsValid(id))
		return NULL;
	index = index_open(id, AccessShareLock);
	if (LeadsTo(scan, index, keys, n))
		return index;
	index_close(index, AccessShareLock);
	return NULL;
}

/* An index that leads with the columns: the primary key, or another. */
static Relation
OpenIndex(const KeyScan *scan, const KeyScanKey *keys, int n)
{
	List	   *ids = RelationGetIndexList(scan->relation);
	Oid			primary = scan->relation->rd_pkindex;
	Relation	found = OpenServing(scan, primary, keys, n);
	ListCell   *cell;

	foreach(cell, ids)
	{
		if (found == NULL && lfirst_oid(cell) != primary)
			found = OpenServing(scan, lfirst_oid(cell), keys, n);
	}
	list_free(ids);
	return found;
}

/* Copy a row out of the slot; all its columns fit into the scratch row. */
static void
TakeRow(const KeyScan *scan, StoredRows *scratch, StoredRows *rows)
{
	Datum	   *values;
	bool	   *nulls;

	heap_deform_tuple(ExecCopySlotHeapTuple(scan->slot), scan->slot->tts_tupleDescriptor,
					  scratch->values, scratch->nulls);
	StoredRowsGrow(rows);
	values = StoredRowValues(rows, rows->nrows);
	nulls = StoredRowNulls(rows, rows->nrows);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		values[i] = scratch->values[scan->columns[i] - 1];
		nulls[i] = scratch->nulls[scan->columns[i] - 1];
	}
	RequireValues(nulls, scan->nrequired);
	rows->nrows++;
}

/*
 * Open a table and find its columns; false when its rows must be left to SQL.
 * The lock stays in any case.
 */
bool
KeyScanOpen(KeyScan *scan, const KeyScanTable *table, LOCKMODE lock, AclMode rights)
{
	RangeVar   *name = makeRangeVar(unconstify(char *, table->schema),
									unconstify(char *, table->table), -1);

	memset(scan, 0, sizeof(KeyScan));
	scan->relation = table_openrv(name, lock);
	if (OwnerCodeApplies())
		OwnerCodeCheckTable(RelationGetRelid(scan->relation));
	scan->ncolumns = table->ncolumns;
	scan->nrequired = RequiredColumns(table);
	scan->any_order = table->any_order;
	scan->columns = palloc(sizeof(AttrNumber) * table->ncolumns);
	if (IsPlainlyUsable(scan->relation, rights) && FindColumns(scan->relation, table, scan->columns))
		return true;
	KeyScanClose(scan);
	return false;
}

/* Start the scan, with keys that are set. */
static void
StartScan(KeyScan *scan)
{
	scan->slot = table_slot_create(scan->relation, NULL);
	scan->scan = index_beginscan(scan->relation, scan->index,
								 FAULT_SKIP("read_snapshot") ? GetLatestSnapshot() : GetActiveSnapshot(),
								 scan->nkeys, 0);
	index_rescan(scan->scan, scan->keys, scan->nkeys, NULL, 0);
}

/* Add a key of the scan, for a column of the index. */
static void
AddKey(KeyScan *scan, int column, int flags, StrategyNumber strategy,
	   RegProcedure function, Datum value)
{
	ScanKeyEntryInitialize(&scan->keys[scan->nkeys++], flags, column + 1, strategy, InvalidOid,
						   scan->index->rd_indcollation[column], function, value);
}

/*
 * Scan the rows whose leading columns equal the keys, in the active snapshot
 * and in the order of the index; false when no index leads to them.
 */
bool
KeyScanBegin(KeyScan *scan, const KeyScanKey *keys, int nkeys)
{
	scan->index = OpenIndex(scan, keys, nkeys);
	if (scan->index == NULL)
		return false;
	for (int i = 0; i < nkeys; i++)
		AddKey(scan, i, keys[i].any ? SK_SEARCHARRAY : 0, BTEqualStrategyNumber,
			   keys[i].equals, keys[i].value);
	StartScan(scan);
	return true;
}

/* The end of the run that an id begins: ids that follow each other. */
static int
RunEnd(const int64 *ids, int n, int first)
{
	int			end = first + 1;

	while (end < n && ids[end - 1] < PG_INT64_MAX && ids[end] == ids[end - 1] + 1)
		end++;
	return end;
}

/* Do the ids come in runs that are worth it? */
static bool
HaveRuns(const int64 *ids, int n)
{
	int			runs = 0;

	for (int i = 0; i < n; i = RunEnd(ids, n, i))
		runs++;
	return n > 0 && runs <= n / WORTHWHILE_RUN;
}

/* Turn to the run that begins behind the last one. */
static void
NextRun(KeyScan *scan)
{
	int			first = scan->run_end;

	scan->run_end = RunEnd(scan->ids, scan->nids, first);
	scan->keys[0].sk_argument = Int64GetDatum(scan->ids[first]);
	scan->keys[1].sk_argument = Int64GetDatum(scan->ids[scan->run_end - 1]);
}

/*
 * The same for rows whose first column is one of some ids, which are ascending,
 * and others equal the keys.
 */
bool
KeyScanBeginIds(KeyScan *scan, const int64 *ids, int n, const KeyScanKey *others,
				int nothers)
{
	KeyScanKey	keys[KEY_SCAN_MAX_KEYS] = {{.equals = F_INT8EQ,.any = n != 1}};

	if (nothers > 0)
		memcpy(keys + 1, others, sizeof(KeyScanKey) * nothers);
	if (!HaveRuns(ids, n))
	{
		keys[0].value = n == 1 ? Int64GetDatum(ids[0]) : Int8ArrayDatum(n, ids);
		return KeyScanBegin(scan, keys, 1 + nothers);
	}
	scan->index = OpenIndex(scan, keys, 1 + nothers);
	if (scan->index == NULL)
		return false;
	scan->ids = ids;
	scan->nids = n;
	AddKey(scan, 0, 0, BTGreaterEqualStrategyNumber, F_INT8GE, (Datum) 0);
	AddKey(scan, 0, 0, BTLessEqualStrategyNumber, F_INT8LE, (Datum) 0);
	for (int i = 0; i < nothers; i++)
		AddKey(scan, 1 + i, 0, BTEqualStrategyNumber, others[i].equals, others[i].value);
	NextRun(scan);
	StartScan(scan);
	return true;
}

/* Go on to the next row, if there is one. */
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

void
KeyScanClose(KeyScan *scan)
{
	if (scan->scan != NULL)
	{
		index_endscan(scan->scan);
		ExecDropSingleTupleTableSlot(scan->slot);
	}
	if (scan->index != NULL)
		index_close(scan->index, AccessShareLock);
	table_close(scan->relation, NoLock);
	pfree(scan->columns);
}

/* Read what a scan comes to. */
static void
ReadScan(KeyScan *scan, StoredRows *rows)
{
	StoredRows	scratch;

	StoredRowsInit(&scratch, RelationGetNumberOfAttributes(scan->relation), 1);
	while (KeyScanNext(scan))
		TakeRow(scan, &scratch, rows);
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
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, table, AccessShareLock, ACL_SELECT))
		return false;
	able = KeyScanBegin(&scan, keys, nkeys);
	if (able)
		ReadScan(&scan, rows);
	KeyScanClose(&scan);
	return able;
}

/* The same of the rows of some documents, whose ids are ascending. */
bool
KeyScanReadIds(const KeyScanTable *table, const int64 *ids, int n, StoredRows *rows)
{
	KeyScan		scan;
	bool		able;

	if (!KeyScanOpen(&scan, table, AccessShareLock, ACL_SELECT))
		return false;
	able = KeyScanBeginIds(&scan, ids, n, NULL, 0);
	if (able)
		ReadScan(&scan, rows);
	KeyScanClose(&scan);
	return able;
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
	StoredRowsTake(rows, table->types, RequiredColumns(table));
}

/* The same of the rows of documents; the statement takes their ids as a bigint[]. */
void
KeyReadIds(const KeyScanTable *table, Statement *statement, const int64 *ids, int n,
		   StoredRows *rows)
{
	Datum		values[1];

	StoredRowsInit(rows, table->ncolumns, n);
	if (KeyScanReadIds(table, ids, n, rows))
		return;
	values[0] = Int8ArrayDatum(n, ids);
	ReadRun(statement, values, 0);
	StoredRowsTake(rows, table->types, RequiredColumns(table));
	StoredRowsRequireIds(rows, ids, n);
}
