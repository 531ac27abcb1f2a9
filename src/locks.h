/*
 * locks.h
 *		Row locks on identities and documents.
 */
#ifndef DMS_LOCKS_H
#define DMS_LOCKS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "flatten.h"
#include "utils/uuid.h"

/* What dms.Document says of a document. */
typedef struct DocumentHeader
{
	int64		document_id;
	pg_uuid_t	uuid;
	int64		etag;
	TimestampTz last_modified;
} DocumentHeader;

extern void LocksInit(void);
extern bool LockChildren(FlatDocument *flat, int64 own_id);
extern bool LockDocument(int64 document_id, DocumentHeader *header);
extern bool LockDocumentAtOnce(int64 document_id, DocumentHeader *header);
extern bool ReadHeader(int64 document_id, DocumentHeader *header);

#endif							/* DMS_LOCKS_H */
