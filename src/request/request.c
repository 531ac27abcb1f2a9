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

#include "base/compat.h"
#include "base/faults.h"
#include "base/jsonargument.h"
#include "base/report.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "engine/attempt.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "request/idempotency.h"
#include "request/requestparse.h"
#include "request/requestquery.h"
#include "request/response.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "verbs/delete.h"
#include "verbs/read.h"
#include "verbs/update.h"
#include "verbs/upsert.h"

PG_FUNCTION_INFO_V1(dms_handle_request);
PG_FUNCTION_INFO_V1(dms_handle_request_text);
PG_FUNCTION_INFO_V1(dms_handle_request_jsonb);
PG_FUNCTION_INFO_V1(dms_require_own_transaction);

/* The resource or document at a path. */
typedef struct Target
{
	Resource   *resource;
	bool		has_id;
	pg_uuid_t	uuid;
} Target;

/*
 * The verbs of the methods.  A request needs the right to execute the function
 * of its verb, so that a reader's request can only read.
 */
static const struct
{
	const char *function;
	int			nargs;
	Oid			types[4];
}			verbs[] = {
	[METHOD_POST] = {"upsert_document", 4, {TEXTOID, TEXTOID, JSONOID, INT8OID}},
	[METHOD_PUT] = {"update_document", 3, {UUIDOID, JSONOID, INT8OID}},
	[METHOD_DELETE] = {"delete_document", 2, {UUIDOID, INT8OID}},
};

/* Returns true if the caller may call the verb of the request. */
static bool
MayRun(const Request *request)
{
	Oid			function;

	if (!RequestIsWrite(request))
		return true;
	(void) StoreSchema();		/* or another schema could have its name */
	function = LookupFuncName(list_make2(makeString("dms"),
										 makeString(unconstify(char *, verbs[request->method].function))),
							  verbs[request->method].nargs,
							  verbs[request->method].types, false);
	return CompatMayExecute(function, GetUserId());
}

/* Refuse a request whose verb the caller may not call. */
static void
CheckRights(const Request *request)
{
	if (!MayRun(request))
		ReportError(PROBLEM_NOT_PERMITTED, "dms.grant_access() gives a role the level writer.",
					"permission denied for function dms.%s()", verbs[request->method].function);
}

/* Returns a sentence that names the part of a path that is wrong. */
static const char *
FaultOfPath(const Request *request)
{
	char	   *similar;

	if (request->path_fault != NULL)
		return request->path_fault;
	if (request->nsegments < 2)
		return "The path must name a project and a resource: \"/{project}/{resource}\".";
	if (ModelCacheHasProject(request->segments[0], &similar))
		return psprintf("There is no resource \"%s\" in the project \"%s\".",
						request->segments[1], request->segments[0]);
	if (similar != NULL)
		return psprintf("There is no project \"%s\". Perhaps you mean \"%s\".", request->segments[0], similar);
	return psprintf("There is no project \"%s\".", request->segments[0]);
}

/* Look up the resource of the path. */
static void
Route(const Request *request, Target *target)
{
	target->resource = NULL;
	if (request->nsegments >= 2)
		target->resource = ModelCacheFindEndpoint(request->segments[0], request->segments[1]);
	if (target->resource == NULL)
	{
		Problem    *problem = ProblemNew(PROBLEM_UNKNOWN_ENDPOINT);

		problem->detail = FaultOfPath(request);
		ProblemRaise(problem, "there is nothing at this path");
	}
	target->has_id = request->nsegments == REQUEST_SEGMENTS;
}

/*
 * Returns true if the method fits the path: documents are created and listed by
 * endpoint, and changed by id.
 */
static bool
MethodFits(const Request *request, const Target *target)
{
	switch (request->method)
	{
		case METHOD_GET:
			return true;
		case METHOD_POST:
			return !target->has_id;
		case METHOD_PUT:
		case METHOD_DELETE:
			return target->has_id;
		case METHOD_OTHER:
			break;
	}
	return false;
}

