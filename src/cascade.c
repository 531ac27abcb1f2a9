/*
 * cascade.c
 *		Carrying a change of identity to all documents that depend on it.
 *
 * The closure is locked and the seeds have their new identities and rows.
 * What is left is set-based, by resource type: see that no two references of a
 * document contradict each other now, recompute the ReferentialIds of the other
 * members from storage, and let the etags of all whose representation changed
 * grow.
 */
#include "postgres.h"

#include "cascade.h"
#include "catalog/pg_type.h"
#include "etag.h"
#include "faults.h"
#include "fmgr.h"
#include "ids.h"
#include "miscadmin.h"
#include "modelcache.h"
#include "plan.h"
#include "projection.h"
#include "report.h"
#include "store.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_recompute_identities);

/* From here on a cascade is worth a word. */
#define LARGE_CASCADE 1000

/* Documents whose identities are recomputed at a time, to bound memory. */
#define BATCH 10000

typedef struct NewId
{
	pg_uuid_t	id;
	int64		document_id;
} NewId;

/* New ReferentialIds of documents, under one resource name. */
typedef struct NewIds
{
	const char *project;
	const char *resource;
	NewId	   *ids;			/* by document, then by id: index pages are
								 * met in order */
	int			n;
	bool		all_changed;	/* every document had another id */
	struct NewIds *next;
} NewIds;

static const Oid move_types[] = {INT8OID, UUIDOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID, TEXTOID};

/* Two statements, so that identities can swap. */
static Statement forget_identity = {
	.sql = "DELETE FROM dms.ReferentialIdentity WHERE DocumentId OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = move_types,
};

static Statement claim_identity = {
	.sql = "INSERT INTO dms.ReferentialIdentity (DocumentId, ReferentialId, ProjectName, ResourceName)"
	" SELECT $1, $2, $3, $4 UNION ALL SELECT $1, $5, $6, $7 WHERE $5 IS NOT NULL",
	.nargs = 7,
	.argtypes = move_types,
};

static const Oid recompute_types[] = {INT8ARRAYOID, UUIDARRAYOID, TEXTOID, TEXTOID};

/* Unnested in a list of columns: in FROM, each would be stored first. */
#define NEW_IDS_SQL \
	" (SELECT pg_catalog.unnest($1) AS doc, pg_catalog.unnest($2) AS id OFFSET 0) AS u"

static Statement forget_old = {
	.sql = "DELETE FROM dms.ReferentialIdentity AS r USING" NEW_IDS_SQL
	" WHERE r.DocumentId OPERATOR(pg_catalog.=) u.doc"
	" AND r.ProjectName OPERATOR(pg_catalog.=) $3::pg_catalog.varchar"
	" AND r.ResourceName OPERATOR(pg_catalog.=) $4::pg_catalog.varchar"
	" AND r.ReferentialId OPERATOR(pg_catalog.<>) u.id",
	.nargs = 4,
	.argtypes = recompute_types,
};

#define CLAIM_SQL \
	"INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)" \
	" SELECT u.id, u.doc, $3, $4 FROM" NEW_IDS_SQL

static Statement claim_all = {.sql = CLAIM_SQL,.nargs = 4,.argtypes = recompute_types};

static Statement claim_missing = {
	.sql = CLAIM_SQL " WHERE NOT EXISTS (SELECT FROM dms.ReferentialIdentity AS r"
	" WHERE r.ReferentialId OPERATOR(pg_catalog.=) u.id AND r.DocumentId OPERATOR(pg_catalog.=) u.doc)",
	.nargs = 4,
	.argtypes = recompute_types,
};

/*
 * Give a document the identity of its new body.  This comes before its root
 * row is touched, so that there is one queue for each identity; one that is
 * taken is a violation that the caller tells.
 */
void
CascadeClaimIdentity(const FlatDocument *flat, int64 document_id)
{
	const ResourceModel *model = flat->model;
	Datum		values[7];
	char		nulls[] = "       ";

	values[0] = Int64GetDatum(document_id);
	values[1] = UUIDPGetDatum(&flat->primary);
	values[2] = CStringGetTextDatum(model->project);
	values[3] = CStringGetTextDatum(model->resource);
	if (model->superclass_resource == NULL)
		nulls[4] = nulls[5] = nulls[6] = 'n';
	else
	{
		values[4] = UUIDPGetDatum(&flat->alias);
		values[5] = CStringGetTextDatum(model->superclass_project);
		values[6] = CStringGetTextDatum(model->superclass_resource);
	}
	StatementRun(&claim_identity, values, nulls, false, 0);
}

