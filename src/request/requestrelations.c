/*
 * requestrelations.c
 *		Requests about relations between documents: parents, collections, accounts,
 *		records, and documents by their URNs.
 *
 * The document at the start of a path is one of the resource there.  Others that it is
 * related to can be of any resource; they are named by ids or URNs.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/faults.h"
#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "engine/snapshot.h"
#include "graph/accounts.h"
#include "graph/members.h"
#include "graph/nodes.h"
#include "graph/parents.h"
#include "miscadmin.h"
#include "request/requestanswer.h"
#include "request/requestbody.h"
#include "request/requestid.h"
#include "request/requestparameters.h"
#include "request/requestrelations.h"
#include "utils/builtins.h"
#include "verbs/account.h"
#include "verbs/read.h"
#include "verbs/records.h"
#include "verbs/ends.h"
#include "verbs/relate.h"
#include "verbs/related.h"

static const RouteFunction parent_function = {"set_parent", 2, {UUIDOID, UUIDOID}};
static const RouteFunction account_function = {"set_account", 3, {UUIDOID, UUIDOID, BOOLOID}};

/* --- documents ------------------------------------------------------------ */

/* Returns true if the document of the path is one of its resource, in the active snapshot. */
static bool
IsHere(const RouteCall *call)
{
	GraphNode	node;

	return NodeFind(&call->uuid, &node) && ModelCacheSame(node.resource, call->resource);
}

/* Refuse to change relations of a document that is not one of the resource of the path. */
static void
RequireHere(const RouteCall *call)
{
	GraphNode	node;

	EndsFind(&call->uuid, &node);
	if (!ModelCacheSame(node.resource, call->resource))
		EndsRaiseGone(&call->uuid);
}

/* Returns true if a text can name a document: it is an id or a URN. */
static bool
IsName(const char *name)
{
	pg_uuid_t	uuid;
	Urn			urn;

	return UuidParse(name, &uuid) || UrnParse(name, &urn);
}

/* Find a document to relate another one to; it must exist. */
static void
FindTarget(const char *name, pg_uuid_t *uuid)
{
	Problem    *problem;
	bool		found;

	SnapshotBegin();
	found = RequestIdFind(name, uuid);
	SnapshotEnd();
	if (found)
		return;
	problem = ProblemNew(PROBLEM_UNRESOLVED_REFERENCE);
	problem->detail = psprintf("There is no document %s to relate to.", name);
	ProblemRaise(problem, "there is no document %s", name);
}

/* --- creating and attaching ----------------------------------------------- */

/* Check a header that names a document, and the right to use it. */
static void
CheckHeader(const Request *request, const char *header, const char *value, const RouteFunction *function)
{
	if (value == NULL)
		return;
	RouteRequire(request, function);
	if (!IsName(value))
		ReportError(PROBLEM_ARGUMENT, NULL, "The header \"%s\" must be the id or the URN of a document.", header);
}

/* Check the headers that say what a document is to be attached to. */
void
RequestAttachCheck(const Request *request)
{
	CheckHeader(request, "dms-parent", request->parent, &parent_function);
	CheckHeader(request, "dms-account", request->account, &account_function);
}

/* Let a document, if it is new, have the parent and the account that headers name. */
void
RequestAttachNew(const Request *request, Write *write)
{
	if (request->parent != NULL)
	{
		pg_uuid_t  *parent = palloc(sizeof(pg_uuid_t));

		FindTarget(request->parent, parent);
		write->attach.parent = parent;
	}
	write->attach.account = request->account;
}

/*
 * Attach a document that existed to the parent and the account that headers name.
 * Returns false if it has been deleted: what nothing had to be written of is not locked.
 */
bool
RequestAttach(const Request *request, const WriteResult *result)
{
	const pg_uuid_t *uuid = &result->document.uuid;
	pg_uuid_t	target;

	if (result->outcome == WRITE_INSERTED || (request->parent == NULL && request->account == NULL))
		return true;
	FAULT_PAUSE("before_attach");
	if (result->outcome == WRITE_UNCHANGED && !FAULT_SKIP("attach_hold") && !EndsHold(uuid))
		return false;
	if (request->parent != NULL)
	{
		FindTarget(request->parent, &target);
		(void) RelateSetParent(uuid, &target);
	}
	if (request->account != NULL)
	{
		FindTarget(request->account, &target);
		(void) AccountSet(uuid, &target, true);
	}
	return true;
}

