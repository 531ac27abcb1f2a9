/*
 * related.c
 *		Reading relations: dms.urn(), dms.id_of(), dms.parent(), dms.children() and
 *		others.
 *
 * As all reads they run with the rights of the caller, in the snapshot of the
 * statement that called them.  Rows that policies hide from the caller are not there.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/ids.h"
#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "engine/session.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "graph/accounts.h"
#include "graph/members.h"
#include "graph/nodes.h"
#include "graph/parents.h"
#include "graph/walk.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "verbs/read.h"
#include "verbs/readrights.h"
#include "verbs/related.h"

PG_FUNCTION_INFO_V1(dms_urn);
PG_FUNCTION_INFO_V1(dms_id_of);
PG_FUNCTION_INFO_V1(dms_parent);
PG_FUNCTION_INFO_V1(dms_ancestors);
PG_FUNCTION_INFO_V1(dms_collections);
PG_FUNCTION_INFO_V1(dms_children);
PG_FUNCTION_INFO_V1(dms_members);
PG_FUNCTION_INFO_V1(dms_account_documents);
PG_FUNCTION_INFO_V1(dms_grant_sources);
PG_FUNCTION_INFO_V1(dms_covers);
PG_FUNCTION_INFO_V1(dms_covered_documents);

/* Return the URN of a document; NULL if there is none. */
Datum
dms_urn(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	GraphNode	node;
	text	   *urn = NULL;

	ReadBegin(&session);
	if (NodeFind(PG_GETARG_UUID_P(0), &node))
	{
		MemoryContext saved = CurrentMemoryContext;
		char	   *string = NodeUrn(NodeType(&node), &node.uuid);

		MemoryContextSwitchTo(context);
		urn = cstring_to_text(string);
		MemoryContextSwitchTo(saved);
	}
	SessionEnd(&session);
	if (urn == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(urn);
}

/* Return the id of the document that has a URN. */
Datum
dms_id_of(PG_FUNCTION_ARGS)
{
	char	   *urn = text_to_cstring(PG_GETARG_TEXT_PP(0));
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	Session		session;

	ReadBegin(&session);
	if (!NodeOfUrn(urn, uuid))
		ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document \"%s\"", urn);
	SessionEnd(&session);
	PG_RETURN_UUID_P(uuid);
}

/* Return the parent of a document; NULL if it has none. */
Datum
dms_parent(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	Session		session;
	bool		found;

	ReadBegin(&session);
	found = RelatedParent(PG_GETARG_UUID_P(0), uuid);
	SessionEnd(&session);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(uuid);
}

/* Find the parent of a document, in the active snapshot; returns false if it has none. */
bool
RelatedParent(const pg_uuid_t *uuid, pg_uuid_t *parent)
{
	GraphNode	node;
	int64		id;
	int			n;
	NodeName   *names;

	if (!NodeFind(uuid, &node))
		return false;
	id = ParentsRead(node.document_id);
	if (id == 0)
		return false;
	names = NodesName(&id, 1, &n);
	if (n == 0)
		return false;
	*parent = names[0].uuid;
	return true;
}

/* Add a document to a list. */
static void
AddRelated(RelatedList *list, const char *type, const pg_uuid_t *uuid, TimestampTz created)
{
	RelatedDocument document = {.type = type,.uuid = *uuid,.created = created};

	APPEND(list->documents, list->n, document);
}

/* Add the names of documents, whose ids are ascending, to a list. */
static void
AddNames(RelatedList *list, const int64 *ids, int n)
{
	int			nfound;
	NodeName   *names = NodesName(ids, n, &nfound);

	for (int i = 0; i < nfound; i++)
		AddRelated(list, names[i].type, &names[i].uuid, names[i].created);
}

/* Documents that are named together, so that not all of their rows are in memory. */
#define NAMED_AT_ONCE 1000

/* Find the name of a document among others, which are in the order of their ids; NULL if it is not there. */
static const NodeName *
FindName(const NodeName *names, int n, int64 document_id)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (names[middle].document_id < document_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && names[low].document_id == document_id ? &names[low] : NULL;
}

/* Returns a copy of the name of a type that outlives it.  There are few types, but many documents. */
static const char *
KeepType(List **types, const char *type)
{
	ListCell   *cell;

	foreach(cell, *types)
	{
		if (strcmp(lfirst(cell), type) == 0)
			return lfirst(cell);
	}
	*types = lcons(pstrdup(type), *types);
	return linitial(*types);
}

/*
 * Name the documents that a walk has reached, in its order and in the active snapshot.
 * Those that the caller must not see have no type.
 */
