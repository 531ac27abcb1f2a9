/*
 * idempotency.h
 *		Requests that run once, however often they are sent.
 */
#ifndef DMS_IDEMPOTENCY_H
#define DMS_IDEMPOTENCY_H

#include "postgres.h"

#include "base/report.h"
#include "datatype/timestamp.h"

/* Keys are unique within a route and method. */
typedef struct IdempotencyKey
{
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
extern void IdempotencyCheck(const IdempotencyKey *key, Problem *problem);
extern void IdempotencyBegin(const IdempotencyKey *key, const char *fingerprint,
							 const Interval *ttl, IdempotencyClaim *claim);
extern bool IdempotencyComplete(const IdempotencyKey *key, const IdempotencyClaim *answer);
extern uint64 IdempotencyPurge(void);

#endif							/* DMS_IDEMPOTENCY_H */