/* Answer that the method does not fit the path, and which do. */
static void
RefuseMethod(const Request *request, const Target *target, Response *response)
{
	Problem    *problem = ProblemNew(PROBLEM_METHOD);

	ResponseHeader(response, "Allow", target->has_id ? "GET, PUT, DELETE" : "GET, POST");
	ProblemNote(problem, "%s is not for this path.", request->method_name);
	ResponseProblem(response, problem, request->correlation_id);
}

/* Read the id of the path, if it has one; refuse what is not a UUID. */
static void
TakeId(const Request *request, Target *target)
{
	Problem    *problem;

	if (!target->has_id || UuidParse(request->segments[2], &target->uuid))
		return;
	problem = ProblemNew(PROBLEM_ID_MALFORMED);
	problem->detail = psprintf("\"%s\" is not the id of a document, which is a UUID.", request->segments[2]);
	ProblemAt(problem, "$.id", "must be a UUID, not \"%s\".", request->segments[2]);
	ProblemRaise(problem, "id in the path is not valid");
}

/* Check the body as far as possible without parsing it. */
static void
CheckBody(const Request *request)
{
	Problem    *problem;

	if (request->method == METHOD_DELETE)
		return;
	if (!RequestIsJson(request))
		ReportError(PROBLEM_MEDIA_TYPE, NULL, "The content type is \"%s\", not \"application/json\".",
					request->content_type);
	if (RequestBodyIsBlank(request))
		ReportError(PROBLEM_BODY_EMPTY, NULL, "A document is expected in the body.");
	if (!RequestBodyIsTooDeep(request))
		return;
	problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
	ProblemAt(problem, "$.", "is nested too deeply.");
	ProblemRaiseInvalid(problem);
}

/* Add the etag of a document as a header. */
static void
AddEtag(Response *response, int64 etag)
{
	ResponseHeader(response, "ETag", psprintf("\"" INT64_FORMAT "\"", etag));
}

/* Add the path of a document as a header. */
static void
AddLocation(Response *response, const ResourceModel *model, const pg_uuid_t *uuid)
{
	ResponseHeader(response, "Location",
				   psprintf("/%s/%s/%s", model->project_endpoint, model->endpoint,
							UuidText(uuid)));
}

/* Run the verb of a write. */
static void
RunWrite(const Request *request, Target *target, Response *response)
{
	Write		write = {.resource = target->resource};
	WriteResult result;

	write.result = &result;
	write.id_required = request->method == METHOD_PUT;
	RequestParseEtags(request->if_match, false, &write.precondition.match);
	RequestParseEtags(request->if_none_match, true, &write.precondition.none_match);
	if (request->method == METHOD_DELETE)
	{
		response->status = 204;
		AddEtag(response, DeleteDocument(target->resource, &target->uuid, &write.precondition));
		return;
	}
	if (request->method == METHOD_POST)
	{
		UpsertDocument(&write, request->body);
		response->status = result.outcome == WRITE_INSERTED ? 201 : 200;
	}
	else
	{
		UpdateDocument(&write, &target->uuid, request->body);
		response->status = 204;
	}
	AddLocation(response, target->resource->model, &result.document.uuid);
	AddEtag(response, result.document.etag);
}

/* Read a document by its id; a document of another resource does not exist here. */
static void
GetOne(const Request *request, Target *target, MemoryContext context, Response *response)
{
	ReadResult	result;
	EtagList	known;
	bool		found;

	SnapshotBegin();
	found = ReadDocument(&target->uuid, context, &result);
	SnapshotEnd();
	response->status = 404;
	if (!found || !ModelCacheSame(result.resource, target->resource))
		return;
	AddEtag(response, result.document.etag);
	RequestParseEtags(request->if_none_match, true, &known);
	response->status = 304;
	if (PreconditionListHas(&known, result.document.etag))
		return;
	response->status = 200;
	ResponseHeader(response, "Content-Type", "application/json; charset=utf-8");
	response->body = result.body;
}

/* Read the document or the page at the path. */
static void
RunRead(const Request *request, Target *target, MemoryContext context, Response *response)
{
	if (target->has_id)
		GetOne(request, target, context, response);
	else
		RequestQueryPage(request, target->resource, context, response);
}

