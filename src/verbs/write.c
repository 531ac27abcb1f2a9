/*
 * write.c
 *		The steps that all writes of documents share.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/locks.h"
#include "catalog/pg_type.h"
#include "document/body.h"
#include "document/edges.h"
#include "document/etag.h"
#include "document/resolve.h"
#include "document/rows.h"
#include "document/verify.h"
#include "engine/keyscan.h"
#include "engine/plan.h"
#include "engine/store.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"
#include "verbs/write.h"

static const Oid claim_types[] = {UUIDOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID,
TEXTOID, UUIDOID, TEXTOID};

/*
 * The primary row alone decides who has an identity; the alias is a plain
 * insert, since a taken alias is the conflict.
 */
#define CLAIM_SQL(primary_taken, alias_taken) \
	"WITH p AS (INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)" \
	" VALUES ($1, pg_catalog.nextval('dms.document_documentid_seq'::pg_catalog.regclass), $2, $3)" \
	primary_taken " RETURNING DocumentId)," \
	" a AS (INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)" \
	" SELECT $4, DocumentId, $5, $6 FROM p WHERE $4 IS NOT NULL" alias_taken ")," \
	" l AS (INSERT INTO dms.IdentityLock (DocumentId) SELECT DocumentId FROM p)," \
	" d AS (INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)" \
	" SELECT DocumentId, $7, $2, $3, $8 FROM p RETURNING DocumentId, Etag, LastModifiedAt)" \
	" SELECT DocumentId, Etag, LastModifiedAt FROM d"
#define LET_BE " ON CONFLICT (ReferentialId) DO NOTHING"

static Statement claim = {
	.sql = CLAIM_SQL(LET_BE, ""),
	.nargs = 8,
	.argtypes = claim_types,
};

#ifdef DMS_FAULTS
static Statement claim_or_fail = {.sql = CLAIM_SQL("", ""),.nargs = 8,.argtypes = claim_types};
static Statement claim_any_alias = {.sql = CLAIM_SQL(LET_BE, LET_BE),.nargs = 8,.argtypes = claim_types};
#endif

static const Oid identity_types[] = {INT8OID, TEXTOID, TEXTOID};

static const char *const identity_columns[] = {"documentid", "projectname", "resourcename", "referentialid"};
static const Oid identity_column_types[] = {INT8OID, TEXTOID, TEXTOID, UUIDOID};
static const KeyScanTable identities = {
	"dms", "referentialidentity", identity_columns, identity_column_types, lengthof(identity_columns)
};
static Statement read_identity = {
	.sql = "SELECT DocumentId, ProjectName, ResourceName, ReferentialId FROM dms.ReferentialIdentity"
	" WHERE DocumentId OPERATOR(pg_catalog.=) $1"
	" AND ProjectName OPERATOR(pg_catalog.=) $2::pg_catalog.varchar"
	" AND ResourceName OPERATOR(pg_catalog.=) $3::pg_catalog.varchar",
	.nargs = 3,
	.argtypes = identity_types,
};

/* The document is not there; with an etag that was read, it was changed. */
void
RaiseGone(const Precondition *precondition, const pg_uuid_t *uuid)
{
	PreconditionCheckAbsent(precondition);
	ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document %s",
				UuidText(uuid));
}

/*
 * Lock what the document refers to.  What was lost while we waited is told
 * after what the preconditions say: who renamed it gave the document another
 * etag.
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
	if (write->document_id != 0 && HeaderRead(write->document_id, &header))
		PreconditionCheck(&write->precondition, &header);
	else
		PreconditionCheckAbsent(&write->precondition);
	SnapshotEnd();
	ResolveRefuseDescriptors(write->flat);
	ResolveRefuseReferences(write->flat);
}

bool
WriteFinish(Write *write, WriteOutcome outcome, const DocumentHeader *header)
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

static Statement *
ClaimStatement(void)
{
#ifdef DMS_FAULTS
	if (FAULT_SKIP("claim_let_be"))
		return &claim_or_fail;
	if (FAULT_SKIP("alias_conflict"))
		return &claim_any_alias;
#endif
	return &claim;
}

/* Claim the identity for a new document; false when somebody has it. */
static bool
ClaimIdentity(const FlatDocument *flat, DocumentHeader *header)
{
	const ResourceModel *model = flat->model;
	Datum		values[8];
	char		nulls[] = "        ";

	UuidV7(&header->uuid);
	values[0] = UUIDPGetDatum(&flat->primary);
	values[1] = CStringGetTextDatum(model->project);
	values[2] = CStringGetTextDatum(model->resource);
	SetAlias(flat, &values[3], &nulls[3]);
	values[6] = UUIDPGetDatum(&header->uuid);
	values[7] = CStringGetTextDatum(model->version);
	if (StatementRun(ClaimStatement(), values, nulls, false, 0) == 0)
		return false;
	header->document_id = ResultInt64(0, 1);
	header->etag = ResultInt64(0, 2);
	header->last_modified = ResultTime(0, 3);
	return true;
}

/* A new document, if its identity is free. */
bool
WriteNew(Write *write)
{
	DocumentHeader header;

	if (!ClaimIdentity(write->flat, &header))
		return false;
	FlattenSetDocumentId(write->flat, header.document_id);
	FlattenSetReferences(write->flat);
	RowsInsert(write->resource, write->flat);
	EdgesInsert(header.document_id, write->flat);
	VerifyEdges(write->resource, header.document_id);
	return WriteFinish(write, WRITE_INSERTED, &header);
}

