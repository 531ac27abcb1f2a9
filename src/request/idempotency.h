/*
 * idempotency.h
 *		Requests that run once, however often they are sent.
 */
#ifndef DMS_IDEMPOTENCY_H
#define DMS_IDEMPOTENCY_H

#include "postgres.h"

#include "base/report.h"
#include "datatype/timestamp.h"

/* Where a key comes from; keys of one origin are never those of the other. */
typedef enum IdempotencyOrigin
{
	IDEMPOTENCY_REQUEST,		/* a request that we answer */
	IDEMPOTENCY_ENDPOINT		/* an endpoint of the caller */
} IdempotencyOrigin;

/* Keys are unique within a scope, a route and a method. */
typedef struct IdempotencyKey
{
	const char *scope;			/* of IdempotencyScope() */
	const char *route;
	const char *method;
	const char *key;
} IdempotencyKey;

typedef enum IdempotencyState
{
	IDEMPOTENCY_NEW,			/* claimed: the request is to be run */
	IDEMPOTENCY_DONE,			/* it was run before; this is its answer */
	IDEMPOTENCY_RUNNING,		/* another session is running it */
	IDEMPOTENCY_MISMATCH		/* the key belongs to another request */
} IdempotencyState;

/* The outcome of a claim; with IDEMPOTENCY_DONE, the stored answer. */
typedef struct IdempotencyClaim
{
	IdempotencyState state;
	int			status;
	Datum		headers;		/* jsonb; 0: none */
	text	   *body;			/* NULL: none */
	text	   *content_type;	/* NULL: none */
} IdempotencyClaim;

extern void IdempotencyInit(void);
extern char *IdempotencyScope(IdempotencyOrigin origin);
extern void IdempotencyCheck(const IdempotencyKey *key, Problem *problem);
extern void IdempotencyBegin(const IdempotencyKey *key, const char *fingerprint,
							 const Interval *ttl, IdempotencyClaim *claim);
extern bool IdempotencyComplete(const IdempotencyKey *key, const IdempotencyClaim *answer);
extern uint64 IdempotencyPurge(void);

#endif							/* DMS_IDEMPOTENCY_H */
