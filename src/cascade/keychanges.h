/*
 * keychanges.h
 *		Recording the keys that a change of identity changes.
 */
#ifndef DMS_KEYCHANGES_H
#define DMS_KEYCHANGES_H

#include "postgres.h"

#include "cascade/closure.h"
#include "document/changes.h"
#include "document/document.h"
#include "engine/storedrows.h"

typedef struct KeyChanges KeyChanges;

extern KeyChanges *KeyChangesBegin(const ClosureType *types, const int64 *done, int ndone);
extern void KeyChangesHad(KeyChanges *changes, const ClosureType *type, int64 document_id, bool alias,
						  const pg_uuid_t *id);
extern void KeyChangesLoses(KeyChanges *changes, int64 document_id);
extern void KeyChangesTake(KeyChanges *changes, const ClosureType *type, const StoredRows *rows);
extern void KeyChangesRaised(KeyChanges *changes, const ChangedDocument *documents, int n);
extern void KeyChangesWritten(KeyChanges *changes, const DocumentHeader *header);
extern void KeyChangesEnd(KeyChanges *changes);
extern void KeyChangesRecomputed(KeyChanges *changes);

#endif							/* DMS_KEYCHANGES_H */
