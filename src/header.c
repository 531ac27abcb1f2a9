/*
 * header.c
 *		Finding documents in dms.Document, and reading their etags.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "header.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

static const Oid id_types[] = {INT8OID};
static const Oid uuid_types[] = {UUIDOID};

static const char *const header_columns[] = {"documentid", "documentuuid", "etag", "lastmodifiedat"};
const KeyScanTable HeaderTable = {"dms", "document", header_columns, lengthof(header_columns)};
static Statement read_header = {
	.sql = "SELECT DocumentId, DocumentUuid, Etag, LastModifiedAt FROM dms.Document"
	" WHERE DocumentId OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = id_types,
};

static const char *const find_columns[] = {"documentuuid", "documentid", "projectname", "resourcename"};
static const KeyScanTable find_table = {"dms", "document", find_columns, lengthof(find_columns)};
static Statement find = {
	.sql = "SELECT DocumentUuid, DocumentId, ProjectName, ResourceName FROM dms.Document"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = uuid_types,
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

/* What dms.Document says now, in the active snapshot; false: no such row. */
bool
HeaderRead(int64 document_id, DocumentHeader *header)
{
	KeyScanKey	key = {.equals = F_INT8EQ,.value = Int64GetDatum(document_id)};
	StoredRows	rows;

	KeyRead(&HeaderTable, &read_header, &key, 1, &rows);
	if (rows.nrows == 0)
		return false;
	HeaderFromRow(rows.values, header);
	return true;
}

/*
 * Which document has this id in the active snapshot, and (unless NULL) of what
 * resource is it?  False: none.
 */
bool
DocumentFind(const pg_uuid_t *uuid, int64 *document_id, Resource **resource)
{
	KeyScanKey	key = {.equals = F_UUID_EQ,.value = UUIDPGetDatum(uuid)};
	StoredRows	rows;

	KeyRead(&find_table, &find, &key, 1, &rows);
	if (rows.nrows == 0)
		return false;
	*document_id = DatumGetInt64(rows.values[1]);
	if (resource)
		*resource = ResourceFind(TextDatumGetCString(rows.values[2]),
								 TextDatumGetCString(rows.values[3]));
	return true;
}
