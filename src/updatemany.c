/*
 * updatemany.c
 *		dms.update_documents(): several documents, all or nothing.
 *
 * The phases are those of one update, each over all documents before the next
 * begins.  Identities are let go of before any is claimed, so that documents
 * can swap them.
 *
 * References are resolved to what will be, not to what was.  What a name means is
 * decided before the locks, and checked behind them:
 *
 * - the document of the call that will have it; if that changes its identity, it
 *	 is locked for update, else its lock is shared as that of any other;
 * - a document that follows the call and will have it, known when all that follow
 *	 are locked for update;
 * - a document that has it now, and keeps it: its lock is shared.
 */
#include "postgres.h"

#include <limits.h>

#include "cascade.h"
#include "catalog/pg_type.h"
#include "edges.h"
#include "etag.h"
#include "faults.h"
#include "funcapi.h"
#include "futurenames.h"
#include "identitylocks.h"
#include "ids.h"
#include "miscadmin.h"
#include "report.h"
#include "resolve.h"
#include "rows.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "verify.h"
#include "violations.h"
#include "write.h"

PG_FUNCTION_INFO_V1(dms_update_documents);

/* One of the documents. */
typedef struct BatchItem
{
	Write		write;
	WriteResult result;
	pg_uuid_t  *uuid;
	int64		document_id;
	bool		identity;		/* its identity changes */
	bool		key;			/* so do the columns behind the identity */
	bool		differs;
	DocumentHeader header;
} BatchItem;

typedef struct Batch
{
	BatchItem  *items;
	BatchItem **by_id;			/* ascending, for locks */
	int			n;
	int64	   *ids;			/* of by_id */
	FutureNames *names;			/* of the batch, later of what follows it */
	int64	   *seeds;			/* ascending: those whose identity changes */
	int			nseeds;
	int			position;		/* at work, for messages; -1: all of them */
} Batch;

/* Say which of the documents an error is about. */
static void
TellPosition(void *arg)
{
	const Batch *batch = arg;

	if (batch->position >= 0)
		errcontext("document %d of the call", batch->position + 1);
}

/* Something that the call was decided on has changed while it waited. */
static void
RaiseMoved(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to a concurrent change of identity")));
}

static int
CompareItems(const void *a, const void *b)
{
	int64		left = (*(BatchItem *const *) a)->document_id;
	int64		right = (*(BatchItem *const *) b)->document_id;

	return left < right ? -1 : left > right;
}

/* The items in order of their ids; one that stands twice is refused. */
static void
SortItems(Batch *batch)
{
	batch->by_id = palloc(sizeof(BatchItem *) * Max(batch->n, 1));
	batch->ids = palloc(sizeof(int64) * Max(batch->n, 1));
	batch->seeds = palloc(sizeof(int64) * Max(batch->n, 1));
	for (int i = 0; i < batch->n; i++)
		batch->by_id[i] = &batch->items[i];
	qsort(batch->by_id, batch->n, sizeof(BatchItem *), CompareItems);
	for (int i = 0; i < batch->n; i++)
	{
		batch->ids[i] = batch->by_id[i]->document_id;
		if (i > 0 && batch->ids[i - 1] == batch->ids[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "documents %d and %d of the call are the same",
						(int) (Min(batch->by_id[i - 1], batch->by_id[i]) - batch->items) + 1,
						(int) (Max(batch->by_id[i - 1], batch->by_id[i]) - batch->items) + 1);
	}
}

/* Order found documents by their uuids. */
static int
CompareFound(const void *a, const void *b)
{
	return memcmp(((const FoundDocument *) a)->uuid, ((const FoundDocument *) b)->uuid, UUID_LEN);
}

/* Find all documents at once. */
static void
FindItems(Batch *batch, Datum uuids)
{
	FoundDocument *found;
	int			n;

	SnapshotBegin();
	found = DocumentsFind(uuids, &n);
	SnapshotEnd();
	qsort(found, n, sizeof(FoundDocument), CompareFound);
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = &batch->items[i];
		FoundDocument wanted = {.uuid = item->uuid};
		FoundDocument *it = bsearch(&wanted, found, n, sizeof(FoundDocument), CompareFound);

		if (it == NULL)
			RaiseGone(&item->write.precondition, item->uuid);
		item->document_id = it->document_id;
		item->write.resource = it->resource;
	}
}

