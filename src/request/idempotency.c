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
#include "base/uuid.h"
#include "base/words.h"
#include "catalog/pg_type.h"
#include "engine/keyscan.h"
#include "engine/rowwrite.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "request/idempotency.h"
#include "schema/naming.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#define MAX_KEY 128
#define MAX_ROUTE 256
#define MAX_BODY (1024 * 1024)

/* The status of a key whose request is open. */
#define STATUS_OPEN 102

static int	ttl_seconds = 24 * 60 * 60;
static int	lease_seconds = 60;

static const Oid key_types[] = {
	TEXTOID, TEXTOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID, INTERVALOID, INTERVALOID
};

/*
 * A key that has expired, and one whose holder is silent for too long, are
 * taken over.  ON CONFLICT DO NOTHING would replay the old answer.
 */
static Statement claim_key =
{
	.sql = "INSERT INTO dms.IdempotencyKeys AS k (Scope, Route, HttpMethod, Key, Id, StatusCode, IsProcessed,"
	" RequestFingerprint, ClaimedAt, ExpiresAt)"
	" VALUES ($1, $2, $3, $4, $5, 102, false, $6, pg_catalog.clock_timestamp(),"
	" pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) $7)"
	" ON CONFLICT (Scope, Route, HttpMethod, Key) DO UPDATE SET StatusCode = 102, IsProcessed = false,"
	" RequestFingerprint = excluded.RequestFingerprint, ClaimedAt = excluded.ClaimedAt,"
	" ExpiresAt = excluded.ExpiresAt, ResponseHeaders = NULL, ResponseBody = NULL,"
	" ContentType = NULL, ProcessingCompletedAt = NULL"
	" WHERE k.ExpiresAt OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()"
	" OR (NOT k.IsProcessed AND (k.ClaimedAt OPERATOR(pg_catalog.+) $8)"
	" OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp())"
	" RETURNING Id",
	.nargs = lengthof(key_types),
	.argtypes = key_types,
};

/*
 * A key is looked up by scanning its unique index.  The planner, which knows
 * nothing of the values, might choose the index on routes, and read all keys
 * of a route to find one.
 */
enum
{
	KEY_SCOPE,
	KEY_ROUTE,
	KEY_METHOD,
	KEY_KEY,
	KEY_ID,
	KEY_IS_PROCESSED,
	KEY_STATUS,
	KEY_EXPIRES_AT,
	KEY_FINGERPRINT,			/* NULL from here on, if not given */
	KEY_HEADERS,
	KEY_BODY,
	KEY_CONTENT_TYPE,
	KEY_COLUMNS
};

static const char *const key_columns[KEY_COLUMNS] = {
	"scope", "route", "httpmethod", "key", "id", "isprocessed", "statuscode", "expiresat",
	"requestfingerprint", "responseheaders", "responsebody", "contenttype",
};
static const Oid key_column_types[KEY_COLUMNS] = {
	TEXTOID, TEXTOID, TEXTOID, TEXTOID, UUIDOID, BOOLOID, INT4OID, TIMESTAMPTZOID, TEXTOID, JSONBOID,
	TEXTOID, TEXTOID,
};
static KeyedTable key_table =
{
	.schema = "dms",.name = "idempotencykeys", KEYED_COLUMNS(key_columns, key_column_types),
	.nkeys = KEY_ID,.nsearch = KEY_ID,.nrequired = KEY_FINGERPRINT
};

/* What a claim writes. */
static const char *const claim_columns[] = {
	"scope", "route", "httpmethod", "key", "id", "requestfingerprint", "statuscode", "isprocessed",
	"claimedat", "expiresat",
};
static const Oid claim_column_types[] = {
	TEXTOID, TEXTOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID, INT4OID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
};
static KeyedTable claimed_keys =
{
	.schema = "dms",.name = "idempotencykeys", KEYED_COLUMNS(claim_columns, claim_column_types),
	.nkeys = KEY_ID,.nsearch = KEY_ID
};

/* What an answer changes. */
enum
{
	ANSWER_IS_PROCESSED = KEY_ID,
	ANSWER_STATUS,
	ANSWER_HEADERS,
	ANSWER_BODY,
	ANSWER_CONTENT_TYPE,
	ANSWER_COMPLETED_AT,
	ANSWER_COLUMNS
};

static const char *const answer_columns[ANSWER_COLUMNS] = {
	"scope", "route", "httpmethod", "key", "isprocessed", "statuscode", "responseheaders",
	"responsebody", "contenttype", "processingcompletedat",
};
static const Oid answer_column_types[ANSWER_COLUMNS] = {
	TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID, INT4OID, JSONBOID, TEXTOID, TEXTOID, TIMESTAMPTZOID,
};
static KeyedTable answered_keys =
{
	.schema = "dms",.name = "idempotencykeys", KEYED_COLUMNS(answer_columns, answer_column_types),
	.nkeys = KEY_ID,.nsearch = KEY_ID,.nrequired = ANSWER_HEADERS
};

