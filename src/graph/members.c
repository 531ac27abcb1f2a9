/*
 * members.c
 *		The rows of dms.CollectionMember: which documents are in which collections.
 *
 * This module has all statements on the table.  Writers hold locks on both
 * identities, see relate.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "engine/keyscan.h"
#include "graph/members.h"
#include "utils/timestamp.h"

static const char *const pair_columns[] = {"collectiondocumentid", "memberdocumentid", "conveys", "createdat"};
static const Oid pair_types[] = {INT8OID, INT8OID, BOOLOID, TIMESTAMPTZOID};
static KeyedTable memberships =
{
	.schema = "dms",.name = "collectionmember", KEYED_COLUMNS(pair_columns, pair_types),.nkeys = 2,.nsearch = 2
};

static const char *const conveys_columns[] = {"collectiondocumentid", "memberdocumentid", "conveys"};
static const Oid end_types[] = {INT8OID, INT8OID, BOOLOID};
static KeyedTable members_of_collections =
{
	.schema = "dms",.name = "collectionmember", KEYED_COLUMNS(conveys_columns, end_types),.nkeys = 2
};

static const char *const collection_columns[] = {"memberdocumentid", "collectiondocumentid", "conveys"};
static KeyedTable collections_of_members =
{
	.schema = "dms",.name = "collectionmember", KEYED_COLUMNS(collection_columns, end_types),
	.nkeys = 2,.nsearch = 1,.any_order = true
};

static const Oid add_types[] = {INT8OID, INT8OID, INT4OID, UUIDOID, BOOLOID};

/* Of two transactions that add the same member, the second waits here. */
static Statement add_member =
{
	.sql = "INSERT INTO dms.CollectionMember AS m"
	" (CollectionDocumentId, MemberDocumentId, MemberTypeId, MemberUuid, Conveys) VALUES ($1, $2, $3, $4, $5)"
	" ON CONFLICT (CollectionDocumentId, MemberDocumentId) DO UPDATE SET Conveys = EXCLUDED.Conveys"
	" WHERE m.Conveys OPERATOR(pg_catalog.<>) EXCLUDED.Conveys",
	.nargs = lengthof(add_types),
	.argtypes = add_types,
};

static Statement remove_member =
{
	.sql = "DELETE FROM dms.CollectionMember WHERE CollectionDocumentId OPERATOR(pg_catalog.=) $1"
	" AND MemberDocumentId OPERATOR(pg_catalog.=) $2",
	.nargs = 2,
	.argtypes = add_types,
};

static FarEndTable members = FAR_END_TABLE("dms.CollectionMember", "CollectionDocumentId", "MemberTypeId", "MemberUuid",
										   "r.CreatedAt", "");

/* Read the row of a membership, in the active snapshot; returns false if there is none. */
static bool
ReadPair(int64 collection, int64 member, StoredRows *rows)
{
	Datum		keys[] = {Int64GetDatum(collection), Int64GetDatum(member)};

	KeyScanRead(&memberships, keys, rows);
	return rows->nrows > 0;
}

/* Returns when a document was added to a collection, in the active snapshot; 0 if it was not. */
TimestampTz
MembersAddedAt(int64 collection, int64 member, bool *conveys)
{
	StoredRows	rows;

	if (!ReadPair(collection, member, &rows))
		return 0;
	*conveys = DatumGetBool(rows.values[2]);
	return DatumGetTimestampTz(rows.values[3]);
}

/*
 * Returns the second column of the rows whose first column is one of these ascending
 * ids; if conveying is set, of those only that convey.
 */
static int64 *
OtherEnds(KeyedTable *table, const int64 *ids, int n, bool conveying, int *nfound)
{
	StoredRows	rows;
	int64	   *found;

	KeyScanReadIds(table, ids, n, &rows);
	found = palloc_extended(sizeof(int64) * Max(rows.nrows, 1), MCXT_ALLOC_HUGE);
	*nfound = 0;
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		if (!conveying || DatumGetBool(values[2]))
			found[(*nfound)++] = DatumGetInt64(values[1]);
	}
	return found;
}

/*
 * Returns the collections that documents are in, or those that convey to them, in the
 * active snapshot.  The ids are ascending.
 */
int64 *
MembersCollectionsOf(const int64 *ids, int n, bool conveying, int *nfound)
{
	return OtherEnds(&collections_of_members, ids, n, conveying, nfound);
}

/* Returns the members of collections, or those that they convey to; otherwise the same. */
int64 *
MembersOf(const int64 *ids, int n, bool conveying, int *nfound)
{
	return OtherEnds(&members_of_collections, ids, n, conveying, nfound);
}

/* Returns true if a document has members or is one, in the active snapshot. */
bool
MembersHave(int64 document_id)
{
	return KeyScanHas(&members_of_collections, document_id) || KeyScanHas(&collections_of_members, document_id);
}

/*
 * Add a member to a collection, or change whether the collection conveys to it; both
 * identities are locked.  Returns true if anything changed.
 */
bool
MembersAdd(int64 collection, const GraphNode *member, bool conveys)
{
	Datum		values[] = {
		Int64GetDatum(collection), Int64GetDatum(member->document_id),
		Int32GetDatum(member->resource->type_id), UUIDPGetDatum(&member->uuid), BoolGetDatum(conveys)
	};

	return StatementRun(&add_member, values, NULL, false, 0) > 0;
}

/* Remove a member from a collection; returns false if it was not in it. */
bool
MembersRemove(int64 collection, int64 member)
{
	Datum		values[] = {Int64GetDatum(collection), Int64GetDatum(member)};

	return StatementRun(&remove_member, values, NULL, false, 0) > 0;
}

/* Returns the table of members by collection, for FarEndsRead(). */
const FarEndTable *
MembersOfCollection(void)
{
	return &members;
}