/* The document of the batch that has this id, which is one of them. */
static const BatchItem *
ItemOf(const Batch *batch, int64 document_id)
{
	const int64 *found = bsearch(&document_id, batch->ids, batch->n, sizeof(int64), IdsCompare);

	return batch->by_id[found - batch->ids];
}

/*
 * Resolve a reference to what will be: identities that the batch gives come
 * first, and those that it takes away are gone.
 *
 * A document whose identity the batch changes is going to be locked for update,
 * so references to it are settled.  One that keeps its identity is a document
 * like any other: whoever refers to it must share its lock, or a rename could
 * look for parents before we have committed and miss this one.
 *
 * What nobody is called yet may be the new name of a document that follows the
 * batch, which we know when we have locked all that do.
 */
static void
ResolveUse(Batch *batch, ReferenceUse *use)
{
	int64		owner;

	if (use->own)
		return;
	owner = FutureNamesFind(batch->names, &use->referential_id);
	if (owner != 0)
	{
		use->document_id = owner;
		use->settled = ItemOf(batch, owner)->identity || FAULT_SKIP("inner_share_lock");
	}
	else if (IdsHave(batch->ids, batch->n, use->document_id))
		use->document_id = 0;
	use->later = use->document_id == 0 && use->reference->can_change && batch->nseeds > 0;
}

/* Are the columns behind the identity what they were? */
static bool
KeepsKey(BatchItem *item)
{
	FlatDocument *flat = item->write.flat;

	FlattenSetDocumentId(flat, item->document_id);
	FlattenSetReferences(flat);
	return RowsSameKey(item->write.resource, item->document_id, flat);
}

/*
 * Must a change of identity be refused?  Not if it changes only because a
 * document that it is made of changes its own: dependents follow whatever their
 * own flag says.  With references left for later we cannot tell yet.
 */
static bool
BreaksKey(BatchItem *item)
{
	const FlatDocument *flat = item->write.flat;

	if (!item->identity || flat->model->allow_identity_updates)
		return false;
	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].later)
			return false;
	return !ResolveComplete(flat) || !KeepsKey(item);
}

/* What is wrong with references and identity, in the order of a single update. */
static void
CheckItem(BatchItem *item)
{
	ResolveRefuseDescriptors(item->write.flat);
	if (BreaksKey(item))
		WriteRefuseKeyChange(&item->write);
	ResolveRefuseReferences(item->write.flat);
}

/* The documents whose identities change are the seeds of the cascade. */
static void
GatherSeeds(Batch *batch)
{
	batch->nseeds = 0;
	for (int i = 0; i < batch->n; i++)
		if (batch->by_id[i]->identity)
			batch->seeds[batch->nseeds++] = batch->by_id[i]->document_id;
}

/* References and changes of identity of all documents, in one snapshot. */
static void
ResolveItems(Batch *batch)
{
	SnapshotBegin();
	for (int i = 0; i < batch->n; i++)
		batch->items[i].identity = WriteIdentityDiffers(&batch->items[i].write, batch->items[i].document_id);
	GatherSeeds(batch);
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		BatchItem  *item = &batch->items[batch->position];
		FlatDocument *flat = item->write.flat;

		ResolveDocument(flat);
		for (int i = 0; i < flat->nuses; i++)
			ResolveUse(batch, &flat->uses[i]);
		CheckItem(item);
	}
	batch->position = -1;
	SnapshotEnd();
}

/* Lock what all documents refer to, as if it were one document. */
static void
LockAllChildren(Batch *batch)
{
	FlatDocument merged = {0};
	int			at = 0;

	for (int i = 0; i < batch->n; i++)
		merged.nuses += batch->items[i].write.flat->nuses;
	merged.uses = palloc(sizeof(ReferenceUse) * Max(merged.nuses, 1));
	for (int i = 0; i < batch->n; i++)
	{
		FlatDocument *flat = batch->items[i].write.flat;

		memcpy(merged.uses + at, flat->uses, sizeof(ReferenceUse) * flat->nuses);
		at += flat->nuses;
	}
	(void) LockChildren(&merged, 0);
	at = 0;
	for (int i = 0; i < batch->n; i++)
	{
		FlatDocument *flat = batch->items[i].write.flat;

		memcpy(flat->uses, merged.uses + at, sizeof(ReferenceUse) * flat->nuses);
		at += flat->nuses;
	}
}

