/*
 * read.c
 *		Reading documents: dms.get_document().
 *
 * Reads run with the rights of the caller, take no row locks, and see the
 * snapshot of the statement that called them: all their statements run
 * read-only under it.  So they work on a standby, too.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "faults.h"
#include "fmgr.h"
#include "storedpage.h"
#include "plan.h"
#include "read.h"
#include "reconstitute.h"
#include "storage/lmgr.h"
#include "store.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(dms_get_document);

static const Oid uuid_types[] = {UUIDOID};

static Statement find_document = {
	.sql = "SELECT DocumentId, ProjectName, ResourceName FROM dms.Document"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = uuid_types,
};

/*
 * Connect for a read.  Taking a lock takes in what deploys have changed, so
 * that models looked up afterwards are current.
 */
static void
BeginRead(StoreSession *session)
{
	LockRelationOid(StoreTable(STORE_RESOURCE_MODEL), AccessShareLock);
	StoreBegin(session, RIGHTS_OF_CALLER);
}

/* Start a json value: its header is filled in when its length is known. */
static void
BeginBody(StringInfo out, MemoryContext context)
{
	MemoryContext saved = MemoryContextSwitchTo(context);

	initStringInfo(out);
	MemoryContextSwitchTo(saved);
	appendStringInfoSpaces(out, VARHDRSZ);
}

static text *
EndBody(StringInfo out)
{
	SET_VARSIZE(out->data, out->len);
	return (text *) out->data;
}

/*
 * Read a document in the active snapshot; false when there is none.  The body
 * is made in the given memory context.
 */
bool
ReadDocument(const pg_uuid_t *uuid, MemoryContext context, ReadResult * result)
{
	Datum		values[1] = {UUIDPGetDatum(uuid)};
	StringInfoData out;
	int64		document_id;
	bool		isnull;
	StoredPage *page;

	if (ReadRun(&find_document, values, 1) == 0)
		return false;
	document_id = DatumGetInt64(ResultDatum(0, 1, &isnull));
	result->resource = ResourceFind(ResultText(0, 2), ResultText(0, 3));
	page = StoredPageRead(result->resource, &document_id, 1);
	if (page->tables[0].nrows == 0)
		return false;
	StoredPageHeader(page, 0, &result->document);
	BeginBody(&out, context);
	Reconstitute(page, 0, &out);
	result->body = EndBody(&out);
	return true;
}

/* A document by its id; NULL when there is none. */
Datum
dms_get_document(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	StoreSession session;
	ReadResult	result;
	bool		found;

	BeginRead(&session);
	found = ReadDocument(PG_GETARG_UUID_P(0), context, &result);
	StoreEnd(&session);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result.body);
}
