/*
 * idempotencysql.c
 *		Idempotency keys for fronts with endpoints of their own: the functions
 *		that are called from SQL.
 */
#include "postgres.h"

#include "base/report.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "request/idempotency.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(dms_idempotency_begin);
PG_FUNCTION_INFO_V1(dms_idempotency_complete);
PG_FUNCTION_INFO_V1(dms_purge_idempotency_keys);
PG_FUNCTION_INFO_V1(dms_require_page);

#define MAX_CONTENT_TYPE 256

/* Read the first three arguments: route, method and key. */
static void
KeyOfArguments(FunctionCallInfo fcinfo, IdempotencyKey *key)
{
	static const char *const names[] = {"route", "method", "key"};
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);

	ReportRequireArguments(fcinfo, lengthof(names), names);
	key->scope = IdempotencyScope(IDEMPOTENCY_ENDPOINT);
	key->route = text_to_cstring(PG_GETARG_TEXT_PP(0));
	key->method = text_to_cstring(PG_GETARG_TEXT_PP(1));
	key->key = text_to_cstring(PG_GETARG_TEXT_PP(2));
	IdempotencyCheck(key, problem);
	if (problem->count > 0)
		ProblemRaise(problem, "idempotency key is not valid");
}

/* Returns the time to live that an argument gives, or NULL. */
static const Interval *
TtlOfArgument(FunctionCallInfo fcinfo, int argument)
{
	Interval   *ttl;
	Interval	nothing = {0};

	if (PG_ARGISNULL(argument))
		return NULL;
	ttl = PG_GETARG_INTERVAL_P(argument);
	if (!DatumGetBool(DirectFunctionCall2(interval_gt, IntervalPGetDatum(ttl),
										  IntervalPGetDatum(&nothing))))
		ReportError(PROBLEM_ARGUMENT, NULL, "ttl must be more than nothing");
	return ttl;
}

/* Claim a key for a request to an endpoint that the caller serves itself. */
Datum
dms_idempotency_begin(PG_FUNCTION_ARGS)
{
	static const char *const states[] = {
		[IDEMPOTENCY_NEW] = "new",
		[IDEMPOTENCY_DONE] = "done",
		[IDEMPOTENCY_RUNNING] = "running",
		[IDEMPOTENCY_MISMATCH] = "mismatch",
	};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	IdempotencyKey key;
	IdempotencyClaim claim;
	Datum		values[5] = {0};
	bool		nulls[5] = {false};

	InitMaterializedSRF(fcinfo, 0);
	KeyOfArguments(fcinfo, &key);
	IdempotencyBegin(&key, PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3)),
					 TtlOfArgument(fcinfo, 4), &claim);
	values[0] = CStringGetTextDatum(states[claim.state]);
	values[1] = Int32GetDatum(claim.status);
	nulls[1] = claim.state != IDEMPOTENCY_DONE;
	values[2] = claim.headers;
	nulls[2] = claim.headers == (Datum) 0;
	values[3] = PointerGetDatum(claim.body);
	nulls[3] = claim.body == NULL;
	values[4] = PointerGetDatum(claim.content_type);
	nulls[4] = claim.content_type == NULL;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	PG_RETURN_NULL();
}

/* Returns true for "type/subtype", with or without parameters after a semicolon. */
static bool
IsContentType(const char *type)
{
	size_t		main_len = strcspn(type, "/; \t\r\n");
	const char *sub = type + main_len + 1;
	size_t		sub_len;

	if (main_len == 0 || type[main_len] != '/' || pg_mbstrlen(type) > MAX_CONTENT_TYPE)
		return false;
	sub_len = strcspn(sub, "/; \t\r\n");
	sub += sub_len;
	sub += strspn(sub, " ");
	return sub_len > 0 && (*sub == '\0' || *sub == ';');
}

/* Returns the headers that an argument gives: an object. */
static Datum
HeadersOfArgument(FunctionCallInfo fcinfo, int argument)
{
	Jsonb	   *headers = PG_GETARG_JSONB_P(argument);

	if (!JB_ROOT_IS_OBJECT(headers))
		ReportError(PROBLEM_ARGUMENT, NULL, "response_headers must be an object");
	return JsonbPGetDatum(headers);
}

/* Keep the answer to a request whose key was claimed. */
Datum
dms_idempotency_complete(PG_FUNCTION_ARGS)
{
	IdempotencyKey key;
	IdempotencyClaim answer = {0};

	KeyOfArguments(fcinfo, &key);
	if (PG_ARGISNULL(3) || PG_GETARG_INT32(3) < 100 || PG_GETARG_INT32(3) > 599)
		ReportError(PROBLEM_ARGUMENT, NULL, "status_code must be from 100 to 599");
	answer.status = PG_GETARG_INT32(3);
	if (!PG_ARGISNULL(4))
		answer.headers = HeadersOfArgument(fcinfo, 4);
	if (!PG_ARGISNULL(5))
		answer.body = PG_GETARG_TEXT_PP(5);
	if (!PG_ARGISNULL(6))
		answer.content_type = PG_GETARG_TEXT_PP(6);
	if (answer.content_type && !IsContentType(text_to_cstring(answer.content_type)))
		ReportError(PROBLEM_ARGUMENT, NULL, "content_type must be a type, \"/\" and a subtype, of at most %d characters",
					MAX_CONTENT_TYPE);
	if (!IdempotencyComplete(&key, &answer))
		ReportError(PROBLEM_ARGUMENT, "dms.idempotency_begin() opens a request.",
					"there is no open request with this idempotency key");
	PG_RETURN_VOID();
}

/* Delete all keys that have expired; returns how many there were. */
Datum
dms_purge_idempotency_keys(PG_FUNCTION_ARGS)
{
	uint64		purged;

	PreventCommandIfReadOnly("dms.purge_idempotency_keys()");
	purged = IdempotencyPurge();
	ereport(LOG, (errmsg("purged " UINT64_FORMAT " expired idempotency keys", purged)));
	PG_RETURN_INT64(purged);
}

/* For dms.idempotency_keys(), which is SQL: refuse a page that cannot exist. */
Datum
dms_require_page(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"page", "page_size"};

	ReportRequireArguments(fcinfo, lengthof(names), names);
	for (size_t i = 0; i < lengthof(names); i++)
		if (PG_GETARG_INT32(i) < 0)
			ReportError(PROBLEM_ARGUMENT, NULL, "%s must not be negative", names[i]);
	PG_RETURN_VOID();
}
