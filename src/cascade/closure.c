/*
 * closure.c
 *		Locking the closure of a change of identity: the documents that
 *		change, and all documents whose identities depend on theirs.
 *
 * Members are found while they are being locked.  The parents of a member are
 * read only after its identity has been locked for update, and in a new
 * snapshot.  A writer holds a share lock on the identity of each document that
 * it refers to until it commits; so once we have the update lock, every
 * reference to the member is committed and visible, and no other can be added.
 * Parents that were read before would not include those of a writer that we
 * waited for.
 *
 * A parent over an identity component becomes a member in turn, and so on
 * until no new member is found.  Members are locked by (rank, DocumentId).  A
 * rank is greater than those of all types that the identity depends on, so
 * this order never requires a lock of a lower rank later, and cascades whose
 * closures overlap do not deadlock.
 */
#include "postgres.h"

#include "engine/session.h"
#include "engine/snapshot.h"
#include "lib/qunique.h"
#include <limits.h>

#include "base/faults.h"
#include "base/grow.h"
#include "base/ids.h"
#include "base/report.h"
#include "cascade/closure.h"
#include "cascade/edgesources.h"
#include "cascade/identityturns.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "document/edges.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_lock_identity_closure);

static int	max_cascade_size = 0;

/* A document that is still to be locked. */
typedef struct OpenMember
{
	int			rank;
	int			type;
	int64		id;
} OpenMember;

/* The documents that are still to be locked, in no order, some more than once. */
typedef struct OpenMembers
{
	OpenMember *members;
	int			n;
} OpenMembers;

/* Define the settings of this module. */
void
ClosureInit(void)
{
	DefineCustomIntVariable("dms.max_cascade_size",
							"Documents that one change of identity may reach.",
							"A change that would reach more is refused; 0 means no limit.",
							&max_cascade_size, 0, 0, INT_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
}

/* Order open members by their ids, for those of one rank. */
static int
CompareOpen(const void *a, const void *b)
{
	return IdsCompare(&((const OpenMember *) a)->id, &((const OpenMember *) b)->id);
}

/* Add a document to those that are to be locked. */
static void
AddOpen(OpenMembers *open, int type, int64 id)
{
	OpenMember	member = {.rank = EdgeSourceTypeByNumber(type)->rank,.type = type,.id = id};

	APPEND(open->members, open->n, member);
}

/*
 * Remove the members of the lowest rank from the open ones, and return them in
 * order of their ids, without duplicates.  Parents of members have higher
 * ranks than these, so no other member of this rank can be found later.
 */
static OpenMember *
TakeLowest(OpenMembers *open, int *n)
{
	OpenMember *taken = palloc_extended(sizeof(OpenMember) * Max(open->n, 1), MCXT_ALLOC_HUGE);
	int			lowest = INT_MAX;
	int			kept = 0;

	for (int i = 0; i < open->n; i++)
		lowest = Min(lowest, open->members[i].rank);
	*n = 0;
	for (int i = 0; i < open->n; i++)
	{
		if (open->members[i].rank == lowest || FAULT_SKIP("rank_order"))
			taken[(*n)++] = open->members[i];
		else
			open->members[kept++] = open->members[i];
	}
	open->n = kept;
	qsort(taken, *n, sizeof(OpenMember), CompareOpen);
	*n = (int) qunique(taken, *n, sizeof(OpenMember), CompareOpen);
	return taken;
}

/* Add a document that refers to members, such as one that the caller wrote. */
void
ClosureAddParent(Closure *closure, int64 parent)
{
	APPEND(closure->parents, closure->nparents, parent);
}

/* Add a parent, and open it if the edge is part of its identity. */
static void
OpenParent(Closure *closure, OpenMembers *open, const ParentEdge *edge)
{
	int			type;

	ClosureAddParent(closure, edge->parent);
	if (!edge->identity || ClosureHas(closure, edge->parent))
		return;
	type = EdgeSourceType(edge->source);
	if (type < 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("reference edge of document " INT64_FORMAT " has the unknown source " INT64_FORMAT,
						edge->parent, edge->source)));
	AddOpen(open, type, edge->parent);
}

/*
 * Find the parents of members that were just locked, and open those whose
 * identities depend on them.  References that are not part of an identity need
 * no lock, but the same lock keeps new ones of either kind from appearing; so
 * the parents to be bumped are complete, too.
 */
