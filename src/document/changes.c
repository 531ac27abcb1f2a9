/*
 * changes.c
 *		The numbers of changes, and the journal: rows of dms.DocumentChange.
 *
 * The journal has a row for each etag that a document has got.  A row is current if
 * its etag is the document's; the others are of no use, and are deleted from time to
 * time.  So those who follow the store find what has changed in an index, and
 * dms.Document itself needs no index on a column that each update changes.
 *
 * All changes of a transaction have one number: that of the transaction itself,
 * doubled, plus a base.  Deletes and changes of keys have the next number, which is
 * odd (trackedchanges.c).  A sequence would not do: there is no way to know which of its
 * numbers are still to appear.  Of transactions everybody can, because a snapshot has
 * the list of those that run.
 *
 * A transaction that began earlier may change a document later.  Its row has the lower
 * number then, and the higher etag.  That is right: whoever has read up to the higher
 * number knows that the transaction was still running.  Changes of one document are in
 * the order of their etags.
 *
 * Another server has other transaction ids.  So the base belongs to one server, and
 * the first write on another one chooses a base that lets numbers grow.
 *
 * This module has all statements on the table, except for the trigger that empties it
 * with dms.Document, and for the audit.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/faults.h"
#include "base/report.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "document/changes.h"
#include "document/redissettings.h"
#include "engine/coresql.h"
#include "engine/keywrite.h"
#include "engine/progress.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/running.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/workershare.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static const char *const change_columns[] = {"resourcetypeid", "changeversion", "documentid", "etag"};
static const Oid change_types[] = {INT4OID, INT8OID, INT8OID, INT8OID};
static KeyedTable changes =
{
	.schema = "dms",.name = "documentchange", KEYED_COLUMNS(change_columns, change_types),.nkeys = 4
};

static int64 told = 0;			/* the number that the trigger of deletes is
								 * told */
static LocalTransactionId told_in = InvalidLocalTransactionId;
static char *unused = NULL;
static bool recorded = false;	/* the delete that is running is recorded */
static int	recorded_depth = 0; /* how deep in triggers it is */
static char *unused_recorded = NULL;

/* Returns the value of the setting that gives the trigger the number of a delete. */
static const char *
ShowVersion(void)
{
	static char value[24];

	if (told == 0 || told_in != COMPAT_LXID(MyProc))
		return "";
	snprintf(value, sizeof(value), INT64_FORMAT, told);
	return value;
}

/*
 * Returns the value of the setting by which the trigger knows that the library has
 * recorded the delete that is running.  Deletes inside of triggers of that one are not
 * meant.
 */
static const char *
ShowRecorded(void)
{
	return recorded && DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0)) == recorded_depth ? "on" : "off";
}

/* Define the settings of this module. */
void
ChangesInit(void)
{
	DefineCustomStringVariable("dms.change_version",
							   "The number of the deletes of this transaction.",
							   "Set by functions that delete documents, for their trigger.",
							   &unused, "", PGC_INTERNAL, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							   NULL, NULL, ShowVersion);
	DefineCustomStringVariable("dms.delete_recorded",
							   "Whether the delete that is running is recorded already.",
							   "Set by functions that delete documents, for the trigger that records deletes.",
							   &unused_recorded, "", PGC_INTERNAL, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							   NULL, NULL, ShowRecorded);
}

/* Returns true if changes are recorded. */
bool
ChangesAreTracked(void)
{
	return StoreRowJournal()->tracking;
}

/* Returns true if the base is for another server: this is a copy that was not written to yet. */
bool
ChangesAreForeign(void)
{
	return StoreRowJournal()->system != (int64) GetSystemIdentifier();
}

/* Returns the largest number of a change that has committed. */
int64
ChangesHighest(void)
{
	SnapshotBeginLatest();
	(void) StatementExecuteWithArgs("SELECT GREATEST((SELECT pg_catalog.max(ChangeVersion) FROM dms.DocumentChange),"
									" (SELECT pg_catalog.max(ChangeVersion) FROM dms.TrackedChange), 0)", 0, NULL, NULL, true);
	SnapshotEnd();
	return ResultInt64(0, 1);
}

