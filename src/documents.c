/*
 * documents.c
 *		Writing documents: dms.upsert_document() and dms.update_document().
 *
 * The functions below read top-down like the protocol: pass the gate, bring
 * the body into form, resolve, answer "unchanged" without a lock if it is so,
 * lock what is referred to, claim or find the identity, lock the document, look
 * again, write what differs, and let the etag judge.
 */
#include "postgres.h"

#include "access/xact.h"
#include "body.h"
#include "cascade.h"
#include "catalog/pg_type.h"
#include "documents.h"
#include "edges.h"
#include "etag.h"
#include "faults.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "modelcache.h"
#include "plan.h"
#include "report.h"
#include "resolve.h"
#include "rows.h"
#include "store.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "uuid.h"
#include "violations.h"

PG_FUNCTION_INFO_V1(dms_upsert_document);
PG_FUNCTION_INFO_V1(dms_update_document);

/* One write, from body to result. */
typedef struct Write
{
	Resource   *resource;
	FlatDocument *flat;
	bool		has_if_match;
	int64		if_match;
	WriteResult *result;
} Write;

static const Oid claim_types[] = {UUIDOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID,
TEXTOID, UUIDOID, TEXTOID};

/*
 * The primary row alone decides who has an identity; the alias is a plain
 * insert, since a taken alias is the conflict.
 */
static Statement claim = {
	.sql = "WITH p AS (INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)"
	" VALUES ($1, pg_catalog.nextval('dms.document_documentid_seq'::pg_catalog.regclass), $2, $3)"
	" ON CONFLICT (ReferentialId) DO NOTHING RETURNING DocumentId),"
	" a AS (INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)"
	" SELECT $4, DocumentId, $5, $6 FROM p WHERE $4 IS NOT NULL),"
	" l AS (INSERT INTO dms.IdentityLock (DocumentId) SELECT DocumentId FROM p),"
	" d AS (INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)"
	" SELECT DocumentId, $7, $2, $3, $8 FROM p RETURNING DocumentId, Etag, LastModifiedAt)"
	" SELECT DocumentId, Etag, LastModifiedAt FROM d",
	.nargs = 8,
	.argtypes = claim_types,
};

static const Oid uuid_types[] = {UUIDOID};

static Statement find_document = {
	.sql = "SELECT DocumentId, ProjectName, ResourceName FROM dms.Document"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = uuid_types,
};

static const Oid identity_types[] = {INT8OID, TEXTOID, TEXTOID};

static Statement read_identity = {
	.sql = "SELECT ReferentialId FROM dms.ReferentialIdentity"
	" WHERE DocumentId OPERATOR(pg_catalog.=) $1"
	" AND ProjectName OPERATOR(pg_catalog.=) $2::pg_catalog.varchar"
	" AND ResourceName OPERATOR(pg_catalog.=) $3::pg_catalog.varchar",
	.nargs = 3,
	.argtypes = identity_types,
};

static void
RaiseEtagMismatch(void)
{
	ReportError(PROBLEM_ETAG_MISMATCH,
				"Read the document again and repeat the change on what you then have.",
				"document was changed since its etag was read");
}

static void
RaiseNoDocument(const pg_uuid_t *uuid)
{
	ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document %s",
				DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid))));
}

/* A cheap early look: the check under the lock decides. */
static void
CheckEtag(const Write *write, const DocumentHeader *header)
{
	if (write->has_if_match && header->etag != write->if_match)
		RaiseEtagMismatch();
}

static bool
Finish(Write *write, WriteOutcome outcome, const DocumentHeader *header)
{
	write->result->outcome = outcome;
	write->result->document = *header;
	return true;
}

/* Parameters that stand for an alias; NULLs where there is no superclass. */
static void
SetAlias(const FlatDocument *flat, Datum *values, char *nulls)
{
	const ResourceModel *model = flat->model;

	if (model->superclass_resource == NULL)
	{
		nulls[0] = nulls[1] = nulls[2] = 'n';
		return;
	}
	values[0] = UUIDPGetDatum(&flat->alias);
	values[1] = CStringGetTextDatum(model->superclass_project);
	values[2] = CStringGetTextDatum(model->superclass_resource);
}

