/*
 * newids.c
 *		Giving many documents new ReferentialIds.
 *
 * All old ids go before the first new one comes, so that documents can swap
 * theirs.  An id that somebody else has is a collision, and tells which document
 * was to get it.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "base/uuid.h"
#include "cascade/newids.h"
#include "catalog/pg_type.h"
#include "document/resolve.h"
#include "engine/keywrite.h"
#include "engine/plan.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

typedef struct NewId
{
	int64		document_id;
	pg_uuid_t	id;
	bool		seen;			/* the document had an id under this name */
	bool		held;			/* which is this one */
} NewId;

/* New ReferentialIds of documents, under one resource name. */
struct NewIds
{
	const char *project;
	const char *resource;
	NewId	   *ids;			/* ascending by document, each once */
	int			n;
	int			capacity;
	bool		all_free;		/* no document has any of them */
	NewIds	   *next;
};

static const char *const columns[] = {"documentid", "projectname", "resourcename", "referentialid"};
static const Oid column_types[] = {INT8OID, TEXTOID, TEXTOID, UUIDOID};
static const KeyScanTable identities = {"dms", "referentialidentity", columns, column_types, 4};

static const Oid argument_types[] = {INT8ARRAYOID, UUIDARRAYOID, TEXTOID, TEXTOID};

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
	.argtypes = argument_types,
};

#define CLAIM_SQL \
	"INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)" \
	" SELECT u.id, u.doc, $3, $4 FROM" NEW_IDS_SQL

static Statement claim_all = {.sql = CLAIM_SQL,.nargs = 4,.argtypes = argument_types};

static Statement claim_missing = {
	.sql = CLAIM_SQL " WHERE NOT EXISTS (SELECT FROM dms.ReferentialIdentity AS r"
	" WHERE r.ReferentialId OPERATOR(pg_catalog.=) u.id AND r.DocumentId OPERATOR(pg_catalog.=) u.doc)",
	.nargs = 4,
	.argtypes = argument_types,
};

/* An empty list, with room for so many. */
NewIds *
NewIdsMake(const char *project, const char *resource, int capacity)
{
	NewIds	   *made = palloc0(sizeof(NewIds));

	made->project = project;
	made->resource = resource;
	made->capacity = capacity;
	made->ids = palloc_extended(sizeof(NewId) * Max(capacity, 1), MCXT_ALLOC_HUGE);
	return made;
}

void
NewIdsAdd(NewIds *list, int64 document_id, const pg_uuid_t *id)
{
	NewId	   *added;

	if (list->n == list->capacity)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("document " INT64_FORMAT " has more than one identity", document_id)));
	added = &list->ids[list->n++];
	added->document_id = document_id;
	added->id = *id;
	added->seen = added->held = false;
}

