/*
 * attach.c
 *		The parent and the account that a new document gets.
 *
 * The account is the one that is asked for, else that of the setting dms.account,
 * else that of the parent.  Both are locked before the identity of the document is
 * claimed, as the documents are that it refers to: whoever waits for the claim must
 * not be waited for.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "cascade/identitylocks.h"
#include "engine/snapshot.h"
#include "graph/accounts.h"
#include "graph/looks.h"
#include "graph/nodes.h"
#include "graph/parents.h"
#include "model/resourceoptions.h"
#include "utils/guc.h"
#include "verbs/attach.h"
#include "verbs/ends.h"

static char *default_account = NULL;

/* Define the setting of this module. */
void
AttachInit(void)
{
	DefineCustomStringVariable("dms.account",
							   "The account of new documents, as an id or a URN.",
							   "If it is empty, new documents have the account of their parent, if any.",
							   &default_account, "", PGC_USERSET, 0, NULL, NULL, NULL);
}

/* Take the id of an account, or its URN. */
static void
TakeAccount(const char *given, pg_uuid_t *uuid)
{
	bool		found;

	if (UuidParse(given, uuid))
		return;
	SnapshotBegin();
	found = NodeOfUrn(given, uuid);
	SnapshotEnd();
	if (!found)
	{
		Problem    *problem = ProblemNew(PROBLEM_UNRESOLVED_REFERENCE);

		problem->detail = psprintf("There is no account \"%s\".", given);
		ProblemRaise(problem, "there is no account \"%s\"", given);
	}
}

/* Add a document to those that are locked. */
static void
AddClaim(IdentityClaim *claims, int *n, const GraphNode *node, LockTupleMode mode)
{
	claims[*n].rank = node->resource->model->rank;
	claims[*n].document_id = node->document_id;
	claims[(*n)++].mode = mode;
}

/* Lock documents, which must still exist. */
static void
LockNodes(IdentityClaim *claims, int n, const GraphNode *parent, const GraphNode *account)
{
	IdentityLocksClaim(claims, n);
	for (int i = 0; i < n; i++)
		if (claims[i].gone)
			EndsRaiseNoTarget(claims[i].document_id == parent->document_id ? &parent->uuid : &account->uuid);
}

/* Look: the account of a document. */
static int64
LookAccount(void *arg)
{
	return AccountsRead(*(int64 *) arg);
}

/* Let the document have the account of its parent, which is locked. */
static void
InheritAccount(Attachment *attachment)
{
	GraphNode	account = {0};
	IdentityClaim claim = {0};
	int			n = 0;
	NodeName   *name;
	int64		id = LookNow(LookAccount, &attachment->parent);

	if (id == 0)
		return;
	SnapshotBegin();
	name = NodesName(&id, 1, &n);
	SnapshotEnd();
	if (n == 0)
		return;
	EndsFindTarget(&name->uuid, &account);
	n = 0;
	AddClaim(&claim, &n, &account, LockTupleKeyShare);
	LockNodes(&claim, n, &account, &account);
	attachment->account = id;
}

/* Find the documents that are asked for, and add them to those that are locked. */
static void
FindAsked(const pg_uuid_t *parent_uuid, GraphNode *parent, const char *account_name, GraphNode *account,
		  IdentityClaim *claims, int *n)
{
	pg_uuid_t	uuid;

	if (parent_uuid != NULL)
	{
		EndsFindTarget(parent_uuid, parent);
		AddClaim(claims, n, parent, LockTupleShare);
	}
	if (account_name != NULL)
	{
		TakeAccount(account_name, &uuid);
		EndsFindTarget(&uuid, account);
		AddClaim(claims, n, account, LockTupleKeyShare);
	}
}

/* Find and lock the documents that a new document is to be attached to. */
static void
LockAsked(const AttachRequest *request, const char *account_name, Attachment *attachment)
{
	GraphNode	parent = {0};
	GraphNode	account = {0};
	IdentityClaim claims[2] = {0};
	int			n = 0;

	FindAsked(request->parent, &parent, account_name, &account, claims, &n);
	attachment->parent = parent.document_id;
	attachment->account = account.document_id;
	if (!FAULT_SKIP("attach_lock"))
		LockNodes(claims, n, &parent, &account);
	if (attachment->account == 0 && attachment->parent != 0 && !attachment->self)
		InheritAccount(attachment);
}

/* Refuse a document that must have an account. */
static void
pg_attribute_noreturn()
RefuseNoAccount(const ResourceModel *model)
{
	Problem    *problem = ProblemNew(PROBLEM_BODY_NOT_VALID);

	problem->detail = psprintf("Documents of %s need an account.", model->resource);
	problem->hint = "Set dms.account, or create the document below one that has an account.";
	ProblemRaise(problem, "documents of %s need an account", model->resource);
}

/*
 * Find out what a new document of a resource is to be attached to, and lock it.
 * Without a request, a setting or an option, that is nothing.
 */
void
AttachLock(Resource *resource, const AttachRequest *request, Attachment *attachment)
{
	AccountOption option = ResourceOptionsOf(resource)->account;
	const char *account = request->account;

	memset(attachment, 0, sizeof(Attachment));
	attachment->self = option == ACCOUNT_SELF;
	if (account == NULL && default_account != NULL && default_account[0] != '\0')
		account = default_account;
	if (attachment->self)
		account = NULL;
	if (request->parent != NULL || account != NULL)
		LockAsked(request, account, attachment);
	if (option == ACCOUNT_REQUIRED && attachment->account == 0)
		RefuseNoAccount(resource->model);
}

/*
 * Lock the identities of a document that exists, and of those that it will be attached to.
 * To be called before its rows are locked, as a delete does, or both would wait for each
 * other.  The locks are asked for again when it is attached; what is gone is reported then.
 */
void
AttachHold(const Resource *resource, const AttachRequest *request, int64 document_id)
{
	GraphNode	parent = {0};
	GraphNode	account = {0};
	IdentityClaim claims[3] = {0};
	int			n = 1;

	if ((request->parent == NULL && request->account == NULL) || FAULT_SKIP("attach_first"))
		return;
	claims[0].rank = resource->model->rank;
	claims[0].document_id = document_id;
	claims[0].mode = request->parent != NULL ? LockTupleNoKeyExclusive : LockTupleKeyShare;
	FindAsked(request->parent, &parent, request->account, &account, claims, &n);
	IdentityLocksClaim(claims, n);
}

/* Attach a document that was inserted. */
void
AttachWrite(Resource *resource, const DocumentHeader *header, const Attachment *attachment)
{
	GraphNode	node = {.uuid = header->uuid,.document_id = header->document_id,.resource = resource};

	if (attachment->parent != 0)
		ParentsInsert(&node, attachment->parent);
	if (attachment->self)
		(void) AccountsSet(&node.document_id, 1, node.document_id);
	else if (attachment->account != 0)
		(void) AccountsSet(&node.document_id, 1, attachment->account);
}