/* Claim the identity for a new document; false when somebody has it. */
static bool
ClaimIdentity(const FlatDocument *flat, DocumentHeader *header)
{
	const ResourceModel *model = flat->model;
	Datum		values[8];
	char		nulls[] = "        ";
	bool		isnull;

	UuidV7(&header->uuid);
	values[0] = UUIDPGetDatum(&flat->primary);
	values[1] = CStringGetTextDatum(model->project);
	values[2] = CStringGetTextDatum(model->resource);
	SetAlias(flat, &values[3], &nulls[3]);
	values[6] = UUIDPGetDatum(&header->uuid);
	values[7] = CStringGetTextDatum(model->version);
	if (StatementRun(&claim, values, nulls, false, 0) == 0)
		return false;
	header->document_id = DatumGetInt64(ResultDatum(0, 1, &isnull));
	header->etag = DatumGetInt64(ResultDatum(0, 2, &isnull));
	header->last_modified = DatumGetTimestampTz(ResultDatum(0, 3, &isnull));
	return true;
}

/* A new document, if its identity is free. */
static bool
Insert(Write *write)
{
	DocumentHeader header;

	if (!ClaimIdentity(write->flat, &header))
		return false;
	FlattenSetDocumentId(write->flat, header.document_id);
	FlattenSetReferences(write->flat);
	RowsInsert(write->resource, write->flat);
	EdgesInsert(header.document_id, write->flat);
	return Finish(write, WRITE_INSERTED, &header);
}

/* Write what differs into a document that is locked. */
static bool
UpdateLocked(Write *write, DocumentHeader *header, const Closure *closure)
{
	bool		differs;

	CheckEtag(write, header);
	FlattenSetDocumentId(write->flat, header->document_id);
	FlattenSetReferences(write->flat);
	if (closure != NULL)
		CascadeMoveIdentity(write->flat, header->document_id);
	differs = RowsUpdate(write->resource, header->document_id, write->flat, closure != NULL);
	differs |= EdgesDiff(header->document_id, write->flat);
	if (!differs && closure == NULL)
		return Finish(write, WRITE_UNCHANGED, header);
	if (closure != NULL)
		CascadeRun(closure, &header->document_id, 1);
	if (!EtagBump(header, write->flat->model->version, write->has_if_match, write->if_match))
		RaiseEtagMismatch();
	return Finish(write, WRITE_UPDATED, header);
}

/*
 * Update the document that had the identity when we looked; false when it is
 * gone, or has another identity by now.  Without the look behind the lock, an
 * upsert would write into a document that was renamed while it waited.
 */
static bool
UpdateFound(Write *write, int64 document_id)
{
	DocumentHeader header;
	int64		owner;

	FAULT_PAUSE("before_self_lock");
	if (!LockDocument(document_id, &header))
		return false;
	if (!FAULT_SKIP("self_look"))
	{
		SnapshotBegin();
		owner = ResolveOwn(write->flat);
		SnapshotEnd();
		if (owner != document_id)
			return false;
	}
	return UpdateLocked(write, &header, NULL);
}

/* The document that has the identity now; 0: none. */
static int64
FindOwn(const Write *write)
{
	int64		found;

	SnapshotBegin();
	found = ResolveOwn(write->flat);
	SnapshotEnd();
	return found;
}

/* Claim the identity, or find who has it, until one of both succeeds. */
static void
ClaimOrFind(Write *write, int64 document_id)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (document_id == 0)
		{
			if (write->has_if_match)
				RaiseEtagMismatch();
			if (Insert(write))
				return;
			FAULT_PAUSE("after_lost_claim");
			document_id = FindOwn(write);
			if (document_id == 0)
				continue;
		}
		if (UpdateFound(write, document_id))
			return;
		document_id = FindOwn(write);
	}
}

/*
 * Resolve everything in one snapshot and, in the same one, see whether the
 * body is what is stored already: then nothing else happens.
 */
