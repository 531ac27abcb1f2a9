/*
 * replaceids.c
 *		Giving many documents new ReferentialIds.
 *
 * All old ids are deleted before the first new one is inserted, so that
 * documents can swap theirs.  If another document has a new id, the error
 * reports both documents.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "base/uuid.h"
#include "cascade/replaceids.h"
#include "document/referentialids.h"
#include "engine/attempt.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* The new ReferentialId of a document. */
typedef struct ReplaceId
{
	int64		document_id;
	pg_uuid_t	id;
	bool		held;			/* the document has it already */
} ReplaceId;

/* New ReferentialIds of documents, under one resource name. */
struct ReplaceIds
{
	const char *project;
	const char *resource;
	KeyChanges *keys;			/* who wants to know the old ids of documents
								 * of a type, or NULL */
	const ClosureType *type;
	bool		alias;
	ReplaceId  *ids;			/* ascending by document, each once */
	int			n;
	int			capacity;
	ReplaceIds *next;
};

/* Make an empty list, for at most capacity documents. */
ReplaceIds *
ReplaceIdsMake(const char *project, const char *resource, int capacity)
{
	ReplaceIds *made = palloc0(sizeof(ReplaceIds));

	made->project = project;
	made->resource = resource;
	made->capacity = capacity;
	made->ids = palloc_extended(sizeof(ReplaceId) * Max(capacity, 1), MCXT_ALLOC_HUGE);
	return made;
}

/* Let somebody know the old ids of the documents, which are of this type. */
void
ReplaceIdsTell(ReplaceIds *list, KeyChanges *keys, const ClosureType *type, bool alias)
{
	list->keys = keys;
	list->type = type;
	list->alias = alias;
}

/* Raise that a document has several root rows, and so several identities. */
static void
RaiseTwice(int64 document_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("document " INT64_FORMAT " has more than one identity", document_id)));
}

/* Add the new id of a document to a list. */
void
ReplaceIdsAdd(ReplaceIds *list, int64 document_id, const pg_uuid_t *id)
{
	ReplaceId  *added;

	if (list->n == list->capacity)
		RaiseTwice(document_id);
	added = &list->ids[list->n++];
	added->document_id = document_id;
	added->id = *id;
	added->held = false;
}

/* Append a list to others, of which there may be none. */
ReplaceIds *
ReplaceIdsJoin(ReplaceIds *first, ReplaceIds *second)
{
	ReplaceIds *last = first;

	if (first == NULL)
		return second;
	while (last->next != NULL)
		last = last->next;
	last->next = second;
	return first;
}

/* Order new ids by their documents. */
static int
CompareDocuments(const void *a, const void *b)
{
	return IdsCompare(&((const ReplaceId *) a)->document_id, &((const ReplaceId *) b)->document_id);
}

/*
 * Returns the new id of a document of the list, given the id in a row that was
 * read.
 */
static ReplaceId *
NewIdOf(const ReplaceIds *list, int64 document_id)
{
	ReplaceId	wanted = {.document_id = document_id};
	ReplaceId  *found = bsearch(&wanted, list->ids, list->n, sizeof(ReplaceId), CompareDocuments);

	if (found == NULL)
		ResultRefuse("a row that it was not asked for");
	return found;
}

/*
 * Returns true if a row is an old id of its document under the name of the
 * list.  Notes if it equals the new id: then it stays.
 */
static bool
IsOld(const Datum *values, void *arg)
{
	ReplaceIds *list = arg;
	ReplaceId  *id;

	if (!ReferentialIdHasName(values, list->project, list->resource))
		return false;
	id = NewIdOf(list, DatumGetInt64(values[REFERENTIAL_ID_DOCUMENT]));
	KeyChangesHad(list->keys, list->type, id->document_id, list->alias, DatumGetUUIDP(values[REFERENTIAL_ID_ID]));
	id->held = memcmp(&id->id, DatumGetUUIDP(values[REFERENTIAL_ID_ID]), UUID_LEN) == 0;
	return !id->held;
}

