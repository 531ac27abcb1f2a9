/*
 * historypurge.c
 *		Deleting versions that the options of their resources do not retain.
 *
 * A version is retained if it is among the newest ones of its document, or young
 * enough.  The newest one stays.  It is a record of the deletion if the document is
 * gone; when that is not young any more, all go.
 *
 * The versions of a document are neighbors in the primary key, so one walk along it
 * sees the newest one of each, after the others.  The places of those that are to go
 * are collected, and a statement deletes them.  A place does not change in between:
 * versions are never updated, and our snapshot keeps VACUUM from giving it to another
 * row.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/history.h"
#include "document/historypurge.h"
#include "document/jobs.h"
#include "document/versiondiffs.h"
#include "engine/datums.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "model/resourcetypes.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Versions that one statement deletes, and rows that are read together by a statement. */
#define DELETED_AT_ONCE 100000
#define READ_AT_ONCE 1000

static const char *const walked_columns[] = {"documentuuid", "versionnumber", "createdat", "resourcetypeid", "kind"};
static const Oid walked_types[] = {UUIDOID, INT8OID, TIMESTAMPTZOID, INT4OID, TEXTOID};
static KeyedTable walked_versions =
{
	.schema = "dms",.name = "documentversion", KEYED_COLUMNS(walked_columns, walked_types),.nkeys = 2
};

static const Oid read_types[] = {UUIDOID, INT8OID, INT8OID};
static Statement read_versions =
{
	.sql = "SELECT ctid, DocumentUuid, VersionNumber, CreatedAt, ResourceTypeId, Kind::pg_catalog.text"
	" FROM dms.DocumentVersion WHERE ROW (DocumentUuid, VersionNumber) OPERATOR(pg_catalog.>) ROW ($1, $2)"
	" ORDER BY DocumentUuid, VersionNumber LIMIT $3",
	.nargs = lengthof(read_types),
	.argtypes = read_types,
	.ordered = true,
};

static const Oid places_types[] = {TIDARRAYOID};
static Statement delete_places =
{
	.sql = "DELETE FROM dms.DocumentVersion WHERE ctid OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = places_types,
};

/* Which versions a resource retains. */
typedef struct Rule
{
	int32		type_id;
	bool		by_number;
	int64		versions;		/* so many */
	bool		by_age;
	TimestampTz since;			/* younger ones */
} Rule;

/* What is looked at of a version. */
typedef struct WalkedVersion
{
	ItemPointerData place;
	pg_uuid_t	uuid;
	int64		number;
	TimestampTz created_at;
	int32		type_id;
	bool		deleted;		/* a record of the deletion */
} WalkedVersion;

/* A purge, and what it has found. */
typedef struct Purge
{
	Rule	   *rules;			/* ascending by type_id */
	int			nrules;
	int64		limit;
	WalkedVersion *document;	/* versions of the current document */
	int64		nversions;
	int64		capacity;
	ItemPointerData *places;	/* of what is to go */
	int64		nplaces;
	int64		places_capacity;
	pg_uuid_t  *uuids;			/* their documents, and the newest of each
								 * that goes */
	int64	   *last;
	int			ndocuments;
	int			documents_capacity;
} Purge;

/* Returns true if versions of any resource need not be retained for ever. */
bool
HistoryPurgeIsWanted(void)
{
	return ResourceTypesHaveRetention();
}

/* --- what is retained ----------------------------------------------------- */

