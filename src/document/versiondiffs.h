/*
 * versiondiffs.h
 *		What changed from one version of a document to another: rows of
 *		dms.VersionDiff.
 */
#ifndef DMS_VERSIONDIFFS_H
#define DMS_VERSIONDIFFS_H

#include "postgres.h"

#include "document/document.h"
#include "model/modelcache.h"
#include "utils/jsonb.h"

/* A diff that was stored. */
typedef struct StoredDiff
{
	int64		number;			/* of the new version */
	int64		old_number;
	Datum		diff;			/* jsonb */
} StoredDiff;

extern char *VersionDiffsId(const pg_uuid_t *uuid, int64 number);
extern bool VersionDiffsParseId(const char *id, pg_uuid_t *uuid, int64 *number);
extern void VersionDiffsEnqueue(Resource *resource, const DocumentHeader *header);
extern Jsonb *VersionDiffOf(const text *old_text, const text *new_text);
extern bool VersionDiffsInsert(const pg_uuid_t *uuid, int64 old_number, int64 new_number, Datum diff);
extern StoredDiff *VersionDiffsRead(const pg_uuid_t *uuid, int64 first, int64 last, int *n);
extern void VersionDiffsErase(const pg_uuid_t *uuid);
extern void VersionDiffsForget(Datum documents, Datum numbers);

#endif							/* DMS_VERSIONDIFFS_H */
