/*
 * locks.c
 *		The locks of a write, each taken in one statement and in one order.
 *
 * Who relies on the identity of a document holds its dms.IdentityLock row FOR
 * SHARE; who changes or deletes it holds that row FOR UPDATE.  Identities that
 * can never change need no lock: the foreign key stands guard against deletes.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/ids.h"
#include "cascade/locks.h"
#include "catalog/pg_type.h"
#include "document/resolve.h"
#include "engine/plan.h"
#include "engine/store.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/guc.h"

typedef enum LockScope
{
	LOCK_MUTABLE,
	LOCK_ALL
}			LockScope;

static const struct config_enum_entry scope_options[] = {
	{"mutable", LOCK_MUTABLE, false},
	{"all", LOCK_ALL, false},
	{NULL, 0, false}
};

static int	lock_scope = LOCK_MUTABLE;

/* A document to lock; by rank first, so that all sessions agree on the order. */
typedef struct LockTarget
{
	int			rank;
	int64		document_id;
} LockTarget;

typedef struct LockTargets
{
	LockTarget *targets;
	int			n;
} LockTargets;

static const Oid share_types[] = {INT4ARRAYOID, INT8ARRAYOID};
static const Oid id_types[] = {INT8OID};

#define SHARE_SQL \
	"SELECT l.DocumentId FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS k (Rank, Id)" \
	" JOIN dms.IdentityLock AS l ON l.DocumentId OPERATOR(pg_catalog.=) k.Id" \
	" ORDER BY k.Rank, k.Id FOR SHARE OF l"
#define HEADER_SQL \
	"SELECT DocumentId, DocumentUuid, Etag, LastModifiedAt FROM dms.Document" \
	" WHERE DocumentId OPERATOR(pg_catalog.=) $1"

/* Each in two forms: waiting, and failing at once. */
static Statement share[2] = {
	{.sql = SHARE_SQL,.nargs = 2,.argtypes = share_types},
	{.sql = SHARE_SQL " NOWAIT",.nargs = 2,.argtypes = share_types},
};
static Statement lock_document[2] = {
	{.sql = HEADER_SQL " FOR NO KEY UPDATE",.nargs = 1,.argtypes = id_types},
	{.sql = HEADER_SQL " FOR NO KEY UPDATE NOWAIT",.nargs = 1,.argtypes = id_types},
};
static Statement try_document = {
	.sql = HEADER_SQL " FOR NO KEY UPDATE SKIP LOCKED",
	.nargs = 1,
	.argtypes = id_types,
};

void
LocksInit(void)
{
	DefineCustomEnumVariable("dms.identity_lock_scope",
							 "Which referenced documents a write locks.",
							 "\"mutable\": those whose identity can change; \"all\": every one.",
							 &lock_scope, LOCK_MUTABLE, scope_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

static bool
NeedsLock(const ReferenceUse *use)
{
	if (use->own || use->settled || use->later)
		return false;
	return use->reference->can_change || lock_scope == LOCK_ALL || FAULT_SKIP("hub_unlocked");
}

static int
CompareTargets(const void *a, const void *b)
{
	const LockTarget *left = a;
	const LockTarget *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	if (left->document_id != right->document_id)
		return left->document_id < right->document_id ? -1 : 1;
	return 0;
}

static bool
IsLocked(int64 document_id, const int64 *locked, int nlocked)
{
	return IdsHave(locked, nlocked, document_id);
}

/* The documents to lock that are not locked yet, in order, each once. */
static void
OpenTargets(const FlatDocument *flat, const int64 *locked, int nlocked, LockTargets *open)
{
	int			n = 0;

	open->targets = palloc(sizeof(LockTarget) * Max(flat->nuses, 1));
	for (int i = 0; i < flat->nuses; i++)
	{
		const ReferenceUse *use = &flat->uses[i];

		if (!NeedsLock(use) || IsLocked(use->document_id, locked, nlocked))
			continue;
		open->targets[n].rank = FAULT_SKIP("rank_order") ? 0 : use->reference->rank;
		open->targets[n++].document_id = use->document_id;
	}
	qsort(open->targets, n, sizeof(LockTarget), CompareTargets);
	open->n = (int) qunique(open->targets, n, sizeof(LockTarget), CompareTargets);
}

/* Lock them; what the lock returned is added to *locked. */
static int
LockShared(const LockTargets *open, int64 **locked, int nlocked)
{
	Datum	   *ranks = palloc(sizeof(Datum) * open->n);
	Datum	   *ids = palloc(sizeof(Datum) * open->n);
	Datum		values[2];

	for (int i = 0; i < open->n; i++)
	{
		ranks[i] = Int32GetDatum(open->targets[i].rank);
		ids[i] = Int64GetDatum(open->targets[i].document_id);
	}
	values[0] = ArrayDatum(open->n, ranks, NULL, INT4OID);
	values[1] = ArrayDatum(open->n, ids, NULL, INT8OID);
	StatementRun(&share[StoreLockNowait()], values, NULL, false, 0);
	*locked = nlocked == 0 ? palloc(sizeof(int64) * Max(SPI_processed, 1)) :
		repalloc(*locked, sizeof(int64) * (nlocked + SPI_processed));
	for (uint64 i = 0; i < SPI_processed; i++)
		(*locked)[nlocked++] = ResultInt64(i, 1);
	SPI_freetuptable(SPI_tuptable);
	qsort(*locked, nlocked, sizeof(int64), IdsCompare);
	return nlocked;
}

/* The ids of all references that are under lock, to be looked at again. */
static IdSet *
LockedIds(const FlatDocument *flat)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * Max(flat->nuses, 1));
	int			n = 0;

	for (int i = 0; i < flat->nuses; i++)
		if (NeedsLock(&flat->uses[i]))
			ids[n++] = flat->uses[i].referential_id;
	return IdSetMake(ids, n);
}

