/*
 * foreignkey.c
 *		Checking foreign keys of rows that were written without statements.
 *
 * A trigger of PostgreSQL checks a foreign key by a query: it looks for the
 * referenced row in a new snapshot, or in that of the transaction if that is
 * fixed, and locks it FOR KEY SHARE.  Starting and ending the query costs more than
 * that.  The query is planned once per session, and if the referenced table was
 * analyzed while it was empty, it reads all of it each time.  So here the unique
 * index is scanned in the same snapshot, and the row that is found is locked.
 *
 * Only success is decided here.  If there is no row, if it was changed since the
 * snapshot, or if anything else is unusual, the triggers are fired: they wait,
 * follow updates, and raise the errors.
 *
 * A row that this transaction has written needs no lock, because no other one can
 * change it.  A row that was locked stays locked until the (sub)transaction ends,
 * so a call looks it up once only, as long as no statement was run in between, whose
 * triggers could have deleted it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/faults.h"
#include "catalog/pg_constraint.h"
#include "commands/trigger.h"
#include "engine/foreignkey.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* A referenced row that was found and locked. */
typedef struct HeldTarget
{
	Oid			index;
	Datum		values[FOREIGN_KEY_COLUMNS];
} HeldTarget;

/* Number of referenced rows that are remembered; a power of two. */
#define HELD_TARGETS 256

/*
 * The referenced rows that the current call and subtransaction have locked since
 * the last statement.  Each has one place, and the next row for this place
 * replaces it.
 */
static struct
{
	bool		valid;			/* the call has locked some */
	SubTransactionId subtransaction;
	uint64		statements;
	HeldTarget	targets[HELD_TARGETS];
}			held;

/* A referenced table that is being searched. */
typedef struct Search
{
	const ForeignKey *key;
	Relation	target;
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *found;
	TupleTableSlot *locked;
} Search;

/*
 * Forget all referenced rows, because a call begins or ends.  The code of a statement
 * may have made the call, and may delete them afterwards.
 */
void
ForeignKeysForget(void)
{
	held.valid = false;
}

/* Forget referenced rows that the current subtransaction may not hold any more. */
static void
RefreshHeld(void)
{
	if (held.valid && held.subtransaction == GetCurrentSubTransactionId() &&
		held.statements == StatementsStarted())
		return;
	memset(held.targets, 0, sizeof(held.targets));
	held.valid = true;
	held.subtransaction = GetCurrentSubTransactionId();
	held.statements = StatementsStarted();
}

/* Returns the place of a referenced row among those that are remembered. */
static HeldTarget *
PlaceOf(const ForeignKey *key, const Datum *values)
{
	uint64		hash = key->index;

	for (int i = 0; i < key->ncolumns; i++)
		hash = (hash ^ values[i]) * UINT64CONST(0x9E3779B97F4A7C15);
	return &held.targets[(hash >> 32) % HELD_TARGETS];
}

/* Returns true if a place has this referenced row. */
static bool
IsHeld(const HeldTarget *place, const ForeignKey *key, const Datum *values)
{
	return place->index == key->index &&
		memcmp(place->values, values, sizeof(Datum) * key->ncolumns) == 0;
}

/* Get the key of a row; returns false if a column is NULL, and there is nothing to check. */
static bool
KeyValues(const ForeignKey *key, TupleTableSlot *row, Datum *values)
{
	bool		isnull = false;

	for (int i = 0; i < key->ncolumns && !isnull; i++)
		values[i] = slot_getattr(row, key->columns[i], &isnull);
	return !isnull;
}

/* Returns the referenced index; REINDEX CONCURRENTLY replaces it. */
static Oid
ReferencedIndex(Relation relation, const ForeignKey *key)
{
	Oid			constraint = relation->trigdesc->triggers[key->trigger].tgconstraint;
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Oid			index;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	index = ((Form_pg_constraint) GETSTRUCT(tuple))->conindid;
	ReleaseSysCache(tuple);
	return index;
}

/*
 * Open the referenced table.  Returns false if the query of the trigger, which runs
 * as the owner of the table, could not read and lock its rows.  The facts were found
 * out before it was locked, so it may have another index since.
 */
