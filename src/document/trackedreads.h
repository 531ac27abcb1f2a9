/*
 * trackedreads.h
 *		Reading rows of dms.TrackedChange.
 */
#ifndef DMS_TRACKEDREADS_H
#define DMS_TRACKEDREADS_H

#include "postgres.h"

/* What a row records. */
typedef enum TrackedKind
{
	TRACKED_DELETES,
	TRACKED_KEYS
} TrackedKind;

/* Numbers of changes, both included, and a page of the result. */
typedef struct ChangePage
{
	int64		min_version;
	int64		max_version;
	int64		limit;
	int64		offset;
} ChangePage;

extern uint64 TrackedReadsPage(TrackedKind kind, int32 type_id, const ChangePage *page);
extern int64 TrackedReadsCount(TrackedKind kind, int32 type_id, const ChangePage *page);
extern uint64 TrackedReadsAfter(TrackedKind kind, int32 type_id, int64 version, int64 document_id, int64 etag,
								int64 limit);

#endif							/* DMS_TRACKEDREADS_H */
