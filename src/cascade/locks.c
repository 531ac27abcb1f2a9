/*
 * locks.c
 *		Locking the documents that a body refers to.
 *
 * A transaction that relies on the identity of a document holds its
 * dms.IdentityLock row FOR SHARE; one that changes or deletes it holds that
 * row FOR UPDATE.  An identity that can never change needs no lock: the
 * foreign key prevents a delete, and thousands of writers would otherwise
 * contend for the row of a document that all of them refer to.
 *
 * References are resolved before the locks are taken, so a lock may be granted
 * on a document that no longer has the name in the body.  Therefore all
 * references under lock are resolved again, in a new snapshot, until every
 * document that they resolve to is locked.
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

/* Values of dms.identity_lock_scope. */
typedef enum LockScope
{
	LOCK_MUTABLE,
	LOCK_ALL
} LockScope;

static const struct config_enum_entry scope_options[] = {
	{"mutable", LOCK_MUTABLE, false},
	{"all", LOCK_ALL, false},
	{NULL, 0, false}
};

static int	lock_scope = LOCK_MUTABLE;

/*
 * A document to lock.  Targets are sorted by rank and id, which is the order of
 * cascades as well (see closure.c), so that a writer and a cascade do not
 * deadlock.
 */
typedef struct LockTarget
{
	int			rank;
	int64		document_id;
} LockTarget;

/* Documents to lock in one statement. */
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

/*
 * Returns true if the target of a reference is to be locked.  The document
 * itself is locked by its own write.  A settled target is locked for update by
 * the same call, and references for later are resolved to such targets.
 */
static bool
NeedsLock(const ReferenceUse *use)
{
	if (use->own || use->settled || use->later)
		return false;
	return use->reference->can_change || lock_scope == LOCK_ALL || FAULT_SKIP("hub_unlocked");
}

/* Order targets by rank, then by id. */
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

/* Returns true if a document is among the locked ones, which are ascending. */
static bool
IsLocked(int64 document_id, const int64 *locked, int nlocked)
{
	return IdsHave(locked, nlocked, document_id);
}

/*
 * Find the documents to lock that are not locked yet, in order, without
 * duplicates.
 */
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

/*
 * Lock the open documents for share, and add those that exist to *locked.
 * Returns the new number of locked documents.
 */
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

/*
 * Returns the ReferentialIds of all references under lock, to be resolved
 * again.
 */
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
 * Resolve ReferentialIds in a new snapshot, which shows what was committed
 * while we waited for a lock.  If the transaction's snapshot is fixed, it does
 * not show that, and no row that we write conflicts with it: then the latest
 * state must agree, or the transaction must be retried.
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
 * Refuse a document that was to be locked, was not, and still has the
 * identity: its lock row is missing, and the loop would never end.
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
 * that the references still name the locked documents.
 *
 * While we waited for a lock, an identity may have moved to another document.
 * That one must be locked and looked at in turn, because its identity may move
 * on while we wait again; so we repeat until a look finds only documents that
 * are locked.  Locks on documents that turn out not to be meant are kept until
 * the end of the transaction.  Returns false if a reference names no document
 * any more.
 *
 * updated_id is the document that is updated by its id, or 0.  If a name has
 * moved to that very document, the update takes it away again, because its
 * body has another identity; so the reference names nothing.
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