static const Oid uuid_type[] = {UUIDOID};
static Statement find_last_etag =
{
	.sql = "SELECT COALESCE(pg_catalog.max(Etag), 0) FROM dms.TrackedChange"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 AND NewKey IS NULL",
	.nargs = 1,
	.argtypes = uuid_type,
};

/*
 * Returns the largest etag of a deleted document with this uuid that is recorded, in the
 * active snapshot; 0 if there is none.
 */
int64
ChangesLastEtag(const pg_uuid_t *uuid)
{
	Datum		values[] = {UUIDPGetDatum(uuid)};

	(void) StatementRun(&find_last_etag, values, NULL, true, 0);
	return ResultInt64(0, 1);
}

static Statement find_highest =
{
	.sql = "SELECT pg_catalog.max(GREATEST((SELECT c.ChangeVersion FROM dms.DocumentChange AS c"
	" WHERE c.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId ORDER BY c.ChangeVersion DESC LIMIT 1),"
	" (SELECT c.ChangeVersion FROM dms.TrackedChange AS c"
	" WHERE c.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId ORDER BY c.ChangeVersion DESC LIMIT 1), 0))"
	" FROM " RESOURCE_TYPES_SQL("t"),
	.ordered = true,
};

/* Returns the largest number that the active snapshot sees, or one that was given elsewhere. */
int64
ChangesHighestSeen(void)
{
	const StoreJournal *journal = StoreRowJournal();
	int64		highest = 0;
	bool		isnull;
	Datum		value;

	if (StatementRun(&find_highest, NULL, NULL, true, 1) == 1)
	{
		value = ResultTypedDatum(0, 1, INT8OID, &isnull);
		highest = isnull ? 0 : DatumGetInt64(value);
	}
	return Max(Max(highest, journal->purged_through), journal->floor);
}

/* Returns the transaction that gave a number; for one that was given elsewhere, one before all of ours. */
uint64
ChangesXid(int64 version)
{
	const StoreJournal *journal = StoreRowJournal();

	return (uint64) ((Max(version, journal->floor) - journal->base) >> 1);
}

static const Oid number_type[] = {INT8OID};
static Statement find_number =
{
	.sql = "SELECT true FROM " RESOURCE_TYPES_SQL("t") " WHERE COALESCE("
	"(SELECT c.ChangeVersion FROM dms.DocumentChange AS c WHERE c.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId"
	" AND c.ChangeVersion OPERATOR(pg_catalog.=) $1 LIMIT 1),"
	" (SELECT c.ChangeVersion FROM dms.TrackedChange AS c WHERE c.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId"
	" AND c.ChangeVersion OPERATOR(pg_catalog.=) ($1 OPERATOR(pg_catalog.+) 1) LIMIT 1)) IS NOT NULL LIMIT 1",
	.nargs = 1,
	.argtypes = number_type,
	.ordered = true,
};

/* Returns true if the active snapshot sees changes of a transaction, which has ended. */
static bool
HasChanged(uint64 xid)
{
	Datum		values[] = {Int64GetDatum(StoreRowJournal()->base + 2 * (int64) xid)};
	bool		found = StatementRun(&find_number, values, NULL, true, 0) > 0;

	ResultFree();
	return found;
}

/*
 * Returns the oldest of some transactions that has changed documents, or a later one if
 * none of them has.  The active snapshot does not see them, and they have ended since.
 *
 * Those without a row in the latest snapshot have changed nothing that can appear later.
 * Perhaps they never could, because they ran in another database, and then the number
 * that was told while they ran was above theirs.  If a row of theirs was superseded and
 * compacted, there is one of a later change of that document: by a transaction that the
 * active snapshot does not see either, and that counts by itself.  If rows were purged or
 * numbers have jumped since the active snapshot, all of them count.
 */
