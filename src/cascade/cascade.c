/*
 * cascade.c
 *		Carrying a change of identity to all documents that depend on it.
 *
 * The closure is locked, and what the caller writes has its new rows.  What is
 * left is done by resource type, to all documents of one at a time: see that no
 * two references of a document contradict each other now, recompute the
 * ReferentialIds of members from storage, and let the etags of all whose
 * representation changed grow.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "cascade/cascade.h"
#include "cascade/identitylocks.h"
#include "cascade/replaceids.h"
#include "document/document.h"
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

/* From here on a cascade is worth a word. */
#define LARGE_CASCADE 1000

/* Documents whose identities are recomputed at a time, to bound memory. */
#define BATCH 10000

/* What a batch of documents should be called now, as storage tells. */
static void
RecomputeBatch(Resource *resource, const int64 *ids, int n, ReplaceIds *primary,
			   ReplaceIds *alias)
{
	int			found;
	StoredIdentity *identities;

	SnapshotBegin();
	identities = ProjectionRead(resource, ids, n, &found);
	SnapshotEnd();
	for (int i = 0; i < found; i++)
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
}

/* The new ReferentialIds of documents of one type. */
static ReplaceIds *
RecomputeType(const char *project, const char *resource_name, const int64 *ids,
			  int n)
{
	Resource   *resource = ModelCacheFind(project, resource_name);
	const ResourceModel *model = resource->model;
	ReplaceIds *primary = ReplaceIdsMake(model->project, model->resource, n);
	ReplaceIds *alias = NULL;
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext,
												"dms cascade batch", ALLOCSET_DEFAULT_SIZES);

	if (model->superclass_resource)
		alias = ReplaceIdsMake(model->superclass_project, model->superclass_resource, n);
	for (int i = 0; i < n; i += BATCH)
	{
		MemoryContext saved = MemoryContextSwitchTo(batch);

		CHECK_FOR_INTERRUPTS();
		RecomputeBatch(resource, ids + i, Min(BATCH, n - i), primary, alias);
		MemoryContextSwitchTo(saved);
		MemoryContextReset(batch);
	}
	MemoryContextDelete(batch);
	return ReplaceIdsJoin(primary, alias);
}

/* Ids without some others, which are ascending. */
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

/* Recompute all members but some, which have their new identities already. */
static void
RecomputeMembers(const Closure *closure, const int64 *done, int ndone)
{
	ReplaceIds *list = NULL;

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
	{
		int			n;
		int64	   *ids = Without(t->ids, t->n, done, ndone, &n);

		if (n > 0)
			list = ReplaceIdsJoin(list, RecomputeType(t->project, t->resource, ids, n));
	}
	if (list != NULL)
		ReplaceIdsRun(list);
}

/* Members and parents by type; see that their references still agree. */
static void
CheckEqualities(const Closure *closure, const int64 *parents, int nparents)
{
	Problem    *problem = ProblemNew(PROBLEM_CASCADE_EQUALITY);
	ClosureType *types = ClosureGroup(parents, nparents);

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
		CascadeCheckEqualities(t->project, t->resource, t->ids, t->n, problem);
	for (ClosureType *t = types; t != NULL; t = t->next)
		CascadeCheckEqualities(t->project, t->resource, t->ids, t->n, problem);
	if (problem->count > 0)
		ProblemRaise(problem, "change of identity would leave documents whose references contradict each other");
}

/*
 * All that follows from new identities.  Those that are done are not recomputed;
 * documents that the caller writes bump their own etags.
 */
void
CascadeRun(const Closure *closure, const int64 *done, int ndone,
		   const int64 *written, int nwritten)
{
	int			nmembers;
	int			nparents;
	int			nothers;
	int64	   *members = ClosureIds(closure, &nmembers);
	int64	   *parents;
	int64	   *changed;

	parents = ClosureOuterParents(closure, &nparents);

	/* First, because documents that contradict themselves have no identity. */
	if (!FAULT_SKIP("equality"))
		CheckEqualities(closure, parents, nparents);
	if (!FAULT_SKIP("recompute"))
		RecomputeMembers(closure, done, ndone);
	members = Without(members, nmembers, written, nwritten, &nothers);
	parents = Without(parents, nparents, written, nwritten, &nparents);
	changed = palloc_extended(sizeof(int64) * Max(nothers + nparents, 1), MCXT_ALLOC_HUGE);
	memcpy(changed, members, sizeof(int64) * nothers);
	memcpy(changed + nothers, parents, sizeof(int64) * nparents);
	qsort(changed, nothers + nparents, sizeof(int64), IdsCompare);
	if (!FAULT_SKIP("parent_bump"))
		DocumentsBump(changed, nothers + nparents);
	if (nothers + nparents >= LARGE_CASCADE)
		ereport(NOTICE,
				(errmsg("change of identity reached %d dependent documents and %d that refer to them",
						nothers, nparents)));
}

static int64
RecomputeTypes(const ClosureType *types)
{
	ReplaceIds *list = NULL;

	for (const ClosureType *t = types; t != NULL; t = t->next)
		list = ReplaceIdsJoin(list, RecomputeType(t->project, t->resource, t->ids, t->n));
	return list != NULL ? ReplaceIdsRun(list) : 0;
}

/*
 * Recompute the ReferentialIds of documents, behind a closed gate; how many were
 * wrong?
 */
int64
CascadeRecompute(const int64 *ids, int n)
{
	return RecomputeTypes(ClosureGroup(ids, n));
}

/* What could not be locked must be gone. */
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
 * Lock identities by (rank, DocumentId), as all do.  What was deleted meanwhile
 * drops out.
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

/* Recompute the ReferentialIds of given documents from their rows. */
Datum
dms_recompute_identities(PG_FUNCTION_ARGS)
{
	Session		session;
	ClosureType *types;
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
	changed = RecomputeTypes(types);
	SessionEnd(&session);
	PG_RETURN_INT64(changed);
}
