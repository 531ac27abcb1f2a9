/*
 * storerow.c
 *		The row of dms.Store: the store's version, its generation, its own limits, and
 *		where the numbers of changes come from.
 *
 * The core tables are not members of the extension, so a database may have those
 * of another version than the library: an older one after an update of the
 * extension, or after restoring a dump.  The version in dms.Store shows it, and every
 * call checks it before it does anything else.
 *
 * Sessions keep models, plans and limits.  Whatever changes them raises the
 * generation in dms.Store, and sends an invalidation message for that table.  A
 * session that receives any message about the core tables reads the row again,
 * and compares the generation with the one that it knows.  So a message that has
 * other reasons, such as ANALYZE, costs one look at one row.  Between messages,
 * the limits are in the memory of the session.
 *
 * Both sides respect the gate: a writer that has passed it has received all
 * messages of those who had closed it before.
 *
 * The row is read without a statement and without rights of the caller, as the
 * catalogs are: readers need no privilege on dms.Store, and policies do not hide
 * the generation.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/faults.h"
#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(dms_require_store);

/* The columns that sessions read. */
enum
{
	COLUMN_STORE_VERSION,
	COLUMN_INSTANCE_ID,
	COLUMN_GENERATION,
	COLUMN_MAX_CASCADE_SIZE,
	COLUMN_VERIFY_EDGES,
	COLUMN_IDEMPOTENCY_LEASE,
	COLUMN_IDEMPOTENCY_TTL,
	COLUMN_MAX_DELETE_SIZE,
	COLUMN_URN_DOMAIN,
	COLUMN_CHANGE_TRACKING,
	COLUMN_CHANGE_BASE,
	COLUMN_CHANGE_FLOOR,
	COLUMN_CHANGE_SYSTEM,
	COLUMN_PURGED_THROUGH,
	COLUMN_PURGED_BY,
	COLUMN_CACHE_MODE,
	COLUMN_CACHE_VALID_FROM,
	COLUMNS
};

static const struct
{
	const char *name;
	Oid			type;
}			columns[COLUMNS] = {
	[COLUMN_STORE_VERSION] = {"storeversion", TEXTOID},
	[COLUMN_INSTANCE_ID] = {"instanceid", UUIDOID},
	[COLUMN_GENERATION] = {"generation", INT8OID},
	[COLUMN_MAX_CASCADE_SIZE] = {"maxcascadesize", INT4OID},
	[COLUMN_VERIFY_EDGES] = {"verifyedges", FLOAT8OID},
	[COLUMN_IDEMPOTENCY_LEASE] = {"idempotencylease", INT4OID},
	[COLUMN_IDEMPOTENCY_TTL] = {"idempotencyttl", INT4OID},
	[COLUMN_MAX_DELETE_SIZE] = {"maxdeletesize", INT4OID},
	[COLUMN_URN_DOMAIN] = {"urndomain", VARCHAROID},
	[COLUMN_CHANGE_TRACKING] = {"changetracking", BOOLOID},
	[COLUMN_CHANGE_BASE] = {"changebase", INT8OID},
	[COLUMN_CHANGE_FLOOR] = {"changefloor", INT8OID},
	[COLUMN_CHANGE_SYSTEM] = {"changesystem", INT8OID},
	[COLUMN_PURGED_THROUGH] = {"purgedthrough", INT8OID},
	[COLUMN_PURGED_BY] = {"purgedby", INT8OID},
	[COLUMN_CACHE_MODE] = {"cachemode", VARCHAROID},
	[COLUMN_CACHE_VALID_FROM] = {"cachevalidfrom", TIMESTAMPTZOID},
};

static const char *const cache_modes[CACHE_MODES] = {
	[CACHE_OFF] = "off",
	[CACHE_EVENTUAL] = "eventual",
	[CACHE_WRITE_THROUGH] = "write_through",
	[CACHE_STRICT] = "strict",
};

static const StoreLimits no_limits = {.idempotency_ttl = INT_MAX,.urn_domain = "dms"};

