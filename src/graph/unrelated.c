/*
 * unrelated.c
 *		Telling the delete trigger that a document has no relations.
 *
 * The trigger on dms.Document deletes all that belongs to a document, relations
 * included, and it does so for plain DELETE statements, too.  Most documents have no
 * relations, and looking for them in PL/pgSQL would cost each delete a tenth of its
 * time.  So dms.delete_document() looks without a statement, and shows the document to
 * the trigger by a setting that only the library can set.
 */
#include "postgres.h"

#include "access/xact.h"
#include "engine/store.h"
#include "graph/accounts.h"
#include "graph/looks.h"
#include "graph/members.h"
#include "graph/parents.h"
#include "graph/uniquekeys.h"
#include "graph/unrelated.h"
#include "utils/guc.h"

static int64 unrelated = 0;		/* the document; 0: none */
static char *unused = NULL;

/* Returns the value of the setting. */
static const char *
ShowUnrelated(void)
{
	static char value[24];

	if (unrelated == 0)
		return "";
	snprintf(value, sizeof(value), INT64_FORMAT, unrelated);
	return value;
}

/* Define the setting of this module. */
void
UnrelatedInit(void)
{
	DefineCustomStringVariable("dms.unrelated_document",
							   "The document without relations that is being deleted.",
							   "Set by dms.delete_document() for its trigger.",
							   &unused, "", PGC_INTERNAL, GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							   NULL, NULL, ShowUnrelated);
}

/* Returns true if there are no relations at all. */
static bool
AreNone(void)
{
	return StoreTableIsEmpty(STORE_PARENT_CHILD) && StoreTableIsEmpty(STORE_COLLECTION_MEMBER) &&
		StoreTableIsEmpty(STORE_UNIQUE_KEY_VALUE) && StoreTableIsEmpty(STORE_DOCUMENT_ACCOUNT);
}

/* Returns true if a document without children has other relations, in the active snapshot. */
static bool
HasRelations(int64 id)
{
	return ParentsRead(id) != 0 || MembersHave(id) || UniqueKeysHave(id) || AccountsRead(id) != 0 ||
		AccountsHaveDocuments(id);
}

/*
 * Look: how many rows relate to documents.  They are counted only if two snapshots must
 * be compared; otherwise any number will do.  Two snapshots with the same number may
 * still have other rows.  Then one of the older ones is gone, and deleting it fails.
 */
static int64
LookRelations(void *arg)
{
	const Subtree *tree = arg;
	int			members;
	int			collections;
	int			parents;
	int			documents;

	if (!IsolationUsesXactSnapshot())
		return tree->n > 1 || HasRelations(tree->ids[0]);
	(void) ParentsOf(tree->ids, tree->n, &parents);
	(void) MembersOf(tree->ids, tree->n, false, &members);
	(void) MembersCollectionsOf(tree->ids, tree->n, false, &collections);
	(void) AccountsDocumentsOf(tree->ids, tree->n, &documents);
	return (int64) parents + members + collections + documents +
		AccountsCount(tree->ids, tree->n) + UniqueKeysCount(tree->ids, tree->n);
}

/*
 * Returns true if a document without children, whose identity is locked for update,
 * has no other relations either.
 */
bool
UnrelatedLook(int64 document_id)
{
	Subtree		tree = {.ids = &document_id,.n = 1};

	return AreNone() || LookNow(LookRelations, &tree) == 0;
}

/*
 * Look at the relations of a subtree whose identities are locked for update.  The
 * trigger deletes those that its snapshot shows, so if that is fixed, there must not
 * be newer ones.
 */
void
UnrelatedLookAtTree(Subtree *tree)
{
	(void) LookNow(LookRelations, tree);
}

/* Show a document to the trigger, until this is called with 0. */
void
UnrelatedSet(int64 document_id)
{
	unrelated = document_id;
}
