/*
 * closure.c
 *		Locking the closure of a change of identity, to the fixpoint.
 *
 * The members are found while they are being locked: parents are asked for
 * only behind the lock on their children, in a new statement, because only
 * then can no new parent appear.  Members are locked by (rank, DocumentId), so
 * that all cascades acquire in one order.
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "closure.h"
#include "faults.h"
#include "fmgr.h"
#include "funcapi.h"
#include "ids.h"
#include "keywrite.h"
#include "miscadmin.h"
#include "plan.h"
#include "report.h"
#include "store.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_lock_identity_closure);

static int	max_cascade_size = 0;

/* The type at which references of an edge source start. */
typedef struct SourceType
{
	int64		source;			/* hash key */
	int			type;			/* index into known_types */
} SourceType;

typedef struct KnownType
{
	char		project[257];
	char		resource[257];
	int			rank;
} KnownType;

/* A document that is to be locked. */
typedef struct OpenMember
{
	int			rank;
	int			type;
	int64		id;
} OpenMember;

typedef struct OpenMembers
{
	OpenMember *members;
	int			n;
	int			capacity;
} OpenMembers;

/* What edge sources say of types; loaded once per state of the models. */
static uint64 sources_generation = 0;
static MemoryContext sources_context = NULL;
static HTAB *sources = NULL;
static KnownType *known_types = NULL;
static int	nknown_types = 0;

static const Oid id_array[] = {INT8ARRAYOID};
static const Oid lock_types[] = {INT8OID};

static Statement read_sources = {
	.sql = "SELECT s.EdgeSourceId, m.ProjectName::pg_catalog.text, m.ResourceName::pg_catalog.text, m.IdentityRank"
	" FROM (SELECT ProjectName, ResourceName, IdentityRank,"
	" pg_catalog.concat(ProjectName, '.', ResourceName) AS Name FROM dms.ResourceModel"
	" WHERE Kind::pg_catalog.text OPERATOR(pg_catalog.<>) 'abstract' OFFSET 0) AS m"
	" LEFT JOIN (SELECT EdgeSourceId, pg_catalog.split_part(EdgeSourceKey, ':', 1) AS Name"
	" FROM dms.EdgeSource OFFSET 0) AS s ON s.Name OPERATOR(pg_catalog.=) m.Name"
	" ORDER BY m.ProjectName, m.ResourceName",
};

static Statement read_types = {
	.sql = "SELECT DocumentId, ProjectName::pg_catalog.text, ResourceName::pg_catalog.text"
	" FROM dms.Document WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = id_array,
};

static const char *const edge_columns[] = {"childdocumentid", "parentdocumentid", "edgesourceid", "isidentitycomponent"};
static const Oid edge_types[] = {INT8OID, INT8OID, INT8OID, BOOLOID};
static const KeyScanTable edges_of_children = {
	"dms", "referenceedge", edge_columns, edge_types, lengthof(edge_columns),.any_order = true
};

static Statement read_parents = {
	.sql = "SELECT ChildDocumentId, ParentDocumentId, EdgeSourceId, IsIdentityComponent FROM dms.ReferenceEdge"
	" WHERE ChildDocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = id_array,
};

static const char *const lock_columns[] = {"documentid"};
static const KeyScanTable locks = {"dms", "identitylock", lock_columns, lock_types, 1};

#define LOCK_SQL \
	"SELECT DocumentId FROM dms.IdentityLock WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)" \
	" ORDER BY DocumentId FOR UPDATE"

static Statement lock_update[2] = {
	{.sql = LOCK_SQL,.nargs = 1,.argtypes = id_array},
	{.sql = LOCK_SQL " NOWAIT",.nargs = 1,.argtypes = id_array},
};
static Statement lock_free = {.sql = LOCK_SQL " SKIP LOCKED",.nargs = 1,.argtypes = id_array};

void
ClosureInit(void)
{
	DefineCustomIntVariable("dms.max_cascade_size",
							"Documents that one change of identity may reach.",
							"A change that would reach more is refused; 0 means no limit.",
							&max_cascade_size, 0, 0, INT_MAX, PGC_USERSET, 0,
							NULL, NULL, NULL);
}

