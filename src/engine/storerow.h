/*
 * storerow.h
 *		The row of dms.Store: the store's generation and its own limits.
 */
#ifndef DMS_STOREROW_H
#define DMS_STOREROW_H

#include "postgres.h"

#include "utils/jsonb.h"

/*
 * The limits that the owner set by dms.configure_store().  A limit that is not set
 * has the value that restricts nothing.
 */
typedef struct StoreLimits
{
	int			max_cascade_size;	/* 0: none */
	double		verify_edges;	/* at least this fraction of writes */
	int			idempotency_lease;	/* at least this many seconds */
	int			idempotency_ttl;	/* at most this many seconds */
} StoreLimits;

extern uint64 StoreRowGeneration(void);
extern const StoreLimits *StoreRowLimits(void);
extern void StoreRowInsert(const char *version);
extern void StoreRowRaise(void);
extern void StoreRowConfigure(const char *assignments, Jsonb *options);

#endif							/* DMS_STOREROW_H */
