/*
 * batchresolve.c
 *		Resolving references between the documents of one call.
 *
 * References are resolved by the names that documents will have when the call is
 * done.  The target is
 *
 * - the document of the call that will have the name.  If its identity changes,
 *	 the call locks it for update; if not, its lock is shared like any other;
 * - or a document that follows the call and will have the name.  That is known
 *	 when all followers are locked for update;
 * - or the document that has the name now and keeps it.  Its lock is shared.
 *
 * All of this is decided before the locks are taken, so that most errors come
 * without a wait, and checked again afterwards.
 */
#include "postgres.h"

#include <limits.h>

#include "base/faults.h"
#include "base/ids.h"
#include "cascade/locks.h"
#include "document/references.h"
#include "document/rows.h"
#include "engine/snapshot.h"
#include "model/resourceoptions.h"
#include "verbs/batchresolve.h"

/* Report that something the call was decided on has changed while it waited. */
void
BatchResolveRaiseMoved(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to a concurrent change of identity")));
}

/* Returns the document of the batch with this id, which must be one of them. */
static const BatchItem *
ItemOf(const Batch *batch, int64 document_id)
{
	const int64 *found = bsearch(&document_id, batch->ids, batch->n, sizeof(int64), IdsCompare);

	return batch->by_id[found - batch->ids];
}

/*
 * Resolve a reference by the names after the call: names that the batch gives
 * come first, and names that it takes away are gone.
 *
 * A target whose identity the batch changes will be locked for update, so the
 * reference is settled.  A target that keeps its identity is a document like any
 * other: its lock must be shared, or a concurrent rename could look for parents
 * before we commit, and miss this one.
 *
 * A name that nothing has yet may be the new name of a follower.  That is
 * resolved later, when all followers are locked.
 */
static void
ResolveUse(Batch *batch, ReferenceUse *use)
{
	int64		owner;

	if (use->own)
		return;
	owner = FutureNamesFind(batch->names, &use->referential_id);
	if (owner != 0)
	{
		use->document_id = owner;
		use->settled = ItemOf(batch, owner)->write.renames || FAULT_SKIP("inner_share_lock");
	}
	else if (IdsHave(batch->ids, batch->n, use->document_id))
		use->document_id = 0;
	use->later = use->document_id == 0 && use->reference->can_change && batch->nseeds > 0;
}

/* Put the targets of the body's references into its rows. */
static void
SetRows(BatchItem *item)
{
	FlattenSetIds(item->write.flat, item->write.document_id);
}

/* Returns true if the columns that make up the identity keep their values. */
static bool
KeepsKey(BatchItem *item)
{
	SetRows(item);
	return RowsSameKey(item->write.resource, item->write.document_id, item->write.flat);
}

/* Returns true if the identity refers to the same documents as before. */
static bool
KeepsTargets(BatchItem *item)
{
	SetRows(item);
	return RowsSameTargets(item->write.resource, item->write.document_id, item->write.flat);
}

/*
 * Returns true if a change of identity must be refused.  It need not if the
 * identity only follows that of a document it is made of: dependents follow
 * whatever their own flag says.  While references are left for later, this cannot
 * be known.
 */
static bool
BreaksKey(BatchItem *item)
{
	const FlatDocument *flat = item->write.flat;

	if (!item->write.renames || flat->model->allow_identity_updates)
		return false;
	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].later)
			return false;
	return !ReferencesComplete(flat) || !KeepsKey(item);
}

/*
 * Refuse a document whose references or identity are wrong, in the order in which
 * a single update checks them.
 */
static void
CheckItem(BatchItem *item)
{
	ReferencesRefuseDescriptors(item->write.flat);
	if (BreaksKey(item))
		WriteRefuseKeyChange(&item->write);
	ReferencesRefuse(item->write.flat);
}

/* Gather the seeds of the cascade: the documents whose identities change. */
void
BatchResolveSeeds(Batch *batch)
{
	batch->nseeds = 0;
	for (int i = 0; i < batch->n; i++)
		if (batch->by_id[i]->write.renames)
			batch->seeds[batch->nseeds++] = batch->by_id[i]->write.document_id;
}

/*
 * Resolve and check all documents, in one snapshot and without locks.  Which
 * identities change must be known before the first reference is resolved.
 */
void
BatchResolve(Batch *batch)
{
	SnapshotBegin();
	for (int i = 0; i < batch->n; i++)
		batch->items[i].write.renames = WriteIdentityDiffers(&batch->items[i].write, batch->items[i].write.document_id);
	BatchResolveSeeds(batch);
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		BatchItem  *item = &batch->items[batch->position];
		FlatDocument *flat = item->write.flat;

		ReferencesResolve(flat);
		for (int i = 0; i < flat->nuses; i++)
			ResolveUse(batch, &flat->uses[i]);
		CheckItem(item);
	}
	batch->position = -1;
	SnapshotEnd();
}

