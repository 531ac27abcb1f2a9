/*
 * response.h
 *		An answer: status, headers and body.
 */
#ifndef DMS_RESPONSE_H
#define DMS_RESPONSE_H

#include "postgres.h"

#include "base/report.h"
#include "fmgr.h"
#include "lib/stringinfo.h"

typedef struct Response
{
	int			status;
	StringInfoData headers;		/* members of a JSON object */
	Datum		stored_headers; /* those of an earlier answer, instead */
	text	   *body;			/* NULL: none */
} Response;

extern void ResponseInit(Response *response);
extern void ResponseHeader(Response *response, const char *name, const char *value);
extern void ResponseProblem(Response *response, Problem *problem,
							const char *correlation_id);
extern bool ResponseOfError(Response *response, const ErrorData *error,
							const char *correlation_id);
extern void ResponseEtag(Response *response, int64 etag);
extern void ResponseJson(Response *response, text *body);
extern void ResponseListBegin(StringInfo out, MemoryContext context);
extern void ResponseListItem(StringInfo out);
extern void ResponseListEnd(Response *response, StringInfo out);
extern Datum ResponseHeaders(const Response *response);
extern Datum ResponseRow(FunctionCallInfo fcinfo, const Response *response);

#endif							/* DMS_RESPONSE_H */