/* The state of the store that models were loaded from. */
typedef struct StoreState
{
	int			version;		/* 0: not known */
	Oid			models;			/* dms.ResourceModel */
	pg_uuid_t	instance;
	int64		generation;
	TransactionId writer;		/* of the row's current version */
} StoreState;

static StoreState state;
static StoreLimits limits;
static StoreJournal journal;
static StoreCache cache;
static uint64 state_number = 1; /* changes whenever the state does */
static bool known = false;		/* the row was read */
static uint64 known_changes = 0;	/* StoreChanges() before it was read */

/* Refuse a table that is not what the deploy created. */
static void
pg_attribute_noreturn()
RefuseTable(const char *column)
{
	if (column == NULL)
		ReportError(PROBLEM_STORE_UNSAFE,
					"The tables of the store are plain tables, without partitions and without tables that inherit from them.",
					"\"dms.store\" is not an ordinary table");
	ReportError(PROBLEM_STORE_UNSAFE, "It was made by another version of the extension, or changed since.",
				"table \"dms.store\" has no column \"%s\" of the type that is expected", column);
}

/* Returns the number of a column, after checking its type. */
static int
FindColumn(TupleDesc descriptor, int column)
{
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), columns[column].name) == 0 &&
			attribute->atttypid == columns[column].type)
			return attribute->attnum;
	}
	RefuseTable(columns[column].name);
}

/* Returns true if the library can work with core tables of a version. */
static bool
IsUsable(int version)
{
	return version == STORE_VERSION || version == 0;
}

/* Returns the number that a version begins with; 0 if there is none. */
static int
VersionNumber(Datum version)
{
	long		number = strtol(TextDatumGetCString(version), NULL, 10);

	return number > 0 && number < PG_INT32_MAX ? (int) number : 0;
}

/* Take what concerns numbers of changes from the columns of the row. */
static void
TakeJournal(const Datum *values, const bool *nulls, StoreJournal *taken)
{
	for (int i = COLUMN_CHANGE_TRACKING; i <= COLUMN_PURGED_BY; i++)
		if (nulls[i])
			ResultRefuse("NULL where there must be a value");
	taken->tracking = DatumGetBool(values[COLUMN_CHANGE_TRACKING]);
	taken->base = DatumGetInt64(values[COLUMN_CHANGE_BASE]);
	taken->floor = DatumGetInt64(values[COLUMN_CHANGE_FLOOR]);
	taken->system = DatumGetInt64(values[COLUMN_CHANGE_SYSTEM]);
	taken->purged_through = DatumGetInt64(values[COLUMN_PURGED_THROUGH]);
	taken->purged_by = DatumGetInt64(values[COLUMN_PURGED_BY]);
}

/* Take what concerns the cache of documents. */
static void
TakeCache(const Datum *values, const bool *nulls, StoreCache *taken)
{
	char	   *name;

	if (nulls[COLUMN_CACHE_MODE] || nulls[COLUMN_CACHE_VALID_FROM])
		ResultRefuse("NULL where there must be a value");
	name = TextDatumGetCString(values[COLUMN_CACHE_MODE]);
	taken->mode = CACHE_MODES;
	for (int i = 0; i < CACHE_MODES; i++)
		if (strcmp(name, cache_modes[i]) == 0)
			taken->mode = i;
	if (taken->mode == CACHE_MODES)
		ResultRefuse("an unknown mode of the cache");
	taken->valid_from = DatumGetTimestampTz(values[COLUMN_CACHE_VALID_FROM]);
}

/* Take the domain of URNs, which become parts of JSON and of pictures as they are. */
static void
TakeDomain(const char *domain, StoreLimits *set)
{
	if (!UrnIsDomain(domain, (int) strnlen(domain, sizeof(set->urn_domain))))
		ResultRefuse("a domain that URNs cannot have");
	strlcpy(set->urn_domain, domain, sizeof(set->urn_domain));
}

/*
 * Take the state and the limits from the row.  Of a row of another version, only
 * the version is taken: it may not have the other columns.
 */
