/*
 * storerow.h
 *		The row of dms.Store: the store's generation and its own limits.
 */
#ifndef DMS_STOREROW_H
#define DMS_STOREROW_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/jsonb.h"
#include "utils/snapshot.h"
#include "utils/uuid.h"

/*
 * The version of the core tables that this library works with.  A change of
 * dms_internal.core_ddl() or of stored models raises it, and is a step of
 * dms.upgrade_store() then.  Version 1 was stored as "1.0".
 */
#define STORE_VERSION 11

/* The longest domain of URNs. */
#define URN_DOMAIN_MAX 32

/*
 * The limits that the owner set by dms.configure_store(), and the domain of URNs.
 * A limit that is not set has the value that restricts nothing.
 */
typedef struct StoreLimits
{
	int			max_cascade_size;	/* 0: none */
	int			max_delete_size;	/* 0: none */
	double		verify_edges;	/* at least this fraction of writes */
	int			idempotency_lease;	/* at least this many seconds */
	int			idempotency_ttl;	/* at most this many seconds */
	char		urn_domain[URN_DOMAIN_MAX + 1];
} StoreLimits;

/*
 * Where the numbers of changes come from; see document/changes.c.  A change by the
 * transaction x has the number base + 2 * x.
 */
typedef struct StoreJournal
{
	bool		tracking;		/* changes are recorded */
	int64		base;
	int64		floor;			/* numbers up to this one are of another
								 * server */
	int64		system;			/* the server that base is for */
	int64		purged_through; /* deletes up to this one may not be recorded
								 * any more */
	int64		purged_by;		/* the change that raised it */
} StoreJournal;

/* Who writes dms.DocumentCache. */
typedef enum CacheMode
{
	CACHE_OFF,
	CACHE_EVENTUAL,				/* the projector */
	CACHE_WRITE_THROUGH,		/* also the writer of a document */
	CACHE_STRICT,				/* also for documents that change with it */
	CACHE_MODES
} CacheMode;

/* The cache of documents. */
typedef struct StoreCache
{
	CacheMode	mode;
	TimestampTz valid_from;		/* rows that were written before are not fresh */
} StoreCache;

extern bool StoreRowIsOlder(void);
extern int	StoreRowVersion(void);
extern void StoreRowRequireVersion(void);
extern uint64 StoreRowGeneration(void);
extern const StoreLimits *StoreRowLimits(void);
extern const StoreJournal *StoreRowJournal(void);
extern const pg_uuid_t *StoreRowInstance(void);
extern int64 StoreRowRaised(void);
extern bool StoreRowIsSameIn(Snapshot left, Snapshot right);
extern const StoreCache *StoreRowCache(void);
extern const char *StoreRowCacheModeName(CacheMode mode);
extern void StoreRowSetCache(const StoreCache *set);
extern void StoreRowInsert(void);
extern void StoreRowRaise(void);
extern void StoreRowUpgraded(void);
extern void StoreRowLock(void);
extern void StoreRowSetJournal(const StoreJournal *set);
extern Jsonb *StoreRowOptions(const char *members);
extern void StoreRowConfigure(const char *assignments, Jsonb *options);

#endif							/* DMS_STOREROW_H */
