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
extern Datum ResponseHeaders(const Response *response);
extern Datum ResponseRow(FunctionCallInfo fcinfo, const Response *response);

#endif							/* DMS_RESPONSE_H */
