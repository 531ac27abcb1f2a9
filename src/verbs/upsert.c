/*
 * upsert.c
 *		dms.upsert_document(): writing a document by its identity.
 *
 * The functions below read like the protocol: bring the body into form,
 * resolve, answer "unchanged" without a lock if it is so, lock the documents that
 * it refers to, claim or find the identity, lock the document, look again, write
 * the differences, and bump the etag.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/jsonargument.h"
#include "base/report.h"
#include "document/references.h"
#include "document/rows.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "verbs/upsert.h"
#include "verbs/writeguard.h"

PG_FUNCTION_INFO_V1(dms_upsert_document);
PG_FUNCTION_INFO_V1(dms_upsert_document_jsonb);

/* The number of times that an identity may move away before we give up. */
#define MAX_ATTEMPTS 100

/*
 * Update the document that had the identity when we looked.  Returns false if it
 * is gone, or has another identity by now.  Without the look under the lock, an
 * upsert would write into a document that was renamed while it waited.
 */
static bool
UpdateFound(Write *write)
{
	DocumentHeader header;

	AttachHold(write->resource, &write->attach, write->document_id);
	if (WriteLockFound(write, &header) != WRITE_LOCKED)
		return false;
	WriteLocked(write, &header);
	return true;
}

/*
 * Refuse an identity whose document is gone, which only foreign code can leave:
 * looking for the document would never end.  To a snapshot that is older than a
 * rewrite of the table, all rows are gone; that is no damage.
 */
static void
RefuseOrphan(const Write *write)
{
	DocumentHeader header;
	bool		orphan;
	bool		there = false;

	SnapshotBegin();
	orphan = ReferencesResolveOwn(write->flat) == write->document_id && !DocumentHeaderRead(write->document_id, &header);
	SnapshotEnd();
	if (orphan && IsolationUsesXactSnapshot())
	{
		SnapshotBeginLatest();
		there = DocumentHeaderRead(write->document_id, &header);
		SnapshotEnd();
	}
	if (there)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent rewrite of dms.Document")));
	if (orphan)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("document " INT64_FORMAT " has an identity, but no row in dms.Document",
						write->document_id),
				 errhint("dms.audit() lists what is wrong in the store.")));
}

/*
 * Claim the identity, or find the document that has it, until one of both
 * succeeds.  Each failure means that another transaction committed in between;
 * after MAX_ATTEMPTS of them the table more likely contradicts itself.
 */
static void
ClaimOrFind(void *arg)
{
	Write	   *write = arg;

	for (int attempt = 0;; attempt++)
	{
		CHECK_FOR_INTERRUPTS();
		if (attempt == MAX_ATTEMPTS)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access: the identity was claimed and given up %d times while it was being written",
							MAX_ATTEMPTS)));
		if (write->document_id == 0)
		{
			PreconditionCheckAbsent(&write->precondition);
			if (WriteNew(write))
				return;
			FAULT_PAUSE("after_lost_claim");
			write->document_id = WriteFindOwn(write);
			if (write->document_id == 0 && FAULT_SKIP("claim_again"))
				elog(ERROR, "identity was claimed once only");
			if (write->document_id == 0)
				continue;
		}
		if (UpdateFound(write))
			return;
		RefuseOrphan(write);
		write->document_id = WriteFindOwn(write);
	}
}

/* Returns true if the references are complete, and the stored rows are those of the body. */
static bool
IsStored(const Write *write)
{
	if (!ReferencesComplete(write->flat))
		return false;
	FlattenSetIds(write->flat, write->document_id);
	return RowsUnchanged(write->resource, write->document_id, write->flat);
}

/*
 * Resolve everything in one snapshot and, in the same one, look whether the
 * body is stored already: then nothing else happens.  Descriptors are looked up
 * only where that is not so, or not with the documents that they led to before.
 */
static bool
AnswerUnchanged(Write *write)
{
	DocumentHeader header;
	bool		found;
	bool		unchanged;

	FAULT_PAUSE("before_resolve");
	SnapshotBegin();
	write->document_id = ReferencesGuess(write->flat);
	found = write->document_id != 0 && DocumentHeaderRead(write->document_id, &header);
	if (found)
		PreconditionCheck(&write->precondition, &header);
	else
		PreconditionCheckAbsent(&write->precondition);
	unchanged = found && IsStored(write);
	if (!unchanged && ReferencesResolveGuessed(write->flat))
		unchanged = found && IsStored(write);
	SnapshotEnd();
	if (unchanged)
		WriteFinish(write, WRITE_UNCHANGED, &header);
	return unchanged;
}

/* The steps of an upsert after the gate. */
static void
Upsert(Write *write)
{
	if (AnswerUnchanged(write))
		return;
	ReferencesRefuseDescriptors(write->flat);
	ReferencesRefuse(write->flat);
	WriteLockChildren(write);
	WriteGuarded(ClaimOrFind, WriteDocument, write);
}

/*
 * Write a document of a known resource by its identity.  To be called between
 * WriteBegin() and SessionEnd(), with a resource that was found in between.
 */
void
UpsertDocument(Write *write, text *document)
{
	WriteTakeBody(write, document);
	Upsert(write);
}

/* Write a document by its identity: insert it, or update the one that exists. */
Datum
dms_upsert_document(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"project", "resource", "document"};
	Session		session;
	WriteResult result;
	Write		write;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.upsert_document()");
	WriteInit(&write, &result, fcinfo, 3);
	write.resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ModelCacheRefuseAbstract(write.resource);
	UpsertDocument(&write, PG_GETARG_TEXT_PP(2));
	SessionEnd(&session);
	PG_RETURN_DATUM(WriteResultRow(fcinfo, &result));
}

/* The same for a body that is jsonb. */
Datum
dms_upsert_document_jsonb(PG_FUNCTION_ARGS)
{
	return JsonArgumentCall(dms_upsert_document, fcinfo, 2);
}