static const Oid complete_types[] = {UUIDOID, INT4OID, JSONBOID, TEXTOID, TEXTOID, BOOLOID};

#define OF_OPEN_KEY " WHERE k.Id OPERATOR(pg_catalog.=) $1 AND NOT k.IsProcessed"

static Statement complete_key =
{
	.sql = "UPDATE dms.IdempotencyKeys AS k SET StatusCode = $2, ResponseBody = $4, ContentType = $5,"
	" ResponseHeaders = CASE WHEN $6 THEN COALESCE($3, '{}'::pg_catalog.jsonb) OPERATOR(pg_catalog.||)"
	" '{\"Idempotency-Replay\": \"body-not-stored\"}'::pg_catalog.jsonb ELSE $3 END,"
	" IsProcessed = true, ProcessingCompletedAt = pg_catalog.clock_timestamp()"
	OF_OPEN_KEY,
	.nargs = 6,
	.argtypes = complete_types,
};

static Statement forget_key =
{
	.sql = "DELETE FROM dms.IdempotencyKeys AS k" OF_OPEN_KEY,
	.nargs = 1,
	.argtypes = complete_types,
};

/* Rows that are locked are about to be taken over. */
static Statement purge_keys = {
	.sql = "DELETE FROM dms.IdempotencyKeys WHERE Id OPERATOR(pg_catalog.=) ANY (SELECT k.Id"
	" FROM dms.IdempotencyKeys AS k WHERE k.ExpiresAt OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()"
	" FOR UPDATE SKIP LOCKED)",
};

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

/* Set the first parameters of a statement: scope, route, method and key. */
static void
KeyValues(const IdempotencyKey *key, Datum *values)
{
	values[KEY_SCOPE] = CStringGetTextDatum(key->scope);
	values[KEY_ROUTE] = CStringGetTextDatum(key->route);
	values[KEY_METHOD] = CStringGetTextDatum(key->method);
	values[KEY_KEY] = CStringGetTextDatum(key->key);
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

/* Read the current row of a key; returns false if there is none. */
static bool
FindKey(const IdempotencyKey *key, StoredRows *row)
{
	Datum		values[KEY_ID];

	KeyValues(key, values);
	SnapshotBegin();
	KeyScanRead(&key_table, values, row);
	SnapshotEnd();
	return row->nrows > 0;
}

/* Returns the time after this interval. */
static Datum
After(TimestampTz now, const Interval *interval)
{
	return DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(now), IntervalPGetDatum(interval));
}

/*
 * Insert the claim without a statement; returns false if the key may be taken, and
 * the statement must decide.  The parameters are those of the statement.
 */
static bool
ClaimNewKey(const Datum *parameters, bool has_fingerprint)
{
	TimestampTz now = GetCurrentTimestamp();
	Datum		values[lengthof(claim_columns)];
	bool		nulls[lengthof(claim_columns)] = {[5] = !has_fingerprint};
	Row			row = {.values = values,.nulls = nulls};

	memcpy(values, parameters, sizeof(Datum) * 6);
	values[6] = Int32GetDatum(STATUS_OPEN);
	values[7] = BoolGetDatum(false);
	values[8] = TimestampTzGetDatum(now);
	values[9] = After(now, DatumGetIntervalP(parameters[6]));
	return RowWriteClaim(&claimed_keys, &row);
}

/*
 * Insert the claim, or take an old one over; returns false if the key is taken.  A new
 * claim may have to be withdrawn, and its row is left to VACUUM then, so the caller
 * says whether a row with the key is known.
 */
static bool
ClaimKey(const IdempotencyKey *key, const char *fingerprint, const Interval *ttl, bool known)
{
	Datum		values[lengthof(key_types)];
	pg_uuid_t	id;

	UuidV7(&id);
	KeyValues(key, values);
	values[4] = UUIDPGetDatum(&id);
	values[5] = fingerprint ? CStringGetTextDatum(fingerprint) : (Datum) 0;
	values[6] = IntervalPGetDatum(Retention(ttl));
	values[7] = IntervalPGetDatum(Lease());
	return (!known && ClaimNewKey(values, fingerprint != NULL)) ||
		StatementRun(&claim_key, values, fingerprint ? "        " : "     n  ", false, 0) > 0;
}

/* Copy a text of a row into the given memory context; NULL for NULL. */
static text *
CopyText(const StoredRows *row, int column, MemoryContext context)
{
	MemoryContext saved = MemoryContextSwitchTo(context);
	text	   *copy = row->nulls[column] ? NULL : DatumGetTextPCopy(row->values[column]);

	MemoryContextSwitchTo(saved);
	return copy;
}