/*
 * Run the request.  The answer is allocated in the current memory context, because
 * that of the session of the store ends with it.
 */
static void
Dispatch(const Request *request, Response *response)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	Target		target;

	if (RequestIsWrite(request))
		WriteBegin(&session, "dms.handle_request()");
	else
		ReadBegin(&session);
	Route(request, &target);
	FAULT_PAUSE("behind_route");
	if (!MethodFits(request, &target))
	{
		MemoryContextSwitchTo(context);
		RefuseMethod(request, &target, response);
	}
	else
	{
		TakeId(request, &target);
		if (RequestIsWrite(request))
		{
			CheckBody(request);
			RunWrite(request, &target, response);
		}
		else
			RunRead(request, &target, context, response);
	}
	SessionEnd(&session);
}

/* Check everything that does not need the store. */
static void
CheckRequest(const Request *request)
{
	if (request->headers_malformed)
		ReportError(PROBLEM_ARGUMENT, NULL, "The headers must be an object.");
	if (request->path_too_long)
		ReportError(PROBLEM_PATH_TOO_LONG, NULL, "The path has at most %d bytes, and the query %d.",
					REQUEST_MAX_PATH, REQUEST_MAX_QUERY);
	if (request->long_header != NULL)
		ReportError(PROBLEM_HEADERS_TOO_LARGE, NULL, "The header \"%s\" has at most %d bytes.",
					request->long_header, REQUEST_MAX_HEADER);
	CheckRights(request);
}

/* A request, and where its answer goes. */
typedef struct Exchange
{
	const Request *request;
	Response   *response;
} Exchange;

/* Check a request and run it, for AttemptCatch(). */
static bool
Answer(void *arg)
{
	Exchange   *exchange = arg;

	CheckRequest(exchange->request);
	Dispatch(exchange->request, exchange->response);
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
RunGuarded(const Request *request, Response *response)
{
	Exchange	exchange = {request, response};
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
RunClaimed(const Request *request, const IdempotencyKey *key, Response *response)
{
	IdempotencyClaim answer = {0};

	RunGuarded(request, response);
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

/*
 * Run a request once, however often it is sent with its key.  The claim stays
 * outside of the request's subtransaction: others wait for it, and it decides
 * whether anything is run at all.
 */
static void
RunOnce(const Request *request, Response *response)
{
	IdempotencyKey key = {
		.scope = IdempotencyScope(IDEMPOTENCY_REQUEST),
		.route = request->route,
		.method = request->method_name,
		.key = request->idempotency_key
	};
	const char *body = request->body ? VARDATA_ANY(request->body) : "";
	size_t		len = request->body ? VARSIZE_ANY_EXHDR(request->body) : 0;
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	IdempotencyClaim claim;

	IdempotencyCheck(&key, problem);
	if (problem->count > 0)
	{
		ResponseProblem(response, problem, request->correlation_id);
		return;
	}
	IdempotencyBegin(&key, Sha256Hex(body, len), NULL, &claim);
	switch (claim.state)
	{
		case IDEMPOTENCY_NEW:
			RunClaimed(request, &key, response);
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
HasKey(const Request *request)
{
	return request->idempotency_key != NULL && RequestIsWrite(request) &&
		request->nsegments > 0 && MayRun(request) && !FAULT_SKIP("idempotency_claim");
}

/* Answer a request.  Its method, path and body are arguments. */
static Datum
HandleRequest(FunctionCallInfo fcinfo, Jsonb *headers)
{
	static const char *const names[] = {"method", "path"};
	Request		request;
	Response	response;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	RequestParse(&request, text_to_cstring(PG_GETARG_TEXT_PP(0)),
				 text_to_cstring(PG_GETARG_TEXT_PP(1)), headers,
				 PG_ARGISNULL(3) ? NULL : PG_GETARG_TEXT_PP(3));
	ResponseInit(&response);
	if (HasKey(&request))
		RunOnce(&request, &response);
	else
		RunGuarded(&request, &response);
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