/* --- parents -------------------------------------------------------------- */

/* Read the parent of a document. */
void
RequestParentGet(RouteCall *call)
{
	pg_uuid_t	uuid;
	GraphNode	parent;
	MemoryContext saved;
	char	   *urn;

	if (!IsHere(call) || !RelatedParent(&call->uuid, &uuid) || !NodeFind(&uuid, &parent))
		return;
	urn = NodeUrn(NodeType(&parent), &uuid);
	saved = MemoryContextSwitchTo(call->context);
	ResponseJson(call->response, cstring_to_text(psprintf("{\"parentUrn\": \"%s\"}", urn)));
	MemoryContextSwitchTo(saved);
}

/* Returns the member of a body that names the parent. */
static const char *
ParentOfBody(const Request *request)
{
	static const char *const names[] = {"parentUrn"};
	JNode	   *member = JsonTreeMember(RequestBodyObject(request, names, lengthof(names)), names[0]);
	Problem    *problem = ProblemNew(PROBLEM_BODY_NOT_VALID);

	if (member == NULL || member->kind == JNODE_NULL)
		ProblemAt(problem, "$.parentUrn", "is required.");
	else if (member->kind != JNODE_STRING || !IsName(member->text))
		ProblemAt(problem, "$.parentUrn", "must be the URN or the id of a document.");
	if (problem->count == 0)
		return member->text;
	problem->detail = "The body does not name a parent. See 'validationErrors' for each place.";
	ProblemRaiseInvalid(problem);
}

/* Give a document a parent. */
void
RequestParentPut(RouteCall *call)
{
	const char *name = ParentOfBody(call->request);
	pg_uuid_t	parent;

	RequireHere(call);
	FindTarget(name, &parent);
	(void) RelateSetParent(&call->uuid, &parent);
	call->response->status = 204;
}

/* Let a document go from its parent. */
void
RequestParentDelete(RouteCall *call)
{
	RequireHere(call);
	if (!RelateSetParent(&call->uuid, NULL))
		ReportError(PROBLEM_NO_RELATION, NULL, "document %s has no parent", UuidText(&call->uuid));
	call->response->status = 204;
}

/* --- lists ---------------------------------------------------------------- */

/* Answer with a list of documents. */
static void
AnswerList(RouteCall *call, const RelatedList *list)
{
	StringInfoData out;

	ResponseListBegin(&out, call->context);
	for (int i = 0; i < list->n; i++)
	{
		const RelatedDocument *document = &list->documents[i];

		CHECK_FOR_INTERRUPTS();
		ResponseListItem(&out);
		appendStringInfo(&out, "{\"urn\": \"%s\", \"id\": \"%s\", \"createdAt\": \"%s\"}",
						 NodeUrn(document->type, &document->uuid), UuidText(&document->uuid),
						 DateTimeInstantText(document->created));
	}
	ResponseListEnd(call->response, &out);
}

/* Answer with a page of the documents at the far ends of a document. */
static void
AnswerFarEnds(RouteCall *call, const FarEndTable *table, const pg_uuid_t *uuid)
{
	Parameters	parameters;
	RelatedPage page = {0};
	RelatedList list = {0};
	pg_uuid_t	after;

	RequestParametersReadOnly(call->request, PARAMETER_LIMIT | PARAMETER_AFTER | PARAMETER_TYPE, &parameters);
	page.limit = parameters.limit;
	page.type = parameters.type;
	if (parameters.after != NULL)
	{
		if (!IsName(parameters.after) || !RequestIdFind(parameters.after, &after))
			ReportError(PROBLEM_ARGUMENT, NULL, "after must be the id or the URN of a document.");
		page.after = &after;
	}
	RelatedFarEnds(table, uuid, &page, &list);
	AnswerList(call, &list);
}

/* List the children of a document. */
void
RequestChildrenGet(RouteCall *call)
{
	if (IsHere(call))
		AnswerFarEnds(call, ParentsChildren(), &call->uuid);
}

/* List the members of a collection. */
void
RequestMembersGet(RouteCall *call)
{
	if (IsHere(call))
		AnswerFarEnds(call, MembersOfCollection(), &call->uuid);
}

