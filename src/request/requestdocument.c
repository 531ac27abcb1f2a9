/*
 * requestdocument.c
 *		Requests that read or write one document.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "request/requestanswer.h"
#include "request/requestbody.h"
#include "request/requestdocument.h"
#include "request/requestparameters.h"
#include "request/requestrelations.h"
#include "request/requestversions.h"
#include "verbs/delete.h"
#include "verbs/read.h"
#include "verbs/update.h"
#include "verbs/upsert.h"

/* Create a document, or update the one that has its identity. */
void
RequestDocumentPost(RouteCall *call)
{
	WriteResult result;
	Write		write;

	RequestBodyRequire(call->request);

	/* A document that is deleted before it can be attached is created again. */
	do
	{
		CHECK_FOR_INTERRUPTS();
		RequestStartWrite(call, &write, &result);
		RequestAttachNew(call->request, &write);
		UpsertDocument(&write, call->request->body);
	} while (!RequestAttach(call->request, &result));
	RequestAnswerWritten(call, &result, result.outcome == WRITE_INSERTED ? 201 : 200);
}

/* Update a document by its id. */
void
RequestDocumentPut(RouteCall *call)
{
	WriteResult result;
	Write		write;

	RequestBodyRequire(call->request);
	RequestStartWrite(call, &write, &result);
	write.id_required = true;
	UpdateDocument(&write, &call->uuid, call->request->body);
	RequestAnswerWritten(call, &result, 204);
}

/* Delete a document by its id. */
void
RequestDocumentDelete(RouteCall *call)
{
	Precondition precondition;

	RequestTakePreconditions(call->request, &precondition);
	call->response->status = 204;
	ResponseEtag(call->response, DeleteDocument(call->resource, &call->uuid, &precondition));
}

/*
 * Read a document by its id, as it is or as it was at a time.  A document of another
 * resource does not exist here.
 */
void
RequestDocumentGet(RouteCall *call)
{
	Parameters	parameters;
	ReadResult	result;

	if (call->request->parameters != NIL || call->request->query_malformed)
	{
		RequestParametersRead(call->request, PARAMETER_AS_OF, &parameters);
		if (parameters.given != 0)
		{
			RequestVersionAsOf(call, parameters.as_of);
			return;
		}
	}
	if (ReadDocument(&call->uuid, call->context, &result) && ModelCacheSame(result.resource, call->resource))
		RequestAnswerText(call, result.document.etag, result.body);
}
