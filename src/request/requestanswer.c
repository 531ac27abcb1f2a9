/*
 * requestanswer.c
 *		What requests about single documents share: preconditions, and answers.
 */
#include "postgres.h"

#include "base/uuid.h"
#include "request/requestanswer.h"

/* Take the preconditions of a request. */
void
RequestTakePreconditions(const Request *request, Precondition *precondition)
{
	RequestParseEtags(request->if_match, false, &precondition->match);
	RequestParseEtags(request->if_none_match, true, &precondition->none_match);
}

/* Start a write of the resource at the path, with the preconditions of the request. */
void
RequestStartWrite(RouteCall *call, Write *write, WriteResult *result)
{
	memset(write, 0, sizeof(Write));
	write->resource = call->resource;
	write->result = result;
	RequestTakePreconditions(call->request, &write->precondition);
}

/* Answer with the place and the etag of a document that was written. */
void
RequestAnswerWritten(RouteCall *call, const WriteResult *result, int status)
{
	const ResourceModel *model = call->resource->model;

	call->response->status = status;
	ResponseHeader(call->response, "Location",
				   psprintf("/%s/%s/%s", model->project_endpoint, model->endpoint,
							UuidText(&result->document.uuid)));
	ResponseEtag(call->response, result->document.etag);
}

/* Answer with a text that a document has or had with an etag, unless the client has it. */
void
RequestAnswerText(RouteCall *call, int64 etag, text *body)
{
	EtagList	known;

	ResponseEtag(call->response, etag);
	RequestParseEtags(call->request->if_none_match, true, &known);
	if (PreconditionListHas(&known, etag))
		call->response->status = 304;
	else
		ResponseJson(call->response, body);
}