static uint64
OldestChanged(const uint64 *ended, int n, uint64 later)
{
	Snapshot	snapshot = GetActiveSnapshot();
	uint64		oldest = later;

	if (FAULT_SKIP("newest_ended"))
		return ended[0];
	if (FAULT_SKIP("newest_changed"))
		return later;
	SnapshotBeginLatest();
	if (!StoreRowIsSameIn(snapshot, GetActiveSnapshot()))
		oldest = ended[0];
	for (int i = 0; i < n && oldest == later; i++)
		if (HasChanged(ended[i]))
			oldest = ended[i];
	SnapshotEnd();
	return oldest;
}

/*
 * Returns the largest number such that the active snapshot sees all changes up to it,
 * and so will every later one.  It never falls: the highest number that is seen is
 * only exceeded by those of transactions that are still running.
 */
int64
ChangesNewest(void)
{
	uint64	   *ended;
	int			n;
	uint64		oldest = RunningOldestHere(&ended, &n);

	if (n > 0)
		oldest = OldestChanged(ended, n, oldest);
	return Min(StoreRowJournal()->base + 2 * ((int64) oldest - 1) + 1, ChangesHighestSeen() | 1);
}

/*
 * Choose a base such that numbers of all transactions that run or are still to begin
 * are above a floor.
 */
static void
SetFloor(StoreJournal *set, int64 floor)
{
	set->floor = floor;
	set->base = (floor | 1) + 1 - 2 * (int64) RunningOldest();
	set->system = (int64) GetSystemIdentifier();
}

/*
 * Let numbers jump over some.  The gate is closed.  Those who have heard of larger
 * numbers than this server knows, from one that was lost, miss nothing then.
 */
void
ChangesSkip(int64 by)
{
	StoreJournal set = *StoreRowJournal();
	int64		floor;

	if (pg_add_s64_overflow(Max(Max(set.floor, set.purged_through), ChangesHighest()) | 1, by, &floor) ||
		floor > PG_INT64_MAX / 2)
		ReportError(PROBLEM_ARGUMENT, NULL, "numbers of changes would become too large");
	SetFloor(&set, floor);
	StoreRowSetJournal(&set);
}

/*
 * Choose a base for this server.  Numbers of all transactions that run or are still to
 * begin are above those that the copy has.  Others who want to do the same wait.
 */
static void
Rebase(void)
{
	StoreJournal set;

	FAULT_PAUSE("before_rebase");
	if (!FAULT_SKIP("rebase_lock"))
	{
		StoreRowLock();
		if (!ChangesAreForeign())
			return;
	}
	set = *StoreRowJournal();
	SetFloor(&set, Max(Max(set.floor, set.purged_through), ChangesHighest()));
	StoreRowSetJournal(&set);
}

/* Refuse to number changes if they are not recorded, or have no numbers yet. */
void
ChangesRequire(void)
{
	if (!ChangesAreTracked())
		ReportError(PROBLEM_CHANGES_OFF, "dms.set_change_tracking() begins to record them.",
					"changes of documents are not recorded");
	if (ChangesAreForeign())
		ReportError(PROBLEM_CHANGES_FOREIGN, "The first write numbers them; so does dms.current_change_version().",
					"changes of this copy of the store have no numbers yet");
}

/*
 * Prepare to write.  The base is chosen before any other row is locked: two writers who
 * did so in the middle of their writes could wait for each other.
 */
void
ChangesBegin(void)
{
	if (ChangesAreTracked() && ChangesAreForeign())
		Rebase();
}

/* Returns the number of the changes of this transaction. */
int64
ChangesVersion(void)
{
	FullTransactionId xid = FAULT_SKIP("version_own_xid") ? ReadNextFullTransactionId() : GetTopFullTransactionId();

	if (ChangesAreForeign())
		Rebase();
	return StoreRowJournal()->base + 2 * (int64) U64FromFullTransactionId(xid);
}

/* Let a background worker look at the changes of this transaction when it has committed. */
static void
Wake(void)
{
	if (StoreRowCache()->mode != CACHE_OFF || RedisSettingsIsOn())
		WorkerShareNote();
}