/* List what is above a document, nearest first. */
void
RequestAncestorsGet(RouteCall *call)
{
	Parameters	parameters;
	RelatedList list = {0};

	RequestParametersReadOnly(call->request, 0, &parameters);
	if (!IsHere(call))
		return;
	RelatedAncestors(&call->uuid, &list);
	AnswerList(call, &list);
}

/* List the collections that a document is in. */
void
RequestCollectionsGet(RouteCall *call)
{
	Parameters	parameters;
	RelatedList list = {0};

	RequestParametersReadOnly(call->request, 0, &parameters);
	if (!IsHere(call))
		return;
	RelatedCollections(&call->uuid, &list);
	AnswerList(call, &list);
}

/* --- collections ---------------------------------------------------------- */

/* Returns whether the body says that a collection conveys; without one it does not. */
static bool
ConveysOfBody(const Request *request)
{
	static const char *const names[] = {"conveys"};
	JNode	   *member;
	Problem    *problem;

	if (RequestBodyIsBlank(request))
		return false;
	member = JsonTreeMember(RequestBodyObject(request, names, lengthof(names)), names[0]);
	if (member == NULL || member->kind == JNODE_NULL)
		return false;
	if (member->kind == JNODE_BOOL)
		return member->boolean;
	problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
	problem->detail = "The body is not as this path expects it. See 'validationErrors' for each place.";
	ProblemAt(problem, "$.conveys", "must be true or false.");
	ProblemRaiseInvalid(problem);
}

/* Add a document to a collection, or change whether the collection conveys to it. */
void
RequestMemberPut(RouteCall *call)
{
	bool		conveys = ConveysOfBody(call->request);
	pg_uuid_t	member;

	RequireHere(call);
	FindTarget(call->request->segments[4], &member);
	(void) RelateAddMember(&call->uuid, &member, conveys);
	call->response->status = 204;
}

/* Remove a document from a collection. */
void
RequestMemberDelete(RouteCall *call)
{
	const char *name = call->request->segments[4];
	pg_uuid_t	member;
	bool		found;

	RequireHere(call);
	SnapshotBegin();
	found = RequestIdFind(name, &member);
	SnapshotEnd();
	if (!found)
		RequestIdRaiseNone(name);
	if (!RelateRemoveMember(&call->uuid, &member))
		ReportError(PROBLEM_NO_RELATION, NULL, "document %s is not in the collection", name);
	call->response->status = 204;
}

/* --- accounts, records, URNs ---------------------------------------------- */

/* List the documents of an account, which can be a document of any resource. */
void
RequestAccountDocumentsGet(RouteCall *call)
{
	pg_uuid_t	account;
	GraphNode	node;

	if (RequestIdFind(call->request->segments[2], &account) && NodeFind(&account, &node))
		AnswerFarEnds(call, AccountsDocuments(), &account);
}

/* Append a record to the array of a page, for RecordsQuery(). */
static void
AppendRecord(void *state, const char *json)
{
	StringInfo	out = state;

	ResponseListItem(out);
	appendStringInfoString(out, json);
}

/* List records. */
void
RequestRecordsGet(RouteCall *call)
{
	Parameters	parameters;
	RecordQuery query;
	StringInfoData out;

	RequestParametersReadOnly(call->request, PARAMETER_LIMIT | PARAMETER_AFTER | PARAMETER_PK | PARAMETER_SK | PARAMETER_INDEX,
							  &parameters);
	if (parameters.pk == NULL)
		ReportError(PROBLEM_ARGUMENT, NULL, "pk is required.");
	query.pk = parameters.pk;
	query.sk_prefix = parameters.sk != NULL ? parameters.sk : "";
	query.index = parameters.index;
	query.after = parameters.after;
	query.limit = parameters.limit;
	ResponseListBegin(&out, call->context);
	RecordsQuery(&query, AppendRecord, &out);
	ResponseListEnd(call->response, &out);
}

/* Read a document by its URN. */
void
RequestUrnGet(RouteCall *call)
{
	pg_uuid_t	uuid;
	ReadResult	result;

	if (NodeOfUrn(call->request->segments[0], &uuid) && ReadDocument(&uuid, call->context, &result))
		RequestAnswerText(call, result.document.etag, result.body);
}
