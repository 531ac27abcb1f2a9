/*
 * keychanges.c
 *		Recording the keys that a change of identity changes.
 *
 * The key of a document is made from the rows of those that it refers to.  So the keys
 * of a whole closure are read before the first row is written.  The new ones are made
 * from what the cascade reads to compute ReferentialIds, or read when all is done.  The
 * closure is locked: no other transaction can change a key in between.
 */
#include "postgres.h"

#include "base/ids.h"
#include "cascade/keychanges.h"
#include "document/changes.h"
#include "document/trackedchanges.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "utils/memutils.h"

/* Documents whose keys are read and written together. */
#define DOCUMENTS_AT_ONCE 10000

/* The keys of documents of one type. */
typedef struct TypeKeys
{
	const ClosureType *type;
	DocumentKey **before;		/* for each DOCUMENTS_AT_ONCE of the ids */
	int		   *nbefore;
	DocumentKey *after;			/* the new ones that are known; ascending */
	int			nafter;
	struct TypeKeys *next;
} TypeKeys;

/* The keys of a closure. */
struct KeyChanges
{
	MemoryContext context;
	TypeKeys   *types;
	RaisedDocuments raised;
};

/* Returns how many parts the documents of a type are read in. */
static int
PartsOf(const ClosureType *type)
{
	return (type->n + DOCUMENTS_AT_ONCE - 1) / DOCUMENTS_AT_ONCE;
}

/* Returns the ids of one part of the documents of a type. */
static const int64 *
PartOf(const ClosureType *type, int part, int *n)
{
	int			first = part * DOCUMENTS_AT_ONCE;

	*n = Min(DOCUMENTS_AT_ONCE, type->n - first);
	return type->ids + first;
}

/* Read the keys of some documents of a type, and the ReferentialIds of those that are done. */
static DocumentKey *
ReadPart(const ClosureType *type, int part, const int64 *done, int ndone, int *nkeys)
{
	Resource   *resource = ModelCacheFind(type->project, type->resource);
	int			n;
	const int64 *ids = PartOf(type, part, &n);
	int64	   *some = palloc(sizeof(int64) * n);
	int			nsome = 0;
	DocumentKey *keys;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < n && ndone > 0; i++)
		if (IdsHave(done, ndone, ids[i]))
			some[nsome++] = ids[i];
	keys = DocumentKeysRead(resource, ids, n, some, nsome, nkeys);
	pfree(some);
	return keys;
}

/* Read the keys of all documents of a type, and the ReferentialIds of those that are done. */
static TypeKeys *
ReadType(const ClosureType *type, const int64 *done, int ndone, TypeKeys *next)
{
	TypeKeys   *keys = palloc0(sizeof(TypeKeys));
	int			nparts = PartsOf(type);

	keys->type = type;
	keys->before = palloc(sizeof(DocumentKey *) * Max(nparts, 1));
	keys->nbefore = palloc(sizeof(int) * Max(nparts, 1));
	keys->next = next;
	for (int i = 0; i < nparts; i++)
		keys->before[i] = ReadPart(type, i, done, ndone, &keys->nbefore[i]);
	return keys;
}

/*
 * Read the keys of locked documents, before they are written; NULL if changes are not
 * recorded.  The ReferentialIds are read of those that are done when the cascade begins;
 * it finds those of the others.
 */
KeyChanges *
KeyChangesBegin(const ClosureType *types, const int64 *done, int ndone)
{
	KeyChanges *changes;

	if (!ChangesAreTracked())
		return NULL;
	changes = palloc0(sizeof(KeyChanges));
	changes->context = CurrentMemoryContext;
	for (const ClosureType *type = types; type != NULL; type = type->next)
		changes->types = ReadType(type, done, ndone, changes->types);
	return changes;
}

/* Returns the keys of a type; NULL if they are not known. */
static TypeKeys *
KeysOf(KeyChanges *changes, const ClosureType *type)
{
	TypeKeys   *keys = changes == NULL ? NULL : changes->types;

	while (keys != NULL && keys->type != type)
		keys = keys->next;
	return keys;
}

/* Returns the key that a document of a type had; NULL if it is not known. */
static DocumentKey *
KeyBefore(const TypeKeys *keys, int64 document_id)
{
	for (int i = 0; i < PartsOf(keys->type); i++)
	{
		DocumentKey *part = keys->before[i];
		int			n = keys->nbefore[i];

		/* Parts ascend, too, so only one of them is searched. */
		if (n > 0 && part[n - 1].document_id >= document_id)
			return unconstify(DocumentKey *, DocumentKeyFind(part, n, document_id));
	}
	return NULL;
}

/* Heed a ReferentialId that a document had. */
void
KeyChangesHad(KeyChanges *changes, const ClosureType *type, int64 document_id, bool alias, const pg_uuid_t *id)
{
	TypeKeys   *keys = KeysOf(changes, type);
	DocumentKey *had = keys == NULL ? NULL : KeyBefore(keys, document_id);

	if (had == NULL)
		return;
	if (alias)
	{
		had->has_alias = true;
		had->alias = *id;
	}
	else
	{
		had->has_primary = true;
		had->primary = *id;
	}
}