static bool
AnswerUnchanged(Write *write, int64 *document_id)
{
	DocumentHeader header;
	bool		unchanged = false;

	SnapshotBegin();
	*document_id = ResolveDocument(write->flat);
	if (*document_id != 0 && ReadHeader(*document_id, &header))
	{
		CheckEtag(write, &header);
		if (ResolveComplete(write->flat))
		{
			FlattenSetDocumentId(write->flat, *document_id);
			FlattenSetReferences(write->flat);
			unchanged = RowsUnchanged(write->resource, *document_id, write->flat);
		}
	}
	else if (write->has_if_match)
		RaiseEtagMismatch();
	SnapshotEnd();
	return unchanged && Finish(write, WRITE_UNCHANGED, &header);
}

/* The steps of an upsert behind the gate. */
static void
Upsert(Write *write)
{
	int64		document_id;

	if (AnswerUnchanged(write, &document_id))
		return;
	FAULT_PAUSE("after_resolve");
	ResolveRefuseDescriptors(write->flat);
	ResolveRefuseReferences(write->flat);
	LockChildren(write->flat, document_id);
	PG_TRY();
	{
		ClaimOrFind(write, document_id);
	}
	PG_CATCH();
	{
		ViolationRethrow(write->flat);
	}
	PG_END_TRY();
}

/* Has the document another identity than the body? */
static bool
IdentityDiffers(const Write *write, int64 document_id)
{
	const ResourceModel *model = write->flat->model;
	Datum		values[3] = {Int64GetDatum(document_id),
	CStringGetTextDatum(model->project), CStringGetTextDatum(model->resource)};
	bool		isnull;
	pg_uuid_t  *stored;

	if (StatementRun(&read_identity, values, NULL, true, 1) == 0)
		return true;
	stored = DatumGetUUIDP(ResultDatum(0, 1, &isnull));
	return memcmp(stored, &write->flat->primary, UUID_LEN) != 0;
}

static void
RefuseKeyChange(const Write *write)
{
	const ResourceModel *model = write->flat->model;
	Problem    *problem;

	if (model->allow_identity_updates)
		return;
	problem = ProblemNew(PROBLEM_KEY_CHANGE);
	ProblemNote(problem, "Identifying values of %s cannot be changed. Delete the document and create it anew.",
				model->resource);
	ProblemRaise(problem, "identity of %s cannot be changed", model->resource);
}

/* Lock the document's identity and all that depend on it. */
static Closure *
LockClosure(const pg_uuid_t *uuid, int64 document_id)
{
	Closure    *closure = ClosureLock(&document_id, 1);

	if (!ClosureHas(closure, document_id))
		RaiseNoDocument(uuid);
	return closure;
}

/* Update a document by its id; its identity may change. */
static void
UpdateById(Write *write, const pg_uuid_t *uuid, int64 document_id, bool identity)
{
	Closure    *closure = identity ? LockClosure(uuid, document_id) : NULL;
	DocumentHeader header;

	if (!LockDocument(document_id, &header))
		RaiseNoDocument(uuid);
	CheckEtag(write, &header);

	/*
	 * Somebody may have changed the identity while we waited: then the body,
	 * which names the old one, changes it back.
	 */
	SnapshotBegin();
	identity = IdentityDiffers(write, document_id);
	SnapshotEnd();
	if (identity)
		RefuseKeyChange(write);
	if (identity && closure == NULL)
		closure = LockClosure(uuid, document_id);
	UpdateLocked(write, &header, identity ? closure : NULL);
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
	if (!ReadHeader(document_id, &header))
		RaiseNoDocument(uuid);
	CheckEtag(write, &header);
	identity = IdentityDiffers(write, document_id);
	if (ResolveComplete(write->flat) && !identity)
	{
		FlattenSetDocumentId(write->flat, document_id);
		FlattenSetReferences(write->flat);
		unchanged = RowsUnchanged(write->resource, document_id, write->flat);
	}
	ResolveRefuseDescriptors(write->flat);
	if (identity)
		RefuseKeyChange(write);
	SnapshotEnd();
	if (unchanged)
	{
		Finish(write, WRITE_UNCHANGED, &header);
		return;
	}
	ResolveRefuseReferences(write->flat);
	if (identity)
		ClosureMakeRoom(&document_id, 1);
	LockChildren(write->flat, document_id);
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

/* An id in the body of an update must be that of the document. */
static void
CheckBodyId(const char *id, const pg_uuid_t *uuid)
{
	const char *expected = DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid)));
	Problem    *problem;

	if (id == NULL || pg_strcasecmp(id, expected) == 0)
		return;
	problem = ProblemNew(PROBLEM_ID_MISMATCH);
	ProblemNote(problem, "The id in the document is \"%s\", but the document to update is \"%s\".", id, expected);
	ProblemRaise(problem, "id in the document differs from the document to update");
}

