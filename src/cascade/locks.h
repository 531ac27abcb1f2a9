/*
 * locks.h
 *		Row locks on identities and documents.
 */
#ifndef DMS_LOCKS_H
#define DMS_LOCKS_H

#include "postgres.h"

#include "document/flatten.h"
#include "document/header.h"

extern void LocksInit(void);
extern bool LockChildren(FlatDocument *flat, int64 updated_id);
extern bool LockDocument(int64 document_id, DocumentHeader *header);
extern bool LockDocumentAtOnce(int64 document_id, DocumentHeader *header);

#endif							/* DMS_LOCKS_H */
