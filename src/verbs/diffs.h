/*
 * diffs.h
 *		The verbs that compare versions of documents.
 */
#ifndef DMS_DIFFS_H
#define DMS_DIFFS_H

#include "postgres.h"

#include "utils/jsonb.h"
#include "verbs/versions.h"

/* How far the diff of a version has come. */
typedef enum DiffState
{
	DIFF_NONE,					/* there is none, and none is made */
	DIFF_PENDING,
	DIFF_DEAD,					/* the job that makes it has failed too often */
	DIFF_DONE
} DiffState;

/* A row of the change log of a document. */
typedef struct LoggedChange
{
	ListedVersion version;
	DiffState	state;
	int64		old_number;		/* DIFF_DONE: what it was compared with */
	Datum		diff;			/* DIFF_DONE: jsonb */
} LoggedChange;

/* Takes the changes of a log, one after the other. */
typedef void (*ChangeSink) (void *state, const LoggedChange *change);

extern const char *DiffStateName(DiffState state);
extern Jsonb *DiffsOfVersions(const VersionedDocument *document, int64 old_number, int64 new_number);
extern void DiffsLog(const VersionedDocument *document, int64 before, int64 limit,
					 ChangeSink sink, void *state);
extern void DiffsMake(const pg_uuid_t *uuid, int64 old_number, int64 new_number);

#endif							/* DMS_DIFFS_H */
