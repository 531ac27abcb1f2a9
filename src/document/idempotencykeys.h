/*
 * idempotencykeys.h
 *		Rows of dms.IdempotencyKeys.
 */
#ifndef DMS_IDEMPOTENCYKEYS_H
#define DMS_IDEMPOTENCYKEYS_H

#include "postgres.h"

#include "datatype/timestamp.h"

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

/* The current row of a key; values that are 0 are NULL. */
typedef struct IdempotencyKeyRow
{
	Datum		id;
	bool		is_processed;
	int			status;
	TimestampTz expires_at;
	Datum		fingerprint;	/* text */
	Datum		headers;		/* jsonb */
	Datum		body;			/* text */
	Datum		content_type;	/* text */
} IdempotencyKeyRow;

extern bool IdempotencyKeysFind(const IdempotencyKey *key, IdempotencyKeyRow *row);
extern bool IdempotencyKeysClaim(const IdempotencyKey *key, const char *fingerprint, const Interval *retention,
								 const Interval *lease, bool known);
extern bool IdempotencyKeysAnswerDirectly(const IdempotencyKey *key, const IdempotencyClaim *answer);
extern bool IdempotencyKeysAnswer(Datum id, const IdempotencyClaim *answer, bool with_body);
extern bool IdempotencyKeysForget(Datum id);
extern uint64 IdempotencyKeysPurge(void);

#endif							/* DMS_IDEMPOTENCYKEYS_H */
