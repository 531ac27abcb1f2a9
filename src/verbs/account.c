/*
 * account.c
 *		dms.set_account(): the account that documents belong to.
 *
 * Any document can be an account.  The identities of the account and of the documents
 * are locked as a foreign key would lock them, so that none is deleted meanwhile.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "cascade/closure.h"
#include "cascade/identitylocks.h"
#include "fmgr.h"
#include "graph/accounts.h"
#include "graph/nodes.h"
#include "graph/subtree.h"
#include "model/resourceoptions.h"
#include "verbs/account.h"
#include "verbs/ends.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_set_account);

/*
 * Lock the documents of a subtree, and their account unless that is NULL.  Those that
 * are gone drop out of the subtree.  Returns false if the account is gone.
 */
static bool
LockAll(Subtree *tree, const GraphNode *account)
{
	IdentityClaim *claims = palloc_extended(sizeof(IdentityClaim) * (tree->n + 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	Subtree		wanted = *tree;
	int			n = 0;
	bool		there = true;

	for (const ClosureType *type = ClosureGroup(tree->ids, tree->n); type != NULL; type = type->next)
		for (int i = 0; i < type->n; i++)
		{
			claims[n].rank = type->rank;
			claims[n].document_id = type->ids[i];
			claims[n++].mode = LockTupleKeyShare;
		}
	if (account != NULL && !FAULT_SKIP("account_share"))
	{
		claims[n].rank = account->resource->model->rank;
		claims[n].document_id = account->document_id;
		claims[n++].mode = LockTupleKeyShare;
	}
	IdentityLocksClaim(claims, n);
	tree->ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);
	tree->n = 0;
	for (int i = 0; i < n; i++)
	{
		bool		is_account = account != NULL && claims[i].document_id == account->document_id;

		if (claims[i].gone && is_account)
			there = false;
		else if (!claims[i].gone && IdsHave(wanted.ids, wanted.n, claims[i].document_id))
			tree->ids[tree->n++] = claims[i].document_id;
	}
	tree->n = IdsSort(tree->ids, tree->n);
	return there;
}

/* Returns true if documents of a resource are their own accounts. */
static bool
IsSelf(Resource *resource)
{
	return ResourceOptionsOf(resource)->account == ACCOUNT_SELF;
}

/* Refuse an account that a document must not have, or lack. */
static void
CheckAccount(const GraphNode *document, const GraphNode *account)
{
	if (IsSelf(document->resource) && (account == NULL || account->document_id != document->document_id))
		ReportError(PROBLEM_ARGUMENT, NULL, "a document of %s is its own account", document->resource->model->resource);
	if (account == NULL && ResourceOptionsOf(document->resource)->account == ACCOUNT_REQUIRED)
		ReportError(PROBLEM_ARGUMENT, NULL, "documents of %s need an account", document->resource->model->resource);
}

/*
 * Leave out the documents below a document whose account another one must not be:
 * their own accounts, and those that need one if theirs would be taken away.
 */
static void
LeaveOut(Subtree *tree, const GraphNode *document, bool removes)
{
	Subtree		all = *tree;

	tree->ids = palloc_extended(sizeof(int64) * Max(all.n, 1), MCXT_ALLOC_HUGE);
	tree->n = 0;
	for (const ClosureType *type = ClosureGroup(all.ids, all.n); type != NULL; type = type->next)
	{
		Resource   *resource = ModelCacheFind(type->project, type->resource);
		bool		leave = IsSelf(resource) || (removes && ResourceOptionsOf(resource)->account == ACCOUNT_REQUIRED);

		for (int i = 0; i < type->n; i++)
			if (!leave || type->ids[i] == document->document_id)
				tree->ids[tree->n++] = type->ids[i];
	}
	tree->n = IdsSort(tree->ids, tree->n);
}

/*
 * Set the account of a document, and of all that is below it if subtree is set, or take
 * it away if it is NULL.  Returns how many documents had another one.  To be called
 * between WriteBegin() and SessionEnd().
 */
uint64
AccountSet(const pg_uuid_t *uuid, const pg_uuid_t *account_uuid, bool subtree)
{
	GraphNode	document;
	GraphNode	account;
	Subtree		tree = {.ids = &document.document_id,.n = 1};

	EndsFind(uuid, &document);
	if (account_uuid != NULL)
		EndsFindTarget(account_uuid, &account);
	CheckAccount(&document, account_uuid != NULL ? &account : NULL);
	if (subtree)
	{
		SubtreeLook(document.document_id, &tree);
		LeaveOut(&tree, &document, account_uuid == NULL);
	}
	if (!LockAll(&tree, account_uuid != NULL ? &account : NULL))
		EndsRaiseNoTarget(account_uuid);
	if (!IdsHave(tree.ids, tree.n, document.document_id))
		EndsRaiseGone(uuid);
	return AccountsSet(tree.ids, tree.n, account_uuid != NULL ? account.document_id : 0);
}

/* Set the account of a document. */
Datum
dms_set_account(PG_FUNCTION_ARGS)
{
	Session		session;
	uint64		changed;

	if (PG_ARGISNULL(0))
		ReportError(PROBLEM_ARGUMENT, NULL, "document_uuid must not be null");
	if (PG_ARGISNULL(2))
		ReportError(PROBLEM_ARGUMENT, NULL, "subtree must not be null");
	WriteBegin(&session, "dms.set_account()");
	changed = AccountSet(PG_GETARG_UUID_P(0), PG_ARGISNULL(1) ? NULL : PG_GETARG_UUID_P(1), PG_GETARG_BOOL(2));
	SessionEnd(&session);
	PG_RETURN_INT64((int64) changed);
}
