/*
 * versions.h
 *		The verbs that read versions of documents.
 */
#ifndef DMS_VERSIONS_H
#define DMS_VERSIONS_H

#include "postgres.h"

#include "document/document.h"
#include "document/history.h"
#include "utils/tuplestore.h"

/* A document whose versions the caller may read. */
typedef struct VersionedDocument
{
	const pg_uuid_t *uuid;
	Resource   *resource;		/* NULL if it is not deployed any more */
	bool		exists;			/* false: it was deleted */
	int64		etag;			/* if it exists */
	TimestampTz modified;		/* when it got the etag */
} VersionedDocument;

/* A row of a list of versions. */
typedef struct ListedVersion
{
	int64		number;
	const char *kind;
	TimestampTz created_at;
	const char *created_by;
	const char *resource_version;
	bool		deleted;
	int32		bytes;			/* of the text, if there is one */
	bool		current;
} ListedVersion;

/* Takes the versions of a list, one after the other. */
typedef void (*VersionSink) (void *state, const ListedVersion *version);

extern bool VersionsFind(const pg_uuid_t *uuid, VersionedDocument *document);
extern text *VersionsText(const VersionedDocument *document, int64 number, MemoryContext context);
extern text *VersionsTextAsOf(const VersionedDocument *document, TimestampTz time, MemoryContext context,
							  int64 *number);
extern void VersionsList(const VersionedDocument *document, int64 before, int64 limit,
						 VersionSink sink, void *state);
extern char *VersionsId(const pg_uuid_t *uuid, int64 number);

#endif							/* DMS_VERSIONS_H */
