/*
 * cascade.c
 *		Carrying a change of identity to all documents that depend on it.
 *
 * The caller has locked the closure and written its own documents, so storage
 * has the new values, and no other transaction can change an identity or add a
 * reference to a member.  What remains is done for all documents of a resource
 * type at once: check that no two references of a document contradict each
 * other, recompute the ReferentialIds of members from storage, and increase
 * the etags of all documents whose representation changed.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "cascade/cascade.h"
#include "cascade/identitylocks.h"
#include "cascade/keychanges.h"
#include "cascade/replaceids.h"
#include "document/document.h"
#include "document/documentcache.h"
#include "document/history.h"
#include "document/notices.h"
#include "document/projection.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_recompute_identities);

/* A cascade that reaches this many documents is reported by a NOTICE. */
#define LARGE_CASCADE 1000

/* Documents whose identities are recomputed at a time, to bound memory. */
#define RECOMPUTE_AT_ONCE 10000

/*
 * Compute the ReferentialIds of some documents from storage, and add them to
 * the lists.  If the type is known to keys, these are made from the same rows.
 */
static void
RecomputeBatch(const ClosureType *type, const int64 *ids, int n, KeyChanges *keys,
			   ReplaceIds *primary, ReplaceIds *alias)
{
	Resource   *resource = ModelCacheFind(type->project, type->resource);
	StoredIdentity *identities;
	StoredRows	rows;

	SnapshotBegin();
	ProjectionReadRows(resource, 0, ids, n, true, &rows);
	SnapshotEnd();
	KeyChangesTake(keys, type, &rows);
	identities = ProjectionIdentities(resource, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		if (!identities[i].complete)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("identity of document " INT64_FORMAT " cannot be read from storage",
							identities[i].document_id)));
		ReplaceIdsAdd(primary, identities[i].document_id, &identities[i].primary);
		if (alias)
			ReplaceIdsAdd(alias, identities[i].document_id, &identities[i].alias);
	}
	StoredRowsFreeResult(&rows);
}

/* Compute the ReferentialIds of documents of one type from storage. */
static ReplaceIds *
RecomputeType(const ClosureType *type, const int64 *ids, int n, KeyChanges *keys)
{
	const ResourceModel *model = ModelCacheFind(type->project, type->resource)->model;
	ReplaceIds *primary = ReplaceIdsMake(model->project, model->resource, n);
	ReplaceIds *alias = NULL;
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext,
												"dms cascade batch", ALLOCSET_DEFAULT_SIZES);

	ReplaceIdsTell(primary, keys, type, false);
	if (model->superclass_resource)
	{
		alias = ReplaceIdsMake(model->superclass_project, model->superclass_resource, n);
		ReplaceIdsTell(alias, keys, type, true);
	}
	for (int i = 0; i < n; i += RECOMPUTE_AT_ONCE)
	{
		MemoryContext saved = MemoryContextSwitchTo(batch);

		CHECK_FOR_INTERRUPTS();
		RecomputeBatch(type, ids + i, Min(RECOMPUTE_AT_ONCE, n - i), keys, primary, alias);
		MemoryContextSwitchTo(saved);
		MemoryContextReset(batch);
	}
	MemoryContextDelete(batch);
	return ReplaceIdsJoin(primary, alias);
}

/* Returns the ids that are not among some others; those are ascending. */
static int64 *
Without(const int64 *ids, int n, const int64 *some, int nsome, int *left)
{
	int64	   *others = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);

	*left = 0;
	for (int i = 0; i < n; i++)
		if (!IdsHave(some, nsome, ids[i]))
			others[(*left)++] = ids[i];
	return others;
}

/*
 * Recompute all members except those that are done: the caller has given them
 * their new ReferentialIds already.
 */
static void
RecomputeMembers(const Closure *closure, KeyChanges *keys, const int64 *done, int ndone)
{
	ReplaceIds *list = NULL;

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
	{
		int			n;
		int64	   *ids = Without(t->ids, t->n, done, ndone, &n);

		if (n > 0)
			list = ReplaceIdsJoin(list, RecomputeType(t, ids, n, keys));
	}
	if (list != NULL)
		ReplaceIdsRun(list);
}

/*
 * Refuse the change if references of a member or of a parent would contradict
 * each other.
 */