static bool
OpenTarget(Search *search, Relation relation, const ForeignKey *key)
{
	memset(search, 0, sizeof(Search));
	search->key = key;
	search->target = table_open(key->target, RowShareLock);
	if (ReferencedIndex(relation, key) != key->index)
		return false;
	search->index = index_open(key->index, AccessShareLock);
	if (pg_class_aclmask(key->target, search->target->rd_rel->relowner, ACL_SELECT | ACL_UPDATE,
						 ACLMASK_ALL) != (ACL_SELECT | ACL_UPDATE))
		return false;
	search->found = table_slot_create(search->target, NULL);
	search->locked = table_slot_create(search->target, NULL);
	search->scan = index_beginscan(search->target, search->index, GetActiveSnapshot(), key->ncolumns, 0);
	return true;
}

/* Close the referenced table, if it was opened; its lock is kept. */
static void
CloseTarget(Search *search)
{
	if (search->key == NULL)
		return;
	if (search->scan != NULL)
	{
		index_endscan(search->scan);
		ExecDropSingleTupleTableSlot(search->found);
		ExecDropSingleTupleTableSlot(search->locked);
	}
	if (search->index != NULL)
		index_close(search->index, AccessShareLock);
	table_close(search->target, NoLock);
	search->key = NULL;
}

/* Returns true if a row was written by the current transaction. */
static bool
IsOwn(TupleTableSlot *row)
{
	bool		isnull;
	Datum		xmin = slot_getsysattr(row, MinTransactionIdAttributeNumber, &isnull);

	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

/* Find a referenced row and lock it; returns false if the trigger must decide. */
static bool
LockRow(Search *search, const Datum *values)
{
	const ForeignKey *key = search->key;
	ScanKeyData keys[FOREIGN_KEY_COLUMNS];
	TM_FailureData failure;

	for (int i = 0; i < key->ncolumns; i++)
		ScanKeyInit(&keys[i], i + 1, BTEqualStrategyNumber, key->equals[i], values[i]);
	index_rescan(search->scan, keys, key->ncolumns, NULL, 0);
	if (!index_getnext_slot(search->scan, ForwardScanDirection, search->found))
		return false;
	if (FAULT_SKIP("key_share"))
		return true;
	if (IsOwn(search->found))
		return true;
	return table_tuple_lock(search->target, &search->found->tts_tid, GetActiveSnapshot(), search->locked,
							GetCurrentCommandId(true), LockTupleKeyShare, LockWaitBlock,
							TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS, &failure) == TM_Ok;
}

/* Check a foreign key of a row; returns false if the trigger must decide. */
static bool
CheckKey(Search *search, Relation relation, const ForeignKey *key, TupleTableSlot *row)
{
	Datum		values[FOREIGN_KEY_COLUMNS];
	HeldTarget *place;

	if (!KeyValues(key, row, values))
		return true;
	place = PlaceOf(key, values);
	if (IsHeld(place, key, values))
		return true;
	if (search->key == NULL || search->key->index != key->index)
	{
		CloseTarget(search);
		if (!OpenTarget(search, relation, key))
			return false;
	}
	search->key = key;
	if (!LockRow(search, values))
		return false;
	place->index = key->index;
	memcpy(place->values, values, sizeof(Datum) * key->ncolumns);
	return true;
}

/* Returns true if a foreign key of a row must be checked: it is new, or has changed. */
static bool
IsDue(Relation relation, const ForeignKey *key, TupleTableSlot *row, TupleTableSlot *old)
{
	return old == NULL ||
		RI_FKey_fk_upd_check_required(&relation->trigdesc->triggers[key->trigger], relation, old, row);
}

/* Check all foreign keys of all rows; returns false if the triggers must decide. */
static bool
CheckRows(Search *search, Relation relation, const ForeignKey *keys, int nkeys,
		  TupleTableSlot **rows, TupleTableSlot *old, int nrows)
{
	for (int i = 0; i < nrows; i++)
		for (int j = 0; j < nkeys; j++)
		{
			CHECK_FOR_INTERRUPTS();
			if (IsDue(relation, &keys[j], rows[i], old) && !CheckKey(search, relation, &keys[j], rows[i]))
				return false;
		}
	return true;
}

/*
 * Check the foreign keys of rows that were written, and lock the rows that they
 * refer to.  If old is not NULL, it is the version that the only row replaces.
 * Returns false if the triggers of the table must be fired instead.
 */
bool
ForeignKeysHold(Relation relation, const ForeignKey *keys, int nkeys,
				TupleTableSlot **rows, TupleTableSlot *old, int nrows)
{
	Search		search = {0};
	bool		hold;

	if (nkeys == 0)
		return true;
	RefreshHeld();
	SnapshotBegin();
	hold = CheckRows(&search, relation, keys, nkeys, rows, old, nrows);
	CloseTarget(&search);
	SnapshotEnd();
	return hold;
}