static void
TakeRow(TupleTableSlot *slot, StoreState *row, StoreLimits *set, StoreJournal *taken, StoreCache *taken_cache)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
	bool		isnull;

	row->writer = DatumGetTransactionId(slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull));
	values[COLUMN_STORE_VERSION] = slot_getattr(slot, FindColumn(slot->tts_tupleDescriptor, COLUMN_STORE_VERSION), &isnull);
	row->version = isnull ? 0 : VersionNumber(values[COLUMN_STORE_VERSION]);
	if (!IsUsable(row->version))
		return;
	for (int i = COLUMN_STORE_VERSION + 1; i < COLUMNS; i++)
		values[i] = slot_getattr(slot, FindColumn(slot->tts_tupleDescriptor, i), &nulls[i]);
	if (!nulls[COLUMN_INSTANCE_ID])
		row->instance = *DatumGetUUIDP(values[COLUMN_INSTANCE_ID]);
	if (!nulls[COLUMN_GENERATION])
		row->generation = DatumGetInt64(values[COLUMN_GENERATION]);
	if (!nulls[COLUMN_MAX_CASCADE_SIZE])
		set->max_cascade_size = DatumGetInt32(values[COLUMN_MAX_CASCADE_SIZE]);
	if (!nulls[COLUMN_VERIFY_EDGES])
		set->verify_edges = DatumGetFloat8(values[COLUMN_VERIFY_EDGES]);
	if (!nulls[COLUMN_IDEMPOTENCY_LEASE])
		set->idempotency_lease = DatumGetInt32(values[COLUMN_IDEMPOTENCY_LEASE]);
	if (!nulls[COLUMN_IDEMPOTENCY_TTL])
		set->idempotency_ttl = DatumGetInt32(values[COLUMN_IDEMPOTENCY_TTL]);
	if (!nulls[COLUMN_MAX_DELETE_SIZE])
		set->max_delete_size = DatumGetInt32(values[COLUMN_MAX_DELETE_SIZE]);
	if (!nulls[COLUMN_URN_DOMAIN])
		TakeDomain(TextDatumGetCString(values[COLUMN_URN_DOMAIN]), set);
	TakeJournal(values, nulls, taken);
	TakeCache(values, nulls, taken_cache);
}

/*
 * Read the row in its current state, whatever the snapshot of the caller, because
 * models are read in their current state, too.
 */
