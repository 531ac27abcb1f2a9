/*
 * requestparse.h
 *		A request as a front passes it on, taken apart.
 */
#ifndef DMS_REQUESTPARSE_H
#define DMS_REQUESTPARSE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/jsonb.h"
#include "verbs/precondition.h"

typedef enum RequestMethod
{
	METHOD_GET,
	METHOD_POST,
	METHOD_PUT,
	METHOD_DELETE,
	METHOD_OTHER
} RequestMethod;

/* One "name=value" of the query, decoded. */
typedef struct QueryParameter
{
	const char *name;
	const char *value;
} QueryParameter;

/* The most segments of a path that is served. */
#define REQUEST_SEGMENTS 6

/*
 * Limits in bytes.  They are those of common HTTP servers, which a request has
 * usually passed; they bound the work on a request that is refused anyway.
 */
#define REQUEST_MAX_PATH 8192
#define REQUEST_MAX_QUERY 65536
#define REQUEST_MAX_HEADER 16384

typedef struct Request
{
	RequestMethod method;
	const char *method_name;	/* upper case */
	const char *route;			/* the decoded path; NULL: it cannot be
								 * decoded */
	int			nsegments;		/* -1: the path cannot be one of ours */
	const char *path_fault;		/* why it cannot; a sentence */
	char	   *segments[REQUEST_SEGMENTS];
	List	   *parameters;		/* of QueryParameter */
	bool		query_malformed;
	bool		path_too_long;	/* or the query; neither was read */
	const char *long_header;	/* a header that was not read; NULL: none */
	bool		headers_malformed;
	char	   *correlation_id;
	char	   *other_correlation_id;	/* of x-correlation-id */
	char	   *content_type;
	char	   *if_match;
	char	   *if_none_match;
	char	   *idempotency_key;
	char	   *parent;			/* dms-parent */
	char	   *account;		/* dms-account */
	text	   *body;
} Request;

#define RequestIsWrite(request) \
	((request)->method != METHOD_GET && (request)->method != METHOD_OTHER)

extern void RequestParse(Request *request, const char *method, const char *path,
						 Jsonb *headers, text *body);
extern void RequestCorrelate(Request *request, Jsonb *headers);
extern const char *RequestMethodName(RequestMethod method);
extern bool RequestIsJson(const Request *request);
extern bool RequestBodyIsBlank(const Request *request);
extern bool RequestBodyIsTooDeep(const Request *request);
extern void RequestParseEtags(const char *header, bool weak, EtagList *list);

#endif							/* DMS_REQUESTPARSE_H */
