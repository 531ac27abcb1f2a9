/*
 * update.c
 *		dms.update_document(): writing a document by its id.
 *
 * Its identity may change where the schema allows it; then everything that
 * depends on the old identity follows in the same transaction.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "cascade/identitylocks.h"
#include "cascade/locks.h"
#include "catalog/pg_type.h"
#include "document/resolve.h"
#include "document/rows.h"
#include "engine/session.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "verbs/documents.h"
#include "verbs/violations.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_update_document);

/* Lock the document's identity and all that depend on it. */
static Closure *
LockClosure(const Write *write, const pg_uuid_t *uuid, int64 document_id)
{
	Closure    *closure = ClosureLock(&document_id, 1);

	if (!ClosureHas(closure, document_id))
		RaiseGone(&write->precondition, uuid);
	return closure;
}

/* Is the identity of the document that of the body? */
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
 * Lock the document, and before it its identity and all that depend on it if
 * the identity is to change: all sessions take them in this order.  Somebody
 * may change it while we wait: then the body, which names the old one, changes
 * it back.  Returns the closure of a change, or NULL.
 */
static Closure *
LockToUpdate(Write *write, const pg_uuid_t *uuid, int64 document_id,
			 bool identity, DocumentHeader *header)
{
	LockRequest request = {write, document_id, header, KeepsIdentity};
	Closure    *closure;

	if (!identity)
	{
		if (WriteLockFound(&request))
			return NULL;
		if (!request.found)
			RaiseGone(&write->precondition, uuid);
		FAULT_PAUSE("after_moved");
	}
	closure = LockClosure(write, uuid, document_id);
	if (!LockDocument(document_id, header))
		RaiseGone(&write->precondition, uuid);
	return KeepsIdentity(write, document_id) ? NULL : closure;
}

/* Update a document by its id; its identity may change. */
static void
UpdateById(Write *write, const pg_uuid_t *uuid, int64 document_id, bool identity)
{
	DocumentHeader header;
	Closure    *closure = LockToUpdate(write, uuid, document_id, identity, &header);

	PreconditionCheck(&write->precondition, &header);
	if (closure != NULL)
		WriteRefuseKeyChange(write);
	WriteLocked(write, &header, closure);
}

/* The steps of an update behind the gate. */
static void
Update(Write *write, const pg_uuid_t *uuid, int64 document_id)
{
	DocumentHeader header;
	bool		unchanged = false;
	bool		identity;

	SnapshotBegin();
	ResolveDocument(write->flat);
	if (!HeaderRead(document_id, &header))
		RaiseGone(&write->precondition, uuid);
	PreconditionCheck(&write->precondition, &header);
	identity = WriteIdentityDiffers(write, document_id);
	if (identity)
		ResolveForgetOld(write->flat, document_id);
	if (ResolveComplete(write->flat) && !identity)
	{
		FlattenSetDocumentId(write->flat, document_id);
		FlattenSetReferences(write->flat);
		unchanged = RowsUnchanged(write->resource, document_id, write->flat);
	}
	ResolveRefuseDescriptors(write->flat);
	if (identity)
		WriteRefuseKeyChange(write);
	SnapshotEnd();
	if (unchanged)
	{
		WriteFinish(write, WRITE_UNCHANGED, &header);
		return;
	}
	ResolveRefuseReferences(write->flat);
	if (identity)
		IdentitiesMakeRoom(&document_id, 1);
	WriteLockChildren(write, document_id, true);
	PG_TRY();
	{
		UpdateById(write, uuid, document_id, identity);
	}
	PG_CATCH();
	{
		ViolationRethrow(write->flat);
	}
	PG_END_TRY();
}

/* Find the document, and what it is. */
static int64
FindDocument(Write *write, const pg_uuid_t *uuid)
{
	int64		document_id;

	if (!DocumentFindToWrite(uuid, &document_id, &write->resource))
		RaiseGone(&write->precondition, uuid);
	return document_id;
}

/*
 * Write a document by its id.  To be called like UpsertDocument(); where the
 * resource is known already, the body is judged before the document is looked
 * for.
 */
void
UpdateDocument(Write *write, const pg_uuid_t *uuid, text *document)
{
	int64		document_id;

	if (write->resource != NULL)
	{
		WriteTakeBody(write, document, uuid);
		document_id = FindDocument(write, uuid);
	}
	else
	{
		document_id = FindDocument(write, uuid);
		WriteTakeBody(write, document, uuid);
	}
	Update(write, uuid, document_id);
}

/* Write a document by its id. */
Datum
dms_update_document(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "document"};
	StoreSession session;
	WriteResult result;
	Write		write;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.update_document()");
	WriteInit(&write, &result, fcinfo, 2);
	UpdateDocument(&write, PG_GETARG_UUID_P(0), PG_GETARG_TEXT_PP(1));
	StoreEnd(&session);
	PG_RETURN_DATUM(WriteResultRow(fcinfo, &result));
}
