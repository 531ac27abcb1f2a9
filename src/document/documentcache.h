/*
 * documentcache.h
 *		Documents as they are read: rows of dms.DocumentCache.
 */
#ifndef DMS_DOCUMENTCACHE_H
#define DMS_DOCUMENTCACHE_H

#include "postgres.h"

#include "document/document.h"
#include "model/modelcache.h"

/* Documents that are read together. */
typedef struct CachedPage
{
	StoredRows	headers;		/* as DocumentHeadersRead() makes them */
	text	  **texts;			/* as headers; NULL: the cache does not have
								 * it */
	int64	   *missing;		/* the ids of these */
	int			nmissing;
} CachedPage;

extern void DocumentCacheInit(void);
extern bool DocumentCacheIsReadable(Resource *resource);
extern bool DocumentCacheReadPage(Resource *resource, const int64 *ids, int n, CachedPage *page);
extern text *DocumentCacheRead(Resource *resource, const DocumentHeader *header, MemoryContext context);
extern int64 *DocumentCacheStale(const int64 *ids, int n, int *nstale, int64 **busy, int *nbusy);
extern int	DocumentCacheProject(Resource *resource, const int64 *ids, int n);
extern void DocumentCacheRepublish(Resource *resource, const int64 *ids, int n);
extern void DocumentCacheForget(const pg_uuid_t *uuid);
extern bool DocumentCacheIsPublished(void);
extern bool DocumentCacheIsStrict(void);
extern void DocumentCacheWriteOne(Resource *resource, const DocumentHeader *header);
extern void DocumentCacheWrite(Resource *resource, const int64 *ids, int n);
extern void DocumentCacheSweep(int64 after, int64 last);
extern void DocumentCacheSweepDeleted(int64 from_version);
extern void DocumentCacheClear(void);

#endif							/* DMS_DOCUMENTCACHE_H */