/*
 * Has a name moved into the batch, or away from a document of it, while we
 * waited?  Who is renamed by the batch does not have the name any more when it
 * commits; and who was to keep it does not have it any more now.
 */
static bool
HasMoved(Batch *batch, const ReferenceUse *use)
{
	int64		owner;

	if (use->own || use->settled || FAULT_SKIP("moved_names"))
		return false;
	owner = FutureNamesFind(batch->names, &use->referential_id);
	if (owner != 0)
		return use->document_id != owner;
	return IdsHave(batch->ids, batch->n, use->document_id);
}

/* What the references name behind the locks decides. */
static void
CheckLockedChildren(Batch *batch)
{
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		const FlatDocument *flat = batch->items[batch->position].write.flat;

		for (int i = 0; i < flat->nuses; i++)
			if (HasMoved(batch, &flat->uses[i]))
				RaiseMoved();
		ResolveRefuseDescriptors(flat);
		ResolveRefuseReferences(flat);
	}
	batch->position = -1;
}

/* Lock the documents in order, and see that nothing was decided too early. */
static void
LockItems(Batch *batch, const Closure *closure)
{
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = batch->by_id[i];
		bool		identity;

		batch->position = item - batch->items;
		if (item->identity && !ClosureHas(closure, item->document_id))
			RaiseGone(&item->write.precondition, item->uuid);
		FAULT_PAUSE("before_item_lock");
		if (!LockDocument(item->document_id, &item->header))
			RaiseGone(&item->write.precondition, item->uuid);
		SnapshotBegin();
		identity = WriteIdentityDiffers(&item->write, item->document_id);
		SnapshotEnd();
		if (identity && !item->identity)
			RaiseMoved();
		item->identity = identity;
	}
	batch->position = -1;
}

/* May a reference name a document that follows the batch, or has it done so? */
static bool
NamesFollower(const ReferenceUse *use, const Closure *closure)
{
	return use->later || (!use->own && !use->settled && ClosureHas(closure, use->document_id));
}

/* The highest rank of types that references to followers name; -1: there are none. */
static int
FollowerRank(const Batch *batch, const Closure *closure)
{
	int			rank = -1;

	for (int i = 0; i < batch->n; i++)
	{
		const FlatDocument *flat = batch->items[i].write.flat;

		for (int j = 0; j < flat->nuses; j++)
			if (NamesFollower(&flat->uses[j], closure))
				rank = Max(rank, flat->uses[j].reference->abstract ? INT_MAX : flat->uses[j].reference->rank);
	}
	return rank;
}

/*
 * Resolve references to what follows the batch, by the names that it will have.
 * All of it is locked for update now, so that these references are settled, too.
 */
static void
ResolveFollowers(Batch *batch, const Closure *closure)
{
	int			rank = FollowerRank(batch, closure);

	if (rank < 0)
		return;
	FutureNamesFollow(batch->names, closure, rank);
	for (int i = 0; i < batch->n; i++)
	{
		const FlatDocument *flat = batch->items[i].write.flat;

		for (int j = 0; j < flat->nuses; j++)
		{
			ReferenceUse *use = &flat->uses[j];

			if (!NamesFollower(use, closure))
				continue;
			use->document_id = FutureNamesFind(batch->names, &use->referential_id);
			use->settled = true;
			use->later = false;
		}
	}
}

/*
 * Check all documents again, behind the locks.  One that keeps its identity may
 * still come to refer to another document by it, if two have swapped theirs.
 */
static void
CheckItems(Batch *batch, const Closure *closure)
{
	SnapshotBegin();
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		BatchItem  *item = &batch->items[batch->position];

		CheckItem(item);
		item->key = item->identity || (ClosureHas(closure, item->document_id) && !KeepsKey(item));
	}
	batch->position = -1;
	SnapshotEnd();
}

/* The resources with documents whose keys change, each once. */
static List *
KeyedResources(const Batch *batch)
{
	List	   *resources = NIL;

	for (int i = 0; i < batch->n; i++)
		if (batch->items[i].key)
			resources = list_append_unique_ptr(resources, batch->items[i].write.resource);
	return resources;
}

