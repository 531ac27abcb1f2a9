/*
 * requestparameters.h
 *		Parameters of a query that are not filters.
 */
#ifndef DMS_REQUESTPARAMETERS_H
#define DMS_REQUESTPARAMETERS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "request/requestparse.h"
#include "verbs/query.h"

/* The most documents or other items of a page. */
#define PARAMETER_MAX_LIMIT 500

/* Which parameters a route takes. */
#define PARAMETER_OFFSET (1 << 0)
#define PARAMETER_LIMIT (1 << 1)
#define PARAMETER_TOTAL (1 << 2)
#define PARAMETER_BEFORE (1 << 3)
#define PARAMETER_AFTER (1 << 4)
#define PARAMETER_TYPE (1 << 5)
#define PARAMETER_PK (1 << 6)
#define PARAMETER_SK (1 << 7)
#define PARAMETER_INDEX (1 << 8)
#define PARAMETER_AS_OF (1 << 9)
#define PARAMETER_MIN_CHANGE (1 << 10)
#define PARAMETER_MAX_CHANGE (1 << 11)
#define PARAMETER_QUERY (1 << 12)
#define PARAMETER_SYNTAX (1 << 13)
#define PARAMETER_FROM (1 << 14)
#define PARAMETER_SORT (1 << 15)

#define PARAMETERS_PAGING (PARAMETER_OFFSET | PARAMETER_LIMIT | PARAMETER_TOTAL)
#define PARAMETERS_CHANGES (PARAMETER_MIN_CHANGE | PARAMETER_MAX_CHANGE)

/* The values of parameters.  Texts that were not given are NULL. */
typedef struct Parameters
{
	int			given;			/* which of the parameters */
	int64		offset;
	int64		limit;
	bool		total;
	int64		before;
	int64		from;			/* the number of a version */
	const char *after;
	const char *type;
	const char *pk;
	const char *sk;
	const char *index;
	TimestampTz as_of;
	ChangeRange range;			/* of PARAMETERS_CHANGES */
	const char *query;			/* of a search */
	bool		web;			/* its syntax */
	bool		newest;			/* its order */
} Parameters;

extern void RequestParametersRead(const Request *request, int taken, Parameters *parameters);
extern void RequestParametersReadOnly(const Request *request, int taken, Parameters *parameters);
extern bool RequestParameterNumber(const char *value, int64 max, int64 *number);
extern const ChangeRange *RequestParametersRange(const Parameters *parameters);
extern bool RequestParameterIsTaken(const char *name, int taken);

#endif							/* DMS_REQUESTPARAMETERS_H */