static NodeName *
NameWalk(const Walk *walk)
{
	NodeName   *names = palloc_extended(sizeof(NodeName) * Max(walk->n, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms names", ALLOCSET_DEFAULT_SIZES);
	List	   *types = NIL;

	for (int at = 0; at < walk->n; at += NAMED_AT_ONCE)
	{
		MemoryContext saved = MemoryContextSwitchTo(context);
		int			n = Min(walk->n - at, NAMED_AT_ONCE);
		int64	   *ids = palloc(sizeof(int64) * n);
		int			nfound;
		NodeName   *found;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
			ids[i] = walk->steps[at + i].document_id;
		found = NodesName(ids, IdsSort(ids, n), &nfound);
		MemoryContextSwitchTo(saved);
		for (int i = 0; i < n; i++)
		{
			const NodeName *name = FindName(found, nfound, walk->steps[at + i].document_id);

			if (name == NULL)
				continue;
			names[at + i] = *name;
			names[at + i].type = KeepType(&types, name->type);
		}
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return names;
}

/*
 * List what is above a document, nearest first, in the active snapshot.  Those that
 * the caller must not see end the list.
 */
void
RelatedAncestors(const pg_uuid_t *uuid, RelatedList *list)
{
	GraphNode	node;
	Walk	   *walk;
	NodeName   *names;

	if (!NodeFind(uuid, &node))
		return;
	walk = WalkFrom(&node.document_id, 1, WALK_PARENTS, 0, 0);
	names = NameWalk(walk);
	for (int i = 1; i < walk->n && names[i].type != NULL; i++)
		AddRelated(list, names[i].type, &names[i].uuid, names[i].created);
}

/* Order documents by their URNs. */
static int
CompareRelated(const void *a, const void *b)
{
	const RelatedDocument *left = a;
	const RelatedDocument *right = b;
	int			order = UrnCompareTypes(left->type, right->type);

	return order != 0 ? order : memcmp(&left->uuid, &right->uuid, UUID_LEN);
}

/* List the collections that a document is in, by their URNs, in the active snapshot. */
void
RelatedCollections(const pg_uuid_t *uuid, RelatedList *list)
{
	GraphNode	node;
	int64	   *ids;
	int			n;

	if (!NodeFind(uuid, &node))
		return;
	ids = MembersCollectionsOf(&node.document_id, 1, false, &n);
	n = IdsSort(ids, n);
	AddNames(list, ids, n);
	qsort(list->documents, list->n, sizeof(RelatedDocument), CompareRelated);
}

/* A list of far ends that is being read. */
typedef struct FarEndList
{
	RelatedList *list;
	bool		hides;			/* a policy may hide their documents */
} FarEndList;

/* Callback: add a far end to a list, unless the caller must not see its document. */
static bool
PutFarEnd(void *state, const char *type, const pg_uuid_t *uuid, TimestampTz created)
{
	FarEndList *reading = state;
	GraphNode	node;

	if (reading->hides && !NodeFindOneOfMany(uuid, &node))
		return false;
	AddRelated(reading->list, type, uuid, created);
	return true;
}

/* Find the type of the document to continue after, unless all are of one type. */
static const char *
TypeAfter(const RelatedPage *page)
{
	GraphNode	node;

	if (page->type != NULL)
		return page->type;
	if (!NodeFind(page->after, &node))
		ReportError(PROBLEM_ARGUMENT, NULL, "there is no document %s to continue after", UuidText(page->after));
	return NodeType(&node);
}

/* List a page of the documents at the far ends of a document, in the active snapshot. */
void
RelatedFarEnds(const FarEndTable *table, const pg_uuid_t *uuid, const RelatedPage *page, RelatedList *list)
{
	GraphNode	node;
	FarEndQuery query;
	FarEndList	reading = {.list = list,.hides = ReadRightsHideRows(StoreTable(STORE_DOCUMENT))};

	if (!NodeFind(uuid, &node))
		return;
	FarEndQueryInit(&query, node.document_id, page->limit);
	query.type = page->type;
	if (page->after != NULL)
	{
		query.after_type = TypeAfter(page);
		query.after = *page->after;
	}
	FarEndsRead(table, &query, PutFarEnd, &reading);
}

/* Add a list to the set that a function returns. */
static void
ReturnList(FunctionCallInfo fcinfo, const RelatedList *list)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	for (int i = 0; i < list->n; i++)
	{
		RelatedDocument *document = &list->documents[i];
		bool		nulls[] = {false, false, false};
		char	   *urn = NodeUrn(document->type, &document->uuid);
		Datum		values[] = {
			UUIDPGetDatum(&document->uuid), CStringGetTextDatum(urn), TimestampTzGetDatum(document->created)
		};

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		pfree(DatumGetPointer(values[1]));
		pfree(urn);
	}
}

/* Return what is above a document, nearest first. */
Datum
dms_ancestors(PG_FUNCTION_ARGS)
{
	Session		session;
	RelatedList list = {0};

	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	RelatedAncestors(PG_GETARG_UUID_P(0), &list);
	ReturnList(fcinfo, &list);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return the collections that a document is in. */
Datum
dms_collections(PG_FUNCTION_ARGS)
{
	Session		session;
	RelatedList list = {0};

	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	RelatedCollections(PG_GETARG_UUID_P(0), &list);
	ReturnList(fcinfo, &list);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return a page of the documents at the far ends of a document. */
static Datum
ReturnFarEnds(FunctionCallInfo fcinfo, const FarEndTable *table, const char *name)
{
	Session		session;
	RelatedList list = {0};
	RelatedPage page = {0};

	if (PG_ARGISNULL(0))
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must not be null", name);
	if (PG_ARGISNULL(2))
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be null");
	page.limit = PG_GETARG_INT32(2);
	if (page.limit < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be negative");
	page.type = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	page.after = PG_ARGISNULL(3) ? NULL : PG_GETARG_UUID_P(3);
	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	RelatedFarEnds(table, PG_GETARG_UUID_P(0), &page, &list);
	ReturnList(fcinfo, &list);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return the children of a document, by their URNs. */
Datum
dms_children(PG_FUNCTION_ARGS)
{
	return ReturnFarEnds(fcinfo, ParentsChildren(), "document_uuid");
}

/* Return the members of a collection, by their URNs. */
Datum
dms_members(PG_FUNCTION_ARGS)
{
	return ReturnFarEnds(fcinfo, MembersOfCollection(), "document_uuid");
}

/* Return the documents of an account, by their URNs. */
Datum
dms_account_documents(PG_FUNCTION_ARGS)
{
	return ReturnFarEnds(fcinfo, AccountsDocuments(), "account");
}

/* Returns how a walk reached a document. */
static const char *
WayOf(const WalkStep *step)
{
	return step->along == 0 ? "self" : step->along == WALK_PARENTS ? "parent" : "collection";
}

/* Return the documents whose grants apply to a document. */
Datum
dms_grant_sources(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	GraphNode	node;
	Walk	   *walk = NULL;
	NodeName   *names = NULL;

	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	if (NodeFind(PG_GETARG_UUID_P(0), &node))
	{
		walk = WalkFrom(&node.document_id, 1, WALK_PARENTS | WALK_COLLECTIONS, 0, 0);
		names = NameWalk(walk);
	}
	for (int i = 0; walk != NULL && i < walk->n; i++)
	{
		const WalkStep *step = &walk->steps[i];
		bool		nulls[] = {false, false, false, false};
		Datum		values[4];
		char	   *urn;

		CHECK_FOR_INTERRUPTS();
		if (names[i].type == NULL)
			continue;
		urn = NodeUrn(names[i].type, &names[i].uuid);
		values[0] = UUIDPGetDatum(&names[i].uuid);
		values[1] = CStringGetTextDatum(urn);
		values[2] = CStringGetTextDatum(WayOf(step));
		values[3] = Int32GetDatum(step->depth);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		pfree(urn);
		pfree(DatumGetPointer(values[1]));
		pfree(DatumGetPointer(values[2]));
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return whether grants on one document apply to another. */
Datum
dms_covers(PG_FUNCTION_ARGS)
{
	Session		session;
	GraphNode	source;
	GraphNode	target;
	bool		covers = false;

	ReadBegin(&session);
	if (NodeFind(PG_GETARG_UUID_P(0), &source) && NodeFind(PG_GETARG_UUID_P(1), &target))
		covers = WalkHas(WalkFrom(&target.document_id, 1, WALK_PARENTS | WALK_COLLECTIONS,
								  source.document_id, 0), source.document_id);
	SessionEnd(&session);
	PG_RETURN_BOOL(covers);
}

/* Returns the ids of the documents of a uuid[], as far as they exist. */
static int64 *
IdsOfUuids(ArrayType *array, int *n)
{
	FoundDocument *found;
	int64	   *ids;

	if (array_contains_nulls(array))
		ReportError(PROBLEM_ARGUMENT, NULL, "a source must not be null");
	found = DocumentsFind(PointerGetDatum(array), n);
	ids = palloc(sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		ids[i] = found[i].document_id;
	*n = IdsSort(ids, *n);
	return ids;
}

/* Return the documents that grants on some documents apply to. */
Datum
dms_covered_documents(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	int64	   *ids;
	int			n;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	ReadBegin(&session);
	ids = IdsOfUuids(PG_GETARG_ARRAYTYPE_P(0), &n);
	ids = WalkIds(WalkFrom(ids, n, WALK_CHILDREN | WALK_MEMBERS, 0, 0), &n);
	for (int at = 0; at < n; at += NAMED_AT_ONCE)
	{
		int			nfound;
		NodeName   *names;

		SessionBeginPart();
		names = NodesName(ids + at, Min(n - at, NAMED_AT_ONCE), &nfound);
		for (int i = 0; i < nfound; i++)
		{
			Datum		values[] = {UUIDPGetDatum(&names[i].uuid)};
			bool		nulls[] = {false};

			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
		SessionEndPart();
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