/* Returns the documents of a list, ascending. */
static int64 *
Documents(const ReplaceIds *list)
{
	int64	   *documents = palloc_extended(sizeof(int64) * Max(list->n, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < list->n; i++)
		documents[i] = list->ids[i].document_id;
	return documents;
}

/* Keep only the ids that documents do not have yet. */
static void
DropHeld(ReplaceIds *list)
{
	int			kept = 0;

	for (int i = 0; i < list->n; i++)
		if (!list->ids[i].held)
			list->ids[kept++] = list->ids[i];
	list->n = kept;
}

/* Refuse a sorted list that has two ids for one document. */
static void
RefuseTwice(const ReplaceIds *list)
{
	for (int i = 1; i < list->n; i++)
		if (list->ids[i].document_id == list->ids[i - 1].document_id)
			RaiseTwice(list->ids[i].document_id);
}

/*
 * Delete the old ids of documents.  The list is then in order of documents,
 * and so new ids are inserted in the order in which the next cascade reads
 * them.
 */
static void
ForgetOldIds(ReplaceIds *list)
{
	qsort(list->ids, list->n, sizeof(ReplaceId), CompareDocuments);
	RefuseTwice(list);
	ReferentialIdsDelete(Documents(list), list->n, IsOld, list);
	DropHeld(list);
}

/* The parts that rows of new ids are made from. */
typedef struct Claim
{
	const ReplaceIds *list;
	Datum		project;
	Datum		resource;
} Claim;

/* Fill in the row of a new id. */
static void
ClaimRow(int row, Datum *values, void *arg)
{
	const Claim *claim = arg;

	values[REFERENTIAL_ID_DOCUMENT] = Int64GetDatum(claim->list->ids[row].document_id);
	values[REFERENTIAL_ID_PROJECT] = claim->project;
	values[REFERENTIAL_ID_RESOURCE] = claim->resource;
	values[REFERENTIAL_ID_ID] = UUIDPGetDatum(&claim->list->ids[row].id);
}

/* Insert the new ids; returns their number. */
static int
ClaimNewIds(const ReplaceIds *list)
{
	Claim		claim = {.list = list};

	claim.project = CStringGetTextDatum(list->project);
	claim.resource = CStringGetTextDatum(list->resource);
	ReferentialIdsInsert(list->n, ClaimRow, &claim);
	return list->n;
}

#ifdef DMS_FAULTS
/* Returns a list with only one of the ids of another. */
static ReplaceIds
OnlyOne(const ReplaceIds *list, ReplaceId *id)
{
	ReplaceIds	one = *list;

	one.ids = id;
	one.n = 1;
	return one;
}

/*
 * The fault: each document claims its id while the next ones still have
 * theirs.
 */
static int
ReplaceOneByOne(ReplaceIds *list)
{
	int			changed = 0;

	for (int i = 0; i < list->n; i++)
	{
		ReplaceIds	one = OnlyOne(list, &list->ids[i]);

		ForgetOldIds(&one);
		changed += ClaimNewIds(&one);
	}
	return changed;
}
#else
#define ReplaceOneByOne(list) 0
#endif

/*
 * Add those new ids of a list to the problem that other documents have.  The
 * latest state is read, because the holder may have committed after the
 * transaction's snapshot.
 */
static void
NoteTaken(Problem *problem, const ReplaceIds *list)
{
	pg_uuid_t  *ids = palloc_extended(sizeof(pg_uuid_t) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	IdSet	   *set;

	for (int i = 0; i < list->n; i++)
		ids[i] = list->ids[i].id;
	set = IdSetMake(ids, list->n);
	SnapshotBeginLatest();
	ReferentialIdsLookUp(set);
	SnapshotEnd();
	for (int i = 0; i < list->n; i++)
	{
		int64		holder = IdSetFind(set, &ids[i]);

		if (holder != 0 && holder != list->ids[i].document_id)
			ProblemNote(problem, "Document " INT64_FORMAT " would become a %s.%s that exists already: document " INT64_FORMAT " (ReferentialId %s).",
						list->ids[i].document_id, list->project, list->resource, holder, UuidText(&ids[i]));
	}
}

/*
 * Raise an error that says which ids are taken, and by which documents.  The
 * names of the violated constraint are kept from the cause.
 */
static void
RaiseTaken(const ReplaceIds *list, const ErrorData *cause)
{
	Problem    *problem = ProblemNew(PROBLEM_IDENTITY_TAKEN);

	problem->cause = cause;
	for (; list != NULL; list = list->next)
		NoteTaken(problem, list);
	if (problem->count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a document has its new ReferentialId already, but under another name"),
				 errhint("dms.audit() lists what is wrong in the store.")));
	ProblemRaise(problem, "a document that depends on the changed identity would get one that is taken");
}

/* Ids to be claimed, and how many of them are new. */
typedef struct ClaimAttempt
{
	ReplaceIds *list;
	int64		changed;
} ClaimAttempt;

/* Insert the new ids of all lists.  Returns true, so that they are kept. */
static bool
ClaimAll(void *arg)
{
	ClaimAttempt *attempt = arg;

	for (ReplaceIds *l = attempt->list; l != NULL; l = l->next)
		attempt->changed += FAULT_SKIP("forget_first") ? ReplaceOneByOne(l) : ClaimNewIds(l);
	return true;
}

/*
 * Replace the ids of all lists; returns the number that changed.  New ids are
 * inserted in a subtransaction, so that after a unique violation the store can
 * still be asked which of them is taken.
 */
int64
ReplaceIdsRun(ReplaceIds *list)
{
	ClaimAttempt attempt = {.list = list};
	ErrorData  *error;
	bool		stays;

	if (!FAULT_SKIP("forget_first"))
		for (ReplaceIds *l = list; l != NULL; l = l->next)
			ForgetOldIds(l);
	error = AttemptCatch(ClaimAll, &attempt, &stays);
	if (error != NULL && error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION)
		RaiseTaken(list, error);
	if (error != NULL)
		ReThrowError(error);
	return attempt.changed;
}
