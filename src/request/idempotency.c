/*
 * idempotency.c
 *		Idempotency keys: claiming them, keeping answers, deleting them.
 *
 * A claim is a row of dms.IdempotencyKeys that is inserted before anything
 * else is done.  A session that comes with the same key while the transaction
 * is open waits at the unique index.  It then finds the answer, or nothing if the
 * transaction was rolled back, and runs the request itself.  All of this is done
 * as the owner of the store: callers have no rights on the table.
 *
 * A key belongs to the role that calls, and to the user that the front says it
 * acts for (dms.user).  Otherwise one writer could read the answers to another,
 * or complete a key with an answer that the other would then be given.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/words.h"
#include "engine/session.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "request/idempotency.h"
#include "schema/naming.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#define MAX_KEY 128
#define MAX_ROUTE 256
#define MAX_BODY (1024 * 1024)

static int	ttl_seconds = 24 * 60 * 60;
static int	lease_seconds = 60;

/* Define the settings. */
void
IdempotencyInit(void)
{
	DefineCustomIntVariable("dms.idempotency_ttl",
							"How long an idempotency key is kept.",
							"Until then, a request with the same key gets the same answer.",
							&ttl_seconds, 24 * 60 * 60, 1, INT_MAX, PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dms.idempotency_lease",
							"How long a request may be open before another takes its key over.",
							NULL, &lease_seconds, 60, 1, INT_MAX, PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
}

/* Returns true for a method of HTTP. */
static bool
IsMethod(const char *method)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "PATCH",
	"HEAD", "OPTIONS"};

	return WordFind(methods, lengthof(methods), method) >= 0;
}

/* Note what is wrong with a key, its route or its method. */
void
IdempotencyCheck(const IdempotencyKey *key, Problem *problem)
{
	if (strlen(key->key) > MAX_KEY || !NameIsPlain(key->key, "-"))
		ProblemNote(problem, "Idempotency-Key must be 1 to %d letters, digits and hyphens.", MAX_KEY);
	if (key->route[0] != '/' || pg_mbstrlen(key->route) > MAX_ROUTE)
		ProblemNote(problem, "With an Idempotency-Key, the path must start with \"/\" and have at most %d characters.", MAX_ROUTE);
	if (!IsMethod(key->method))
		ProblemNote(problem, "The method \"%s\" is not one of HTTP.", key->method);
}

/* Make an interval of this length. */
static Interval *
Seconds(int seconds)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = seconds * USECS_PER_SEC;
	return interval;
}

/*
 * Returns the scope of the keys of the calling role.  A quoted role name ends
 * where it seems to, so no two roles and users have the same scope.
 */
char *
IdempotencyScope(IdempotencyOrigin origin)
{
	const char *user = SessionUser();

	return psprintf("%s %s%s%s", origin == IDEMPOTENCY_REQUEST ? "request" : "endpoint",
					quote_identifier(GetUserNameFromId(GetUserId(), false)),
					user[0] != '\0' ? ":" : "", user);
}

/*
 * Returns how long a key is kept: as long as the caller wants, but not longer
 * than the setting and the store say.
 */
static Interval *
Retention(const Interval *ttl)
{
	Interval   *longest = Seconds(Min(ttl_seconds, StoreRowLimits()->idempotency_ttl));

	if (ttl != NULL && DatumGetBool(DirectFunctionCall2(interval_lt, IntervalPGetDatum(ttl),
														IntervalPGetDatum(longest))))
		return unconstify(Interval *, ttl);
	return longest;
}

/*
 * Returns how long a claim holds.  The longer time counts, because a request that
 * still runs when another takes its key over is done twice.
 */
static Interval *
Lease(void)
{
	return Seconds(Max(lease_seconds, StoreRowLimits()->idempotency_lease));
}

/* Copy a text, or a value that is stored like one, into the given memory context; NULL for 0. */
static text *
CopyText(Datum value, MemoryContext context)
{
	MemoryContext saved = MemoryContextSwitchTo(context);
	text	   *copy = value == (Datum) 0 ? NULL : DatumGetTextPCopy(value);

	MemoryContextSwitchTo(saved);
	return copy;
}

