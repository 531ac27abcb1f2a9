/*
 * claim.c
 *		Claiming an identity for a new document.
 *
 * The identity, its alias, the lock row and the row of dms.Document are inserted
 * without statements.  Where that cannot be done, or another document may have the
 * identity, one statement does all of it.  The parts of both come from the modules
 * that own the tables.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/uuid.h"
#include "cascade/claim.h"
#include "cascade/identitylocks.h"
#include "catalog/pg_type.h"
#include "document/changes.h"
#include "document/document.h"
#include "document/referentialids.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

static const Oid claim_types[] = {UUIDOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID,
TEXTOID, UUIDOID, TEXTOID, INT8OID, TEXTOID, INT8OID, TIMESTAMPTZOID};

/* The last parameters are those of a document that was deleted. */
#define NEW_PARAMETERS 10

/*
 * The insertion of the primary row decides which of several transactions gets
 * an identity.  It waits for a concurrent claim of the same id; if that one
 * commits, nothing is inserted, and the caller updates the other document.
 *
 * The alias has no such clause.  If it is taken, its holder is a document of
 * another resource, which an upsert cannot update: that is an error.
 */
#define CLAIM_ROWS_SQL(primary_taken, alias_taken, document) \
	"WITH p AS (" REFERENTIAL_ID_INSERT_SQL \
	" VALUES ($1, COALESCE($9, pg_catalog.nextval('dms.document_documentid_seq'::pg_catalog.regclass))," \
	" $2, $3)" \
	primary_taken " RETURNING DocumentId)," \
	" a AS (" REFERENTIAL_ID_INSERT_SQL \
	" SELECT $4, DocumentId, $5, $6 FROM p WHERE $4 IS NOT NULL" alias_taken ")," \
	" l AS (" IDENTITY_LOCK_INSERT_SQL " SELECT DocumentId FROM p)," \
	" d AS (" document " FROM p RETURNING DocumentId, Etag, LastModifiedAt)" \
	" SELECT DocumentId, Etag, LastModifiedAt FROM d"
#define CLAIM_SQL(primary_taken, alias_taken) \
	CLAIM_ROWS_SQL(primary_taken, alias_taken, DOCUMENT_INSERT_SQL " SELECT DocumentId, $7, $2, $3, $8, $10")
#define UNLESS_TAKEN " ON CONFLICT (ReferentialId) DO NOTHING"

static Statement claim =
{
	.sql = CLAIM_SQL(UNLESS_TAKEN, ""),
	.nargs = NEW_PARAMETERS,
	.argtypes = claim_types,
};

static Statement claim_again =
{
	.sql = CLAIM_ROWS_SQL(UNLESS_TAKEN, "", DOCUMENT_RESTORE_SQL " SELECT DocumentId, $7, $2, $3, $8, $10, $11,"
						  " GREATEST(pg_catalog.clock_timestamp(), $12)"),
	.nargs = lengthof(claim_types),
	.argtypes = claim_types,
};

#ifdef DMS_FAULTS
static Statement claim_or_fail =
{
	.sql = CLAIM_SQL("", ""),.nargs = NEW_PARAMETERS,.argtypes = claim_types
};
static Statement claim_any_alias =
{
	.sql = CLAIM_SQL(UNLESS_TAKEN, UNLESS_TAKEN),.nargs = NEW_PARAMETERS,.argtypes = claim_types
};
#endif

/* Set the parameters of the alias; they are NULL if there is no superclass. */
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

/* Returns the statement to run, which a fault may replace. */
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

/*
 * Claim the identity without statements.  Returns false, and writes nothing, if
 * that cannot be done, or if another document may have the identity.
 */
static bool
ClaimDirectly(const FlatDocument *flat, DocumentHeader *header)
{
	if (FAULT_SKIP("claim_let_be") || FAULT_SKIP("alias_conflict"))
		return false;
	if (!IdentityLocksInserts() || !DocumentInserts(&header->document_id) ||
		!ReferentialIdsTryClaim(flat, header->document_id))
		return false;
	IdentityLocksAdd(header->document_id);
	DocumentInsert(flat->model, header);
	return true;
}

/* Claim the identity of a body, for ClaimIdentity(). */
static bool
ClaimRows(const FlatDocument *flat, DocumentHeader *header, bool has_uuid)
{
	bool		again = header->etag != 0;
	const ResourceModel *model = flat->model;
	Datum		values[lengthof(claim_types)];
	char		nulls[] = "            ";

	header->document_id = 0;
	if (!again)
	{
		if (!has_uuid)
			UuidV7(&header->uuid);
		if (ClaimDirectly(flat, header))
			return true;
	}
	values[0] = UUIDPGetDatum(&flat->primary);
	values[1] = CStringGetTextDatum(model->project);
	values[2] = CStringGetTextDatum(model->resource);
	SetAlias(flat, &values[3], &nulls[3]);
	values[6] = UUIDPGetDatum(&header->uuid);
	values[7] = CStringGetTextDatum(model->version);
	values[8] = Int64GetDatum(header->document_id);
	nulls[8] = header->document_id != 0 ? ' ' : 'n';
	nulls[9] = DocumentCreator(&values[9]) ? ' ' : 'n';
	values[10] = Int64GetDatum(header->etag);
	values[11] = TimestampTzGetDatum(header->last_modified);
	if (StatementRun(again ? &claim_again : ClaimStatement(), values, nulls, false, 0) == 0)
		return false;
	header->document_id = ResultInt64(0, 1);
	header->etag = ResultInt64(0, 2);
	header->last_modified = ResultTime(0, 3);
	return true;
}

/*
 * Claim the identity of a body for a new document, and set its header, which may have the
 * uuid already.  If it has an etag, the document was deleted: it gets the uuid and this
 * etag, and is not modified before the time in the header.  Returns false if another
 * document has the identity.
 */
bool
ClaimIdentity(const Resource *resource, const FlatDocument *flat, DocumentHeader *header, bool has_uuid)
{
	if (!ClaimRows(flat, header, has_uuid))
		return false;
	ChangesNote(resource->type_id, header->document_id, header->etag);
	return true;
}
