/*
 * write.c
 *		The steps that all writes of documents share.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "cascade/claim.h"
#include "cascade/identitylocks.h"
#include "cascade/locks.h"
#include "document/body.h"
#include "document/changes.h"
#include "document/documentcache.h"
#include "document/edges.h"
#include "document/generatedid.h"
#include "document/history.h"
#include "document/notices.h"
#include "document/references.h"
#include "document/referentialids.h"
#include "document/rows.h"
#include "document/verify.h"
#include "document/versiondiffs.h"
#include "engine/attempt.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "utils/builtins.h"
#include "verbs/write.h"

/*
 * Lock the documents that the document refers to.  The precondition is checked
 * before targets that were lost while we waited are reported: their rename gave
 * the document another etag.
 *
 * A write by id changes this very document.  For a write by identity it is only
 * the one that had the identity at first: a reference may come to name it, and
 * needs a lock then like any other.
 */
void
WriteLockChildren(Write *write)
{
	DocumentHeader header;

	if (LockChildren(write->flat, write->uuid ? write->document_id : 0))
		return;
	SnapshotBegin();
	if (write->document_id != 0 && DocumentHeaderRead(write->document_id, &header))
		PreconditionCheck(&write->precondition, &header);
	else
		PreconditionCheckAbsent(&write->precondition);
	SnapshotEnd();
	ReferencesRefuseDescriptors(write->flat);
	ReferencesRefuse(write->flat);
}

/*
 * Do what follows from a version that a document has just got: keep it, cache it, and
 * notify those who listen.
 */
static void
KeepVersion(const Write *write, const DocumentHeader *header, HistoryKind kind)
{
	if (write->restores)
		kind = HISTORY_RESTORED;
	HistoryAppendOne(write->resource, header, kind);
	DocumentCacheWriteOne(write->resource, header);
	NoticesTellDocument(write->resource, &header->uuid, header->etag, HistoryKindName(kind));
}

/* Note the result of a write. */
void
WriteFinish(Write *write, WriteOutcome outcome, const DocumentHeader *header)
{
	write->result->outcome = outcome;
	write->result->document = *header;
}

/*
 * Returns the last etag of a document that had this id before, as far as that is
 * recorded: as a version, or in the journal.  Returns 0 if it is not.  Sets the time of
 * the version.
 */
static int64
FindEtagBefore(const pg_uuid_t *uuid, TimestampTz *created_at)
{
	HistoryVersion newest = {0};
	int64		journal;

	SnapshotBeginLatest();
	if (HistoryNewest(uuid, &newest))
		*created_at = newest.created_at;
	journal = ChangesLastEtag(uuid);
	SnapshotEnd();
	return Max(newest.number, journal);
}

/*
 * Give a new document the id in its body.  If another one had it, etags continue: those
 * of an id never fall.
 */
static void
TakeId(const Write *write, DocumentHeader *header)
{
	int64		before = write->id_given ? FindEtagBefore(&write->id, &header->last_modified) : 0;

	header->uuid = write->id;
	if (before > 0)
		header->etag = before + 1;
}

/*
 * Look again whether another document had the id.  One can have been created and deleted
 * since we looked, and our claim has waited for that.
 */
static void
RefuseOldEtag(const Write *write, const DocumentHeader *header)
{
	TimestampTz created_at;

	if (!write->id_given || FAULT_SKIP("generated_look") || FindEtagBefore(&write->id, &created_at) < header->etag)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access: a document with this id was created and deleted while it was being written")));
}

/* Write a new document.  Returns false if its identity is taken. */
bool
WriteNew(Write *write)
{
	DocumentHeader header = {0};
	Attachment	attachment;

	AttachLock(write->resource, &write->attach, &attachment);
	if (write->deleted != NULL)
		header = *write->deleted;
	else if (write->generated)
		TakeId(write, &header);
	FAULT_PAUSE("before_claim");
	if (!ClaimIdentity(write->resource, write->flat, &header, write->generated))
		return false;
	if (write->deleted == NULL && write->generated)
		RefuseOldEtag(write, &header);
	FlattenSetIds(write->flat, header.document_id);
	RowsInsert(write->resource, write->flat);
	EdgesInsert(header.document_id, write->flat);
	VerifyEdges(write->resource, header.document_id);
	AttachWrite(write->resource, &header, &attachment);
	KeepVersion(write, &header, HISTORY_INSERTED);
	WriteFinish(write, WRITE_INSERTED, &header);
	return true;
}

/* Returns the document that has the identity of the body now; 0 if there is none. */
int64
WriteFindOwn(const Write *write)
{
	int64		found;

	SnapshotBegin();
	found = ReferencesResolveOwn(write->flat);
	SnapshotEnd();
	return found;
}

/* Look whether a locked document still has the identity of the body. */
static WriteLock
LookAgain(const Write *write)
{
	if (FAULT_SKIP("self_look") || WriteFindOwn(write) == write->document_id)
		return WRITE_LOCKED;
	return WRITE_MOVED;
}

/* A document to lock in a subtransaction. */
typedef struct LockAttempt
{
	const Write *write;
	DocumentHeader *header;
	WriteLock	outcome;
} LockAttempt;

/* Wait for the document; the lock stays only if it has the body's identity. */
static bool
LockOrRelease(void *arg)
{
	LockAttempt *attempt = arg;

	if (DocumentLock(attempt->write->document_id, attempt->header))
		attempt->outcome = LookAgain(attempt->write);
	else
		attempt->outcome = WRITE_GONE;
	return attempt->outcome == WRITE_LOCKED || FAULT_SKIP("let_go");
}