static void
CheckEqualities(const Closure *closure, const ClosureType *parents)
{
	Problem    *problem = ProblemNew(PROBLEM_CASCADE_EQUALITY);

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
		CascadeEqualityCheck(t->project, t->resource, t->ids, t->n, problem);
	for (const ClosureType *t = parents; t != NULL; t = t->next)
		CascadeEqualityCheck(t->project, t->resource, t->ids, t->n, problem);
	if (problem->count > 0)
		ProblemRaise(problem, "change of identity would leave documents whose references contradict each other");
}

/*
 * Write versions of documents whose etags were raised, where versions are kept, and notify
 * those who listen.  Those in written are left to the caller.
 */
static void
KeepVersions(const ClosureType *types, const int64 *written, int nwritten)
{
	for (const ClosureType *t = types; t != NULL; t = t->next)
	{
		Resource   *resource = ModelCacheFind(t->project, t->resource);
		int64	   *ids;
		int			n;

		if (!HistoryIsKept(resource) && !DocumentCacheIsStrict() && !NoticesAreOfDocuments())
			continue;
		ids = Without(t->ids, t->n, written, nwritten, &n);
		HistoryAppend(resource, ids, n, HISTORY_CASCADED);
		DocumentCacheWrite(resource, ids, n);
		NoticesTellDocuments(resource, ids, n, HistoryKindName(HISTORY_CASCADED), false);
	}
}

/*
 * Write versions of the members of a closure and of their parents.  Their etags must
 * have been raised: only then do we hold their rows, and know what others wrote.
 */
static void
KeepCascaded(const Closure *closure, const ClosureType *parents, const int64 *written, int nwritten)
{
	KeepVersions(closure->types, written, nwritten);
	KeepVersions(parents, written, nwritten);
}

/* Documents whose etags are to be raised. */
typedef struct ChangedList
{
	ChangedDocument *documents;
	int			n;
} ChangedList;

/* Add documents to a list, except those in written. */
static void
AddChanged(ChangedList *list, const ClosureType *types, const int64 *written, int nwritten)
{
	int			total = list->n;

	for (const ClosureType *t = types; t != NULL; t = t->next)
		total += t->n;
	list->documents = list->documents == NULL ?
		palloc_extended(sizeof(ChangedDocument) * Max(total, 1), MCXT_ALLOC_HUGE) :
		repalloc_huge(list->documents, sizeof(ChangedDocument) * Max(total, 1));
	for (const ClosureType *t = types; t != NULL; t = t->next)
	{
		int32		type_id = ModelCacheFind(t->project, t->resource)->type_id;

		for (int i = 0; i < t->n; i++)
			if (!IdsHave(written, nwritten, t->ids[i]))
				list->documents[list->n++] = (ChangedDocument)
			{
				t->ids[i], type_id, 0
			};
	}
}

/*
 * Do all that follows from new identities.  The documents in done have their
 * new ReferentialIds already and are not recomputed.  Those in written are
 * bumped by the caller, as the last statement of their own writes.  What is read and
 * found out about keys is left in keys, unless that is NULL.
 *
 * No parent needs a lock on its identity, because only its representation
 * changes.  Its row in dms.Document is locked by the bump: in order of the
 * ids, so that two cascades which bump the same documents do not deadlock.
 */
void
CascadeRun(const Closure *closure, KeyChanges *keys, const int64 *done, int ndone,
		   const int64 *written, int nwritten)
{
	int			nparents;
	int			nmembers;
	int64	   *parents = ClosureOuterParents(closure, &nparents);
	ClosureType *parent_types = ClosureGroup(parents, nparents);
	ChangedList changed = {0};

	/*
	 * First, because a document whose references contradict each other has no
	 * well-defined identity to recompute.
	 */
	if (!FAULT_SKIP("equality"))
		CheckEqualities(closure, parent_types);
	if (!FAULT_SKIP("recompute"))
		RecomputeMembers(closure, keys, done, ndone);
	AddChanged(&changed, closure->types, written, nwritten);
	nmembers = changed.n;
	AddChanged(&changed, parent_types, written, nwritten);
	if (FAULT_SKIP("history_behind_bump"))
		KeepCascaded(closure, parent_types, written, nwritten);
	if (!FAULT_SKIP("parent_bump"))
	{
		DocumentsBump(changed.documents, changed.n);
		KeyChangesRaised(keys, changed.documents, changed.n);
	}
	if (!FAULT_SKIP("history_behind_bump"))
		KeepCascaded(closure, parent_types, written, nwritten);
	if (changed.n >= LARGE_CASCADE)
		ereport(NOTICE,
				(errmsg("change of identity reached %d dependent documents and %d that refer to them",
						nmembers, changed.n - nmembers)));
}

