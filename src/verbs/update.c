/*
 * update.c
 *		dms.update_document(): writing a document by its id.
 *
 * Its identity may change where the schema allows it; then the identities that
 * depend on it follow in the same transaction.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/jsonargument.h"
#include "base/report.h"
#include "cascade/cascade.h"
#include "cascade/keychanges.h"
#include "cascade/closure.h"
#include "cascade/identityturns.h"
#include "cascade/locks.h"
#include "document/edges.h"
#include "document/references.h"
#include "document/rows.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "verbs/update.h"
#include "verbs/writeguard.h"

PG_FUNCTION_INFO_V1(dms_update_document);
PG_FUNCTION_INFO_V1(dms_update_document_jsonb);

/*
 * Lock the documents that the body refers to, then the document's identity and
 * all identities that depend on it.
 */
static bool
LockIdentities(void *arg, BusyIdentities *busy)
{
	Write	   *write = arg;

	WriteLockChildren(write);
	write->closure = ClosureLock(&write->document_id, 1, busy);
	return write->closure != NULL;
}

/* Returns true if the document has the identity of the body. */
static bool
KeepsIdentity(const Write *write, int64 document_id)
{
	bool		keeps;

	SnapshotBegin();
	keeps = !WriteIdentityDiffers(write, document_id);
	SnapshotEnd();
	return keeps;
}

/*
 * Lock the document.  If the identity is to change, it and all that depend on it
 * are locked already: all sessions take them in this order.  Another transaction
 * may change it while we wait: then the body, which has the old one, changes it
 * back.  Returns the closure of a change, or NULL.
 */
static Closure *
LockToUpdate(Write *write, DocumentHeader *header)
{
	if (!write->renames)
	{
		WriteLock	lock = WriteLockFound(write, header);

		if (lock == WRITE_LOCKED)
			return NULL;
		if (lock == WRITE_GONE)
			PreconditionRaiseGone(&write->precondition, write->uuid);
		FAULT_PAUSE("after_moved");
		write->closure = ClosureLock(&write->document_id, 1, NULL);
	}
	if (!ClosureHas(write->closure, write->document_id) ||
		!DocumentLock(write->document_id, header))
		PreconditionRaiseGone(&write->precondition, write->uuid);
	return KeepsIdentity(write, write->document_id) ? NULL : write->closure;
}

/*
 * Claim the new identity of a document.  That comes before the root row, whose
 * natural key is unique too, so that there is one queue for each key.
 */
static void
MoveIdentity(const Write *write)
{
	if (FAULT_SKIP("claim_first"))
	{
		RowsUpdate(write->resource, write->document_id, write->flat, true);
		FAULT_PAUSE("between_claim_and_root");
	}
	ReferentialIdsForget(write->document_id);
	ReferentialIdsClaim(write->flat, write->document_id);
	if (!FAULT_SKIP("claim_first"))
		FAULT_PAUSE("between_claim_and_root");
}

/* Write a document that is locked, and let its closure follow its new identity. */
static void
ApplyRename(Write *write, DocumentHeader *header, const Closure *closure)
{
	KeyChanges *changes;

	FAULT_PAUSE("behind_self_lock");
	FlattenSetIds(write->flat, write->document_id);
	changes = KeyChangesBegin(closure->types, &write->document_id, 1);
	MoveIdentity(write);
	RowsUpdate(write->resource, write->document_id, write->flat, true);
	EdgesDiff(write->document_id, write->flat);
	CascadeRun(closure, changes, &write->document_id, 1, &write->document_id, 1);
	WriteBump(write, header);
	KeyChangesWritten(changes, header);
	KeyChangesEnd(changes);
}

/* Update a document by its id; its identity may change. */
static void
UpdateById(void *arg)
{
	Write	   *write = arg;
	DocumentHeader header;
	Closure    *closure = LockToUpdate(write, &header);

	PreconditionCheck(&write->precondition, &header);
	if (closure == NULL)
	{
		WriteLocked(write, &header);
		return;
	}
	WriteRefuseKeyChange(write);
	ApplyRename(write, &header, closure);
}

/*
 * Resolve everything in one snapshot and, in the same one, look whether the
 * identity changes, and whether the body is stored already: then nothing else
 * happens.
 */
static bool
AnswerUnchanged(Write *write)
{
	DocumentHeader header;
	bool		unchanged = false;

	SnapshotBegin();
	ReferencesResolve(write->flat);
	if (!DocumentHeaderRead(write->document_id, &header))
		PreconditionRaiseGone(&write->precondition, write->uuid);
	PreconditionCheck(&write->precondition, &header);
	write->renames = WriteIdentityDiffers(write, write->document_id);
	if (write->renames)
		ReferencesForgetOld(write->flat, write->document_id);
	else if (ReferencesComplete(write->flat))
	{
		FlattenSetIds(write->flat, write->document_id);
		unchanged = RowsUnchanged(write->resource, write->document_id, write->flat);
	}
	ReferencesRefuseDescriptors(write->flat);
	if (write->renames)
		WriteRefuseKeyChange(write);
	SnapshotEnd();
	if (unchanged)
		WriteFinish(write, WRITE_UNCHANGED, &header);
	return unchanged;
}

/* The steps of an update after the gate. */
static void
Update(Write *write)
{
	if (AnswerUnchanged(write))
		return;
	ReferencesRefuse(write->flat);
	if (write->renames)
		IdentityTurnsRun(LockIdentities, write);
	else
		WriteLockChildren(write);
	WriteGuarded(UpdateById, WriteDocument, write);
}

/* Find the document, and its resource. */
static void
FindDocument(Write *write)
{
	if (!DocumentFindToWrite(write->uuid, &write->document_id, &write->resource))
		PreconditionRaiseGone(&write->precondition, write->uuid);
}

/*
 * Write a document by its id.  To be called like UpsertDocument(); where the
 * resource is known already, the body is checked before the document is looked
 * for.
 */
void
UpdateDocument(Write *write, const pg_uuid_t *uuid, text *document)
{
	write->uuid = uuid;
	if (write->resource != NULL)
	{
		WriteTakeBody(write, document);
		FindDocument(write);
	}
	else
	{
		FindDocument(write);
		WriteTakeBody(write, document);
	}
	Update(write);
}

/* Write a document by its id. */
Datum
dms_update_document(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "document"};
	Session		session;
	WriteResult result;
	Write		write;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.update_document()");
	WriteInit(&write, &result, fcinfo, 2);
	UpdateDocument(&write, PG_GETARG_UUID_P(0), PG_GETARG_TEXT_PP(1));
	SessionEnd(&session);
	PG_RETURN_DATUM(WriteResultRow(fcinfo, &result));
}

/* The same for a body that is jsonb. */
Datum
dms_update_document_jsonb(PG_FUNCTION_ARGS)
{
	return JsonArgumentCall(dms_update_document, fcinfo, 1);
}