static void
ScanRow(StoreState *row, StoreLimits *set, StoreJournal *taken, StoreCache *taken_cache)
{
	Oid			table = StoreTable(STORE_STORE);
	Relation	relation = table_open(table, AccessShareLock);
	Snapshot	snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (relation->rd_rel->relkind != RELKIND_RELATION)
		RefuseTable(NULL);
	snapshot = RegisterSnapshot(GetCatalogSnapshot(table));
	slot = table_slot_create(relation, NULL);
	scan = table_beginscan(relation, snapshot, 0, NULL);
	if (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		TakeRow(slot, row, set, taken, taken_cache);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	table_close(relation, AccessShareLock);
}

/*
 * Returns true if models that were loaded in one state are current in the other.
 * The generation alone does not suffice: if a transaction of ours raised it and was
 * rolled back, the next one gives it the same number.
 */
static bool
SameState(const StoreState *left, const StoreState *right)
{
	return left->models == right->models && left->generation == right->generation &&
		(left->writer == right->writer || FAULT_SKIP("generation_writer")) &&
		memcmp(&left->instance, &right->instance, sizeof(pg_uuid_t)) == 0;
}

/* Read the row, if it may have changed since it was read. */
static void
ReadRow(void)
{
	uint64		before = StoreChanges();
	StoreState	row = {0};
	StoreLimits set = no_limits;
	StoreJournal taken = {0};
	StoreCache	taken_cache = {0};

	if (known && known_changes == before)
		return;
	row.models = StoreTable(STORE_RESOURCE_MODEL);
	ScanRow(&row, &set, &taken, &taken_cache);
	if (!SameState(&row, &state))
		state_number++;
	state = row;
	limits = set;
	journal = taken;
	cache = taken_cache;
	known_changes = before;
	known = true;
}

/* Returns the version of the core tables; 0 if the row does not say. */
int
StoreRowVersion(void)
{
	ReadRow();
	return state.version;
}

/* Returns true if the core tables are of an older version than the library. */
bool
StoreRowIsOlder(void)
{
	int			version = StoreRowVersion();

	return version < STORE_VERSION && !IsUsable(version);
}

/*
 * Raise an error that says what to do, if the core tables are of another version
 * than the library.
 */
void
StoreRowRequireVersion(void)
{
	ReadRow();
	if (likely(IsUsable(state.version)))
		return;
	ReportError(PROBLEM_STORE_UNSAFE,
				StoreRowIsOlder() ? "Call dms.upgrade_store()." :
				"Install the version of the extension that made or upgraded the store.",
				"the store has version %d, and this library works with version %d",
				state.version, STORE_VERSION);
}

/* Returns the state that a snapshot sees; its generation is -1 if it sees no row of this version. */
static StoreState
StateIn(Snapshot snapshot)
{
	Relation	relation = table_open(StoreTable(STORE_STORE), AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
	StoreState	row = {.generation = -1};
	StoreLimits set = no_limits;
	StoreJournal taken = {0};
	StoreCache	taken_cache = {0};

	if (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		TakeRow(slot, &row, &set, &taken, &taken_cache);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(relation, AccessShareLock);
	return row;
}

/* Returns true if two snapshots see the same version of the row. */
bool
StoreRowIsSameIn(Snapshot left, Snapshot right)
{
	StoreState	before = StateIn(left);
	StoreState	after = StateIn(right);

	return SameState(&before, &after);
}

/*
 * Refuse a fixed snapshot that is older than the current generation.  Models are those
 * of now, and a change of the schema may have rewritten the tables that they describe:
 * to that snapshot their rows are gone.  Looked at once per transaction and state.
 */
static void
RefuseOldSnapshot(void)
{
	static LocalTransactionId looked = InvalidLocalTransactionId;
	static uint64 looked_number = 0;
	Snapshot	snapshot;

	if (looked == COMPAT_LXID(MyProc) && looked_number == state_number)
		return;
	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	if (StateIn(snapshot).generation != state.generation && !FAULT_SKIP("old_generation"))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent change of the store"),
				 errhint("The transaction might succeed if retried.")));
	UnregisterSnapshot(snapshot);
	looked = COMPAT_LXID(MyProc);
	looked_number = state_number;
}

/* Returns a number that changes whenever loaded models may have become outdated. */
uint64
StoreRowGeneration(void)
{
	StoreRowRequireVersion();
	if (IsolationUsesXactSnapshot())
		RefuseOldSnapshot();
	return state_number;
}

/* Returns the limits of the store itself; the settings of the session may be stricter. */
const StoreLimits *
StoreRowLimits(void)
{
	StoreRowRequireVersion();
	return &limits;
}

/* Returns where the numbers of changes come from. */
const StoreJournal *
StoreRowJournal(void)
{
	StoreRowRequireVersion();
	return &journal;
}

/* Returns who writes the cache of documents, and which of its rows are fresh. */
const StoreCache *
StoreRowCache(void)
{
	StoreRowRequireVersion();
	return &cache;
}

/* Returns the name of a mode of the cache. */
const char *
StoreRowCacheModeName(CacheMode mode)
{
	return cache_modes[mode];
}

/* Returns the id of the store, which dump and restore keep. */
const pg_uuid_t *
StoreRowInstance(void)
{
	StoreRowRequireVersion();
	return &state.instance;
}

/* Returns the generation of the store: how often models or options were changed. */
int64
StoreRowRaised(void)
{
	StoreRowRequireVersion();
	return state.generation;
}

/* Insert the row of a new store. */
void
StoreRowInsert(void)
{
	pg_uuid_t	id;
	Oid			types[] = {UUIDOID, TEXTOID, INT8OID};
	Datum		values[lengthof(types)];

	UuidV7(&id);
	values[0] = UUIDPGetDatum(&id);
	values[1] = CStringGetTextDatum(psprintf("%d", STORE_VERSION));
	values[2] = Int64GetDatum((int64) GetSystemIdentifier());
	(void) StatementExecuteWithArgs("INSERT INTO dms.Store (InstanceId, StoreVersion, ChangeSystem) VALUES ($1, $2, $3)",
									lengthof(types), types, values, false);
}

/*
 * Run an UPDATE of the row that raises the generation, and let other sessions read
 * the row again once this transaction has committed.
 */
static void
UpdateRow(const char *sql, int nargs, Oid *types, Datum *values)
{
	if (StatementExecuteWithArgs(sql, nargs, types, values, false) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" does not have its one row", "dms.store")));
	if (!FAULT_SKIP("announce_generation"))
		CacheInvalidateRelcacheByRelid(StoreTable(STORE_STORE));
	CommandCounterIncrement();
}

