/*
 * document.h
 *		Rows of dms.Document.
 */
#ifndef DMS_DOCUMENT_H
#define DMS_DOCUMENT_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "document/changes.h"
#include "model/modelcache.h"
#include "utils/uuid.h"

/* The row of a document in dms.Document, without the names of its resource. */
typedef struct DocumentHeader
{
	int64		document_id;
	pg_uuid_t	uuid;
	int64		etag;
	TimestampTz last_modified;
} DocumentHeader;

/* A document that was looked up by its uuid. */
typedef struct FoundDocument
{
	const pg_uuid_t *uuid;
	int64		document_id;
	Resource   *resource;
} FoundDocument;

extern void DocumentHeaderFromRow(const Datum *values, DocumentHeader *header);
extern void DocumentHeaderToRow(const DocumentHeader *header, StoredRows *rows);
extern void DocumentHeadersRead(const int64 *ids, int n, StoredRows *rows);
extern bool DocumentHeaderRead(int64 document_id, DocumentHeader *header);
extern FoundDocument *DocumentsFind(Datum uuids, int *n);
extern bool DocumentFind(const pg_uuid_t *uuid, int64 *document_id, Resource **resource);
extern bool DocumentRead(const pg_uuid_t *uuid, DocumentHeader *header, Resource **resource);
extern bool DocumentFindToWrite(const pg_uuid_t *uuid, int64 *document_id, Resource **resource);
extern void DocumentsReadTypes(const int64 *ids, int n, StoredRows *rows);
extern void DocumentsReadNames(const int64 *ids, int n, StoredRows *rows);
extern bool DocumentReadVersion(int64 document_id, TimestampTz *modified, int64 *version);
extern bool DocumentCreator(Datum *creator);
extern bool DocumentInserts(int64 *document_id);
extern void DocumentInsert(const ResourceModel *model, DocumentHeader *header);
extern bool DocumentLock(int64 document_id, DocumentHeader *header);
extern bool DocumentLockAtOnce(int64 document_id, DocumentHeader *header);
extern bool DocumentBump(const Resource *resource, DocumentHeader *header, bool judge);
extern void DocumentsBump(ChangedDocument *documents, int n);
extern void DocumentsNote(ChangedDocument *documents, int n);
extern int	DocumentsLockToDelete(const int64 *ids, int n);
extern uint64 DocumentsDelete(const int64 *ids, int n);
extern bool DocumentDelete(int64 document_id, bool judge, int64 *etag);

#endif							/* DMS_DOCUMENT_H */