/* Natural keys may collide until all documents are written. */
static void
DeferNaturalKeys(const Batch *batch, const char *mode)
{
	ListCell   *cell;

	foreach(cell, KeyedResources(batch))
	{
		const TableModel *root = &((Resource *) lfirst(cell))->model->tables[0];

		for (int i = 0; i < root->nuniques; i++)
			if (root->uniques[i].natural_key)
				ExecuteSql(psprintf("SET CONSTRAINTS %s %s",
									quote_qualified_identifier(root->schema, root->uniques[i].name), mode));
	}
}

/* Order documents by the identities that they will have. */
static int
CompareIdentities(const void *a, const void *b)
{
	return memcmp(&(*(BatchItem *const *) a)->write.flat->primary,
				  &(*(BatchItem *const *) b)->write.flat->primary, UUID_LEN);
}

/*
 * Let followers go of names that documents of the batch are about to get.  The
 * cascade gives them their new ones.
 */
static void
ForgetTaken(const Batch *batch, const Closure *closure)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * 2 * Max(batch->n, 1));
	int			n = 0;
	IdSet	   *taken;

	for (int i = 0; i < batch->n; i++)
	{
		const FlatDocument *flat = batch->items[i].write.flat;

		if (!batch->items[i].identity)
			continue;
		ids[n++] = flat->primary;
		if (flat->model->superclass_resource)
			ids[n++] = flat->alias;
	}
	if (n == 0)
		return;
	taken = IdSetMake(ids, n);
	SnapshotBegin();
	IdSetLookUp(taken);
	SnapshotEnd();
	for (int i = 0; i < taken->n; i++)
	{
		int64		id = taken->entries[i].document_id;

		if (ClosureHas(closure, id) && !IdsHave(batch->ids, batch->n, id))
			CascadeForgetIdentity(id);
	}
}

/*
 * Move the identities: all old ones go before the first new one comes, so that
 * they can swap, and new ones are claimed in the order of ids, as cascades claim
 * those of a batch of members.
 */
static void
MoveIdentities(Batch *batch, const Closure *closure)
{
	BatchItem **by_identity = palloc(sizeof(BatchItem *) * Max(batch->n, 1));

	memcpy(by_identity, batch->by_id, sizeof(BatchItem *) * batch->n);
	qsort(by_identity, batch->n, sizeof(BatchItem *), CompareIdentities);
	for (int i = 0; i < batch->n; i++)
	{
		batch->position = batch->by_id[i] - batch->items;
		if (batch->by_id[i]->identity)
			CascadeForgetIdentity(batch->by_id[i]->document_id);
	}
	batch->position = -1;
	ForgetTaken(batch, closure);
	for (int i = 0; i < batch->n; i++)
	{
		batch->position = by_identity[i] - batch->items;
		if (by_identity[i]->identity)
			CascadeClaimIdentity(by_identity[i]->write.flat, by_identity[i]->document_id);
	}
}

/* Rows and edges of all documents. */
static void
WriteItems(Batch *batch)
{
	DeferNaturalKeys(batch, "DEFERRED");
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = batch->by_id[i];
		FlatDocument *flat = item->write.flat;

		CHECK_FOR_INTERRUPTS();
		batch->position = item - batch->items;
		FlattenSetDocumentId(flat, item->document_id);
		FlattenSetReferences(flat);
		item->differs = RowsUpdate(item->write.resource, item->document_id, flat, item->key);
		item->differs |= EdgesDiff(item->document_id, flat) || item->key;
	}
	DeferNaturalKeys(batch, "IMMEDIATE");
}

/* The documents that bump their own etags. */
static int64 *
WrittenIds(const Batch *batch, int *n)
{
	int64	   *ids = palloc(sizeof(int64) * Max(batch->n, 1));

	*n = 0;
	for (int i = 0; i < batch->n; i++)
		if (batch->by_id[i]->differs)
			ids[(*n)++] = batch->by_id[i]->document_id;
	return ids;
}

/*
 * A document that did not differ.  Its etag has moved all the same if it refers
 * to something that the batch gave another name: then its body did differ.
 */
static void
FinishSame(BatchItem *item)
{
	int64		etag = item->header.etag;

	SnapshotBegin();
	HeaderRead(item->document_id, &item->header);
	SnapshotEnd();
	WriteFinish(&item->write, item->header.etag == etag ? WRITE_UNCHANGED : WRITE_UPDATED, &item->header);
}