/* Tell the trigger of deletes the number of this one. */
void
ChangesTellTrigger(void)
{
	told = ChangesAreTracked() ? ChangesVersion() + 1 : 0;
	told_in = COMPAT_LXID(MyProc);
	if (told != 0)
		Wake();
}

/* Run a delete that is recorded already. */
void
ChangesRunRecorded(void (*run) (void *arg), void *arg)
{
	recorded = true;
	recorded_depth = DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0));
	PG_TRY();
	{
		run(arg);
	}
	PG_FINALLY();
	{
		recorded = false;
	}
	PG_END_TRY();
}

/* Raise an error, because a trigger of the owner has kept a row from being written. */
static void
RefuseMissing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 errmsg("dms.DocumentChange did not take a row")));
}

/* Record that a document has a new etag. */
void
ChangesNote(int32 type_id, int64 document_id, int64 etag)
{
	Datum		values[lengthof(change_columns)];
	Row			row = {.values = values};
	RowSet		set = {&row, 1};

	if (!ChangesAreTracked())
		return;
	Wake();
	values[0] = Int32GetDatum(type_id);
	values[1] = Int64GetDatum(ChangesVersion());
	values[2] = Int64GetDatum(document_id);
	values[3] = Int64GetDatum(etag);
	if (RowWriteRun(&changes, KEYED_INSERT, &set) != 1)
		RefuseMissing();
}

/* Rows of the journal that are to be written. */
typedef struct NewChanges
{
	Datum		version;
	const ChangedDocument *documents;
} NewChanges;

/* Fill in a row of the journal. */
static void
FillRow(int row, Datum *values, void *arg)
{
	const NewChanges *new_changes = arg;
	const ChangedDocument *document = &new_changes->documents[row];

	values[0] = Int32GetDatum(document->type_id);
	values[1] = new_changes->version;
	values[2] = Int64GetDatum(document->document_id);
	values[3] = Int64GetDatum(document->etag);
}

/* Order documents as the index of the journal does, with those that are gone at the end. */
static int
CompareChanged(const void *a, const void *b)
{
	const ChangedDocument *left = a;
	const ChangedDocument *right = b;

	if ((left->etag == 0) != (right->etag == 0))
		return left->etag == 0 ? 1 : -1;
	if (left->type_id != right->type_id)
		return left->type_id < right->type_id ? -1 : 1;
	return left->document_id < right->document_id ? -1 : left->document_id > right->document_id;
}

/* Record that documents have new etags.  The list is put into another order. */
void
ChangesNoteAll(ChangedDocument *documents, int n)
{
	NewChanges	new_changes = {.documents = documents};

	if (n == 0 || !ChangesAreTracked())
		return;
	Wake();
	new_changes.version = Int64GetDatum(ChangesVersion());
	qsort(documents, n, sizeof(ChangedDocument), CompareChanged);
	while (n > 0 && documents[n - 1].etag == 0)
		n--;
	KeyWriteInsert(&changes, n, FillRow, &new_changes);
}

/*
 * Returns a document among those that ChangesNoteAll() has recorded, and put in order;
 * NULL if it is not there.
 */
const ChangedDocument *
ChangesFind(const ChangedDocument *documents, int n, int32 type_id, int64 document_id)
{
	ChangedDocument wanted = {.document_id = document_id,.type_id = type_id,.etag = 1};

	return n == 0 ? NULL : bsearch(&wanted, documents, n, sizeof(ChangedDocument), CompareChanged);
}

static const Oid read_types[] = {INT4OID, INT8OID, INT8OID, INT8OID, INT8OID, INT4OID};
static Statement read_changes =
{
	.sql = "SELECT j.ChangeVersion, j.DocumentId, j.Etag FROM dms.DocumentChange AS j"
	" WHERE j.ResourceTypeId OPERATOR(pg_catalog.=) $1"
	" AND ROW (j.ChangeVersion, j.DocumentId, j.Etag) OPERATOR(pg_catalog.>) ROW ($2, $3, $4)"
	" AND j.ChangeVersion OPERATOR(pg_catalog.<=) $5"
	" ORDER BY j.ChangeVersion, j.DocumentId, j.Etag LIMIT $6",
	.nargs = lengthof(read_types),
	.argtypes = read_types,
	.ordered = true,
};