/* Remember one row of read_sources; rows come sorted by type. */
static void
AddSource(HTAB *table, KnownType *types, int *ntypes, uint64 row)
{
	const char *project = ResultText(row, 2);
	const char *resource = ResultText(row, 3);
	KnownType  *last = *ntypes > 0 ? &types[*ntypes - 1] : NULL;
	bool		isnull;
	bool		found;
	int64		source;

	if (last == NULL || strcmp(last->project, project) != 0 || strcmp(last->resource, resource) != 0)
	{
		last = &types[(*ntypes)++];
		strlcpy(last->project, project, sizeof(last->project));
		strlcpy(last->resource, resource, sizeof(last->resource));
		last->rank = DatumGetInt32(ResultDatum(row, 4, &isnull));
	}
	source = DatumGetInt64(ResultDatum(row, 1, &isnull));
	if (!isnull)
		((SourceType *) hash_search(table, &source, HASH_ENTER, &found))->type = *ntypes - 1;
}

/* Know the type and rank behind every edge source. */
static void
LoadSources(void)
{
	uint64		generation = StoreGeneration();
	MemoryContext context;
	HASHCTL		control = {0};
	HTAB	   *table;
	KnownType  *types;
	int			ntypes = 0;

	if (sources != NULL && sources_generation == generation)
		return;
	SnapshotBeginCatalog();
	StatementRun(&read_sources, NULL, NULL, true, 0);
	SnapshotEnd();
	context = AllocSetContextCreate(CurrentMemoryContext, "dms edge sources", ALLOCSET_DEFAULT_SIZES);
	control.keysize = sizeof(int64);
	control.entrysize = sizeof(SourceType);
	control.hcxt = context;
	table = hash_create("dms edge sources", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	types = MemoryContextAlloc(context, sizeof(KnownType) * Max(SPI_processed, 1));
	for (uint64 i = 0; i < SPI_processed; i++)
		AddSource(table, types, &ntypes, i);
	SPI_freetuptable(SPI_tuptable);

	/* Complete now: put it in the place of the old one. */
	if (sources_context != NULL)
		MemoryContextDelete(sources_context);
	MemoryContextSetParent(context, TopMemoryContext);
	sources_context = context;
	sources = table;
	known_types = types;
	nknown_types = ntypes;
	sources_generation = generation;
}

static int
TypeByName(const char *project, const char *resource)
{
	for (int i = 0; i < nknown_types; i++)
		if (strcmp(known_types[i].resource, resource) == 0 &&
			strcmp(known_types[i].project, project) == 0)
			return i;
	elog(ERROR, "there is no model of \"%s.%s\"", project, resource);
}

static int
CompareOpen(const void *a, const void *b)
{
	return IdsCompare(&((const OpenMember *) a)->id, &((const OpenMember *) b)->id);
}

static void
AddOpen(OpenMembers *open, int type, int64 id)
{
	if (open->n == open->capacity)
	{
		open->capacity = Max(16, open->capacity * 2);
		open->members = open->members ?
			repalloc_huge(open->members, sizeof(OpenMember) * open->capacity) :
			palloc(sizeof(OpenMember) * open->capacity);
	}
	open->members[open->n].rank = known_types[type].rank;
	open->members[open->n].type = type;
	open->members[open->n++].id = id;
}

/* Take the members of the lowest rank out of the open ones, ascending, once. */
static OpenMember *
TakeLowest(OpenMembers *open, int *n)
{
	OpenMember *taken = palloc_extended(sizeof(OpenMember) * Max(open->n, 1), MCXT_ALLOC_HUGE);
	int			lowest = INT_MAX;
	int			kept = 0;
	int			unique = 0;

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
	for (int i = 0; i < *n; i++)
		if (i == 0 || taken[i].id != taken[unique - 1].id)
			taken[unique++] = taken[i];
	*n = unique;
	return taken;
}

/* Identities that were locked, ascending; there is room for all. */
typedef struct TakenIds
{
	int64	   *ids;
	int			n;
} TakenIds;

static void
AddLocked(const Datum *values, void *arg)
{
	TakenIds   *locked = arg;

	locked->ids[locked->n++] = DatumGetInt64(values[0]);
}

static void
LockBySql(Datum ids, TakenIds *locked)
{
	StatementRun(&lock_update[StoreLockNowait()], &ids, NULL, false, 0);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		id = ResultDatum(i, 1, &isnull);

		AddLocked(&id, locked);
	}
	SPI_freetuptable(SPI_tuptable);
}

