/*
 * subtree.c
 *		A document and all that is below it: finding and locking it.
 *
 * To delete a subtree, the identities of all its documents are locked for update.
 * Whoever gives a child to one of them, or moves one away, needs a lock on that
 * document, too.  So once a look finds nothing that is not locked, the subtree cannot
 * change any more.
 *
 * The documents of a subtree may be of any types, so their locks cannot be taken in
 * the order of all others.  Therefore none is waited for while others are held: see
 * identityturns.c.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/ids.h"
#include "cascade/identityturns.h"
#include "cascade/turnstile.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "graph/parents.h"
#include "graph/subtree.h"
#include "graph/walk.h"
#include "miscadmin.h"

/* Read a subtree, in the active snapshot. */
void
SubtreeRead(int64 root, Subtree *tree)
{
	/* Most documents have no children. */
	if (!ParentsHaveChildren(root))
	{
		tree->ids = palloc(sizeof(int64));
		tree->ids[0] = root;
		tree->n = 1;
		return;
	}
	tree->ids = WalkIds(WalkFrom(&root, 1, WALK_CHILDREN, 0, 0), &tree->n);
}

/*
 * Read a subtree in a new snapshot.  If the transaction's snapshot is fixed, the latest
 * state must agree with it.
 */
void
SubtreeLook(int64 root, Subtree *tree)
{
	Subtree		latest;

	SnapshotBegin();
	SubtreeRead(root, tree);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return;
	SnapshotBeginLatest();
	SubtreeRead(root, &latest);
	SnapshotEnd();
	if (latest.n != tree->n || memcmp(latest.ids, tree->ids, sizeof(int64) * tree->n) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent changes of relations")));
}

/* A subtree to lock. */
typedef struct SubtreeRequest
{
	int64		root;
	Subtree		tree;			/* when it is locked; empty if the root is
								 * gone */
} SubtreeRequest;

/* Returns those of some ascending ids that are not among others. */
static Subtree
Difference(const Subtree *ids, const Subtree *others)
{
	Subtree		left = {.ids = palloc_extended(sizeof(int64) * Max(ids->n, 1), MCXT_ALLOC_HUGE)};

	for (int i = 0; i < ids->n; i++)
		if (!IdsHave(others->ids, others->n, ids->ids[i]))
			left.ids[left.n++] = ids->ids[i];
	return left;
}

/* Add ids to others; all are ascending. */
static void
Unite(Subtree *ids, const int64 *added, int nadded)
{
	int64	   *all = palloc_extended(sizeof(int64) * Max(ids->n + nadded, 1), MCXT_ALLOC_HUGE);

	memcpy(all, ids->ids, sizeof(int64) * ids->n);
	memcpy(all + ids->n, added, sizeof(int64) * nadded);
	ids->ids = all;
	ids->n = IdsSort(all, ids->n + nadded);
}

/* Refuse documents that could not be locked twice, although relations name them. */
static void
RefuseMissing(const Subtree *wanted, const Subtree *missing)
{
	for (int i = 0; i < wanted->n; i++)
		if (IdsHave(missing->ids, missing->n, wanted->ids[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("document " INT64_FORMAT " has a parent, but no row in dms.IdentityLock", wanted->ids[i]),
					 errhint("dms.audit() lists what is wrong in the store.")));
}

/* Lock a subtree, look again, and lock what was not locked, until nothing is left. */
static bool
LockRequested(void *arg, BusyIdentities *busy)
{
	SubtreeRequest *request = arg;
	Subtree		locked = {.ids = palloc(sizeof(int64))};
	Subtree		missing = {0};

	for (;;)
	{
		Subtree		wanted;
		int64	   *taken;
		int			ntaken;

		CHECK_FOR_INTERRUPTS();
		if (locked.n > 0 && FAULT_SKIP("subtree_fixpoint"))
			return true;
		SubtreeLook(request->root, &request->tree);
		wanted = Difference(&request->tree, &locked);
		if (wanted.n == 0)
			return true;
		RefuseMissing(&wanted, &missing);
		FAULT_PAUSE("before_subtree_lock");
		taken = busy == NULL ? IdentityLocksTake(wanted.ids, wanted.n, &ntaken) :
			IdentityLocksTakeFree(wanted.ids, wanted.n, &ntaken, busy);
		if (taken == NULL)
			return false;
		Unite(&locked, taken, ntaken);
		if (!IdsHave(locked.ids, locked.n, request->root))
		{
			request->tree.n = 0;
			return true;
		}
		missing = Difference(&wanted, &locked);
	}
}

/*
 * Lock the identities of a subtree for update.  Returns false if its root is gone.
 *
 * If the root was seen to be alone, and is free, no subtransaction is needed.  Should
 * it have got children since, and one of them not be free, the root stays locked while
 * we wait, which is correct, but may be part of a deadlock.
 */
bool
SubtreeLock(int64 root, bool alone, Subtree *tree)
{
	SubtreeRequest request = {.root = root};
	BusyIdentities busy = {0};

	if (alone && !StoreLockNowait() && !FAULT_SKIP("fair_gate") && LockRequested(&request, &busy))
		TurnstileHavePassed();
	else
		IdentityTurnsRun(LockRequested, &request);
	*tree = request.tree;
	return tree->n > 0;
}

/* Returns those of some ids that are not in a subtree; ascending, each once. */
int64 *
SubtreeOutside(const Subtree *tree, const int64 *ids, int n, int *noutside)
{
	int64	   *outside = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);

	*noutside = 0;
	for (int i = 0; i < n; i++)
		if (!IdsHave(tree->ids, tree->n, ids[i]))
			outside[(*noutside)++] = ids[i];
	*noutside = IdsSort(outside, *noutside);
	return outside;
}
