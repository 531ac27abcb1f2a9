/*
 * changes.h
 *		The numbers of changes, and the journal: rows of dms.DocumentChange.
 */
#ifndef DMS_CHANGES_H
#define DMS_CHANGES_H

#include "postgres.h"

#include "engine/storerow.h"
#include "storage/block.h"
#include "utils/uuid.h"

/* A document whose etag is raised. */
typedef struct ChangedDocument
{
	int64		document_id;
	int32		type_id;		/* of its resource */
	int64		etag;			/* after the change; 0: it was deleted
								 * meanwhile */
	pg_uuid_t	uuid;			/* if the etag was raised by DocumentsBump() */
} ChangedDocument;

/* A row of the journal, but for its resource. */
typedef struct NotedChange
{
	int64		version;
	int64		document_id;
	int64		etag;
} NotedChange;

extern void ChangesInit(void);
extern bool ChangesAreTracked(void);
extern bool ChangesAreForeign(void);
extern void ChangesRequire(void);
extern void ChangesBegin(void);
extern int64 ChangesVersion(void);
extern void ChangesTellTrigger(void);
extern void ChangesRunRecorded(void (*run) (void *arg), void *arg);
extern void ChangesNote(int32 type_id, int64 document_id, int64 etag);
extern void ChangesNoteAll(ChangedDocument *documents, int n);
extern const ChangedDocument *ChangesFind(const ChangedDocument *documents, int n, int32 type_id, int64 document_id);
extern NotedChange *ChangesRead(int32 type_id, const NotedChange *after, int64 max, int limit, int *n);
extern int64 ChangesHighest(void);
extern int64 ChangesLastEtag(const pg_uuid_t *uuid);
extern int64 ChangesHighestSeen(void);
extern uint64 ChangesXid(int64 version);
extern int64 ChangesNewest(void);
extern void ChangesSkip(int64 by);
extern int64 ChangesFill(void);
extern void ChangesMove(int32 from_type, int32 to_type);
extern void ChangesClear(void);
extern int64 ChangesCompact(BlockNumber *page);
extern bool ChangesAreSuperseded(void);

#endif							/* DMS_CHANGES_H */
