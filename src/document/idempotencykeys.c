/*
 * idempotencykeys.c
 *		The rows of dms.IdempotencyKeys: finding, claiming, answering and deleting them.
 *
 * This module has all statements on the table.  They run as the owner of the store.
 */
#include "postgres.h"

#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/idempotencykeys.h"
#include "engine/keyscan.h"
#include "engine/rowwrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

/* The status of a key whose request is open. */
#define STATUS_OPEN 102

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

/* Set the first parameters of a statement: scope, route, method and key. */
static void
SetKey(const IdempotencyKey *key, Datum *values)
{
	values[KEY_SCOPE] = CStringGetTextDatum(key->scope);
	values[KEY_ROUTE] = CStringGetTextDatum(key->route);
	values[KEY_METHOD] = CStringGetTextDatum(key->method);
	values[KEY_KEY] = CStringGetTextDatum(key->key);
}

/* Returns a value of the only row; 0 for NULL. */
static Datum
ValueOf(const StoredRows *rows, int column)
{
	return rows->nulls[column] ? (Datum) 0 : rows->values[column];
}

/* Read the current row of a key; returns false if there is none. */
bool
IdempotencyKeysFind(const IdempotencyKey *key, IdempotencyKeyRow *row)
{
	Datum		values[KEY_ID];
	StoredRows	rows;

	SetKey(key, values);
	SnapshotBegin();
	KeyScanRead(&key_table, values, &rows);
	SnapshotEnd();
	if (rows.nrows == 0)
		return false;
	row->id = rows.values[KEY_ID];
	row->is_processed = DatumGetBool(rows.values[KEY_IS_PROCESSED]);
	row->status = DatumGetInt32(rows.values[KEY_STATUS]);
	row->expires_at = DatumGetTimestampTz(rows.values[KEY_EXPIRES_AT]);
	row->fingerprint = ValueOf(&rows, KEY_FINGERPRINT);
	row->headers = ValueOf(&rows, KEY_HEADERS);
	row->body = ValueOf(&rows, KEY_BODY);
	row->content_type = ValueOf(&rows, KEY_CONTENT_TYPE);
	return true;
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
ClaimNew(const Datum *parameters, bool has_fingerprint)
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
 * Insert a claim, or take over an old one; returns false if the key is taken.  A key is
 * kept for the time of retention, and another request may take it over after the lease,
 * unless there is an answer.  A new
 * claim may have to be withdrawn, and its row is left to VACUUM then, so the caller
 * says whether a row with the key is known.
 */
bool
IdempotencyKeysClaim(const IdempotencyKey *key, const char *fingerprint, const Interval *retention,
					 const Interval *lease, bool known)
{
	Datum		values[lengthof(key_types)];
	pg_uuid_t	id;

	UuidV7(&id);
	SetKey(key, values);
	values[4] = UUIDPGetDatum(&id);
	values[5] = fingerprint ? CStringGetTextDatum(fingerprint) : (Datum) 0;
	values[6] = IntervalPGetDatum(retention);
	values[7] = IntervalPGetDatum(lease);
	return (!known && ClaimNew(values, fingerprint != NULL)) ||
		StatementRun(&claim_key, values, fingerprint ? "        " : "     n  ", false, 0) > 0;
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
bool
IdempotencyKeysAnswerDirectly(const IdempotencyKey *key, const IdempotencyClaim *answer)
{
	Datum		keys[KEY_ID];

	SetKey(key, keys);
	return RowWriteEdit(&answered_keys, keys, PutAnswer, unconstify(IdempotencyClaim *, answer));
}

/* Keep an answer; returns false if the key is not open. */
bool
IdempotencyKeysAnswer(Datum id, const IdempotencyClaim *answer, bool with_body)
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
bool
IdempotencyKeysForget(Datum id)
{
	return StatementRun(&forget_key, &id, NULL, false, 0) > 0;
}

/* Delete all keys that have expired; returns how many there were. */
uint64
IdempotencyKeysPurge(void)
{
	return StatementRun(&purge_keys, NULL, NULL, false, 0);
}