#define RAISE_GENERATION "UPDATE dms.Store SET Generation = Generation OPERATOR(pg_catalog.+) 1"

/* Raise the generation: models that sessions have loaded are outdated.  The gate must be closed. */
void
StoreRowRaise(void)
{
	UpdateRow(RAISE_GENERATION, 0, NULL, NULL);
}

/* Record that the store has the version of the library now.  The gate must be closed. */
void
StoreRowUpgraded(void)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(psprintf("%d", STORE_VERSION))};

	UpdateRow(RAISE_GENERATION ", StoreVersion = $1", lengthof(types), types, values);
}

/* Change other columns as well, by assignments in which $1 are the options. */
void
StoreRowConfigure(const char *assignments, Jsonb *options)
{
	Oid			types[] = {JSONBOID};
	Datum		values[] = {JsonbPGetDatum(options)};

	UpdateRow(psprintf(RAISE_GENERATION ", %s", assignments), 1, types, values);
}

/*
 * Lock the row until the end of the transaction.  The journal in memory is the latest
 * one then: a transaction that we waited for has sent its messages, and its row is
 * read whatever our snapshot.
 */
void
StoreRowLock(void)
{
	(void) StatementExecuteWithArgs("SELECT FROM dms.Store FOR NO KEY UPDATE", 0, NULL, NULL, false);
	ResultFree();
	AcceptInvalidationMessages();
}

/* Store where numbers of changes come from.  The row must be locked, or the gate be closed. */
void
StoreRowSetJournal(const StoreJournal *set)
{
	Oid			types[] = {BOOLOID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID};
	Datum		values[] = {BoolGetDatum(set->tracking), Int64GetDatum(set->base), Int64GetDatum(set->floor),
		Int64GetDatum(set->system), Int64GetDatum(set->purged_through), Int64GetDatum(set->purged_by)
	};

	UpdateRow(RAISE_GENERATION ", ChangeTracking = $1, ChangeBase = $2, ChangeFloor = $3, ChangeSystem = $4,"
			  " PurgedThrough = $5, PurgedBy = $6", lengthof(types), types, values);
}

/* Store who writes the cache, and which of its rows are fresh.  The gate must be closed. */
void
StoreRowSetCache(const StoreCache *set)
{
	Oid			types[] = {TEXTOID, TIMESTAMPTZOID};
	Datum		values[] = {CStringGetTextDatum(cache_modes[set->mode]), TimestampTzGetDatum(set->valid_from)};

	UpdateRow(RAISE_GENERATION ", CacheMode = $1, CacheValidFrom = $2", lengthof(types), types, values);
}

/*
 * Returns the current options of the store.  The members are the arguments of
 * jsonb_build_object(): names of options and columns of dms.Store.
 */
Jsonb *
StoreRowOptions(const char *members)
{
	static const Oid types[] = {JSONBOID};
	bool		isnull;

	SnapshotBeginLatest();
	(void) StatementExecuteWithArgs(psprintf("SELECT pg_catalog.jsonb_build_object(%s) FROM dms.Store", members),
									0, NULL, NULL, true);
	SnapshotEnd();
	ResultExpect(types);
	if (ResultRows() != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" does not have its one row", "dms.store")));
	return DatumGetJsonbP(ResultDatum(0, 1, &isnull));
}

/* SQL function: raise an error that says what to do if there is no store, or one of another version. */
Datum
dms_require_store(PG_FUNCTION_ARGS)
{
	(void) StoreTable(STORE_DOCUMENT);
	StoreRowRequireVersion();
	PG_RETURN_VOID();
}