/* Returns true if a key has an answer that holds: nobody can take the key over. */
static bool
IsAnswered(const IdempotencyKeyRow *row)
{
	return row->is_processed && row->expires_at > GetCurrentTimestamp();
}

/* Read the state of a key that cannot be claimed. */
static void
ReadKey(const IdempotencyKeyRow *row, const char *fingerprint, MemoryContext context,
		IdempotencyClaim *claim)
{
	text	   *known = CopyText(row->fingerprint, CurrentMemoryContext);

	if (known != NULL && (fingerprint == NULL || strcmp(text_to_cstring(known), fingerprint) != 0) &&
		!FAULT_SKIP("idempotency_fingerprint"))
		claim->state = IDEMPOTENCY_MISMATCH;
	else if (!row->is_processed)
		claim->state = IDEMPOTENCY_RUNNING;
	else
	{
		claim->state = IDEMPOTENCY_DONE;
		claim->status = row->status;
		claim->headers = PointerGetDatum(CopyText(row->headers, context));
		claim->body = CopyText(row->body, context);
		claim->content_type = CopyText(row->content_type, context);
	}
}

/*
 * Claim a key, or return the state of the request that has it.  Without a time
 * to live, the setting says how long the key is kept.
 */
void
IdempotencyBegin(const IdempotencyKey *key, const char *fingerprint,
				 const Interval *ttl, IdempotencyClaim *claim)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	IdempotencyKeyRow row;
	bool		known;

	memset(claim, 0, sizeof(IdempotencyClaim));
	PreventCommandIfReadOnly("a request with an Idempotency-Key");
	SessionBegin(&session, RIGHTS_OF_OWNER);
	known = IdempotencyKeysFind(key, &row);
	if (known && IsAnswered(&row))
		ReadKey(&row, fingerprint, context, claim);
	else if (IdempotencyKeysClaim(key, fingerprint, Retention(ttl), Lease(), known))
		claim->state = IDEMPOTENCY_NEW;
	else if (IdempotencyKeysFind(key, &row))
		ReadKey(&row, fingerprint, context, claim);
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("idempotency key is locked and not there")));
	SessionEnd(&session);
}

/* Warn that an answer is too large to be kept. */
static void
WarnTooLarge(const IdempotencyKey *key, const text *body)
{
	ereport(WARNING,
			(errmsg("answer of request %s %s is too large to be kept for its idempotency key",
					key->method, key->route),
			 errdetail("It has %zu bytes; up to %d are kept.",
					   (size_t) VARSIZE_ANY_EXHDR(body), MAX_BODY)));
}

/*
 * Keep the answer if the request succeeded, else delete the key, so that the
 * request can be sent again.  Returns false if there is no such claim.
 */
bool
IdempotencyComplete(const IdempotencyKey *key, const IdempotencyClaim *answer)
{
	bool		success = answer->status >= 200 && answer->status < 300;
	bool		too_large = answer->body && VARSIZE_ANY_EXHDR(answer->body) > MAX_BODY;
	Session		session;
	IdempotencyKeyRow row;
	bool		found;

	if (!success && FAULT_SKIP("idempotency_forget"))
		return true;
	if (too_large && success)
		WarnTooLarge(key, answer->body);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	found = success && !too_large && IdempotencyKeysAnswerDirectly(key, answer);
	if (!found)
		found = IdempotencyKeysFind(key, &row) &&
			(success ? IdempotencyKeysAnswer(row.id, answer, !too_large) : IdempotencyKeysForget(row.id));
	SessionEnd(&session);
	return found;
}

/* Delete all keys that have expired; returns how many there were. */
uint64
IdempotencyPurge(void)
{
	Session		session;
	uint64		purged;

	SessionBegin(&session, RIGHTS_OF_OWNER);
	purged = IdempotencyKeysPurge();
	SessionEnd(&session);
	return purged;
}