/*
 * Look again, in a new statement.  Where the transaction's snapshot is fixed
 * it may be blind to what the lock waited for: then the latest state must say
 * the same, or the transaction must be tried again.
 */
static void
LookAgain(IdSet *set)
{
	IdSet		latest = *set;

	SnapshotBegin();
	IdSetLookUp(set);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return;
	latest.entries = palloc(sizeof(IdEntry) * Max(set->n, 1));
	memcpy(latest.entries, set->entries, sizeof(IdEntry) * set->n);
	SnapshotBeginLatest();
	IdSetLookUp(&latest);
	SnapshotEnd();
	for (int i = 0; i < set->n; i++)
		if (latest.entries[i].document_id != set->entries[i].document_id)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to a concurrent change of an identity")));
}

/*
 * A document that was to be locked, was not, and still has its identity: its
 * lock row was lost, and waiting for it would never end.
 */
static void
RefuseWithoutLockRow(const FlatDocument *flat, const LockTargets *open,
					 const int64 *locked, int nlocked)
{
	for (int i = 0; i < open->n; i++)
	{
		int64		id = open->targets[i].document_id;

		if (IsLocked(id, locked, nlocked))
			continue;
		for (int j = 0; j < flat->nuses; j++)
			if (NeedsLock(&flat->uses[j]) && flat->uses[j].document_id == id)
				ereport(ERROR,
						(errcode(ERRCODE_DATA_CORRUPTED),
						 errmsg("document " INT64_FORMAT " has no row in dms.IdentityLock", id)));
	}
}

/*
 * Lock the referenced documents whose identities can change, and make sure
 * that the references still name what was locked.  While we waited, an
 * identity may have moved to another document: that one must be locked and
 * looked at in turn, until a look finds only documents that are locked.  False
 * when a reference names nothing any more.
 *
 * updated_id is the document that is updated by its id, or 0.  A name that has
 * moved to that very document is not the one of its body, so the update takes
 * it away, and the reference names nothing.
 */
bool
LockChildren(FlatDocument *flat, int64 updated_id)
{
	int64	   *locked = NULL;
	int			nlocked = 0;

	if (FAULT_SKIP("share_lock"))
		return true;
	for (;;)
	{
		LockTargets open;
		IdSet	   *set;

		CHECK_FOR_INTERRUPTS();
		OpenTargets(flat, locked, nlocked, &open);
		if (open.n == 0)
			return true;
		FAULT_PAUSE(nlocked == 0 ? "before_share_lock" : "before_next_share_lock");
		nlocked = LockShared(&open, &locked, nlocked);
		if (FAULT_SKIP("second_look"))
			return true;
		set = LockedIds(flat);
		LookAgain(set);
		for (int i = 0; i < flat->nuses; i++)
			if (NeedsLock(&flat->uses[i]))
				flat->uses[i].document_id = IdSetFind(set, &flat->uses[i].referential_id);
		if (updated_id != 0 && !FAULT_SKIP("own_names"))
			ResolveForgetOld(flat, updated_id);
		if (!ResolveComplete(flat))
			return false;
		if (FAULT_SKIP("look_loop"))
			return true;
		RefuseWithoutLockRow(flat, &open, locked, nlocked);
	}
}

/* Take the one row of a result, which has the columns of HeaderTable. */
static bool
TakeHeader(DocumentHeader *header)
{
	StoredRows	rows;

	StoredRowsTake(&rows, HeaderTable.types, HeaderTable.ncolumns);
	if (rows.nrows > 0)
		HeaderFromRow(rows.values, header);
	SPI_freetuptable(SPI_tuptable);
	return rows.nrows > 0;
}

/*
 * Serialise the writers of one document.  Blocks nobody who only refers to it.
 */
bool
LockDocument(int64 document_id, DocumentHeader *header)
{
	Datum		values[1] = {Int64GetDatum(document_id)};

	StatementRun(&lock_document[StoreLockNowait()], values, NULL, false, 1);
	return TakeHeader(header);
}

/* The same without waiting; false: somebody has it, or it is gone. */
bool
LockDocumentAtOnce(int64 document_id, DocumentHeader *header)
{
	Datum		values[1] = {Int64GetDatum(document_id)};

	StatementRun(&try_document, values, NULL, false, 1);
	return TakeHeader(header);
}