/*
 * Parse, canonicalise, check and flatten a body; with the id of the document
 * that it is for, if that is known.
 */
static void
TakeBody(Write *write, text *document, const pg_uuid_t *uuid)
{
	const ResourceModel *model = write->resource->model;
	const char *id;
	JNode	   *body = BodyParse(VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document),
								 uuid ? BODY_FOR_UPDATE : BODY_FOR_UPSERT, &id);

	BodyCheck(model, body);
	if (uuid != NULL)
		CheckBodyId(id, uuid);
	BodyCheckRules(model, body);
	write->flat = Flatten(model, body);
}

/* The result as a row of dms.write_result. */
static Datum
ResultRow(FunctionCallInfo fcinfo, const WriteResult *result)
{
	static const char *const outcomes[] = {"inserted", "updated", "unchanged"};
	TupleDesc	descriptor;
	Datum		values[5];
	bool		nulls[5] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = CStringGetTextDatum(outcomes[result->outcome]);
	values[1] = UUIDPGetDatum(&result->document.uuid);
	values[2] = Int64GetDatum(result->document.document_id);
	values[3] = Int64GetDatum(result->document.etag);
	values[4] = TimestampTzGetDatum(result->document.last_modified);
	return HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
}

/* Arguments without which there is nothing to do. */
static void
RequireArguments(FunctionCallInfo fcinfo, int n, const char *const *names)
{
	for (int i = 0; i < n; i++)
		if (PG_ARGISNULL(i))
			ReportError(PROBLEM_ARGUMENT, NULL, "%s must not be null", names[i]);
}

/* Pass the gate; behind it, models are current until the transaction ends. */
static void
BeginWrite(StoreSession *session, Write *write, WriteResult *result,
		   FunctionCallInfo fcinfo, int if_match_argument, const char *function)
{
	PreventCommandIfReadOnly(function);
	StoreGate(RowExclusiveLock);
	memset(write, 0, sizeof(Write));
	write->result = result;
	write->has_if_match = !PG_ARGISNULL(if_match_argument);
	if (write->has_if_match)
		write->if_match = PG_GETARG_INT64(if_match_argument);
	StoreBegin(session, RIGHTS_OF_OWNER);
}

/* Write a document by its identity: insert it, or update what is there. */
Datum
dms_upsert_document(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"project", "resource", "document"};
	StoreSession session;
	WriteResult result;
	Write		write;

	RequireArguments(fcinfo, lengthof(names), names);
	BeginWrite(&session, &write, &result, fcinfo, 3, "dms.upsert_document()");
	write.resource = ResourceFind(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								  text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ResourceRefuseAbstract(write.resource);
	TakeBody(&write, PG_GETARG_TEXT_PP(2), NULL);
	Upsert(&write);
	StoreEnd(&session);
	PG_RETURN_DATUM(ResultRow(fcinfo, &result));
}

/* Write a document by its id. */
Datum
dms_update_document(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "document"};
	StoreSession session;
	WriteResult result;
	Write		write;
	pg_uuid_t  *uuid;
	Datum		values[1];
	int64		document_id;
	bool		isnull;

	RequireArguments(fcinfo, lengthof(names), names);
	BeginWrite(&session, &write, &result, fcinfo, 2, "dms.update_document()");
	uuid = PG_GETARG_UUID_P(0);
	values[0] = UUIDPGetDatum(uuid);
	SnapshotBegin();
	if (StatementRun(&find_document, values, NULL, true, 1) == 0)
		RaiseNoDocument(uuid);
	document_id = DatumGetInt64(ResultDatum(0, 1, &isnull));
	write.resource = ResourceFind(ResultText(0, 2), ResultText(0, 3));
	SnapshotEnd();
	TakeBody(&write, PG_GETARG_TEXT_PP(1), uuid);
	Update(&write, uuid, document_id);
	StoreEnd(&session);
	PG_RETURN_DATUM(ResultRow(fcinfo, &result));
}