static bool
LockMeant(void *arg)
{
	LockRequest *request = arg;

	request->found = LockDocument(request->document_id, request->header);
	request->meant = request->found && request->still(request->write, request->document_id);
	return request->meant || FAULT_SKIP("let_go");
}

/*
 * Lock a document that was found, and look whether it is still the one that we
 * mean.  If we have to wait, it may be another one by then, and the lock must
 * be given back: otherwise we could have it while we wait for somebody who
 * waits for it, such as a rename that has the document's identity already.
 */
bool
WriteLockFound(LockRequest *request)
{
	FAULT_PAUSE("before_self_lock");
	if (FAULT_SKIP("weak_self_lock"))
		(void) ClosureLock(&request->document_id, 1);
	request->found = LockDocumentAtOnce(request->document_id, request->header);
	if (request->found)
		request->meant = request->still(request->write, request->document_id);
	else
		(void) Attempt(LockMeant, request);
	return request->meant;
}

/*
 * Claim the new identity of a document.  That comes before the root row, whose
 * natural key is unique too, so that there is one queue for each key.
 */
static void
MoveIdentity(Write *write, int64 document_id)
{
	if (FAULT_SKIP("claim_first"))
	{
		RowsUpdate(write->resource, document_id, write->flat, true);
		FAULT_PAUSE("between_claim_and_root");
	}
	CascadeForgetIdentity(document_id);
	CascadeClaimIdentity(write->flat, document_id);
	if (!FAULT_SKIP("claim_first"))
		FAULT_PAUSE("between_claim_and_root");
}

/* Write what differs into a document that is locked. */
bool
WriteLocked(Write *write, DocumentHeader *header, const Closure *closure)
{
	bool		differs;

	FAULT_PAUSE("behind_self_lock");
	PreconditionCheck(&write->precondition, header);
	FlattenSetDocumentId(write->flat, header->document_id);
	FlattenSetReferences(write->flat);
	if (closure != NULL)
		MoveIdentity(write, header->document_id);
	differs = RowsUpdate(write->resource, header->document_id, write->flat, closure != NULL);
	differs |= EdgesDiff(header->document_id, write->flat);
	if (!differs && closure == NULL)
		return WriteFinish(write, WRITE_UNCHANGED, header);
	if (closure != NULL)
		CascadeRun(closure, &header->document_id, 1, &header->document_id, 1);
	VerifyEdges(write->resource, header->document_id);
	if (!EtagBump(header, write->flat->model->version, write->precondition.match.given))
		RaiseGone(&write->precondition, &header->uuid);
	return WriteFinish(write, WRITE_UPDATED, header);
}

/* Has the document another identity than the body? */
bool
WriteIdentityDiffers(const Write *write, int64 document_id)
{
	const ResourceModel *model = write->flat->model;
	KeyScanKey	keys[3] = {
		{.equals = F_INT8EQ,.value = Int64GetDatum(document_id)},
		{.equals = F_TEXTEQ,.value = CStringGetTextDatum(model->project)},
		{.equals = F_TEXTEQ,.value = CStringGetTextDatum(model->resource)},
	};
	StoredRows	rows;

	KeyRead(&identities, &read_identity, keys, lengthof(keys), &rows);
	return rows.nrows == 0 ||
		memcmp(DatumGetUUIDP(rows.values[3]), &write->flat->primary, UUID_LEN) != 0;
}

void
WriteRefuseKeyChange(const Write *write)
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

/* Parse, canonicalise, check and flatten a body. */
void
WriteTakeBody(Write *write, text *document)
{
	const ResourceModel *model = write->resource->model;
	const char *id;
	JNode	   *body = BodyParse(VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document),
								 write->uuid ? BODY_FOR_UPDATE : BODY_FOR_UPSERT, &id);

	BodyCheck(model, body, write->id_required && id == NULL);
	if (write->uuid != NULL)
		CheckBodyId(id, write->uuid);
	BodyCheckRules(model, body);
	write->flat = Flatten(model, body);
}

/* The document of a write, for WriteGuarded(). */
const FlatDocument *
WriteDocument(void *write)
{
	return ((Write *) write)->flat;
}

/* The columns of dms.write_result. */
void
WriteResultValues(const WriteResult *result, Datum *values)
{
	static const char *const outcomes[] = {"inserted", "updated", "unchanged"};

	values[0] = CStringGetTextDatum(outcomes[result->outcome]);
	values[1] = UUIDPGetDatum(&result->document.uuid);
	values[2] = Int64GetDatum(result->document.document_id);
	values[3] = Int64GetDatum(result->document.etag);
	values[4] = TimestampTzGetDatum(result->document.last_modified);
}

/* The result as a row of dms.write_result. */
Datum
WriteResultRow(FunctionCallInfo fcinfo, const WriteResult *result)
{
	TupleDesc	descriptor;
	Datum		values[WRITE_RESULT_COLUMNS];
	bool		nulls[WRITE_RESULT_COLUMNS] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	WriteResultValues(result, values);
	return HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
}

/* Pass the gate; behind it, models are current until the transaction ends. */
void
WriteBegin(StoreSession *session, const char *function)
{
	PreventCommandIfReadOnly(function);
	if (!FAULT_SKIP("gate"))
		StoreGate(RowExclusiveLock);
	StoreBegin(session, RIGHTS_OF_OWNER);
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
