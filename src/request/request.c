/*
 * request.c
 *		dms.handle_request(): from an HTTP-shaped request to its answer.
 *
 * A client's mistake never raises an error.  A request runs in a subtransaction:
 * when a problem is raised, that is rolled back and the problem becomes the
 * answer.  All other errors are passed on to the caller, who may retry
 * (deadlocks, serialization failures, locks that were not available) or must
 * know (everything else).
 *
 * The order of the checks is the one that clients know: path, method, id,
 * content type, body, and then those of the verbs.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/jsonargument.h"
#include "base/jsontree.h"
#include "base/report.h"
#include "base/sha256.h"
#include "engine/attempt.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "request/idempotency.h"
#include "request/requestid.h"
#include "request/requestparse.h"
#include "request/requestroutes.h"
#include "request/response.h"
#include "request/route.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "verbs/read.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_handle_request);
PG_FUNCTION_INFO_V1(dms_handle_request_text);
PG_FUNCTION_INFO_V1(dms_handle_request_jsonb);
PG_FUNCTION_INFO_V1(dms_require_own_transaction);

/* Returns a sentence that names the part of a path that is wrong. */
static const char *
FaultOfPath(const Request *request)
{
	char	   *similar;

	if (request->path_fault != NULL)
		return request->path_fault;
	if (request->nsegments < 2)
		return "The path must name a project and a resource: \"/{project}/{resource}\".";
	if (ModelCacheFindEndpoint(request->segments[0], request->segments[1]) != NULL)
		return psprintf("The resource \"%s\" has nothing at this path.", request->segments[1]);
	if (ModelCacheHasProject(request->segments[0], &similar))
		return psprintf("There is no resource \"%s\" in the project \"%s\".",
						request->segments[1], request->segments[0]);
	if (similar != NULL)
		return psprintf("There is no project \"%s\". Perhaps you mean \"%s\".", request->segments[0], similar);
	return psprintf("There is no project \"%s\".", request->segments[0]);
}

/* Answer that there is nothing at the path. */
static void
pg_attribute_noreturn()
RefusePath(const Request *request)
{
	Problem    *problem = ProblemNew(PROBLEM_UNKNOWN_ENDPOINT);

	problem->detail = FaultOfPath(request);
	ProblemRaise(problem, "there is nothing at this path");
}

/* Look up the resource of the path, if it has one. */
static void
TakeResource(RouteCall *call, const Route *path)
{
	const Request *request = call->request;

	if (path == NULL)
		RefusePath(request);
	if (!RouteNamesResource(path))
		return;
	call->resource = ModelCacheFindEndpoint(request->segments[0], request->segments[1]);
	if (call->resource == NULL)
		RefusePath(request);
}

/* Answer that the method does not fit the path, and which do. */
static void
RefuseMethod(const Request *request, const Route *path, Response *response)
{
	Problem    *problem = ProblemNew(PROBLEM_METHOD);

	ResponseHeader(response, "Allow", RequestRoutesMethods(path));
	ProblemNote(problem, "%s is not for this path.", request->method_name);
	ResponseProblem(response, problem, request->correlation_id);
}

/* Run the handler of the request's route. */
static void
RunRoute(RouteCall *call, const Route *route)
{
	if (RequestIsWrite(call->request))
	{
		if (RequestIdTake(call, route))
			route->handler(call);
		else
			RequestIdRaiseNone(call->request->segments[2]);
		return;
	}
	SnapshotBegin();
	call->response->status = 404;
	if (RequestIdTake(call, route))
		route->handler(call);
	SnapshotEnd();
}

/*
 * Run the request.  The answer is allocated in the current memory context, because
 * that of the session of the store ends with it.
 */
static void
Dispatch(const Request *request, const RouteMatch *match, Response *response)
{
	RouteCall	call = {.request = request,.response = response};
	Session		session;

	call.caller = GetUserId();
	call.context = CurrentMemoryContext;
	if (match->route != NULL && RequestIsWrite(request))
		WriteBegin(&session, "dms.handle_request()");
	else
		ReadBegin(&session);
	TakeResource(&call, match->path);
	FAULT_PAUSE("behind_route");
	if (match->route != NULL)
		RunRoute(&call, match->route);
	else
	{
		MemoryContextSwitchTo(call.context);
		RefuseMethod(request, match->path, response);
	}
	SessionEnd(&session);
}