static void
OpenParents(Closure *closure, OpenMembers *open, const int64 *ids, int n)
{
	MemoryContext look = AllocSetContextCreate(CurrentMemoryContext, "dms look at parents",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(look);
	int			nedges;
	ParentEdge *edges = EdgesToLocked(ids, n, &nedges);

	MemoryContextSwitchTo(saved);
	for (int i = 0; i < nedges; i++)
		OpenParent(closure, open, &edges[i]);
	MemoryContextDelete(look);
}

/* Returns the members of a type; the list is kept in order of rank. */
static ClosureType *
TypeOf(Closure *closure, int type)
{
	const KnownType *known = EdgeSourceTypeByNumber(type);
	ClosureType **link = &closure->types;
	ClosureType *added;

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
		if (t->type == type)
			return t;
	while (*link != NULL && (*link)->rank <= known->rank)
		link = &(*link)->next;
	added = palloc0(sizeof(ClosureType));
	added->project = pstrdup(known->project);
	added->resource = pstrdup(known->resource);
	added->type = type;
	added->rank = known->rank;
	added->next = *link;
	*link = added;
	return added;
}

/* Add a document to the members of its type, unless it is one already. */
static void
GroupMember(Closure *closure, int type, int64 id)
{
	ClosureType *t = TypeOf(closure, type);
	bool		found;

	hash_search(closure->members, &id, HASH_ENTER, &found);
	if (found)
		return;
	APPEND(t->ids, t->n, id);
	closure->size++;
}

/* Returns the largest number of members; 0 if there is no limit. */
static int
SizeLimit(void)
{
	int			of_store = StoreRowLimits()->max_cascade_size;

	if (of_store == 0 || max_cascade_size == 0)
		return Max(of_store, max_cascade_size);
	return Min(of_store, max_cascade_size);
}

/* Add a member that was locked, and refuse a closure that is too large. */
static void
AddMember(Closure *closure, int type, int64 id)
{
	int			limit = SizeLimit();

	GroupMember(closure, type, id);
	if (limit > 0 && closure->size > limit)
		ReportError(PROBLEM_CASCADE_TOO_LARGE,
					"The limit is that of the setting dms.max_cascade_size or of dms.configure_store(), whichever is smaller.",
					"change of identity would reach more than %d documents", limit);
}

/* Returns true if the document is a member. */
bool
ClosureHas(const Closure *closure, int64 document_id)
{
	return hash_search(closure->members, &document_id, HASH_FIND, NULL) != NULL;
}

/* Returns the ids of all members, ascending. */
int64 *
ClosureIds(const Closure *closure, int *n)
{
	int64	   *ids = palloc_extended(sizeof(int64) * Max(closure->size, 1), MCXT_ALLOC_HUGE);

	*n = 0;
	for (ClosureType *t = closure->types; t != NULL; t = t->next)
	{
		memcpy(ids + *n, t->ids, sizeof(int64) * t->n);
		*n += t->n;
	}
	qsort(ids, *n, sizeof(int64), IdsCompare);
	return ids;
}

/*
 * Returns the documents that refer to members without being members, ascending
 * and without duplicates.
 */
int64 *
ClosureOuterParents(const Closure *closure, int *n)
{
	int64	   *parents = palloc_extended(sizeof(int64) * Max(closure->nparents, 1), MCXT_ALLOC_HUGE);
	int			found = 0;

	for (int i = 0; i < closure->nparents; i++)
		if (!ClosureHas(closure, closure->parents[i]))
			parents[found++] = closure->parents[i];
	*n = IdsSort(parents, found);
	return parents;
}

/* Make a closure without members. */
static Closure *
NewClosure(void)
{
	Closure    *closure = palloc0(sizeof(Closure));
	HASHCTL		control = {0};

	control.keysize = sizeof(int64);
	control.entrysize = sizeof(int64);
	control.hcxt = CurrentMemoryContext;
	closure->members = hash_create("dms closure", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return closure;
}

/* Open the seeds, which come in any order; those that do not exist drop out. */
static void
OpenSeeds(OpenMembers *open, const int64 *seeds, int nseeds)
{
	int64	   *ids = palloc_extended(sizeof(int64) * Max(nseeds, 1), MCXT_ALLOC_HUGE);
	StoredRows	rows;

	memcpy(ids, seeds, sizeof(int64) * nseeds);
	nseeds = IdsSort(ids, nseeds);
	SnapshotBegin();
	DocumentsReadTypes(ids, nseeds, &rows);
	SnapshotEnd();
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		AddOpen(open, EdgeSourceTypeByName(TextDatumGetCString(values[1]), TextDatumGetCString(values[2])),
				DatumGetInt64(values[0]));
	}
}

/*
 * Lock members that were taken from the open ones, and add them to the closure.
 * Returns the ids that were locked, ascending.  If busy is not NULL, no lock is
 * waited for, and if one is not free, the result is NULL.
 */
static int64 *
LockTaken(Closure *closure, const OpenMember *taken, int n, BusyIdentities *busy, int *nlocked)
{
	int64	   *ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);
	int64	   *locked;
	int			at = 0;

	for (int i = 0; i < n; i++)
		ids[i] = taken[i].id;
	if (closure->size > 0 && FAULT_SKIP("member_lock"))
	{
		*nlocked = n;
		locked = ids;
	}
	else
		locked = busy == NULL ? IdentityLocksTake(ids, n, nlocked) : IdentityLocksTakeFree(ids, n, nlocked, busy);
	if (locked == NULL)
		return NULL;

	/* Both lists are ascending; members that were deleted meanwhile drop out. */
	for (int i = 0; i < n && at < *nlocked; i++)
		if (taken[i].id == locked[at])
		{
			AddMember(closure, taken[i].type, taken[i].id);
			at++;
		}
	return locked;
}

