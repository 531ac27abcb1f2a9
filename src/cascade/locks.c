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
#include "cascade/identitylocks.h"
#include "cascade/locks.h"
#include "document/references.h"
#include "engine/snapshot.h"
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

/* Define the settings of this module. */
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

/* Lock the open documents, and add those that were found to *locked. */
static int
LockShared(const LockTargets *open, int64 **locked, int nlocked)
{
	int64	   *ids = palloc(sizeof(int64) * open->n);
	int64	   *added;
	int			nadded;

	for (int i = 0; i < open->n; i++)
		ids[i] = open->targets[i].document_id;
	added = IdentityLocksShare(ids, open->n, &nadded);
	*locked = nlocked == 0 ? palloc(sizeof(int64) * Max(nadded, 1)) :
		repalloc(*locked, sizeof(int64) * Max(nlocked + nadded, 1));
	memcpy(*locked + nlocked, added, sizeof(int64) * nadded);
	nlocked += nadded;
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
	ReferentialIdsLookUp(set);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return;
	latest.entries = palloc(sizeof(IdEntry) * Max(set->n, 1));
	memcpy(latest.entries, set->entries, sizeof(IdEntry) * set->n);
	SnapshotBeginLatest();
	ReferentialIdsLookUp(&latest);
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
			ReferencesForgetOld(flat, updated_id);
		if (!ReferencesComplete(flat))
			return false;
		if (FAULT_SKIP("look_loop"))
			return true;
		RefuseWithoutLockRow(flat, &open, locked, nlocked);
	}
}