/* Returns true if a key has an answer that holds: nobody can take the key over. */
static bool
IsAnswered(const StoredRows *row)
{
	return DatumGetBool(row->values[KEY_IS_PROCESSED]) &&
		DatumGetTimestampTz(row->values[KEY_EXPIRES_AT]) > GetCurrentTimestamp();
}

/* Read the state of a key that cannot be claimed. */
static void
ReadKey(const StoredRows *row, const char *fingerprint, MemoryContext context,
		IdempotencyClaim *claim)
{
	text	   *known = CopyText(row, KEY_FINGERPRINT, CurrentMemoryContext);

	if (known != NULL && (fingerprint == NULL || strcmp(text_to_cstring(known), fingerprint) != 0) &&
		!FAULT_SKIP("idempotency_fingerprint"))
		claim->state = IDEMPOTENCY_MISMATCH;
	else if (!DatumGetBool(row->values[KEY_IS_PROCESSED]))
		claim->state = IDEMPOTENCY_RUNNING;
	else
	{
		claim->state = IDEMPOTENCY_DONE;
		claim->status = DatumGetInt32(row->values[KEY_STATUS]);
		claim->headers = PointerGetDatum(CopyText(row, KEY_HEADERS, context));
		claim->body = CopyText(row, KEY_BODY, context);
		claim->content_type = CopyText(row, KEY_CONTENT_TYPE, context);
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
	StoredRows	row;
	bool		known;

	memset(claim, 0, sizeof(IdempotencyClaim));
	PreventCommandIfReadOnly("a request with an Idempotency-Key");
	SessionBegin(&session, RIGHTS_OF_OWNER);
	known = FindKey(key, &row);
	if (known && IsAnswered(&row))
		ReadKey(&row, fingerprint, context, claim);
	else if (ClaimKey(key, fingerprint, ttl, known))
		claim->state = IDEMPOTENCY_NEW;
	else if (FindKey(key, &row))
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

/* Callback: put an answer into the row of an open key; returns false if it is not open. */
static bool
PutAnswer(Datum *values, bool *nulls, void *arg)
{
	const IdempotencyClaim *answer = arg;

	if (DatumGetBool(values[ANSWER_IS_PROCESSED]))
		return false;
	values[ANSWER_IS_PROCESSED] = BoolGetDatum(true);
	values[ANSWER_STATUS] = Int32GetDatum(answer->status);
	values[ANSWER_HEADERS] = answer->headers;
	nulls[ANSWER_HEADERS] = answer->headers == (Datum) 0;
	values[ANSWER_BODY] = PointerGetDatum(answer->body);
	nulls[ANSWER_BODY] = answer->body == NULL;
	values[ANSWER_CONTENT_TYPE] = PointerGetDatum(answer->content_type);
	nulls[ANSWER_CONTENT_TYPE] = answer->content_type == NULL;
	values[ANSWER_COMPLETED_AT] = TimestampTzGetDatum(GetCurrentTimestamp());
	nulls[ANSWER_COMPLETED_AT] = false;
	return true;
}

/*
 * Keep an answer without a statement; returns false if the key may not be open, and
 * statements must decide.
 */
static bool
KeepAnswerDirectly(const IdempotencyKey *key, const IdempotencyClaim *answer)
{
	Datum		keys[KEY_ID];

	KeyValues(key, keys);
	return RowWriteEdit(&answered_keys, keys, PutAnswer, unconstify(IdempotencyClaim *, answer));
}

/* Keep an answer; returns false if the key is not open. */
static bool
KeepAnswer(Datum id, const IdempotencyClaim *answer, bool with_body)
{
	Datum		values[6] = {
		id, Int32GetDatum(answer->status), answer->headers, PointerGetDatum(answer->body),
		PointerGetDatum(answer->content_type), BoolGetDatum(!with_body)
	};
	char		nulls[6] = {
		' ', ' ', answer->headers == (Datum) 0 ? 'n' : ' ',
		answer->body == NULL || !with_body ? 'n' : ' ',
		answer->content_type == NULL ? 'n' : ' ', ' '
	};

	return StatementRun(&complete_key, values, nulls, false, 0) > 0;
}

/* Delete a key; returns false if it is not open. */
static bool
ForgetKey(Datum id)
{
	return StatementRun(&forget_key, &id, NULL, false, 0) > 0;
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
	StoredRows	row;
	bool		found;

	if (!success && FAULT_SKIP("idempotency_forget"))
		return true;
	if (too_large && success)
		WarnTooLarge(key, answer->body);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	found = success && !too_large && KeepAnswerDirectly(key, answer);
	if (!found)
		found = FindKey(key, &row) &&
			(success ? KeepAnswer(row.values[KEY_ID], answer, !too_large) : ForgetKey(row.values[KEY_ID]));
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
	purged = StatementRun(&purge_keys, NULL, NULL, false, 0);
	SessionEnd(&session);
	return purged;
}