static void
LockOneBySql(const Datum *values, void *arg)
{
	int64		id = DatumGetInt64(values[0]);

	LockBySql(Int8ArrayDatum(1, &id), arg);
}

/* Lock identities for update, waiting; what is gone is not returned. */
static int64 *
LockIdentities(const int64 *ids, int n, int *nlocked)
{
	TakenIds	locked = {.ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE)};

	if (!KeyLock(&locks, ids, n, StoreLockNowait() ? LockWaitError : LockWaitBlock,
				 AddLocked, LockOneBySql, &locked))
		LockBySql(Int8ArrayDatum(n, ids), &locked);
	*nlocked = locked.n;
	return locked.ids;
}

/* Close the gate; what we know of the schema must still be so behind it. */
static void
CloseGate(void)
{
	uint64		deploys = StoreDeploys();

	StoreGateClose();
	if (StoreDeploys() != deploys)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent deploy")));
}

/* Identities to try to lock, and how many could be. */
typedef struct LockAttempt
{
	const int64 *ids;
	int			n;
	int			locked;
} LockAttempt;

static bool
TryIdentities(void *arg)
{
	LockAttempt *attempt = arg;
	Datum		values[1] = {Int8ArrayDatum(attempt->n, attempt->ids)};

	attempt->locked = (int) StatementRun(&lock_free, values, NULL, false, 0);
	return false;
}

/* Is nobody's lock in the way of an update lock on all of them? */
static bool
IdentitiesAreFree(const int64 *ids, int n)
{
	LockAttempt attempt = {.ids = ids,.n = n};

	(void) Attempt(TryIdentities, &attempt);
	return attempt.locked == n;
}

/*
 * To be called before a change of identities takes its first row lock.  New
 * sharers overtake who waits for an update lock, on a busy document without
 * end; so if the locks are not free, queue at the gate, which is fair, and
 * behind which nobody takes new locks.
 */
void
ClosureMakeRoom(const int64 *ids, int n)
{
	if (n == 0 || StoreLockNowait() || FAULT_SKIP("fair_gate") || IdentitiesAreFree(ids, n))
		return;
	CloseGate();
}

/*
 * Lock one identity whose change needs no other lock before it; false when it
 * is gone.  While it is free this is one statement.
 */
bool
LockIdentityFirst(int64 document_id)
{
	Datum		values[1] = {Int8ArrayDatum(1, &document_id)};
	int			nlocked;

	if (!StoreLockNowait() && !FAULT_SKIP("fair_gate"))
	{
		if (StatementRun(&lock_free, values, NULL, false, 0) == 1)
			return true;
		CloseGate();
	}
	LockIdentities(&document_id, 1, &nlocked);
	return nlocked == 1;
}

/* An edge to a parent, as a look sees it. */
typedef struct SeenEdge
{
	int64		parent;
	int64		source;
	int64		identity;
} SeenEdge;

static int
CompareSeen(const void *a, const void *b)
{
	const SeenEdge *left = a;
	const SeenEdge *right = b;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return left->identity < right->identity ? -1 : left->identity > right->identity;
}

/* The edge to a parent that a row tells. */
static SeenEdge
EdgeOfRow(const StoredRows *rows, int row)
{
	const Datum *values = StoredRowValues(rows, row);

	return (SeenEdge)
	{
		.parent = DatumGetInt64(values[1]),
			.source = DatumGetInt64(values[2]),
			.identity = DatumGetBool(values[3])
	};
}