/* Check everything that does not need the store. */
static void
CheckRequest(const Request *request, const RouteMatch *match)
{
	if (request->headers_malformed)
		ReportError(PROBLEM_ARGUMENT, NULL, "The headers must be an object.");
	if (request->path_too_long)
		ReportError(PROBLEM_PATH_TOO_LONG, NULL, "The path has at most %d bytes, and the query %d.",
					REQUEST_MAX_PATH, REQUEST_MAX_QUERY);
	if (request->long_header != NULL)
		ReportError(PROBLEM_HEADERS_TOO_LARGE, NULL, "The header \"%s\" has at most %d bytes.",
					request->long_header, REQUEST_MAX_HEADER);
	if (match->route == NULL)
		return;
	RouteRequire(request, &match->route->function);
	if (match->route->check != NULL)
		match->route->check(request);
}

/* A request, its route, and where its answer goes. */
typedef struct Exchange
{
	const Request *request;
	const RouteMatch *match;
	Response   *response;
} Exchange;

/* Check a request and run it, for AttemptCatch(). */
static bool
Answer(void *arg)
{
	Exchange   *exchange = arg;

	CheckRequest(exchange->request, exchange->match);
	Dispatch(exchange->request, exchange->match, exchange->response);
	return true;
}

/*
 * Answer that the caller may not read what the request is about.  Reads run with the
 * rights of the caller.  Writes run with those of the owner of the store, so an error
 * about rights is then no fault of the caller's.
 */
static bool
RefuseRead(const Request *request, const ErrorData *error, Response *response)
{
	Problem    *problem = ProblemNew(PROBLEM_NOT_PERMITTED);

	if (RequestIsWrite(request) || error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE)
		return false;
	ResponseInit(response);
	ProblemNote(problem, "%s", error->message);
	ResponseProblem(response, problem, request->correlation_id);
	return true;
}

/*
 * Run the request in a subtransaction.  A client's mistake becomes the answer, and
 * everything else that the request did is undone.
 */
static void
RunGuarded(const Request *request, const RouteMatch *match, Response *response)
{
	Exchange	exchange = {request, match, response};
	bool		stays;
	ErrorData  *error = AttemptCatch(Answer, &exchange, &stays);

	if (error == NULL)
		return;
	if (!ResponseOfError(response, error, request->correlation_id) &&
		!RefuseRead(request, error, response) &&
		!FAULT_SKIP("raise_again"))
		ReThrowError(error);
}

/* Run a request whose key was claimed, and keep its answer. */
static void
RunClaimed(const Request *request, const RouteMatch *match, const IdempotencyKey *key, Response *response)
{
	IdempotencyClaim answer = {0};

	RunGuarded(request, match, response);
	answer.status = response->status;
	answer.headers = ResponseHeaders(response);
	answer.body = response->body;
	if (!IdempotencyComplete(key, &answer))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("claim of an idempotency key is gone")));
}

/* Refuse a stored answer that is not one of ours. */
static void
RaiseDamagedAnswer(const char *part, const char *fault)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored %s of an answer cannot be read: %s", part, fault),
			 errhint("dms.IdempotencyKeys was changed by hand. Delete the row.")));
}

/* Answer as the request with this key was answered before. */
static void
Replay(const IdempotencyClaim *claim, Response *response)
{
	JsonFault	fault;

	if (claim->body != NULL &&
		JsonTreeParse(VARDATA_ANY(claim->body), VARSIZE_ANY_EXHDR(claim->body), &fault) == NULL)
		RaiseDamagedAnswer("body", fault.message);
	if (claim->headers != (Datum) 0 && !JB_ROOT_IS_OBJECT(DatumGetJsonbP(claim->headers)))
		RaiseDamagedAnswer("headers", "they are no object");
	response->status = claim->status;
	response->stored_headers = claim->headers;
	response->body = claim->body;
}

