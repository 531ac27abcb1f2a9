/*
 * ends.c
 *		Finding the documents at the ends of a relation that is written.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/report.h"
#include "base/uuid.h"
#include "cascade/identitylocks.h"
#include "engine/snapshot.h"
#include "verbs/ends.h"

/* Report that there is no document to change. */
void
EndsRaiseGone(const pg_uuid_t *uuid)
{
	ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document %s", UuidText(uuid));
}

/* Report that there is no document to relate to. */
void
EndsRaiseNoTarget(const pg_uuid_t *uuid)
{
	Problem    *problem = ProblemNew(PROBLEM_UNRESOLVED_REFERENCE);

	problem->detail = psprintf("There is no document %s to relate to.", UuidText(uuid));
	ProblemRaise(problem, "there is no document %s", UuidText(uuid));
}

/* Find a document to change; it must exist. */
void
EndsFind(const pg_uuid_t *uuid, GraphNode *node)
{
	bool		found;

	SnapshotBegin();
	found = NodeFind(uuid, node);
	SnapshotEnd();
	if (!found)
		EndsRaiseGone(uuid);
}

/* Find a document to change, and one to relate it to; both must exist. */
void
EndsFindBoth(const pg_uuid_t *uuid, GraphNode *node, const pg_uuid_t *target_uuid, GraphNode *target)
{
	bool		found;
	bool		target_found;

	SnapshotBegin();
	found = NodeFind(uuid, node);
	target_found = found && NodeFind(target_uuid, target);
	SnapshotEnd();
	if (!found)
		EndsRaiseGone(uuid);
	if (!target_found)
		EndsRaiseNoTarget(target_uuid);
}

/*
 * Refuse a document whose identity could not be locked, although it is there: a caller that
 * looks for it again would do so without an end.  Its lock is missing, which only foreign
 * code can leave, or the snapshot is older than a rewrite of the locks.
 */
static void
RefuseUnlocked(const pg_uuid_t *uuid)
{
	GraphNode	node;
	bool		there;

	SnapshotBeginLatest();
	there = NodeFind(uuid, &node);
	SnapshotEnd();
	if (there)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("document " INT64_FORMAT " has no row in dms.IdentityLock", node.document_id),
				 errhint("dms.audit() lists what is wrong in the store.")));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent delete")));
}

/*
 * Keep a document that was found without a lock from being deleted.  Returns false if it
 * is gone.  To be called in a transaction that holds no lock on an identity that conflicts
 * with those of others, or it may be part of a deadlock.
 */
bool
EndsHold(const pg_uuid_t *uuid)
{
	GraphNode	node;
	IdentityClaim claim = {.mode = LockTupleKeyShare};
	bool		found;

	SnapshotBegin();
	found = NodeFind(uuid, &node);
	SnapshotEnd();
	if (!found)
		return false;
	claim.rank = node.resource->model->rank;
	claim.document_id = node.document_id;
	IdentityLocksClaim(&claim, 1);
	if (claim.gone)
		RefuseUnlocked(uuid);
	return !claim.gone;
}

/* Find a document to relate another one to; it must exist. */
void
EndsFindTarget(const pg_uuid_t *uuid, GraphNode *node)
{
	bool		found;

	SnapshotBegin();
	found = NodeFind(uuid, node);
	SnapshotEnd();
	if (!found)
		EndsRaiseNoTarget(uuid);
}