/* The edges of rows, sorted. */
static SeenEdge *
SeenEdges(const StoredRows *rows)
{
	SeenEdge   *edges = palloc_extended(sizeof(SeenEdge) * Max(rows->nrows, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < rows->nrows; i++)
		edges[i] = EdgeOfRow(rows, i);
	qsort(edges, rows->nrows, sizeof(SeenEdge), CompareSeen);
	return edges;
}

/*
 * A look at parents that decides whether the outcome is right, in a new
 * snapshot behind the lock.  Where the transaction's snapshot is fixed it may
 * be blind to what was committed meanwhile: then the latest state must say the
 * same, or the transaction must be tried again.
 */
static void
ReadParents(const int64 *ids, int n, StoredRows *seen)
{
	StoredRows	latest;

	SnapshotBegin();
	KeyReadIds(&edges_of_children, &read_parents, ids, n, seen);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return;
	SnapshotBeginLatest();
	KeyReadIds(&edges_of_children, &read_parents, ids, n, &latest);
	SnapshotEnd();
	if (seen->nrows != latest.nrows ||
		memcmp(SeenEdges(seen), SeenEdges(&latest), sizeof(SeenEdge) * seen->nrows) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent changes of references")));
}

/* Does any document refer to this one? */
bool
HasParents(int64 document_id)
{
	StoredRows	rows;

	ReadParents(&document_id, 1, &rows);
	return rows.nrows > 0;
}

/* Note one more document that refers to members, such as one written since. */
void
ClosureAddParent(Closure *closure, int64 parent)
{
	if (closure->nparents == closure->parents_capacity)
	{
		closure->parents_capacity = Max(16, closure->parents_capacity * 2);
		closure->parents = closure->parents ?
			repalloc_huge(closure->parents, sizeof(int64) * closure->parents_capacity) :
			palloc(sizeof(int64) * closure->parents_capacity);
	}
	closure->parents[closure->nparents++] = parent;
}

/* Note a parent, and open it if the edge is part of its identity. */
static void
OpenParent(Closure *closure, OpenMembers *open, const SeenEdge *edge)
{
	SourceType *type;

	ClosureAddParent(closure, edge->parent);
	if (!edge->identity || ClosureHas(closure, edge->parent))
		return;
	type = hash_search(sources, &edge->source, HASH_FIND, NULL);
	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("reference edge of document " INT64_FORMAT " has the unknown source " INT64_FORMAT,
						edge->parent, edge->source)));
	AddOpen(open, type->type, edge->parent);
}

/*
 * Find the parents of what was just locked, and open those over identity
 * components.  Behind the lock no new reference to a member can appear, of
 * whatever kind; so all parents can be noted now.
 */
