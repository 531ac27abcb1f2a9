/*
 * response.c
 *		Building answers: rows of dms.response.
 */
#include "postgres.h"

#include "funcapi.h"
#include "request/requestparse.h"
#include "request/response.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"

PG_FUNCTION_INFO_V1(dms_unavailable_response);

/* Make an empty response. */
void
ResponseInit(Response *response)
{
	memset(response, 0, sizeof(Response));
	initStringInfo(&response->headers);
}

/* Add a header. */
void
ResponseHeader(Response *response, const char *name, const char *value)
{
	if (response->headers.len > 0)
		appendStringInfoString(&response->headers, ", ");
	escape_json(&response->headers, name);
	appendStringInfoString(&response->headers, ": ");
	escape_json(&response->headers, value);
}

/* Add the etag of a document as a header. */
void
ResponseEtag(Response *response, int64 etag)
{
	ResponseHeader(response, "ETag", psprintf("\"" INT64_FORMAT "\"", etag));
}

/* Answer with JSON, which is not copied. */
void
ResponseJson(Response *response, text *body)
{
	response->status = 200;
	ResponseHeader(response, "Content-Type", "application/json; charset=utf-8");
	response->body = body;
}

/* Begin a JSON array that is to be the body of an answer, in a memory context. */
void
ResponseListBegin(StringInfo out, MemoryContext context)
{
	MemoryContext saved = MemoryContextSwitchTo(context);

	initStringInfo(out);
	MemoryContextSwitchTo(saved);
	appendStringInfoSpaces(out, VARHDRSZ);
	appendStringInfoChar(out, '[');
}

/* Begin an item of the array; the caller appends it. */
void
ResponseListItem(StringInfo out)
{
	if (out->len > VARHDRSZ + 1)
		appendStringInfoChar(out, ',');
}

/* End the array, and answer with it. */
void
ResponseListEnd(Response *response, StringInfo out)
{
	appendStringInfoChar(out, ']');
	SET_VARSIZE(out->data, out->len);
	ResponseJson(response, (text *) out->data);
}

/* Make a problem body the answer. */
static void
SetProblem(Response *response, ProblemCase kind, const char *body)
{
	response->status = ProblemStatus(kind);
	ResponseHeader(response, "Content-Type", ProblemContentType(kind));
	response->body = cstring_to_text(body);
}

/* Answer with a problem. */
void
ResponseProblem(Response *response, Problem *problem, const char *correlation_id)
{
	SetProblem(response, problem->kind, ProblemBody(problem, correlation_id));
}

/*
 * Answer with the problem of an error.  Returns false if it is not for the client:
 * errors that are not ours, and those about the state of the store.
 */
bool
ResponseOfError(Response *response, const ErrorData *error, const char *correlation_id)
{
	ProblemCase kind;
	char	   *body = ProblemBodyOfError(error, correlation_id, &kind);

	if (body == NULL || ProblemStatus(kind) >= 500)
		return false;
	ResponseInit(response);
	SetProblem(response, kind, body);
	return true;
}

/* Returns the headers as jsonb. */
Datum
ResponseHeaders(const Response *response)
{
	if (response->stored_headers != (Datum) 0)
		return response->stored_headers;
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(psprintf("{%s}", response->headers.data)));
}

/* Returns the answer as a row of dms.response. */
Datum
ResponseRow(FunctionCallInfo fcinfo, const Response *response)
{
	TupleDesc	descriptor;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(response->status);
	values[1] = ResponseHeaders(response);
	values[2] = PointerGetDatum(response->body);
	nulls[2] = response->body == NULL;
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

/* Returns the answer after the last attempt has failed. */
Datum
dms_unavailable_response(PG_FUNCTION_ARGS)
{
	Request		request = {0};
	Response	response;

	RequestCorrelate(&request, PG_ARGISNULL(0) ? NULL : PG_GETARG_JSONB_P(0));
	ResponseInit(&response);
	ResponseHeader(&response, "Retry-After", "1");
	ResponseProblem(&response, ProblemNew(PROBLEM_UNAVAILABLE), request.correlation_id);
	PG_RETURN_DATUM(ResponseRow(fcinfo, &response));
}