/* Lock the targets of all documents, as if they were one document. */
static void
LockChildrenTogether(Batch *batch)
{
	FlatDocument merged = {0};
	int			at = 0;

	for (int i = 0; i < batch->n; i++)
		merged.nuses += batch->items[i].write.flat->nuses;
	merged.uses = palloc(sizeof(ReferenceUse) * Max(merged.nuses, 1));
	for (int i = 0; i < batch->n; i++)
	{
		FlatDocument *flat = batch->items[i].write.flat;

		memcpy(merged.uses + at, flat->uses, sizeof(ReferenceUse) * flat->nuses);
		at += flat->nuses;
	}
	(void) LockChildren(&merged, 0);
	at = 0;
	for (int i = 0; i < batch->n; i++)
	{
		FlatDocument *flat = batch->items[i].write.flat;

		memcpy(flat->uses, merged.uses + at, sizeof(ReferenceUse) * flat->nuses);
		at += flat->nuses;
	}
}

/*
 * Returns true if a name has moved into the batch, or away from a document that
 * was to keep it, while we waited for locks.  It cannot be followed into the
 * batch: the document that has it now is about to lose it.
 */
static bool
HasMoved(Batch *batch, const ReferenceUse *use)
{
	int64		owner;

	if (use->own || use->settled || FAULT_SKIP("moved_names"))
		return false;
	owner = FutureNamesFind(batch->names, &use->referential_id);
	if (owner != 0)
		return use->document_id != owner;
	return IdsHave(batch->ids, batch->n, use->document_id);
}

/* Check the targets of the references after the locks were taken. */
static void
CheckLockedChildren(Batch *batch)
{
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		const FlatDocument *flat = batch->items[batch->position].write.flat;

		for (int i = 0; i < flat->nuses; i++)
			if (HasMoved(batch, &flat->uses[i]))
				BatchResolveRaiseMoved();
		ReferencesRefuseDescriptors(flat);
		ReferencesRefuse(flat);
	}
	batch->position = -1;
}

/* Lock the targets of all documents, and check that they are still the targets. */
void
BatchResolveLock(Batch *batch)
{
	LockChildrenTogether(batch);
	CheckLockedChildren(batch);
}

/* Returns true if a reference names a follower, or may name one by its new name. */
static bool
NamesFollower(const ReferenceUse *use, const Closure *closure)
{
	return use->later || (!use->own && !use->settled && ClosureHas(closure, use->document_id));
}

/*
 * Returns the highest rank among the types of followers that references may name;
 * -1 if there are no such references.  Subclasses may have other ranks than the
 * abstract resource, so there all followers count.
 */
static int
FollowerRank(const Batch *batch)
{
	int			rank = -1;

	for (int i = 0; i < batch->n; i++)
	{
		const FlatDocument *flat = batch->items[i].write.flat;

		for (int j = 0; j < flat->nuses; j++)
			if (NamesFollower(&flat->uses[j], batch->closure))
				rank = Max(rank, flat->uses[j].reference->abstract ? INT_MAX : flat->uses[j].reference->rank);
	}
	return rank;
}

/*
 * Resolve references to followers, by the names that they will have.  All
 * followers are locked for update now, so these references are settled, too.
 */
static void
ResolveFollowers(Batch *batch)
{
	int			rank = FollowerRank(batch);

	if (rank < 0)
		return;
	FutureNamesFollow(batch->names, batch->closure, rank);
	for (int i = 0; i < batch->n; i++)
	{
		const FlatDocument *flat = batch->items[i].write.flat;

		for (int j = 0; j < flat->nuses; j++)
		{
			ReferenceUse *use = &flat->uses[j];

			if (!NamesFollower(use, batch->closure))
				continue;
			use->document_id = FutureNamesFind(batch->names, &use->referential_id);
			use->settled = true;
			use->later = false;
		}
	}
}

/* Returns true if a document keeps the values of its declared unique keys. */
static bool
KeepsUniqueValues(const BatchItem *item)
{
	Resource   *resource = item->write.resource;
	const ResourceOptions *options = ResourceOptionsOf(resource);

	return options->nunique == 0 || FAULT_SKIP("unique_swap") ||
		RowsSameColumns(resource, item->write.document_id, item->write.flat, options->unique_columns, options->nunique);
}

/*
 * Check all documents again, under the locks.  A document that keeps its identity
 * may still have to refer to another target, if two targets swap their names.
 */
static void
CheckItems(Batch *batch)
{
	SnapshotBegin();
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		BatchItem  *item = &batch->items[batch->position];

		CheckItem(item);
		item->key = item->write.renames || !KeepsUniqueValues(item) || (ClosureHas(batch->closure, item->write.document_id) && !KeepsTargets(item));
	}
	batch->position = -1;
	SnapshotEnd();
}

/* Resolve the references that were left for later, and decide, under all locks. */
void
BatchResolveAgain(Batch *batch)
{
	ResolveFollowers(batch);
	CheckItems(batch);
}