static void
OpenParents(Closure *closure, OpenMembers *open, const int64 *ids, int n)
{
	MemoryContext look = AllocSetContextCreate(CurrentMemoryContext, "dms look at parents",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(look);
	StoredRows	rows;

	ReadParents(ids, n, &rows);
	MemoryContextSwitchTo(saved);
	for (int i = 0; i < rows.nrows; i++)
	{
		SeenEdge	edge = EdgeOfRow(&rows, i);

		OpenParent(closure, open, &edge);
	}
	MemoryContextDelete(look);
}

/* The members of one type, made if there are none yet. */
static ClosureType *
TypeOf(Closure *closure, int type)
{
	KnownType  *known = &known_types[type];
	ClosureType **link = &closure->types;
	ClosureType *added;

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
		if (strcmp(t->resource, known->resource) == 0 && strcmp(t->project, known->project) == 0)
			return t;
	while (*link != NULL && (*link)->rank <= known->rank)
		link = &(*link)->next;
	added = palloc0(sizeof(ClosureType));
	added->project = pstrdup(known->project);
	added->resource = pstrdup(known->resource);
	added->rank = known->rank;
	added->next = *link;
	*link = added;
	return added;
}

/* Put a document to the others of its type, once. */
static void
GroupMember(Closure *closure, int type, int64 id)
{
	ClosureType *t = TypeOf(closure, type);
	bool		found;

	hash_search(closure->members, &id, HASH_ENTER, &found);
	if (found)
		return;
	if (t->n == t->capacity)
	{
		t->capacity = Max(16, t->capacity * 2);
		t->ids = t->ids ? repalloc_huge(t->ids, sizeof(int64) * t->capacity) :
			palloc(sizeof(int64) * t->capacity);
	}
	t->ids[t->n++] = id;
	closure->size++;
}

static void
AddMember(Closure *closure, int type, int64 id)
{
	GroupMember(closure, type, id);
	if (max_cascade_size > 0 && closure->size > max_cascade_size)
		ReportError(PROBLEM_CASCADE_TOO_LARGE,
					"Raise dms.max_cascade_size, or set it to 0, if this is what you want.",
					"change of identity would reach more than %d documents", max_cascade_size);
}

/* Is the document a member? */
bool
ClosureHas(const Closure *closure, int64 document_id)
{
	return hash_search(closure->members, &document_id, HASH_FIND, NULL) != NULL;
}

/* All members, ascending. */
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

/* Who refers to members without being one, ascending, each once. */
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

/* Open the seeds; what is no document any more is left out. */
static void
OpenSeeds(OpenMembers *open, const int64 *seeds, int nseeds)
{
	Datum		values[1] = {Int8ArrayDatum(nseeds, seeds)};
	bool		isnull;

	SnapshotBegin();
	StatementRun(&read_types, values, NULL, true, 0);
	SnapshotEnd();
	for (uint64 i = 0; i < SPI_processed; i++)
		AddOpen(open, TypeByName(ResultText(i, 2), ResultText(i, 3)),
				DatumGetInt64(ResultDatum(i, 1, &isnull)));
	SPI_freetuptable(SPI_tuptable);
}

/* Lock what was taken from the open ones; returns what the lock returned. */
static int64 *
LockTaken(Closure *closure, const OpenMember *taken, int n, int *nlocked)
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
		locked = LockIdentities(ids, n, nlocked);

	/* Both are ascending: a member that was deleted meanwhile drops out. */
	for (int i = 0; i < n && at < *nlocked; i++)
		if (taken[i].id == locked[at])
		{
			AddMember(closure, taken[i].type, taken[i].id);
			at++;
		}
	return locked;
}

/*
 * Lock the seeds and everything whose identity is made of theirs, rank by
 * rank, until no parent is left that is not locked.
 */
Closure *
ClosureLock(const int64 *seeds, int nseeds)
{
	Closure    *closure = NewClosure();
	OpenMembers open = {0};

	LoadSources();
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
		locked = LockTaken(closure, taken, ntaken, &nlocked);
		if (nlocked > 0 && !FAULT_SKIP("parents_behind_lock") &&
			!(closure->size > 1 && FAULT_SKIP("fixpoint")))
			OpenParents(closure, &open, locked, nlocked);
	}
	return closure;
}

/* Documents by their types, without locks; the ids of a type are ascending. */
ClosureType *
ClosureGroup(const int64 *ids, int n)
{
	Closure    *groups = NewClosure();
	OpenMembers open = {0};

	LoadSources();
	OpenSeeds(&open, ids, n);
	if (open.n > 0)
		qsort(open.members, open.n, sizeof(OpenMember), CompareOpen);
	for (int i = 0; i < open.n; i++)
		GroupMember(groups, open.members[i].type, open.members[i].id);
	return groups->types;
}

/* The bigint[] of an argument, without NULLs. */
int64 *
IdsOfArgument(ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	int64	   *ids;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elements, &nulls, n);
	ids = palloc(sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "a document id must not be null");
		ids[i] = DatumGetInt64(elements[i]);
	}
	return ids;
}

/* For callers that change identities in their own SQL. */
Datum
dms_lock_identity_closure(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	StoreSession session;
	Closure    *closure;
	int64	   *ids;
	int			n;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	PreventCommandIfReadOnly("dms.lock_identity_closure()");
	StoreGate(RowExclusiveLock);
	StoreBegin(&session, RIGHTS_OF_OWNER);
	ids = IdsOfArgument(PG_GETARG_ARRAYTYPE_P(0), &n);
	ClosureMakeRoom(ids, n);
	closure = ClosureLock(ids, n);
	ids = ClosureIds(closure, &n);
	for (int i = 0; i < n; i++)
	{
		Datum		value = Int64GetDatum(ids[i]);
		bool		isnull = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
	StoreEnd(&session);
	PG_RETURN_NULL();
}