/*
 * Read the rows of a resource after a place and up to a number, in the order of changes
 * and in the active snapshot.  Documents are not joined, which would cost as much as to
 * read them: so there are rows of etags that they have no longer, and of documents that
 * are gone.
 */
NotedChange *
ChangesRead(int32 type_id, const NotedChange *after, int64 max, int limit, int *n)
{
	Datum		values[] = {Int32GetDatum(type_id), Int64GetDatum(after->version), Int64GetDatum(after->document_id),
		Int64GetDatum(after->etag), Int64GetDatum(max), Int32GetDatum(limit)
	};
	NotedChange *rows;

	*n = (int) StatementRun(&read_changes, values, NULL, true, 0);
	rows = palloc_extended(sizeof(NotedChange) * Max(*n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < *n; i++)
	{
		rows[i].version = ResultInt64(i, 1);
		rows[i].document_id = ResultInt64(i, 2);
		rows[i].etag = ResultInt64(i, 3);
	}
	return rows;
}

/* Record the present etags of all documents, as changes of this transaction; returns their number. */
int64
ChangesFill(void)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(ChangesVersion())};

	return (int64) StatementExecuteWithArgs("INSERT INTO dms.DocumentChange (ResourceTypeId, ChangeVersion, DocumentId, Etag)"
											" SELECT t.ResourceTypeId, $1, d.DocumentId, d.Etag FROM " DOCUMENTS_WITH_TYPES_SQL
											" ORDER BY t.ResourceTypeId, d.DocumentId",
											lengthof(types), types, values, false);
}

/* Forget all changes, deletes and changes of keys included. */
void
ChangesClear(void)
{
	StatementTruncate(StoreTable(STORE_DOCUMENT_CHANGE));
	StatementTruncate(StoreTable(STORE_TRACKED_CHANGE));
}

/*
 * Record the documents of a resource that has another number now.  Documents whose
 * etags were raised since are recorded already.
 */
void
ChangesMove(int32 from_type, int32 to_type)
{
	Oid			types[] = {INT4OID, INT4OID, INT8OID};
	Datum		values[] = {Int32GetDatum(from_type), Int32GetDatum(to_type), (Datum) 0};

	if (!ChangesAreTracked())
		return;
	values[2] = Int64GetDatum(ChangesVersion());
	(void) StatementExecuteWithArgs("DELETE FROM dms.DocumentChange WHERE ResourceTypeId OPERATOR(pg_catalog.=) $1",
									1, types, values, false);
	(void) StatementExecuteWithArgs("UPDATE dms.TrackedChange SET ResourceTypeId = $2"
									" WHERE ResourceTypeId OPERATOR(pg_catalog.=) $1", 2, types, values, false);
	(void) StatementExecuteWithArgs("INSERT INTO dms.DocumentChange (ResourceTypeId, ChangeVersion, DocumentId, Etag)"
									" SELECT $2, $3, d.DocumentId, d.Etag FROM " DOCUMENTS_WITH_TYPES_SQL
									" WHERE t.ResourceTypeId OPERATOR(pg_catalog.=) $2 AND $1 IS NOT NULL"
									" ON CONFLICT DO NOTHING", lengthof(types), types, values, false);
}

/*
 * A part of the table.  Rows are judged by the etag, not by the number, which may be lower
 * in the later one of two changes.  For the same reason rows with the highest number stay,
 * whatever came after them, unless a document has an etag of that number: without any, the
 * newest number would fall.  (OFFSET keeps the planner from hashing the whole journal.)
 */