/* Let go of a document's identity, before it or another takes a new one. */
void
CascadeForgetIdentity(int64 document_id)
{
	Datum		values[1] = {Int64GetDatum(document_id)};

	StatementRun(&forget_identity, values, NULL, false, 0);
}

static NewIds *
NewIdsMake(const char *project, const char *resource, int capacity, NewIds *next)
{
	NewIds	   *made = palloc0(sizeof(NewIds));

	made->project = project;
	made->resource = resource;
	made->ids = palloc_extended(sizeof(NewId) * Max(capacity, 1), MCXT_ALLOC_HUGE);
	made->next = next;
	return made;
}

static void
AddNewId(NewIds *list, int64 document_id, const pg_uuid_t *id)
{
	list->ids[list->n].document_id = document_id;
	list->ids[list->n++].id = *id;
}

/* What a batch of documents should be called now, as storage tells. */
static void
RecomputeBatch(Resource *resource, const int64 *ids, int n, NewIds *primary,
			   NewIds *alias)
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
		AddNewId(primary, identities[i].document_id, &identities[i].primary);
		if (alias)
			AddNewId(alias, identities[i].document_id, &identities[i].alias);
	}
}

/* The new ReferentialIds of documents of one type, in front of a list. */
static NewIds *
RecomputeType(const char *project, const char *resource_name, const int64 *ids,
			  int n, NewIds *list)
{
	Resource   *resource = ResourceFind(project, resource_name);
	const ResourceModel *model = resource->model;
	NewIds	   *primary = NewIdsMake(model->project, model->resource, n, list);
	NewIds	   *alias = NULL;
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext,
												"dms cascade batch", ALLOCSET_DEFAULT_SIZES);

	if (model->superclass_resource)
		alias = NewIdsMake(model->superclass_project, model->superclass_resource, n, primary);
	for (int i = 0; i < n; i += BATCH)
	{
		MemoryContext saved = MemoryContextSwitchTo(batch);

		CHECK_FOR_INTERRUPTS();
		RecomputeBatch(resource, ids + i, Min(BATCH, n - i), primary, alias);
		MemoryContextSwitchTo(saved);
		MemoryContextReset(batch);
	}
	MemoryContextDelete(batch);
	return alias ? alias : primary;
}

static int
CompareNewIds(const void *a, const void *b)
{
	return memcmp(a, b, UUID_LEN);
}

static void
SortNewIds(NewIds *list)
{
	qsort(list->ids, list->n, sizeof(NewId), CompareNewIds);
}

/* Run a statement on new ids. */
static uint64
RunOnNewIds(Statement *statement, const NewIds *list)
{
	Datum	   *ids = palloc_extended(sizeof(Datum) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	Datum	   *documents = palloc_extended(sizeof(Datum) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	Datum		values[4];

	for (int i = 0; i < list->n; i++)
	{
		ids[i] = UUIDPGetDatum(&list->ids[i].id);
		documents[i] = Int64GetDatum(list->ids[i].document_id);
	}
	values[0] = ArrayDatum(list->n, documents, NULL, INT8OID);
	values[1] = ArrayDatum(list->n, ids, NULL, UUIDOID);
	values[2] = CStringGetTextDatum(list->project);
	values[3] = CStringGetTextDatum(list->resource);
	return StatementRun(statement, values, NULL, false, 0);
}

/* The document that was to get an id which is taken. */
static void
RaiseTaken(const NewIds *list, const ErrorData *error)
{
	const char *at = error->detail ? strstr(error->detail, ")=(") : NULL;
	char	   *text = at ? pnstrdup(at + 3, 36) : NULL;
	Problem    *problem = ProblemNew(PROBLEM_IDENTITY_TAKEN);

	for (; list != NULL && text !=NULL; list = list->next)
		for (int i = 0; i < list->n; i++)
			if (strcmp(text, DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&list->ids[i].id)))) == 0)
				ProblemNote(problem, "Document " INT64_FORMAT " would become a %s.%s that exists already (ReferentialId %s).",
							list->ids[i].document_id, list->project, list->resource, text);
	ProblemRaise(problem, "a document that depends on the changed identity would get one that is taken");
}

