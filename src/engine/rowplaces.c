/*
 * rowplaces.c
 *		Where rows were found that are read over and over again.
 *
 * Documents refer to few others: the names in an enrollment come from the rows of a
 * section, its course offering, the session and the school, and so do those in the
 * next one.  A write reads the row of its document several times, too.  Most of the
 * cost of such a read is to find the row by an index.  So a session remembers the
 * place of the version of a row that it has found (its ctid), and looks there first.
 *
 * A place is only a guess.  What is there now decides: a version of a row that the
 * snapshot sees, in the same table and with the same key, is the row that the index
 * would lead to, if a unique index has made sure that there is no other one.  If
 * anything else is there, the index is scanned.  So nothing has to be forgotten when
 * rows are changed, deleted or moved, or a transaction is rolled back.  Only a snapshot
 * that is older than the index may see two rows with a key, if the owner had dropped the
 * key, doubled a row and made the key again: then either may be found.
 *
 * The buffer of the page is remembered, too, and must still have the page.  A place
 * may be behind the end of a table that has become shorter, and must not be read then.
 * The table is locked, so it cannot become shorter after we have looked.
 *
 * The table has a fixed size, and a newer entry displaces the one in its slot.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/faults.h"
#include "catalog/pg_type.h"
#include "engine/rowplaces.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/uuid.h"

/* The number of places that are remembered, as a power of 2. */
#define SLOT_BITS 14

/* The place of a row. */
typedef struct RowPlace
{
	Oid			relation;		/* InvalidOid: nothing is remembered */
	Buffer		buffer;
	uint64		key;			/* 8 bytes of it */
	ItemPointerData place;
} RowPlace;

static RowPlace places[1 << SLOT_BITS];

/* Returns 8 bytes of a key.  What is at the place is compared with all of it. */
static uint64
BytesOf(const RowKey *key)
{
	uint64		bytes;

	if (key->type == INT8OID)
		return (uint64) DatumGetInt64(key->value);
	Assert(key->type == UUIDOID);
	memcpy(&bytes, DatumGetUUIDP(key->value)->data, sizeof(bytes));
	return bytes;
}

/* Returns the slot of a row.  Ids of neighbors are consecutive, so they are spread. */
static RowPlace *
SlotOf(Relation relation, uint64 key)
{
	uint64		hash = (key + ((uint64) RelationGetRelid(relation) << 32)) * UINT64CONST(0x9E3779B97F4A7C15);

	return &places[hash >> (64 - SLOT_BITS)];
}

/* Returns true if a slot has the place of this row. */
static bool
SlotHas(const RowPlace *slot, Relation relation, uint64 key)
{
	return slot->key == key && slot->relation == RelationGetRelid(relation);
}

/* Returns true if a row has this key. */
static bool
HasKey(TupleTableSlot *row, const RowKey *key)
{
	bool		isnull;
	Datum		value = slot_getattr(row, key->column, &isnull);

	if (FAULT_SKIP("row_place"))
		return true;
	if (isnull)
		return false;
	return key->type == INT8OID ? DatumGetInt64(value) == DatumGetInt64(key->value) :
		memcmp(DatumGetUUIDP(value), DatumGetUUIDP(key->value), UUID_LEN) == 0;
}

/* Returns true if a table is a heap.  One whose places were learned may have been rewritten. */
static bool
IsHeap(Relation relation)
{
	return relation->rd_tableam == GetHeapamTableAmRoutine();
}

/*
 * Returns true if the page of a place exists, because it is in its buffer.  Dead rows are
 * removed from it, as a scan of the index would do.  The pin is released: it does not count
 * as a use of the page, but that of the fetch does.
 */
static bool
Exists(Relation relation, const RowPlace *place)
{
	Buffer		buffer = place->buffer;

	if (!ReadRecentBuffer(COMPAT_LOCATOR(relation), MAIN_FORKNUM, ItemPointerGetBlockNumber(&place->place), buffer))
		return false;
	heap_page_prune_opt(relation, buffer);
	ReleaseBuffer(buffer);
	return true;
}

/*
 * Fetch the version of a row that a snapshot sees, if it is where the row was found
 * before.  Keys are unique.  Returns false if the index has to be scanned.  That takes
 * predicate locks on its pages, too, so a serializable transaction always does it.
 */
bool
RowPlacesFind(Relation relation, const RowKey *key, Snapshot snapshot, TupleTableSlot *slot)
{
	uint64		bytes = BytesOf(key);
	RowPlace   *guess = SlotOf(relation, bytes);

	return SlotHas(guess, relation, bytes) && !IsolationIsSerializable() && IsHeap(relation) &&
		Exists(relation, guess) &&
		table_tuple_fetch_row_version(relation, &guess->place, snapshot, slot) && HasKey(slot, key);
}

/* Remember where a row is that was found otherwise. */
void
RowPlacesLearn(Relation relation, const RowKey *key, TupleTableSlot *slot)
{
	uint64		bytes = BytesOf(key);
	RowPlace   *learned = SlotOf(relation, bytes);

	if (!IsHeap(relation) || !TTS_IS_BUFFERTUPLE(slot) ||
		!BufferIsValid(((BufferHeapTupleTableSlot *) slot)->buffer))
		return;
	learned->relation = RelationGetRelid(relation);
	learned->buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;
	learned->key = bytes;
	learned->place = slot->tts_tid;
}

/* Remember where the new version of a row is, if it is in the page of the old one. */
void
RowPlacesMove(Relation relation, const RowKey *key, const ItemPointerData *place)
{
	uint64		bytes = BytesOf(key);
	RowPlace   *moved = SlotOf(relation, bytes);

	if (SlotHas(moved, relation, bytes) &&
		ItemPointerGetBlockNumber(&moved->place) == ItemPointerGetBlockNumber(place))
		moved->place = *place;
}