/* Heed the ReferentialIds of a document that loses them before the cascade begins. */
void
KeyChangesLoses(KeyChanges *changes, int64 document_id)
{
	for (const TypeKeys *keys = changes == NULL ? NULL : changes->types; keys != NULL; keys = keys->next)
	{
		DocumentKey *had = KeyBefore(keys, document_id);

		if (had == NULL)
			continue;
		SnapshotBegin();
		DocumentKeysReadIds(ModelCacheFind(keys->type->project, keys->type->resource)->model, &document_id, 1, had, 1);
		SnapshotEnd();
	}
}

/*
 * Make the new keys of documents of a type from rows of their projection.  Calls are in
 * ascending order of the documents, and their keys are final.
 */
void
KeyChangesTake(KeyChanges *changes, const ClosureType *type, const StoredRows *rows)
{
	Resource   *resource = ModelCacheFind(type->project, type->resource);
	TypeKeys   *keys = KeysOf(changes, type);
	DocumentKey *made;

	if (keys == NULL || resource->model->kind == RESOURCE_DESCRIPTOR || keys->nafter + rows->nrows > type->n)
		return;
	if (keys->after == NULL)
		keys->after = MemoryContextAllocHuge(changes->context, sizeof(DocumentKey) * type->n);
	made = DocumentKeysMake(resource, rows, changes->context);
	memcpy(keys->after + keys->nafter, made, sizeof(DocumentKey) * rows->nrows);
	keys->nafter += rows->nrows;
	pfree(made);
}

/* Heed the documents whose etags were raised together, as DocumentsBump() leaves them. */
void
KeyChangesRaised(KeyChanges *changes, const ChangedDocument *documents, int n)
{
	if (changes == NULL)
		return;
	changes->raised.documents = documents;
	changes->raised.n = n;
}

/* Heed a document whose etag was raised by itself. */
void
KeyChangesWritten(KeyChanges *changes, const DocumentHeader *header)
{
	if (changes != NULL)
		changes->raised.written = header;
}

/* Returns the number of known new keys of documents up to an id. */
static int
CountUpTo(const TypeKeys *keys, int64 id)
{
	int			low = 0;
	int			high = keys->nafter;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (keys->after[middle].document_id <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Record the keys of one part of the documents of a type that have changed. */
static void
RecordPart(const KeyChanges *changes, const TypeKeys *keys, int part)
{
	Resource   *resource = ModelCacheFind(keys->type->project, keys->type->resource);
	int			n;
	const int64 *ids = PartOf(keys->type, part, &n);
	int			from = CountUpTo(keys, ids[0] - 1);
	const DocumentKey *known = keys->after + from;
	int			nknown = CountUpTo(keys, ids[n - 1]) - from;
	int64	   *others = palloc(sizeof(int64) * n);
	int			nothers = 0;
	DocumentKey *read;

	CHECK_FOR_INTERRUPTS();
	if (nknown > 0)
		TrackedChangesNoteKeys(resource, keys->before[part], keys->nbefore[part], known, nknown,
							   &changes->raised);
	for (int i = 0; i < n && nknown < n; i++)
		if (nknown == 0 || DocumentKeyFind(known, nknown, ids[i]) == NULL)
			others[nothers++] = ids[i];
	if (nothers == 0)
		return;
	read = DocumentKeysRead(resource, others, nothers, NULL, 0, &n);
	TrackedChangesNoteKeys(resource, keys->before[part], keys->nbefore[part], read, n,
						   &changes->raised);
}

/* Record the keys that have changed, when all etags are raised. */
void
KeyChangesEnd(KeyChanges *changes)
{
	for (const TypeKeys *keys = changes == NULL ? NULL : changes->types; keys != NULL; keys = keys->next)
		for (int i = 0; i < PartsOf(keys->type); i++)
		{
			SessionBeginPart();
			RecordPart(changes, keys, i);
			SessionEndPart();
		}
}

/*
 * Record the documents that have other ReferentialIds than before, because their rows
 * were changed by others.  The keys that were read are new already.
 */
void
KeyChangesRecomputed(KeyChanges *changes)
{
	for (const TypeKeys *keys = changes == NULL ? NULL : changes->types; keys != NULL; keys = keys->next)
		for (int i = 0; i < PartsOf(keys->type); i++)
		{
			Resource   *resource = ModelCacheFind(keys->type->project, keys->type->resource);
			int			n;
			DocumentKey *after;

			SessionBeginPart();
			after = ReadPart(keys->type, i, keys->type->ids, keys->type->n, &n);
			TrackedChangesNoteRecomputed(resource, keys->before[i], keys->nbefore[i], after, n);
			SessionEndPart();
		}
}
