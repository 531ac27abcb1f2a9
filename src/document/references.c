/*
 * references.c
 *		Resolving the references of a body, and reporting those that name no
 *		document.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "document/descriptormemo.h"
#include "document/identity.h"
#include "document/references.h"
#include "engine/snapshot.h"
#include "miscadmin.h"

/* Returns true if a descriptor keeps its identity for as long as it exists. */
static bool
NamesForever(const ReferenceUse *use)
{
	return use->reference->descriptor && !use->reference->can_change;
}

/* Take the documents of references from a set; those that were guessed are not in it. */
static void
TakeResolved(FlatDocument *flat, const IdSet *set)
{
	for (int i = 0; i < flat->nuses; i++)
	{
		ReferenceUse *use = &flat->uses[i];

		if (use->guessed)
			continue;
		use->document_id = IdSetFind(set, &use->referential_id);
		if (use->document_id != 0 && NamesForever(use))
			DescriptorMemoLearn(&use->referential_id, use->document_id);
	}
}

/*
 * Resolve the references that are not guessed, and the identity of the body, in one
 * lookup in the active snapshot.  Returns the document that has the identity, or 0.
 */
static int64
Resolve(FlatDocument *flat)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * (flat->nuses + 1));
	int			n = 0;
	IdSet	   *set;

	ids[n++] = flat->primary;
	for (int i = 0; i < flat->nuses; i++)
		if (!flat->uses[i].guessed)
			ids[n++] = flat->uses[i].referential_id;
	set = IdSetMake(ids, n);
	ReferentialIdsLookUp(set);
	TakeResolved(flat, set);
	return IdSetFind(set, &flat->primary);
}

/*
 * Resolve all references and the identity of the body, in one lookup in the
 * active snapshot.  Returns the document that has the identity, or 0.
 */
int64
ReferencesResolve(FlatDocument *flat)
{
	for (int i = 0; i < flat->nuses; i++)
		flat->uses[i].guessed = false;
	return Resolve(flat);
}

/*
 * The same, but for descriptors take the documents that they were resolved to before,
 * where that is known.  Stored rows must confirm the guesses; otherwise
 * ReferencesResolveGuessed() must be called.
 */
int64
ReferencesGuess(FlatDocument *flat)
{
	int64		own;

	for (int i = 0; i < flat->nuses; i++)
	{
		ReferenceUse *use = &flat->uses[i];

		use->document_id = NamesForever(use) ? DescriptorMemoGuess(&use->referential_id) : 0;
		use->guessed = use->document_id != 0;
	}
	own = Resolve(flat);

	/*
	 * What changed before the snapshot was taken is known since a table was
	 * locked.
	 */
	if (!DescriptorMemoHolds())
		(void) ReferencesResolveGuessed(flat);
	return own;
}

/*
 * Resolve the references that were guessed.  Returns true if one of them names another
 * document, or none.
 */
bool
ReferencesResolveGuessed(FlatDocument *flat)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * Max(flat->nuses, 1));
	bool		differ = false;
	int			n = 0;
	IdSet	   *set;

	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].guessed)
			ids[n++] = flat->uses[i].referential_id;
	if (n == 0 || FAULT_SKIP("guesses"))
		return false;
	set = IdSetMake(ids, n);
	ReferentialIdsLookUp(set);
	for (int i = 0; i < flat->nuses; i++)
	{
		ReferenceUse *use = &flat->uses[i];

		if (!use->guessed)
			continue;
		differ |= IdSetFind(set, &use->referential_id) != use->document_id;
		use->document_id = IdSetFind(set, &use->referential_id);
		use->guessed = false;
		if (use->document_id != 0)
			DescriptorMemoLearn(&use->referential_id, use->document_id);
	}
	return differ;
}

/*
 * Returns the document that has the body's identity in the active snapshot, or
 * 0.
 */
int64
ReferencesResolveOwn(const FlatDocument *flat)
{
	IdSet	   *set = IdSetMake(&flat->primary, 1);

	ReferentialIdsLookUp(set);
	return IdSetFind(set, &flat->primary);
}

