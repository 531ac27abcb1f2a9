/*
 * header.c
 *		Finding documents in dms.Document, and reading their etags.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/header.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

static const Oid id_array[] = {INT8ARRAYOID};
static const Oid uuid_array[] = {UUIDARRAYOID};

static const char *const header_columns[] = {"documentid", "documentuuid", "etag", "lastmodifiedat"};
static const Oid header_types[] = {INT8OID, UUIDOID, INT8OID, TIMESTAMPTZOID};
const KeyScanTable HeaderTable = {"dms", "document", header_columns, header_types, lengthof(header_columns)};

static Statement read_headers = {
	.sql = "SELECT DocumentId, DocumentUuid, Etag, LastModifiedAt FROM dms.Document"
	" WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1) ORDER BY DocumentId",
	.nargs = 1,
	.argtypes = id_array,
	.ordered = true,
};

static const char *const find_columns[] = {"documentuuid", "documentid", "projectname", "resourcename"};
static const Oid find_types[] = {UUIDOID, INT8OID, TEXTOID, TEXTOID};
static const KeyScanTable find_table = {"dms", "document", find_columns, find_types, lengthof(find_columns)};

static Statement find = {
	.sql = "SELECT DocumentUuid, DocumentId, ProjectName, ResourceName FROM dms.Document"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = uuid_array,
	.ordered = true,
};

/* A header from a row with the columns of HeaderTable. */
void
HeaderFromRow(const Datum *values, DocumentHeader *header)
{
	header->document_id = DatumGetInt64(values[0]);
	header->uuid = *DatumGetUUIDP(values[1]);
	header->etag = DatumGetInt64(values[2]);
	header->last_modified = DatumGetTimestampTz(values[3]);
}

/* What dms.Document says now, in the active snapshot, as HeaderTable; by id. */
void
HeadersRead(const int64 *ids, int n, StoredRows *rows)
{
	KeyReadIds(&HeaderTable, &read_headers, ids, n, rows);
}

/* The same of one document; false: no such row. */
bool
HeaderRead(int64 document_id, DocumentHeader *header)
{
	StoredRows	rows;

	HeadersRead(&document_id, 1, &rows);
	if (rows.nrows == 0)
		return false;
	HeaderFromRow(rows.values, header);
	return true;
}

/* Which documents have these ids (a uuid[]), in the active snapshot? */
FoundDocument *
DocumentsFind(Datum uuids, int *n)
{
	KeyScanKey	key = {.equals = F_UUID_EQ,.any = true,.value = uuids};
	StoredRows	rows;
	FoundDocument *found;

	KeyRead(&find_table, &find, &key, 1, &rows);
	found = palloc(sizeof(FoundDocument) * Max(rows.nrows, 1));
	*n = rows.nrows;
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		found[i].uuid = DatumGetUUIDP(values[0]);
		found[i].document_id = DatumGetInt64(values[1]);
		found[i].resource = ModelCacheFind(TextDatumGetCString(values[2]), TextDatumGetCString(values[3]));
	}
	return found;
}

/*
 * Which document has this id in the active snapshot, and (unless NULL) of what
 * resource is it?  False: none.
 */
bool
DocumentFind(const pg_uuid_t *uuid, int64 *document_id, Resource **resource)
{
	Datum		element = UUIDPGetDatum(uuid);
	FoundDocument *found;
	int			n;

	found = DocumentsFind(ArrayDatum(1, &element, NULL, UUIDOID), &n);
	if (n == 0)
		return false;
	if (memcmp(found->uuid, uuid, UUID_LEN) != 0)
		RefuseRow("a row that it was not asked for");
	*document_id = found->document_id;
	if (resource)
		*resource = found->resource;
	return true;
}

/*
 * Find a document that is to be written, in the newest snapshot.  It must be of
 * the resource, where that is known already; else we tell it.  False: none.
 */
bool
DocumentFindToWrite(const pg_uuid_t *uuid, int64 *document_id, Resource **resource)
{
	Resource   *stored;
	bool		found;

	SnapshotBegin();
	found = DocumentFind(uuid, document_id, &stored);
	SnapshotEnd();
	if (!found)
		return false;
	if (*resource == NULL)
		*resource = stored;
	return ModelCacheSame(*resource, stored);
}
