/*
 * header.h
 *		What dms.Document says of documents.
 */
#ifndef DMS_HEADER_H
#define DMS_HEADER_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "model/modelcache.h"
#include "utils/uuid.h"

typedef struct DocumentHeader
{
	int64		document_id;
	pg_uuid_t	uuid;
	int64		etag;
	TimestampTz last_modified;
} DocumentHeader;

/* Which document has an id. */
typedef struct FoundDocument
{
	const pg_uuid_t *uuid;
	int64		document_id;
	Resource   *resource;
} FoundDocument;

/* The columns of a header, by document id. */
extern const KeyScanTable HeaderTable;

extern void HeaderFromRow(const Datum *values, DocumentHeader *header);
extern void HeadersRead(const int64 *ids, int n, StoredRows *rows);
extern bool HeaderRead(int64 document_id, DocumentHeader *header);
extern FoundDocument *DocumentsFind(Datum uuids, int *n);
extern bool DocumentFind(const pg_uuid_t *uuid, int64 *document_id, Resource **resource);
extern bool DocumentFindToWrite(const pg_uuid_t *uuid, int64 *document_id, Resource **resource);

#endif							/* DMS_HEADER_H */