/*
 * Lock the document that had the identity of the body when we looked, and look
 * again.  If we have to wait, it may have another one by then, and the lock must
 * be released: otherwise we could hold it while we wait for a transaction that
 * waits for it, such as a rename that has locked the document's identity already.
 */
WriteLock
WriteLockFound(const Write *write, DocumentHeader *header)
{
	LockAttempt attempt = {write, header, WRITE_GONE};
	int			nlocked;

	FAULT_PAUSE("before_self_lock");
	if (FAULT_SKIP("weak_self_lock"))
		(void) IdentityLocksTake(&write->document_id, 1, &nlocked);
	if (DocumentLockAtOnce(write->document_id, header))
		return LookAgain(write);
	(void) Attempt(LockOrRelease, &attempt);
	return attempt.outcome;
}

/*
 * Bump the etag of a document that was written.  If the document is gone, a
 * trigger of the tables' owner has deleted it in spite of our lock, and the rows
 * that were written since would belong to nothing.
 */
void
WriteBump(Write *write, DocumentHeader *header)
{
	VerifyEdges(write->resource, header->document_id);
	if (!DocumentBump(write->resource, header, write->precondition.match.given))
		PreconditionRaiseGone(&write->precondition, &header->uuid);
	KeepVersion(write, header, HISTORY_UPDATED);
	VersionDiffsEnqueue(write->resource, header);
	WriteFinish(write, WRITE_UPDATED, header);
}

/* Write the rows and edges that differ into a document that is locked. */
void
WriteLocked(Write *write, DocumentHeader *header)
{
	bool		differs;

	FAULT_PAUSE("behind_self_lock");
	PreconditionCheck(&write->precondition, header);
	FlattenSetIds(write->flat, header->document_id);
	differs = RowsUpdate(write->resource, header->document_id, write->flat, false);
	differs |= EdgesDiff(header->document_id, write->flat);
	if (differs)
		WriteBump(write, header);
	else
		WriteFinish(write, WRITE_UNCHANGED, header);
}

/* Returns true if the document has another identity than the body. */
bool
WriteIdentityDiffers(const Write *write, int64 document_id)
{
	const ResourceModel *model = write->flat->model;
	pg_uuid_t	id;

	return !ReferentialIdRead(document_id, model->project, model->resource, &id) ||
		memcmp(&id, &write->flat->primary, UUID_LEN) != 0;
}

/* Refuse a change of identity where the schema does not allow it. */
void
WriteRefuseKeyChange(const Write *write)
{
	const ResourceModel *model = write->flat->model;
	Problem    *problem;

	if (model->allow_identity_updates)
		return;
	problem = ProblemNew(PROBLEM_KEY_CHANGE);
	problem->detail = psprintf("Identifying values of %s cannot be changed. Delete the document and create it anew.",
							   model->resource);
	ProblemRaise(problem, "identity of %s cannot be changed", model->resource);
}

/* Refuse an id in the body of an update that is not that of the document. */
static void
CheckBodyId(const char *id, const pg_uuid_t *uuid)
{
	const char *expected = UuidText(uuid);
	Problem    *problem;

	if (id == NULL || pg_strcasecmp(id, expected) == 0)
		return;
	problem = ProblemNew(PROBLEM_ID_MISMATCH);
	ProblemNote(problem, "The id in the document is \"%s\", but the document to update is \"%s\".", id, expected);
	ProblemRaise(problem, "id in the document differs from the document to update");
}

/* Give a body an id, if the store makes those of its resource.  An update keeps the one it has. */
static void
FillId(Write *write, JNode *body, const char *property)
{
	if (write->uuid != NULL)
		write->id = *write->uuid;
	else
		UuidV7(&write->id);
	write->generated = true;
	write->id_given = !GeneratedIdFill(body, property, &write->id);
}

/* Parse, canonicalise, check and flatten a body. */
void
WriteTakeBody(Write *write, text *document)
{
	const ResourceModel *model = write->resource->model;
	const char *property = ResourceOptionsOf(write->resource)->generated_id;
	const char *id;
	JNode	   *body = BodyParse(VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document),
								 write->uuid ? BODY_FOR_UPDATE : BODY_FOR_UPSERT, &id);

	if (property != NULL)
		FillId(write, body, property);
	BodyCheck(model, body, write->id_required && id == NULL);
	if (write->uuid != NULL)
		CheckBodyId(id, write->uuid);
	BodyRulesCheck(model, body);
	if (property != NULL)
		GeneratedIdRead(body, property, &write->id);
	write->flat = Flatten(model, body);
}

/* Returns the document of a write, for WriteGuarded(). */
const FlatDocument *
WriteDocument(void *write)
{
	return ((Write *) write)->flat;
}

/* Pass the gate: from here, models are current until the transaction ends. */
void
WriteBegin(Session *session, const char *function)
{
	PreventCommandIfReadOnly(function);
	if (!FAULT_SKIP("gate"))
		StoreGate(RowExclusiveLock);
	SessionBegin(session, RIGHTS_OF_OWNER);
	ChangesBegin();
}

/* Start a write whose if_match is this argument of the function. */
void
WriteInit(Write *write, WriteResult *result, FunctionCallInfo fcinfo,
		  int if_match_argument)
{
	memset(write, 0, sizeof(Write));
	write->result = result;
	if (!PG_ARGISNULL(if_match_argument))
		PreconditionSetMatch(&write->precondition, PG_GETARG_INT64(if_match_argument));
}