#define COMPACT_SQL(superseded) \
	"DELETE FROM dms.DocumentChange AS j WHERE j.ctid OPERATOR(pg_catalog.>=) $1" \
	" AND j.ctid OPERATOR(pg_catalog.<) $2 AND " superseded \
	" AND (j.ChangeVersion OPERATOR(pg_catalog.<) $3 OR EXISTS (SELECT FROM dms.DocumentChange AS s" \
	" WHERE s.ResourceTypeId OPERATOR(pg_catalog.=) j.ResourceTypeId" \
	" AND s.ChangeVersion OPERATOR(pg_catalog.=) j.ChangeVersion AND " DOCUMENT_IS_CURRENT_SQL("s") " OFFSET 0))"

static const Oid compact_types[] = {TIDOID, TIDOID, INT8OID};
static Statement compact =
{
	.sql = COMPACT_SQL("NOT " DOCUMENT_IS_CURRENT_SQL("j")),
	.nargs = lengthof(compact_types),
	.argtypes = compact_types,
};
#ifdef DMS_FAULTS
static Statement compact_by_number =
{
	.sql = COMPACT_SQL("EXISTS (SELECT FROM dms.DocumentChange AS l"
					   " WHERE l.DocumentId OPERATOR(pg_catalog.=) j.DocumentId"
					   " AND l.ChangeVersion OPERATOR(pg_catalog.>) j.ChangeVersion)"),
	.nargs = lengthof(compact_types),
	.argtypes = compact_types,
};
#endif

/* Pages of the journal that are compacted by one statement: some 9,000 rows. */
#define COMPACT_PAGES 64

/* Returns the number of pages of the journal. */
static BlockNumber
JournalPages(void)
{
	Relation	relation = table_open(StoreTable(STORE_DOCUMENT_CHANGE), AccessShareLock);
	BlockNumber pages = RelationGetNumberOfBlocks(relation);

	table_close(relation, NoLock);
	return pages;
}

/* Returns the highest number that has committed; rows that have a lower one may go. */
static int64
HighestToKeep(void)
{
	int64		highest;

	if (FAULT_SKIP("compact_highest"))
		return PG_INT64_MAX;
	SnapshotBeginLatest();
	highest = ChangesHighestSeen();
	SnapshotEnd();
	return highest;
}

/*
 * Delete the rows of some pages that are not current any more, from a page on, which
 * becomes the next one; returns their number.  At the end of the table, the next page is
 * InvalidBlockNumber.
 */
int64
ChangesCompact(BlockNumber *page)
{
	BlockNumber pages = JournalPages();
	BlockNumber end = pages - Min(*page, pages) > COMPACT_PAGES ? *page + COMPACT_PAGES : pages;
	ItemPointerData first;
	ItemPointerData last;
	Datum		values[] = {PointerGetDatum(&first), PointerGetDatum(&last), Int64GetDatum(HighestToKeep())};
	Statement  *statement = &compact;

	ProgressReport("compacting the journal of changes, page %u of %u", *page, pages);
	ItemPointerSet(&first, *page, InvalidOffsetNumber);
	ItemPointerSet(&last, end, InvalidOffsetNumber);
	*page = end < pages ? end : InvalidBlockNumber;
#ifdef DMS_FAULTS
	if (FAULT_SKIP("compact_current"))
		statement = &compact_by_number;
#endif
	return (int64) StatementRun(statement, values, NULL, false, 0);
}

/*
 * Returns true if the journal has so many rows that are not current any more that it is
 * worthwhile to delete them.  The counts are those of the statistics, which are kept by
 * all sessions: no table is read.
 */
bool
ChangesAreSuperseded(void)
{
	if (!ChangesAreTracked())
		return false;
	(void) StatementExecuteWithArgs("SELECT (10 OPERATOR(pg_catalog.*)"
									" pg_catalog.pg_stat_get_live_tuples('dms.documentchange'::pg_catalog.regclass))"
									" OPERATOR(pg_catalog.>) (13 OPERATOR(pg_catalog.*)"
									" pg_catalog.pg_stat_get_live_tuples('dms.document'::pg_catalog.regclass))",
									0, NULL, NULL, true);
	return ResultBool(0, 1);
}