/* Put a list behind others. */
NewIds *
NewIdsJoin(NewIds *first, NewIds *second)
{
	NewIds	   *last = first;

	if (first == NULL)
		return second;
	while (last->next != NULL)
		last = last->next;
	last->next = second;
	return first;
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

/* The list that holds only one of the ids of another. */
static NewIds
OnlyOne(const NewIds *list, NewId *id)
{
	NewIds		one = *list;

	one.ids = id;
	one.n = 1;
	return one;
}

static int
CompareDocuments(const void *a, const void *b)
{
	return IdsCompare(&((const NewId *) a)->document_id, &((const NewId *) b)->document_id);
}

/* The new id of a document that a row was found of. */
static NewId *
NewIdOf(const NewIds *list, int64 document_id)
{
	NewId		wanted = {.document_id = document_id};
	NewId	   *found = bsearch(&wanted, list->ids, list->n, sizeof(NewId), CompareDocuments);

	if (found == NULL)
		RefuseRow("a row that it was not asked for");
	return found;
}

/* Has the document another id than it should?  Note what is found. */
static bool
IsOld(const Datum *values, void *arg)
{
	NewId	   *id = NewIdOf(arg, DatumGetInt64(values[0]));

	id->seen = true;
	id->held = memcmp(&id->id, DatumGetUUIDP(values[3]), UUID_LEN) == 0;
	return !id->held;
}

/* Somebody was faster than we: he may have given it the right one. */
static void
ForgetOneBySql(const Datum *values, void *arg)
{
	NewId	   *id = NewIdOf(arg, DatumGetInt64(values[0]));
	NewIds		one = OnlyOne(arg, id);

	id->seen = RunOnNewIds(&forget_old, &one) == 1;
}

/* The documents of a list, ascending. */
static int64 *
Documents(const NewIds *list)
{
	int64	   *documents = palloc_extended(sizeof(int64) * Max(list->n, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < list->n; i++)
		documents[i] = list->ids[i].document_id;
	return documents;
}

/* Keep only the ids that documents do not have yet. */
static void
DropHeld(NewIds *list)
{
	int			kept = 0;

	list->all_free = true;
	for (int i = 0; i < list->n; i++)
	{
		list->all_free = list->all_free && list->ids[i].seen;
		if (!list->ids[i].held)
			list->ids[kept++] = list->ids[i];
	}
	list->n = kept;
}

/*
 * Let go of what documents were called.  The rows of new ids then stand in the
 * order of documents, in which the next cascade comes to them.
 */
static void
ForgetOldIds(NewIds *list)
{
	KeyScanKey	name[] = {
		{.equals = F_TEXTEQ,.value = CStringGetTextDatum(list->project)},
		{.equals = F_TEXTEQ,.value = CStringGetTextDatum(list->resource)}
	};

	qsort(list->ids, list->n, sizeof(NewId), CompareDocuments);
	if (KeyDelete(&identities, Documents(list), list->n, name, lengthof(name), IsOld, ForgetOneBySql, list))
		DropHeld(list);
	else
		list->all_free = RunOnNewIds(&forget_old, list) == (uint64) list->n;
}

/* What a row of an identity is made of. */
typedef struct Claim
{
	const NewIds *list;
	Datum		project;
	Datum		resource;
} Claim;

static void
ClaimRow(int row, Datum *values, void *arg)
{
	const Claim *claim = arg;

	values[0] = Int64GetDatum(claim->list->ids[row].document_id);
	values[1] = claim->project;
	values[2] = claim->resource;
	values[3] = UUIDPGetDatum(&claim->list->ids[row].id);
}

/* Call documents what they should be called; how many are new? */
static uint64
ClaimNewIds(const NewIds *list)
{
	Claim		claim = {.list = list};

	if (!list->all_free)
		return RunOnNewIds(&claim_missing, list);
	claim.project = CStringGetTextDatum(list->project);
	claim.resource = CStringGetTextDatum(list->resource);
	if (!KeyInsert(&identities, list->n, ClaimRow, &claim))
		return RunOnNewIds(&claim_all, list);
	return list->n;
}

#ifdef DMS_FAULTS
/* What must not be: a document claims its id while another still has it. */
static uint64
ReplaceOneByOne(NewIds *list)
{
	uint64		changed = 0;

	for (int i = 0; i < list->n; i++)
	{
		NewIds		one = OnlyOne(list, &list->ids[i]);

		ForgetOldIds(&one);
		changed += RunOnNewIds(&claim_missing, &one);
	}
	return changed;
}
#else
#define ReplaceOneByOne(list) 0
#endif

/* Note the ids of a list that other documents have. */
static void
NoteTaken(Problem *problem, const NewIds *list)
{
	pg_uuid_t  *ids = palloc_extended(sizeof(pg_uuid_t) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	IdSet	   *set;

	for (int i = 0; i < list->n; i++)
		ids[i] = list->ids[i].id;
	set = IdSetMake(ids, list->n);
	SnapshotBeginLatest();
	IdSetLookUp(set);
	SnapshotEnd();
	for (int i = 0; i < list->n; i++)
	{
		int64		holder = IdSetFind(set, &ids[i]);

		if (holder != 0 && holder != list->ids[i].document_id)
			ProblemNote(problem, "Document " INT64_FORMAT " would become a %s.%s that exists already: document " INT64_FORMAT " (ReferentialId %s).",
						list->ids[i].document_id, list->project, list->resource, holder, UuidText(&ids[i]));
	}
}

/* Raise that ids are taken, and by which documents. */
static void
RaiseTaken(const NewIds *list)
{
	Problem    *problem = ProblemNew(PROBLEM_IDENTITY_TAKEN);

	for (; list != NULL; list = list->next)
		NoteTaken(problem, list);
	ProblemRaise(problem, "a document that depends on the changed identity would get one that is taken");
}

/* Ids to be claimed, and how many of them are new. */
typedef struct ClaimAttempt
{
	NewIds	   *list;
	int64		changed;
} ClaimAttempt;

static bool
ClaimAll(void *arg)
{
	ClaimAttempt *attempt = arg;

	for (NewIds *l = attempt->list; l != NULL; l = l->next)
		attempt->changed += FAULT_SKIP("forget_first") ? ReplaceOneByOne(l) : ClaimNewIds(l);
	return true;
}

/*
 * Replace ids: all old ones go before the first new one comes.  They are claimed
 * in a subtransaction, so that the store can still be asked which one was taken.
 */
int64
NewIdsReplace(NewIds *list)
{
	ClaimAttempt attempt = {.list = list};
	ErrorData  *error;
	bool		stays;

	if (!FAULT_SKIP("forget_first"))
		for (NewIds *l = list; l != NULL; l = l->next)
			ForgetOldIds(l);
	error = AttemptCatch(ClaimAll, &attempt, &stays);
	if (error != NULL && error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION)
		RaiseTaken(list);
	if (error != NULL)
		ReThrowError(error);
	return attempt.changed;
}