/* Returns true if one of the members is a seed; the seeds are ascending. */
static bool
HaveSeed(const OpenMember *members, int n, const int64 *seeds, int nseeds)
{
	for (int i = 0; i < n; i++)
		if (IdsHave(seeds, nseeds, members[i].id))
			return true;
	return false;
}

/*
 * Lock the seeds and all documents whose identities depend on theirs, rank by
 * rank, until every parent over an identity component is locked.  If busy is not
 * NULL, for which the seeds must be ascending, returns NULL if the lock of a seed
 * is not free, or that of another member which is locked together with a seed.
 */
Closure *
ClosureLock(const int64 *seeds, int nseeds, BusyIdentities *busy)
{
	Closure    *closure = NewClosure();
	OpenMembers open = {0};

	EdgeSourcesLoad();
	OpenSeeds(&open, seeds, nseeds);
	while (open.n > 0)
	{
		int			ntaken;
		int			nlocked;
		OpenMember *taken = TakeLowest(&open, &ntaken);
		int64	   *locked;

		CHECK_FOR_INTERRUPTS();
		if (FAULT_SKIP("parents_behind_lock"))
			for (int i = 0; i < ntaken; i++)
				OpenParents(closure, &open, &taken[i].id, 1);
		FAULT_PAUSE("before_closure_lock");
		locked = LockTaken(closure, taken, ntaken,
						   busy != NULL && HaveSeed(taken, ntaken, seeds, nseeds) ? busy : NULL, &nlocked);
		if (locked == NULL)
			return NULL;
		if (nlocked > 0 && !FAULT_SKIP("parents_behind_lock") &&
			!(closure->size > 1 && FAULT_SKIP("fixpoint")))
			OpenParents(closure, &open, locked, nlocked);
	}

	/* An edge that contradicts the ranks makes us come back to one of them. */
	for (ClosureType *t = closure->types; t != NULL; t = t->next)
		t->n = IdsSort(t->ids, t->n);
	return closure;
}

/*
 * Group documents by type without locking them; the ids of a type are
 * ascending.
 */
ClosureType *
ClosureGroup(const int64 *ids, int n)
{
	Closure    *groups = NewClosure();
	OpenMembers open = {0};

	EdgeSourcesLoad();
	OpenSeeds(&open, ids, n);
	if (open.n > 0)
		qsort(open.members, open.n, sizeof(OpenMember), CompareOpen);
	for (int i = 0; i < open.n; i++)
		GroupMember(groups, open.members[i].type, open.members[i].id);
	return groups->types;
}

/* Seeds, and their closure when it is locked. */
typedef struct ClosureRequest
{
	const int64 *seeds;
	int			nseeds;
	Closure    *closure;
} ClosureRequest;

/* Lock the closure of a request. */
static bool
LockRequested(void *arg, BusyIdentities *busy)
{
	ClosureRequest *request = arg;

	request->closure = ClosureLock(request->seeds, request->nseeds, busy);
	return request->closure != NULL;
}

/*
 * Lock a closure for callers that change identities by their own statements.
 */
Datum
dms_lock_identity_closure(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	ClosureRequest request = {0};
	int64	   *ids;
	int			n;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	PreventCommandIfReadOnly("dms.lock_identity_closure()");
	StoreGate(RowExclusiveLock);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	ids = IdsOfArray(PG_GETARG_ARRAYTYPE_P(0), &n);
	request.seeds = ids;
	request.nseeds = n;
	IdentityTurnsRun(LockRequested, &request);
	ids = ClosureIds(request.closure, &n);
	for (int i = 0; i < n; i++)
	{
		Datum		value = Int64GetDatum(ids[i]);
		bool		isnull = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