/*
 * Let go of what documents were called, found by document; the new ids are then
 * claimed in the order of the index that they go to.
 */
static void
ForgetOldIds(NewIds *list)
{
	list->all_changed = RunOnNewIds(&forget_old, list) == (uint64) list->n;
	SortNewIds(list);
}

#ifdef DMS_FAULTS
/* What must not be: a document claims its id while another still has it. */
static uint64
ReplaceOneByOne(NewIds *list)
{
	uint64		changed = 0;

	for (int i = 0; i < list->n; i++)
	{
		NewIds		one = *list;

		one.ids = list->ids + i;
		one.n = 1;
		ForgetOldIds(&one);
		changed += RunOnNewIds(&claim_missing, &one);
	}
	return changed;
}
#else
#define ReplaceOneByOne(list) 0
#endif

/* Replace ids: all old ones go before the first new one comes. */
static int64
ReplaceIds(NewIds *list)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int64 changed = 0;

	if (!FAULT_SKIP("forget_first"))
		for (NewIds *l = list; l != NULL; l = l->next)
			ForgetOldIds(l);
	PG_TRY();
	{
		for (NewIds *l = list; l != NULL; l = l->next)
			changed += FAULT_SKIP("forget_first") ? ReplaceOneByOne(l) :
				RunOnNewIds(l->all_changed ? &claim_all : &claim_missing, l);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (geterrcode() != ERRCODE_UNIQUE_VIOLATION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RaiseTaken(list, error);
	}
	PG_END_TRY();
	return changed;
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

/* Recompute all members but the seeds. */
static void
RecomputeMembers(const Closure *closure, const int64 *seeds, int nseeds)
{
	NewIds	   *list = NULL;

	for (ClosureType *t = closure->types; t != NULL; t = t->next)
	{
		int			n;
		int64	   *ids = Without(t->ids, t->n, seeds, nseeds, &n);

		if (n > 0)
			list = RecomputeType(t->project, t->resource, ids, n, list);
	}
	if (list != NULL)
		ReplaceIds(list);
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
 * All that follows from new identities of the seeds.  Documents that the
 * caller writes bump their own etags.
 */
void
CascadeRun(const Closure *closure, const int64 *seeds, int nseeds,
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
		RecomputeMembers(closure, seeds, nseeds);
	members = Without(members, nmembers, written, nwritten, &nothers);
	parents = Without(parents, nparents, written, nwritten, &nparents);
	changed = palloc_extended(sizeof(int64) * Max(nothers + nparents, 1), MCXT_ALLOC_HUGE);
	memcpy(changed, members, sizeof(int64) * nothers);
	memcpy(changed + nothers, parents, sizeof(int64) * nparents);
	qsort(changed, nothers + nparents, sizeof(int64), IdsCompare);
	if (!FAULT_SKIP("parent_bump"))
		EtagBumpAll(changed, nothers + nparents);
	if (nothers + nparents >= LARGE_CASCADE)
		ereport(NOTICE,
				(errmsg("change of identity reached %d dependent documents and %d that refer to them",
						nothers, nparents)));
}

/* Recompute the ReferentialIds of documents; how many were wrong? */
int64
CascadeRecompute(const int64 *ids, int n)
{
	NewIds	   *list = NULL;

	for (ClosureType *t = ClosureGroup(ids, n); t != NULL; t = t->next)
		list = RecomputeType(t->project, t->resource, t->ids, t->n, list);
	return list != NULL ? ReplaceIds(list) : 0;
}

/* Recompute the ReferentialIds of given documents from their rows. */
Datum
dms_recompute_identities(PG_FUNCTION_ARGS)
{
	StoreSession session;
	int64	   *ids;
	int			n;
	int64		changed;

	PreventCommandIfReadOnly("dms.recompute_identities()");
	StoreGate(RowExclusiveLock);
	StoreBegin(&session, RIGHTS_OF_OWNER);
	ids = IdsOfArgument(PG_GETARG_ARRAYTYPE_P(0), &n);
	changed = CascadeRecompute(ids, n);
	StoreEnd(&session);
	PG_RETURN_INT64(changed);
}
