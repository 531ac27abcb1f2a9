/*
 * keychanges.c
 *		Recording the keys that a change of identity changes.
 *
 * The key of a document is made from the rows of those that it refers to.  So the keys
 * of a whole closure are read before the first row is written, and again when all is
 * done.  The closure is locked: no other transaction can change a key in between.
 */
#include "postgres.h"

#include "cascade/keychanges.h"
#include "document/changes.h"
#include "document/trackedchanges.h"
#include "engine/session.h"
#include "miscadmin.h"
#include "model/modelcache.h"

/* Documents whose keys are read and written together. */
#define DOCUMENTS_AT_ONCE 10000

/* The keys that documents of one type had. */
struct KeyChanges
{
	const ClosureType *type;
	DocumentKey **keys;			/* for each DOCUMENTS_AT_ONCE of the ids */
	int		   *nkeys;
	KeyChanges *next;
};

/* Returns how many parts the documents of a type are read in. */
static int
PartsOf(const ClosureType *type)
{
	return (type->n + DOCUMENTS_AT_ONCE - 1) / DOCUMENTS_AT_ONCE;
}

/* Read the keys of one part of the documents of a type, and their ReferentialIds if they are asked for. */
static DocumentKey *
ReadPart(Resource *resource, const ClosureType *type, int part, bool with_ids, int *n)
{
	int			first = part * DOCUMENTS_AT_ONCE;

	CHECK_FOR_INTERRUPTS();
	return DocumentKeysRead(resource, type->ids + first, Min(DOCUMENTS_AT_ONCE, type->n - first), with_ids, n);
}

/* Read the keys of all documents of a type. */
static KeyChanges *
ReadType(const ClosureType *type, KeyChanges *next)
{
	Resource   *resource = ModelCacheFind(type->project, type->resource);
	KeyChanges *changes = palloc(sizeof(KeyChanges));
	int			nparts = PartsOf(type);

	changes->type = type;
	changes->keys = palloc(sizeof(DocumentKey *) * Max(nparts, 1));
	changes->nkeys = palloc(sizeof(int) * Max(nparts, 1));
	changes->next = next;
	for (int i = 0; i < nparts; i++)
		changes->keys[i] = ReadPart(resource, type, i, true, &changes->nkeys[i]);
	return changes;
}

/* Read the keys of locked documents, before they are written; NULL if changes are not recorded. */
KeyChanges *
KeyChangesBegin(const ClosureType *types)
{
	KeyChanges *changes = NULL;

	if (!ChangesAreTracked())
		return NULL;
	for (const ClosureType *type = types; type != NULL; type = type->next)
		changes = ReadType(type, changes);
	return changes;
}

/* How a list of keys that were read before is compared with one that was read afterwards. */
typedef void (*KeyCompare) (Resource *resource, const DocumentKey *before, int nbefore,
							const DocumentKey *after, int nafter);

/* Read all keys again, and record what has changed. */
static void
CompareAll(KeyChanges *changes, bool with_ids, KeyCompare compare)
{
	for (; changes != NULL; changes = changes->next)
	{
		Resource   *resource = ModelCacheFind(changes->type->project, changes->type->resource);
		int			nparts = PartsOf(changes->type);

		for (int i = 0; i < nparts; i++)
		{
			int			n;
			DocumentKey *keys;

			SessionBeginPart();
			keys = ReadPart(resource, changes->type, i, with_ids, &n);
			compare(resource, changes->keys[i], changes->nkeys[i], keys, n);
			SessionEndPart();
		}
	}
}

/* Record the keys that have changed, when all etags are raised. */
void
KeyChangesEnd(KeyChanges *changes)
{
	CompareAll(changes, false, TrackedChangesNoteKeys);
}

/*
 * Record the documents that have other ReferentialIds than before, because their rows
 * were changed by others.  The keys that were read are new already.
 */
void
KeyChangesRecomputed(KeyChanges *changes)
{
	CompareAll(changes, true, TrackedChangesNoteRecomputed);
}
