/*
 * relate.c
 *		dms.set_parent(), dms.add_member(), dms.remove_member(): relations between
 *		any two documents.
 *
 * A relation must not outlive its documents, so whoever writes one holds a lock on the
 * identity of both, which a delete waits for.  The identity of a child is locked so
 * that it conflicts with being the parent of another document in a transaction at the
 * same time.  Then a document without children cannot become part of a ring: of the
 * transactions that would close it, each shares a document with the next, so the
 * last one sees that its child has children.  Only then is there a walk up.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "cascade/identitylocks.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "graph/looks.h"
#include "graph/members.h"
#include "graph/movelock.h"
#include "graph/parents.h"
#include "graph/walk.h"
#include "verbs/ends.h"
#include "verbs/relate.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_set_parent);
PG_FUNCTION_INFO_V1(dms_add_member);
PG_FUNCTION_INFO_V1(dms_remove_member);

/*
 * Lock the identity of a document, and of the one that it is to be related to unless
 * that is NULL.  Both must still exist then.
 */
static void
LockEnds(const GraphNode *document, LockTupleMode mode, const GraphNode *target)
{
	IdentityClaim claims[2] = {
		{.rank = document->resource->model->rank,.document_id = document->document_id,.mode = mode}
	};
	int			n = 1;

	if (target != NULL)
	{
		claims[n].rank = target->resource->model->rank;
		claims[n].document_id = target->document_id;
		claims[n++].mode = LockTupleShare;
	}
	IdentityLocksClaim(claims, n);
	for (int i = 0; i < n; i++)
	{
		if (!claims[i].gone)
			continue;
		if (claims[i].document_id == document->document_id)
			EndsRaiseGone(&document->uuid);
		EndsRaiseNoTarget(&target->uuid);
	}
}

/* What is known of a child that is locked. */
typedef struct ChildState
{
	int64		document_id;
	bool		attached;		/* it is to get a parent, so its children
								 * matter */
	int64		parent;			/* 0: none */
	bool		has_children;
} ChildState;

/* Look: the parent of a document, and whether it has children. */
static int64
LookChild(void *arg)
{
	ChildState *child = arg;

	child->parent = ParentsRead(child->document_id);
	child->has_children = child->attached && ParentsHaveChildren(child->document_id);
	return (int64) (((uint64) child->parent << 1) | child->has_children);
}

/* A document, and one that may be above it. */
typedef struct Ancestry
{
	int64		document_id;
	int64		above;
} Ancestry;

/* Look: whether one document is above the other. */
static int64
LookAbove(void *arg)
{
	Ancestry   *ancestry = arg;

	return WalkHas(WalkFrom(&ancestry->document_id, 1, WALK_PARENTS, ancestry->above, 0), ancestry->above);
}

/* Refuse a parent that is the child itself, or below it. */
static void
RefuseRing(const pg_uuid_t *child, const pg_uuid_t *parent)
{
	Problem    *problem = ProblemNew(PROBLEM_CYCLE);

	problem->detail = psprintf("The document %s would be above itself.", UuidText(child));
	ProblemRaise(problem, "document %s cannot be the parent of %s", UuidText(parent), UuidText(child));
}

/* Refuse a parent that is below the child; both are locked. */
static void
CheckRing(const GraphNode *child, const ChildState *state, const GraphNode *parent)
{
	Ancestry	ancestry = {.document_id = parent->document_id,.above = child->document_id};

	if (!state->has_children)
		return;
	MoveLockTake();
	if (LookNow(LookAbove, &ancestry) != 0)
		RefuseRing(&child->uuid, &parent->uuid);
}

/* Write the parent of a child that is locked; NULL is none.  Returns true if it had another one. */
static bool
WriteParent(const GraphNode *child, const GraphNode *parent)
{
	ChildState	state = {.document_id = child->document_id,.attached = parent != NULL};

	(void) LookNow(LookChild, &state);
	if (parent != NULL)
		CheckRing(child, &state, parent);
	if (state.parent == (parent != NULL ? parent->document_id : 0))
		return false;
	if (parent == NULL)
		ParentsDelete(child->document_id);
	else if (state.parent == 0)
		ParentsInsert(child, parent->document_id);
	else
		ParentsUpdate(child, parent->document_id);
	return true;
}

/*
 * Give a document a parent, or none if that is NULL.  Returns true if it had another
 * one.  To be called between WriteBegin() and SessionEnd().
 */
bool
RelateSetParent(const pg_uuid_t *child_uuid, const pg_uuid_t *parent_uuid)
{
	GraphNode	child;
	GraphNode	parent;

	if (parent_uuid == NULL)
	{
		EndsFind(child_uuid, &child);
		LockEnds(&child, LockTupleNoKeyExclusive, NULL);
		return WriteParent(&child, NULL);
	}
	EndsFindBoth(child_uuid, &child, parent_uuid, &parent);
	if (child.document_id == parent.document_id)
		RefuseRing(child_uuid, parent_uuid);
	if (FAULT_SKIP("parent_share"))
		LockEnds(&child, LockTupleNoKeyExclusive, NULL);
	else
		LockEnds(&child, FAULT_SKIP("child_lock") ? LockTupleKeyShare : LockTupleNoKeyExclusive, &parent);
	return WriteParent(&child, &parent);
}

/*
 * Add a document to a collection, or change whether the collection conveys to it.
 * Returns true if anything changed.  To be called between WriteBegin() and
 * SessionEnd().
 */
bool
RelateAddMember(const pg_uuid_t *collection_uuid, const pg_uuid_t *member_uuid, bool conveys)
{
	GraphNode	collection;
	GraphNode	member;

	EndsFindBoth(collection_uuid, &collection, member_uuid, &member);
	if (!FAULT_SKIP("member_share"))
		LockEnds(&collection, LockTupleShare, &member);
	return MembersAdd(collection.document_id, &member, conveys);
}

/*
 * Remove a document from a collection.  Returns false if it was not in it.  To be
 * called between WriteBegin() and SessionEnd().
 */
bool
RelateRemoveMember(const pg_uuid_t *collection_uuid, const pg_uuid_t *member_uuid)
{
	GraphNode	collection;
	GraphNode	member;

	EndsFind(collection_uuid, &collection);
	EndsFind(member_uuid, &member);
	return MembersRemove(collection.document_id, member.document_id);
}

/* Give a document a parent. */
Datum
dms_set_parent(PG_FUNCTION_ARGS)
{
	Session		session;
	bool		changed;

	if (PG_ARGISNULL(0))
		ReportError(PROBLEM_ARGUMENT, NULL, "child must not be null");
	WriteBegin(&session, "dms.set_parent()");
	changed = RelateSetParent(PG_GETARG_UUID_P(0), PG_ARGISNULL(1) ? NULL : PG_GETARG_UUID_P(1));
	SessionEnd(&session);
	PG_RETURN_BOOL(changed);
}

/* Add a document to a collection. */
Datum
dms_add_member(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"collection", "member", "conveys"};
	Session		session;
	bool		changed;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.add_member()");
	changed = RelateAddMember(PG_GETARG_UUID_P(0), PG_GETARG_UUID_P(1), PG_GETARG_BOOL(2));
	SessionEnd(&session);
	PG_RETURN_BOOL(changed);
}

/* Remove a document from a collection. */
Datum
dms_remove_member(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"collection", "member"};
	Session		session;
	bool		changed;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.remove_member()");
	changed = RelateRemoveMember(PG_GETARG_UUID_P(0), PG_GETARG_UUID_P(1));
	SessionEnd(&session);
	PG_RETURN_BOOL(changed);
}
