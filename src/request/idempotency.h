/*
 * idempotency.h
 *		Requests that run once, however often they are sent.
 */
#ifndef DMS_IDEMPOTENCY_H
#define DMS_IDEMPOTENCY_H

#include "postgres.h"

#include "base/report.h"
#include "datatype/timestamp.h"
#include "document/idempotencykeys.h"

/* Where a key comes from; keys of one origin are never those of the other. */
typedef enum IdempotencyOrigin
{
	IDEMPOTENCY_REQUEST,		/* a request that we answer */
	IDEMPOTENCY_ENDPOINT		/* an endpoint of the caller */
} IdempotencyOrigin;

extern void IdempotencyInit(void);
extern char *IdempotencyScope(IdempotencyOrigin origin);
extern void IdempotencyCheck(const IdempotencyKey *key, Problem *problem);
extern void IdempotencyBegin(const IdempotencyKey *key, const char *fingerprint,
							 const Interval *ttl, IdempotencyClaim *claim);
extern bool IdempotencyComplete(const IdempotencyKey *key, const IdempotencyClaim *answer);
extern uint64 IdempotencyPurge(void);

#endif							/* DMS_IDEMPOTENCY_H */