/* Returns a hash of what a request sends: its body, and what it is to be attached to. */
static const char *
Fingerprint(const Request *request)
{
	const char *body = request->body ? VARDATA_ANY(request->body) : "";
	size_t		len = request->body ? VARSIZE_ANY_EXHDR(request->body) : 0;
	const char *hash = Sha256Hex(body, len);

	if (request->parent == NULL && request->account == NULL)
		return hash;
	hash = psprintf("%s\n%s\n%s", hash, request->parent ? request->parent : "", request->account ? request->account : "");
	return Sha256Hex(hash, strlen(hash));
}

/*
 * Run a request once, however often it is sent with its key.  The claim stays
 * outside of the request's subtransaction: others wait for it, and it decides
 * whether anything is run at all.
 */
static void
RunOnce(const Request *request, const RouteMatch *match, Response *response)
{
	IdempotencyKey key = {
		.scope = IdempotencyScope(IDEMPOTENCY_REQUEST),
		.route = request->route,
		.method = request->method_name,
		.key = request->idempotency_key
	};
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	IdempotencyClaim claim;

	IdempotencyCheck(&key, problem);
	if (problem->count > 0)
	{
		ResponseProblem(response, problem, request->correlation_id);
		return;
	}
	IdempotencyBegin(&key, Fingerprint(request), NULL, &claim);
	switch (claim.state)
	{
		case IDEMPOTENCY_NEW:
			RunClaimed(request, match, &key, response);
			break;
		case IDEMPOTENCY_DONE:
			Replay(&claim, response);
			break;
		case IDEMPOTENCY_MISMATCH:
			ResponseProblem(response, ProblemNew(PROBLEM_KEY_REUSED), request->correlation_id);
			break;
		case IDEMPOTENCY_RUNNING:
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("another request with this idempotency key is open"),
					 errhint("Try again; it is taken over when its lease of dms.idempotency_lease ends.")));
	}
}

/* Returns true if the request has a key that matters: it is not refused anyway. */
static bool
HasKey(const Request *request, const RouteMatch *match)
{
	return request->idempotency_key != NULL && RequestIsWrite(request) && match->route != NULL &&
		RouteMayRun(&match->route->function) && !FAULT_SKIP("idempotency_claim");
}

/* Answer a request.  Its method, path and body are arguments. */
static Datum
HandleRequest(FunctionCallInfo fcinfo, Jsonb *headers)
{
	static const char *const names[] = {"method", "path"};
	Request		request;
	RouteMatch	match;
	Response	response;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	RequestParse(&request, text_to_cstring(PG_GETARG_TEXT_PP(0)),
				 text_to_cstring(PG_GETARG_TEXT_PP(1)), headers,
				 PG_ARGISNULL(3) ? NULL : PG_GETARG_TEXT_PP(3));
	ResponseInit(&response);
	RequestRoutesFind(&request, &match);
	if (HasKey(&request, &match))
		RunOnce(&request, &match, &response);
	else
		RunGuarded(&request, &match, &response);
	PG_RETURN_DATUM(ResponseRow(fcinfo, &response));
}

/* Answer a request; headers are jsonb. */
Datum
dms_handle_request(PG_FUNCTION_ARGS)
{
	return HandleRequest(fcinfo, PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2));
}

/* Answer a request; headers are text or json, and so is the body. */
Datum
dms_handle_request_text(PG_FUNCTION_ARGS)
{
	Datum		headers;

	if (PG_ARGISNULL(2))
		return HandleRequest(fcinfo, NULL);
	headers = DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(PG_GETARG_TEXT_PP(2))));
	return HandleRequest(fcinfo, DatumGetJsonbP(headers));
}

/* Answer a request; headers and body are jsonb. */
Datum
dms_handle_request_jsonb(PG_FUNCTION_ARGS)
{
	return JsonArgumentCall(dms_handle_request, fcinfo, 3);
}

/*
 * Refuse to run where a transaction cannot be ended: in a transaction block, and in
 * a function.  PostgreSQL's own message does not say what to do instead.
 */
Datum
dms_require_own_transaction(PG_FUNCTION_ARGS)
{
	if (!SessionMayEndTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("dms.process_request() cannot run inside a transaction block or a function"),
				 errdetail("It runs the request in a transaction of its own, and again if others are in the way."),
				 errhint("Call dms.handle_request() in your transaction, or turn on autocommit.")));
	PG_RETURN_VOID();
}
