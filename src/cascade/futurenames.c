/*
 * futurenames.c
 *		The identities that documents will have after a call.
 *
 * A document of the call will have the identity of its body.  A follower,
 * whose identity depends on one that changes, keeps its own values and gets
 * the new values of the documents that it refers to.  So the identities of
 * followers are known before anything is written, and references of the call
 * can be resolved to them.
 *
 * This is sound only under the locks of the closure.  Followers are read after
 * they have been locked for update, so no other transaction can change the
 * values that they keep, or make them refer to other documents, between this
 * computation and the cascade that writes the result.  For the same reason a
 * reference that is resolved here needs no share lock of its own.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/lowercase.h"
#include "cascade/futurenames.h"
#include "document/identity.h"
#include "document/projection.h"
#include "document/references.h"
#include "document/rowtables.h"
#include "engine/snapshot.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/* Followers whose rows are read at a time, to bound memory. */
#define AT_ONCE 10000

/* A document, and the values that will identify it. */
typedef struct NamedDocument
{
	int64		document_id;	/* hash key */
	char	  **values;			/* as the model's identity */
	int			nvalues;
} NamedDocument;

/* The identities of the documents that were added. */
struct FutureNames
{
	MemoryContext context;		/* of all members below */
	HTAB	   *documents;
	IdSet		ids;			/* ReferentialIds, aliases included */
	bool		sorted;
};

/* Make an empty set of names. */
FutureNames *
FutureNamesMake(void)
{
	FutureNames *names = palloc0(sizeof(FutureNames));
	HASHCTL		control = {0};

	names->context = CurrentMemoryContext;
	control.keysize = sizeof(int64);
	control.entrysize = sizeof(NamedDocument);
	control.hcxt = names->context;
	names->documents = hash_create("dms future names", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return names;
}

/* Add a ReferentialId of a document. */
static void
AddId(FutureNames *names, int64 document_id, const pg_uuid_t *id)
{
	IdEntry		entry = {.id = *id,.document_id = document_id};
	MemoryContext saved = MemoryContextSwitchTo(names->context);

	APPEND(names->ids.entries, names->ids.n, entry);
	names->sorted = false;
	MemoryContextSwitchTo(saved);
}

/*
 * Add a document with its identity.  The values must live as long as the
 * names.
 */
static void
AddDocument(FutureNames *names, int64 document_id, const ResourceModel *model,
			char **values, const pg_uuid_t *primary, const pg_uuid_t *alias)
{
	NamedDocument *added = hash_search(names->documents, &document_id, HASH_ENTER, NULL);

	added->values = values;
	added->nvalues = model->nidentity;
	AddId(names, document_id, primary);
	if (model->superclass_resource)
		AddId(names, document_id, alias);
}

/* Add a document of the call, with the identity of its body. */
void
FutureNamesAdd(FutureNames *names, int64 document_id, const FlatDocument *flat)
{
	AddDocument(names, document_id, flat->model, flat->identity, &flat->primary, &flat->alias);
}

/*
 * Returns the value that a part of a follower's identity will have.  If the
 * part comes from a document that was added before, it is a value of that
 * document; if not, it stays.  Members of a reference are in the order of the
 * target's identity; a descriptor has one value.
 */
static char *
FutureValue(FutureNames *names, const ResourceModel *model, int part,
			const Datum *row, char *present)
{
	const IdentityModel *identity = &model->identity[part];
	int			member = identity->reference >= 0 ? identity->member : 0;
	int64		target;
	NamedDocument *named;
	char	   *value;

	if (model->tables[0].columns[identity->column].reference < 0)
		return present;
	target = DatumGetInt64(row[identity->column]);
	named = hash_search(names->documents, &target, HASH_FIND, NULL);
	if (named == NULL || member >= named->nvalues)
		return present;
	value = named->values[member];
	return identity->lower ? LowercaseInvariant(value, strlen(value)) : value;
}

/* Add a follower, given its root row and its present identity. */
static void
AddFollower(FutureNames *names, const ResourceModel *model, const Datum *row,
			const StoredIdentity *present)
{
	char	  **values = MemoryContextAlloc(names->context, sizeof(char *) * Max(model->nidentity, 1));
	pg_uuid_t	primary;
	pg_uuid_t	alias;

	for (int i = 0; i < model->nidentity; i++)
		values[i] = MemoryContextStrdup(names->context, FutureValue(names, model, i, row, present->values[i]));
	IdentityHash(model, values, &primary, &alias);
	AddDocument(names, present->document_id, model, values, &primary, &alias);
}

/* Order identities by their documents. */
static int
CompareDocuments(const void *a, const void *b)
{
	int64		left = ((const StoredIdentity *) a)->document_id;
	int64		right = ((const StoredIdentity *) b)->document_id;

	return left < right ? -1 : left > right;
}

/*
 * Add some followers of one type.  The ids are ascending, and so are their
 * root rows.  A follower whose identity cannot be read is skipped, because the
 * cascade will report it.
 */
static void
AddFollowers(FutureNames *names, Resource *resource, const int64 *ids, int n)
{
	StoredIdentity *present;
	StoredRows	rows;
	int			found;

	SnapshotBegin();
	present = ProjectionRead(resource, ids, n, &found);
	KeyScanReadIds(RowTable(resource, 0), ids, n, &rows);
	SnapshotEnd();
	qsort(present, found, sizeof(StoredIdentity), CompareDocuments);
	for (int i = 0; i < Min(found, rows.nrows); i++)
	{
		const Datum *row = StoredRowValues(&rows, i);

		if (present[i].complete && present[i].document_id == DatumGetInt64(row[0]))
			AddFollower(names, resource->model, row, &present[i]);
	}
}

/* Add the members of one type, except the documents of the call. */
static void
AddType(FutureNames *names, const ClosureType *type)
{
	Resource   *resource = ModelCacheFind(type->project, type->resource);
	MemoryContext reading = AllocSetContextCreate(CurrentMemoryContext, "dms followers",
												  ALLOCSET_DEFAULT_SIZES);
	int64	   *ids = palloc_extended(sizeof(int64) * Max(type->n, 1), MCXT_ALLOC_HUGE);
	int			n = 0;

	for (int i = 0; i < type->n; i++)
		if (hash_search(names->documents, &type->ids[i], HASH_FIND, NULL) == NULL)
			ids[n++] = type->ids[i];
	for (int i = 0; i < n; i += AT_ONCE)
	{
		MemoryContext saved = MemoryContextSwitchTo(reading);

		CHECK_FOR_INTERRUPTS();
		AddFollowers(names, resource, ids + i, Min(AT_ONCE, n - i));
		MemoryContextSwitchTo(saved);
		MemoryContextReset(reading);
	}
	MemoryContextDelete(reading);
}

/*
 * Add all members of a locked closure up to a rank.  Types are in order of
 * rank, so the documents that an identity depends on are added before it.
 */
void
FutureNamesFollow(FutureNames *names, const Closure *closure, int rank)
{
	for (const ClosureType *t = closure->types; t != NULL && t->rank <= rank; t = t->next)
		AddType(names, t);
}

/*
 * Returns the document that will have this ReferentialId, or 0 if none of
 * those added will.  If several will, any of them is returned: the write of
 * another one then fails, because the id is taken.
 */
int64
FutureNamesFind(FutureNames *names, const pg_uuid_t *id)
{
	if (!names->sorted)
		IdSetSort(&names->ids);
	names->sorted = true;
	return IdSetFind(&names->ids, id);
}