/*
 * Raise the etags of documents, whose ids are ascending, and write versions of them
 * where versions are kept.  The caller has closed the gate.
 */
void
CascadeBump(const int64 *ids, int n)
{
	ClosureType *types = ClosureGroup(ids, n);
	ChangedList changed = {0};

	AddChanged(&changed, types, NULL, 0);
	DocumentsBump(changed.documents, changed.n);
	KeepVersions(types, NULL, 0);
}

/* Record the present etags of documents in the journal of changes. */
void
CascadeNote(const int64 *ids, int n)
{
	ChangedList changed = {0};

	AddChanged(&changed, ClosureGroup(ids, n), NULL, 0);
	DocumentsNote(changed.documents, changed.n);
}

/* Raise the etags of documents of one resource. */
void
CascadeBumpType(const ClosureType *type)
{
	ClosureType only = *type;
	ChangedList changed = {0};

	only.next = NULL;
	AddChanged(&changed, &only, NULL, 0);
	DocumentsBump(changed.documents, changed.n);
	NoticesTellDocuments(ModelCacheFind(type->project, type->resource), type->ids, type->n,
						 HistoryKindName(HISTORY_CASCADED), false);
}

/*
 * Recompute the ReferentialIds of grouped documents; returns the number that
 * changed.
 */
static int64
RecomputeTypes(const ClosureType *types)
{
	ReplaceIds *list = NULL;

	for (const ClosureType *t = types; t != NULL; t = t->next)
		list = ReplaceIdsJoin(list, RecomputeType(t, t->ids, t->n, NULL));
	return list != NULL ? ReplaceIdsRun(list) : 0;
}

/*
 * Recompute the ReferentialIds of documents; returns the number that were
 * wrong.  The caller has closed the gate, so no row locks are needed.
 */
int64
CascadeRecompute(const int64 *ids, int n)
{
	return RecomputeTypes(ClosureGroup(ids, n));
}

/*
 * Refuse documents that exist but have no lock row.  An identity that could
 * not be locked could change while it is recomputed; only for a document that
 * was deleted meanwhile is there nothing to lock.
 */
static void
RefuseUnlocked(const int64 *ids, int n)
{
	StoredRows	rows;

	SnapshotBegin();
	DocumentHeadersRead(ids, n, &rows);
	SnapshotEnd();
	if (rows.nrows > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("document " INT64_FORMAT " has no row in dms.IdentityLock",
						DatumGetInt64(StoredRowValues(&rows, 0)[0]))));
}

/*
 * Lock the identities of documents for update, in the order of all cascades:
 * by rank, then by id.  Documents that were deleted meanwhile drop out.
 */
static void
LockTypes(ClosureType *types)
{
	for (ClosureType *t = types; t != NULL; t = t->next)
	{
		int			nlocked;
		int			nothers;
		int64	   *locked = IdentityLocksTake(t->ids, t->n, &nlocked);
		int64	   *others = Without(t->ids, t->n, locked, nlocked, &nothers);

		if (nothers > 0)
			RefuseUnlocked(others, nothers);
		t->ids = locked;
		t->n = nlocked;
	}
}

/*
 * Recompute the ReferentialIds of given documents from their rows.  Identities
 * are locked before anything is read, because no other transaction may change
 * them between the reading and the writing.
 */
Datum
dms_recompute_identities(PG_FUNCTION_ARGS)
{
	Session		session;
	ClosureType *types;
	KeyChanges *keys;
	int64	   *ids;
	int			n;
	int64		changed;

	PreventCommandIfReadOnly("dms.recompute_identities()");
	StoreGate(RowExclusiveLock);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	ids = IdsOfArray(PG_GETARG_ARRAYTYPE_P(0), &n);
	types = ClosureGroup(ids, n);
	if (!FAULT_SKIP("recompute_lock"))
		LockTypes(types);
	keys = KeyChangesBegin(types, ids, n);
	changed = RecomputeTypes(types);
	KeyChangesRecomputed(keys);
	SessionEnd(&session);
	PG_RETURN_INT64(changed);
}
