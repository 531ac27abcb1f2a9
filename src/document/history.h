/*
 * history.h
 *		Versions of documents: rows of dms.DocumentVersion.
 */
#ifndef DMS_HISTORY_H
#define DMS_HISTORY_H

#include "postgres.h"

#include "document/document.h"
#include "engine/statement.h"
#include "model/modelcache.h"

/* Why a version was written.  Those of deleted documents are written by a trigger. */
typedef enum HistoryKind
{
	HISTORY_BASELINE,			/* the document existed before its history */
	HISTORY_INSERTED,
	HISTORY_UPDATED,
	HISTORY_CASCADED,			/* a document that it refers to has a new
								 * identity */
	HISTORY_RESTORED
} HistoryKind;

/* A version without its text. */
typedef struct HistoryVersion
{
	int64		number;
	TimestampTz created_at;
	int32		type_id;		/* of its resource */
	bool		deleted;		/* the document was deleted: there is no text */
} HistoryVersion;

extern void HistoryInit(void);
extern const char *HistoryKindName(HistoryKind kind);
extern bool HistoryIsKept(Resource *resource);
extern void HistoryAppendOne(Resource *resource, const DocumentHeader *header, HistoryKind kind);
extern void HistoryAppend(Resource *resource, const int64 *ids, int n, HistoryKind kind);
extern bool HistoryNewest(const pg_uuid_t *uuid, HistoryVersion *version);
extern int64 HistoryAsOf(const pg_uuid_t *uuid, int64 etag, TimestampTz modified, TimestampTz time);
extern text *HistoryText(const pg_uuid_t *uuid, int64 number);
extern bool HistoryLock(const pg_uuid_t *uuid, int64 number);
extern uint64 HistoryList(const pg_uuid_t *uuid, int64 before, int64 limit);
extern int64 *HistoryLockUnrecorded(const ResourceModel *model, int64 after, int limit, bool wait, int *n);
extern int64 *HistoryUnrecorded(const int64 *ids, int n, int *left);
extern uint64 HistoryDeleteVersions(Statement *statement, Datum *values);
extern int64 HistoryErase(const pg_uuid_t *uuid);
extern uint64 HistoryCount(void);
extern List *HistoryDdl(int32 type_id, bool kept);

#endif							/* DMS_HISTORY_H */
