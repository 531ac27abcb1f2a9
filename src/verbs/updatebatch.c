/*
 * updatebatch.c
 *		dms.update_documents(): several documents, all or nothing.
 *
 * The phases are those of one update, each over all documents before the next
 * begins.  All old identities are given up before the first new one is claimed,
 * so that documents can swap them.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "cascade/cascade.h"
#include "cascade/keychanges.h"
#include "cascade/identityturns.h"
#include "cascade/locks.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "document/edges.h"
#include "document/references.h"
#include "document/rows.h"
#include "document/verify.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "verbs/batchkeys.h"
#include "verbs/batchresolve.h"
#include "verbs/writeguard.h"

PG_FUNCTION_INFO_V1(dms_update_documents);

/* Add the number of the document that an error is about to its context. */
static void
AddPosition(void *arg)
{
	const Batch *batch = arg;

	if (batch->position >= 0)
		errcontext("document %d of the call", batch->position + 1);
}

/* Order documents by their ids. */
static int
CompareItems(const void *a, const void *b)
{
	int64		left = (*(BatchItem *const *) a)->write.document_id;
	int64		right = (*(BatchItem *const *) b)->write.document_id;

	return left < right ? -1 : left > right;
}

/* Sort the documents by their ids, and refuse duplicates. */
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
		batch->ids[i] = batch->by_id[i]->write.document_id;
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
		FoundDocument wanted = {.uuid = item->write.uuid};
		FoundDocument *it = bsearch(&wanted, found, n, sizeof(FoundDocument), CompareFound);

		if (it == NULL)
			PreconditionRaiseGone(&item->write.precondition, item->write.uuid);
		item->write.document_id = it->document_id;
		item->write.resource = it->resource;
	}
}

/*
 * Lock the documents in order.  If an identity was to stay and has changed
 * meanwhile, its closure would have to be locked first: the call must be tried
 * again.  If one was to change and is the wanted one by now, it is locked anyway.
 */
static void
LockItems(Batch *batch)
{
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = batch->by_id[i];
		bool		renames;

		batch->position = item - batch->items;
		if (item->write.renames && !ClosureHas(batch->closure, item->write.document_id))
			PreconditionRaiseGone(&item->write.precondition, item->write.uuid);
		FAULT_PAUSE("before_item_lock");
		if (!DocumentLock(item->write.document_id, &item->header))
			PreconditionRaiseGone(&item->write.precondition, item->write.uuid);
		SnapshotBegin();
		renames = WriteIdentityDiffers(&item->write, item->write.document_id);
		SnapshotEnd();
		if (renames && !item->write.renames)
			BatchResolveRaiseMoved();
		item->write.renames = renames;
	}
	batch->position = -1;
}

/* Order documents by the identities that they will have. */
static int
CompareIdentities(const void *a, const void *b)
{
	return memcmp(&(*(BatchItem *const *) a)->write.flat->primary,
				  &(*(BatchItem *const *) b)->write.flat->primary, UUID_LEN);
}

/*
 * Take names from followers that documents of the batch are about to get.  The
 * cascade will give the followers their new names.
 */
static void
ForgetTaken(const Batch *batch)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * 2 * Max(batch->n, 1));
	int			n = 0;
	IdSet	   *taken;

	for (int i = 0; i < batch->n; i++)
	{
		const FlatDocument *flat = batch->items[i].write.flat;

		if (!batch->items[i].write.renames)
			continue;
		ids[n++] = flat->primary;
		if (flat->model->superclass_resource)
			ids[n++] = flat->alias;
	}
	if (n == 0)
		return;
	taken = IdSetMake(ids, n);
	SnapshotBegin();
	ReferentialIdsLookUp(taken);
	SnapshotEnd();
	for (int i = 0; i < taken->n; i++)
	{
		int64		id = taken->entries[i].document_id;

		if (ClosureHas(batch->closure, id) && !IdsHave(batch->ids, batch->n, id))
		{
			KeyChangesLoses(batch->changes, id);
			ReferentialIdsForget(id);
		}
	}
}

/*
 * Move the identities: all old ones go before the first new one comes, so that
 * they can swap, and new ones are claimed in the order of ids, as cascades claim
 * those of a batch of members.
 */
static void
MoveIdentities(Batch *batch)
{
	BatchItem **by_identity = palloc(sizeof(BatchItem *) * Max(batch->n, 1));

	memcpy(by_identity, batch->by_id, sizeof(BatchItem *) * batch->n);
	qsort(by_identity, batch->n, sizeof(BatchItem *), CompareIdentities);
	for (int i = 0; i < batch->n; i++)
	{
		batch->position = batch->by_id[i] - batch->items;
		if (batch->by_id[i]->write.renames)
			ReferentialIdsForget(batch->by_id[i]->write.document_id);
	}
	batch->position = -1;
	ForgetTaken(batch);
	for (int i = 0; i < batch->n; i++)
	{
		batch->position = by_identity[i] - batch->items;
		if (by_identity[i]->write.renames)
			ReferentialIdsClaim(by_identity[i]->write.flat, by_identity[i]->write.document_id);
	}
}

/* Write the rows and edges of all documents. */
static void
WriteItems(Batch *batch)
{
	for (int i = 0; i < batch->n; i++)
		FlattenSetIds(batch->items[i].write.flat, batch->items[i].write.document_id);
	BatchKeysWrite(batch);
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = batch->by_id[i];
		FlatDocument *flat = item->write.flat;

		CHECK_FOR_INTERRUPTS();
		batch->position = item - batch->items;
		item->differs = RowsUpdate(item->write.resource, item->write.document_id, flat,
								   item->key && !item->key_written);
		item->differs |= EdgesDiff(item->write.document_id, flat) || item->key;
	}
}