/* Read what the resources retain. */
static void
ReadRules(Purge *purge)
{
	uint64		n = ResourceTypesReadRetention();

	purge->rules = palloc(sizeof(Rule) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
	{
		Rule	   *rule = &purge->rules[i];
		bool		unlimited;
		bool		ageless;

		rule->type_id = ResultInt32(i, 1);
		rule->versions = DatumGetInt64(ResultDatum(i, 2, &unlimited));
		rule->since = DatumGetTimestampTz(ResultDatum(i, 3, &ageless));
		rule->by_number = !unlimited;
		rule->by_age = !ageless;
	}
	purge->nrules = (int) n;
	ResultFree();
}

/* Compare a rule with the number of a resource, for bsearch(). */
static int
CompareRule(const void *key, const void *rule)
{
	int32		left = *(const int32 *) key;
	int32		right = ((const Rule *) rule)->type_id;

	return left < right ? -1 : left > right;
}

/*
 * Returns true if a version need not be retained; newest is the last one of the same
 * document.
 */
static bool
MayGo(const Purge *purge, const WalkedVersion *version, const WalkedVersion *newest)
{
	const Rule *rule = bsearch(&version->type_id, purge->rules, purge->nrules, sizeof(Rule), CompareRule);

	if (rule == NULL)
		return false;
	if (newest->deleted && rule->by_age && newest->created_at <= rule->since)
		return true;
	return version->number < newest->number &&
		(!rule->by_number || version->number <= newest->number - rule->versions) &&
		(!rule->by_age || version->created_at <= rule->since);
}

/* --- collecting ----------------------------------------------------------- */

/* Note that versions of a document go, up to this one. */
static void
AddDocument(Purge *purge, const WalkedVersion *last)
{
	if (purge->ndocuments == purge->documents_capacity)
	{
		purge->documents_capacity *= 2;
		purge->uuids = repalloc_huge(purge->uuids, sizeof(pg_uuid_t) * purge->documents_capacity);
		purge->last = repalloc_huge(purge->last, sizeof(int64) * purge->documents_capacity);
	}
	purge->uuids[purge->ndocuments] = last->uuid;
	purge->last[purge->ndocuments++] = last->number;
}

/* Note the place of a version that goes. */
static void
AddPlace(Purge *purge, const WalkedVersion *version)
{
	if (purge->nplaces == purge->places_capacity)
	{
		purge->places_capacity *= 2;
		purge->places = repalloc_huge(purge->places, sizeof(ItemPointerData) * purge->places_capacity);
	}
	purge->places[purge->nplaces++] = version->place;
}

/* Decide about the versions of the current document, oldest first, and forget them. */
static void
EndDocument(Purge *purge)
{
	const WalkedVersion *last = NULL;

	for (int64 i = 0; i < purge->nversions && purge->nplaces < purge->limit; i++)
	{
		const WalkedVersion *version = &purge->document[i];

		if (!MayGo(purge, version, &purge->document[purge->nversions - 1]))
			continue;
		AddPlace(purge, version);
		last = version;
	}
	if (last != NULL)
		AddDocument(purge, last);
	purge->nversions = 0;
}

/* Take the next version of a walk; returns false if there are enough that go. */
static bool
TakeVersion(Purge *purge, const WalkedVersion *version)
{
	if (purge->nversions > 0 && memcmp(&purge->document[0].uuid, &version->uuid, UUID_LEN) != 0)
		EndDocument(purge);
	if (purge->nplaces >= purge->limit)
		return false;
	if (purge->nversions == purge->capacity)
	{
		purge->capacity *= 2;
		purge->document = repalloc_huge(purge->document, sizeof(WalkedVersion) * purge->capacity);
	}
	purge->document[purge->nversions++] = *version;
	return true;
}

/* Begin to collect up to so many versions. */
static void
BeginPurge(Purge *purge, int64 limit)
{
	memset(purge, 0, sizeof(Purge));
	purge->limit = limit;
	ReadRules(purge);
	purge->capacity = 64;
	purge->document = palloc(sizeof(WalkedVersion) * purge->capacity);
	purge->places_capacity = 1024;
	purge->places = palloc(sizeof(ItemPointerData) * purge->places_capacity);
	purge->documents_capacity = 256;
	purge->uuids = palloc(sizeof(pg_uuid_t) * purge->documents_capacity);
	purge->last = palloc(sizeof(int64) * purge->documents_capacity);
}

/* --- walking -------------------------------------------------------------- */

/* Where a walk begins, and where it ends; NULL means at the end of the table. */
typedef struct Range
{
	const pg_uuid_t *from;
	const pg_uuid_t *before;
} Range;

/* Returns true if a version is beyond the end of a walk. */
static bool
IsBeyond(const Range *range, const WalkedVersion *version)
{
	return range->before != NULL && memcmp(&version->uuid, range->before, UUID_LEN) >= 0;
}

/* Returns true if this is the kind of a version that records a deleted document. */
static bool
IsDeleted(Datum kind)
{
	text	   *name = DatumGetTextPP(kind);

	return VARSIZE_ANY_EXHDR(name) == strlen("deleted") &&
		memcmp(VARDATA_ANY(name), "deleted", strlen("deleted")) == 0;
}

/* Get a version from values in the order of the described columns. */
static void
SetVersion(WalkedVersion *version, ItemPointer place, const Datum *values)
{
	version->place = *place;
	version->uuid = *DatumGetUUIDP(values[0]);
	version->number = DatumGetInt64(values[1]);
	version->created_at = DatumGetTimestampTz(values[2]);
	version->type_id = DatumGetInt32(values[3]);
	version->deleted = IsDeleted(values[4]);
}

/* Get the version that a scan is at. */
static void
ScannedVersion(KeyScan *scan, WalkedVersion *version)
{
	Datum		values[lengthof(walked_columns)];
	bool		isnull;

	for (int i = 0; i < (int) lengthof(walked_columns); i++)
	{
		values[i] = slot_getattr(scan->slot, scan->columns[i], &isnull);
		if (isnull)
			ResultRefuse("NULL where there must be a value");
	}
	SetVersion(version, &scan->slot->tts_tid, values);
}

/* Walk along the index without a statement; returns false if that cannot be done. */
static bool
WalkDirectly(Purge *purge, const Range *range)
{
	KeyScan		scan;
	WalkedVersion version;
	bool		able;

	if (!KeyScanOpen(&scan, &walked_versions, AccessShareLock, ACL_SELECT))
		return false;
	able = KeyScanBeginFrom(&scan, UUIDPGetDatum(range->from));
	while (able && KeyScanNext(&scan))
	{
		ScannedVersion(&scan, &version);
		if (IsBeyond(range, &version) || !TakeVersion(purge, &version))
			break;
	}
	KeyScanClose(&scan);
	return able;
}

/* Returns true if a version comes after another one in the primary key. */
static bool
IsAfter(const WalkedVersion *version, const WalkedVersion *other)
{
	int			order = memcmp(&version->uuid, &other->uuid, UUID_LEN);

	return order > 0 || (order == 0 && version->number > other->number);
}

/*
 * Take versions from the last result, all of which come after one that is set to the last of
 * them.  Returns false at the end of the walk.
 */
static bool
TakeResult(Purge *purge, const Range *range, WalkedVersion *last, uint64 n)
{
	static const Oid types[] = {TIDOID, UUIDOID, INT8OID, TIMESTAMPTZOID, INT4OID, TEXTOID};

	ResultExpect(types);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		values[lengthof(types)];
		WalkedVersion version;
		bool		isnull = false;

		for (int j = 0; j < (int) lengthof(types) && !isnull; j++)
			values[j] = ResultDatum(i, j + 1, &isnull);
		if (isnull)
			ResultRefuse("NULL where there must be a value");
		SetVersion(&version, (ItemPointer) DatumGetPointer(values[0]), values + 1);
		if (!IsAfter(&version, last))
			ResultRefuse("rows in another order than they must have");
		*last = version;
		if (IsBeyond(range, &version) || !TakeVersion(purge, &version))
			return false;
	}
	return n > 0;
}