/*
 * Returns true if a reference names no document.  A reference to the document
 * itself always names one, and for one that is resolved later it is not known
 * yet.
 */
static bool
IsMissing(const ReferenceUse *use)
{
	return use->document_id == 0 && !use->own && !use->later;
}

/* Returns true if every reference names a document. */
bool
ReferencesComplete(const FlatDocument *flat)
{
	for (int i = 0; i < flat->nuses; i++)
		if (IsMissing(&flat->uses[i]))
			return false;
	return true;
}

/*
 * Unresolve references to an identity that the document itself gives up: after
 * the write, no document has it.
 */
void
ReferencesForgetOld(FlatDocument *flat, int64 document_id)
{
	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].document_id == document_id && !flat->uses[i].own)
			flat->uses[i].document_id = 0;
}

/* Returns the values of a reference: "schoolId = 2, schoolYear = 2030". */
static char *
DescribeReference(const ReferenceUse *use)
{
	StringInfoData text;

	initStringInfo(&text);
	if (use->reference->descriptor)
		appendStringInfo(&text, "\"%s\"", use->node->text);
	else
		foreach_child(child, use->node)
			appendStringInfo(&text, "%s%s = %s", child == use->node->first ? "" : ", ",
							 child->name, child->text);
	return text.data;
}

/* Add a reference that names no document to the problem. */
static void
NoteUnresolved(Problem *problem, const ReferenceUse *use)
{
	ProblemAt(problem, JsonTreePath(use->node), "%s.%s with %s does not exist.",
			  use->reference->project, use->reference->resource,
			  DescribeReference(use));
}

/*
 * Add missing descriptors inside references that do not resolve to the
 * problem; returns their number.  If a reference resolves, its descriptors
 * exist.
 */
static int
NoteMemberDescriptors(Problem *problem, const FlatDocument *flat)
{
	int			found = 0;

	for (int i = 0; i < flat->nuses; i++)
	{
		const ReferenceUse *use = &flat->uses[i];

		CHECK_FOR_INTERRUPTS();
		if (!IsMissing(use))
			continue;
		for (int j = 0; j < use->reference->nmembers; j++)
		{
			const MemberModel *member = &use->reference->members[j];
			JNode	   *node = JsonTreeMember(use->node, member->name);
			pg_uuid_t	id;
			IdSet	   *set;

			if (!IdentityOfDescriptor(use, j, &id))
				continue;
			set = IdSetMake(&id, 1);
			SnapshotBegin();
			ReferentialIdsLookUp(set);
			SnapshotEnd();
			if (set->entries[0].document_id != 0)
				continue;
			found++;
			ProblemAt(problem, JsonTreePath(node), "%s.%s with \"%s\" does not exist.",
					  member->descriptor_project, member->descriptor_resource, node->text);
		}
	}
	return found;
}

/*
 * Refuse a body that names descriptors which do not exist.  Other references
 * that do not resolve are listed with them.
 */
void
ReferencesRefuseDescriptors(const FlatDocument *flat)
{
	Problem    *problem;
	int			missing = 0;

	if (ReferencesComplete(flat))
		return;
	problem = ProblemNew(PROBLEM_UNRESOLVED_DESCRIPTOR);
	for (int i = 0; i < flat->nuses; i++)
	{
		const ReferenceUse *use = &flat->uses[i];

		if (!IsMissing(use))
			continue;
		missing += use->reference->descriptor;
		NoteUnresolved(problem, use);
	}
	missing += NoteMemberDescriptors(problem, flat);
	if (missing > 0)
		ProblemRaise(problem, "document refers to descriptors that do not exist");
}

/* Refuse a body that refers to documents which do not exist. */
void
ReferencesRefuse(const FlatDocument *flat)
{
	Problem    *problem;

	if (ReferencesComplete(flat))
		return;
	problem = ProblemNew(PROBLEM_UNRESOLVED_REFERENCE);
	for (int i = 0; i < flat->nuses; i++)
		if (IsMissing(&flat->uses[i]))
			NoteUnresolved(problem, &flat->uses[i]);
	ProblemRaise(problem, "document refers to documents that do not exist");
}