/* Returns the documents that bump their own etags. */
static int64 *
WrittenIds(const Batch *batch, int *n)
{
	int64	   *ids = palloc(sizeof(int64) * Max(batch->n, 1));

	*n = 0;
	for (int i = 0; i < batch->n; i++)
		if (batch->by_id[i]->differs)
			ids[(*n)++] = batch->by_id[i]->write.document_id;
	return ids;
}

/*
 * Finish a document whose rows did not differ.  If it refers to a document that
 * the batch has renamed, the cascade has moved its etag, and its body did differ.
 */
static void
FinishSame(BatchItem *item)
{
	int64		etag = item->header.etag;

	SnapshotBegin();
	if (!DocumentHeaderRead(item->write.document_id, &item->header))
		PreconditionRaiseGone(&item->write.precondition, item->write.uuid);
	SnapshotEnd();
	WriteFinish(&item->write, item->header.etag == etag ? WRITE_UNCHANGED : WRITE_UPDATED, &item->header);
}

/* Bump the etags, in ascending order of ids. */
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
		WriteBump(&item->write, &item->header);
	}
}

/*
 * Keep as seeds only the documents whose identities still change, and in the
 * closure only their dependents: nothing happens to the dependents of the others,
 * so their etags must stay.  All of them are locked already.
 */
static void
DropSeeds(Batch *batch)
{
	int			nseeds = batch->nseeds;

	BatchResolveSeeds(batch);
	if (batch->nseeds != nseeds && !FAULT_SKIP("drop_seeds"))
		batch->closure = ClosureLock(batch->seeds, batch->nseeds, NULL);
}

/* Write all documents, as far as constraints may be violated. */
static void
WriteBatch(void *arg)
{
	Batch	   *batch = arg;

	MoveIdentities(batch);
	WriteItems(batch);
}

/* Returns the document that is being written; NULL if it is no single one. */
static const FlatDocument *
CurrentDocument(void *arg)
{
	const Batch *batch = arg;

	return batch->position >= 0 ? batch->items[batch->position].write.flat : NULL;
}

/*
 * Lock the documents that the bodies refer to, then the identities that change
 * and all that depend on them.
 */
static bool
LockIdentities(void *arg, BusyIdentities *busy)
{
	Batch	   *batch = arg;

	BatchResolveLock(batch);
	FAULT_PAUSE("after_share_locks");
	batch->closure = ClosureLock(batch->seeds, batch->nseeds, busy);
	return batch->closure != NULL;
}

/* Lock, write, cascade, bump. */
static void
RunBatch(Batch *batch)
{
	int64	   *written;
	int			nwritten;

	if (batch->nseeds > 0)
		IdentityTurnsRun(LockIdentities, batch);
	else
		(void) LockIdentities(batch, NULL);
	LockItems(batch);
	BatchResolveAgain(batch);
	DropSeeds(batch);
	FAULT_PAUSE("before_batch_writes");
	batch->changes = KeyChangesBegin(batch->closure->types, batch->ids, batch->n);
	WriteGuarded(WriteBatch, CurrentDocument, batch);
	batch->position = -1;
	written = WrittenIds(batch, &nwritten);

	/* They may refer to members only now, and not yet when these were locked. */
	for (int i = 0; i < nwritten; i++)
		ClosureAddParent(batch->closure, written[i]);

	/* Documents of the call have the identities of their bodies already. */
	if (batch->nseeds > 0)
		CascadeRun(batch->closure, batch->changes, batch->ids, batch->n, written, nwritten);
	FAULT_PAUSE("before_batch_etags");
	BumpItems(batch);
	KeyChangesEnd(batch->changes);
}

/* Make items of the arguments; the arrays must have one length and no NULLs. */
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
		batch->items[i].write.uuid = DatumGetUUIDP(ids[i]);
		batch->items[i].write.result = &batch->items[i].result;
	}
}

/* Parse and check the bodies, and note the names that they give. */
static void
TakeBodies(Batch *batch, Datum *bodies)
{
	batch->names = FutureNamesMake();
	for (batch->position = 0; batch->position < batch->n; batch->position++)
	{
		BatchItem  *item = &batch->items[batch->position];

		WriteTakeBody(&item->write, DatumGetTextPP(bodies[batch->position]));
		FutureNamesAdd(batch->names, item->write.document_id, item->write.flat);
	}
}

/* Write several documents by their ids. */
Datum
dms_update_documents(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuids", "documents"};
	Batch		batch = {.position = -1};
	Session		session;
	Datum	   *bodies;
	ErrorContextCallback context;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	InitMaterializedSRF(fcinfo, 0);
	WriteBegin(&session, "dms.update_documents()");
	TakeArguments(&batch, PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1), &bodies);
	FindItems(&batch, PG_GETARG_DATUM(0));
	SortItems(&batch);
	context.callback = AddPosition;
	context.arg = &batch;
	context.previous = error_context_stack;
	error_context_stack = &context;
	TakeBodies(&batch, bodies);
	BatchResolve(&batch);
	RunBatch(&batch);
	error_context_stack = context.previous;
	for (int i = 0; i < batch.n; i++)
		WriteResultPut(fcinfo, &batch.items[i].result);
	SessionEnd(&session);
	PG_RETURN_NULL();
}