/* The last statements: etags, ascending. */
static void
BumpItems(Batch *batch)
{
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = batch->by_id[i];

		if (!item->differs)
		{
			FinishSame(item);
			continue;
		}
		VerifyEdges(item->write.resource, item->document_id);
		EtagBump(&item->header, item->write.flat->model->version, false);
		WriteFinish(&item->write, WRITE_UPDATED, &item->header);
	}
}

/* Lock, write, cascade, bump. */
static void
RunBatch(Batch *batch)
{
	Closure    *closure;
	int64	   *written;
	int			nwritten;

	IdentitiesMakeRoom(batch->seeds, batch->nseeds);
	LockAllChildren(batch);
	CheckLockedChildren(batch);
	FAULT_PAUSE("after_share_locks");
	closure = ClosureLock(batch->seeds, batch->nseeds);
	LockItems(batch, closure);
	ResolveFollowers(batch, closure);
	CheckItems(batch, closure);
	GatherSeeds(batch);
	FAULT_PAUSE("before_batch_writes");
	PG_TRY();
	{
		MoveIdentities(batch, closure);
		WriteItems(batch);
	}
	PG_CATCH();
	{
		if (batch->position < 0)
			PG_RE_THROW();
		ViolationRethrow(batch->items[batch->position].write.flat);
	}
	PG_END_TRY();
	batch->position = -1;
	written = WrittenIds(batch, &nwritten);

	/* They may refer to members only since the look behind the locks. */
	for (int i = 0; i < nwritten; i++)
		ClosureAddParent(closure, written[i]);

	/* Documents of the call have the identities of their bodies already. */
	if (batch->nseeds > 0)
		CascadeRun(closure, batch->ids, batch->n, written, nwritten);
	FAULT_PAUSE("before_batch_etags");
	BumpItems(batch);
}

/* The arguments as items; both arrays must fit and hold no NULL. */
static void
TakeArguments(Batch *batch, ArrayType *uuids, ArrayType *documents, Datum **bodies)
{
	Datum	   *ids;
	bool	   *id_nulls;
	bool	   *body_nulls;
	int			nbodies;

	deconstruct_array(uuids, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR, &ids, &id_nulls, &batch->n);
	deconstruct_array(documents, JSONOID, -1, false, TYPALIGN_INT, bodies, &body_nulls, &nbodies);
	if (batch->n != nbodies)
		ReportError(PROBLEM_ARGUMENT, NULL, "there are %d ids, but %d documents", batch->n, nbodies);
	batch->items = palloc0(sizeof(BatchItem) * Max(batch->n, 1));
	for (int i = 0; i < batch->n; i++)
	{
		if (id_nulls[i] || body_nulls[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "id or document %d is null", i + 1);
		batch->items[i].uuid = DatumGetUUIDP(ids[i]);
		batch->items[i].write.result = &batch->items[i].result;
	}
}

/* Parse and check the bodies, and note what they say of identities. */
static void
TakeBodies(Batch *batch, Datum *bodies)
{
	batch->names = FutureNamesMake();
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		BatchItem  *item = &batch->items[batch->position];

		WriteTakeBody(&item->write, DatumGetTextPP(bodies[batch->position]), item->uuid);
		FutureNamesAdd(batch->names, item->document_id, item->write.flat);
	}
}

/* Write several documents by their ids. */
Datum
dms_update_documents(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuids", "documents"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Batch		batch = {.position = -1};
	StoreSession session;
	Datum	   *bodies;
	ErrorContextCallback context;

	RequireArguments(fcinfo, lengthof(names), names);
	InitMaterializedSRF(fcinfo, 0);
	WriteBegin(&session, "dms.update_documents()");
	TakeArguments(&batch, PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1), &bodies);
	FindItems(&batch, PG_GETARG_DATUM(0));
	SortItems(&batch);
	context.callback = TellPosition;
	context.arg = &batch;
	context.previous = error_context_stack;
	error_context_stack = &context;
	TakeBodies(&batch, bodies);
	ResolveItems(&batch);
	RunBatch(&batch);
	error_context_stack = context.previous;
	for (int i = 0; i < batch.n; i++)
	{
		Datum		values[WRITE_RESULT_COLUMNS];
		bool		nulls[WRITE_RESULT_COLUMNS] = {false};

		WriteResultValues(&batch.items[i].result, values);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	StoreEnd(&session);
	PG_RETURN_NULL();
}