/* Walk by statements. */
static void
WalkBySql(Purge *purge, const Range *range)
{
	WalkedVersion last = {.uuid = *range->from,.number = PG_INT64_MIN};
	bool		more = true;

	while (more)
	{
		Datum		values[] = {UUIDPGetDatum(&last.uuid), Int64GetDatum(last.number), Int64GetDatum(READ_AT_ONCE)};

		CHECK_FOR_INTERRUPTS();
		more = TakeResult(purge, range, &last, StatementRun(&read_versions, values, NULL, true, 0));
		ResultFree();
	}
}

/* Collect what goes among documents from one on. */
static void
WalkRange(Purge *purge, const Range *range)
{
	if (purge->nrules == 0 || purge->nplaces >= purge->limit)
		return;
	if (!WalkDirectly(purge, range))
		WalkBySql(purge, range);
	EndDocument(purge);
}

/* --- deleting ------------------------------------------------------------- */

/* Delete the versions that were collected; returns how many there still were. */
static int64
DeletePlaces(const Purge *purge)
{
	Datum	   *places = palloc_extended(sizeof(Datum) * Min(purge->nplaces, DELETED_AT_ONCE), MCXT_ALLOC_HUGE);
	int64		deleted = 0;

	for (int64 i = 0; i < purge->nplaces; i += DELETED_AT_ONCE)
	{
		int			n = (int) Min(purge->nplaces - i, DELETED_AT_ONCE);
		Datum		array;

		for (int j = 0; j < n; j++)
			places[j] = PointerGetDatum(&purge->places[i + j]);
		array = DatumArray(n, places, NULL, TIDOID);
		deleted += HistoryDeleteVersions(&delete_places, &array);
		pfree(DatumGetPointer(array));
	}
	return deleted;
}

/* Forget what repeats parts of the versions that were deleted. */
static void
ForgetCopies(const Purge *purge)
{
	Datum	   *uuids = palloc_extended(sizeof(Datum) * purge->ndocuments, MCXT_ALLOC_HUGE);
	Datum		documents;
	Datum		last = DatumInt8Array(purge->ndocuments, purge->last);

	for (int i = 0; i < purge->ndocuments; i++)
		uuids[i] = UUIDPGetDatum(&purge->uuids[i]);
	documents = DatumArray(purge->ndocuments, uuids, NULL, UUIDOID);
	VersionDiffsForget(documents, last);
	JobsForgetDead(documents, last);
}

/*
 * Delete versions that the options of their resources do not retain, at most so many,
 * the oldest ones of each document first.  Returns their number.
 *
 * The walk begins at a random document, and continues at the first one.  Otherwise
 * each call would pass over what earlier calls have left.
 */
int64
HistoryPurge(int64 max_rows)
{
	pg_uuid_t	first = {{0}};
	pg_uuid_t	start;
	Range		upper = {.from = &start};
	Range		lower = {.from = &first,.before = &start};
	Purge		purge;
	int64		deleted = 0;

	if (!pg_strong_random(start.data, UUID_LEN))
		start = first;
	BeginPurge(&purge, max_rows);
	SnapshotBegin();
	WalkRange(&purge, &upper);
	WalkRange(&purge, &lower);
	if (purge.nplaces > 0)
		deleted = DeletePlaces(&purge);
	SnapshotEnd();
	if (purge.nplaces > 0)
		ForgetCopies(&purge);
	return deleted;
}
