/*
 * report.h
 *		Every user-facing error of the extension is built here.
 *
 * A problem collects findings, each with its place, and is then raised as one
 * error: SQLSTATE and message for SQL callers, and a DETAIL that
 * is one JSON object with the members of an API problem body.
 */
#ifndef DMS_REPORT_H
#define DMS_REPORT_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/pg_list.h"

/* Domains of errors that are raised here begin with this. */
#define REPORT_DOMAIN "dms"

#define ERRCODE_DMS_INVALID_DOCUMENT MAKE_SQLSTATE('Z', 'D', '4', '0', '0')
#define ERRCODE_DMS_NO_DOCUMENT MAKE_SQLSTATE('Z', 'D', '4', '0', '4')
#define ERRCODE_DMS_CURSOR_LOST MAKE_SQLSTATE('Z', 'D', '4', '1', '0')
#define ERRCODE_DMS_ETAG_MISMATCH MAKE_SQLSTATE('Z', 'D', '4', '1', '2')
#define ERRCODE_DMS_SCHEMA_REFUSED MAKE_SQLSTATE('Z', 'D', '4', '2', '2')

/* The kinds of problems; problem_cases[] in report.c says how each is reported. */
typedef enum ProblemCase
{
	PROBLEM_BODY_NOT_VALID,
	PROBLEM_BODY_NOT_JSON,
	PROBLEM_BODY_EMPTY,
	PROBLEM_ID_MISMATCH,
	PROBLEM_KEY_CHANGE,
	PROBLEM_CASCADE_EQUALITY,
	PROBLEM_ARGUMENT,
	PROBLEM_PAGING,
	PROBLEM_QUERY_FIELD,
	PROBLEM_QUERY_VALUE,
	PROBLEM_UNRESOLVED_DESCRIPTOR,
	PROBLEM_UNRESOLVED_REFERENCE,
	PROBLEM_STILL_REFERENCED,
	PROBLEM_IDENTITY_TAKEN,
	PROBLEM_VALUE_TAKEN,
	PROBLEM_CYCLE,
	PROBLEM_ETAG_MISMATCH,
	PROBLEM_IF_NONE_MATCH,
	PROBLEM_NO_DOCUMENT,
	PROBLEM_NO_VERSION,
	PROBLEM_NO_RELATION,
	PROBLEM_UNKNOWN_RESOURCE,
	PROBLEM_UNKNOWN_ENDPOINT,
	PROBLEM_ID_MALFORMED,
	PROBLEM_METHOD,
	PROBLEM_MEDIA_TYPE,
	PROBLEM_PATH_TOO_LONG,
	PROBLEM_HEADERS_TOO_LARGE,
	PROBLEM_KEY_REUSED,
	PROBLEM_UNAVAILABLE,
	PROBLEM_NOT_DEPLOYED,
	PROBLEM_STORE_UNSAFE,
	PROBLEM_SCHEMA_REFUSED,
	PROBLEM_OPTIONS_REFUSED,
	PROBLEM_NOT_PERMITTED,
	PROBLEM_CASCADE_TOO_LARGE,
	PROBLEM_DELETE_TOO_LARGE,
	PROBLEM_CHANGES_OFF,
	PROBLEM_CACHE_MODE,
	PROBLEM_CHANGES_FOREIGN,
	PROBLEM_CURSOR_LOST,
	PROBLEM_EDGES_DIFFER,
	PROBLEM_NOT_SUPPORTED,
	PROBLEM_CASES				/* how many there are */
} ProblemCase;

typedef struct Problem
{
	ProblemCase kind;
	int			count;			/* findings, also those beyond the limit */
	List	   *findings;		/* of Finding, in the order found */
	const char *detail;			/* a sentence, instead of that of the case */
	const char *dependents;		/* member "dependents", a JSON array; NULL:
								 * none */
	const char *hint;
	const ErrorData *cause;		/* raised before; its object names are kept */
} Problem;

extern void ReportInit(void);
extern Problem *ProblemNew(ProblemCase kind);
extern bool ProblemHasRoom(Problem *problem);
extern void ProblemAdd(Problem *problem, const char *path,
					   const char *format,...) pg_attribute_printf(3, 4);

/*
 * Add a finding at a path.  The message is a whole sentence.  Past the limit neither
 * the path nor the message is made: a body can have millions of faults.
 */
#define ProblemAt(problem, path, ...) \
	do { \
		if (ProblemHasRoom(problem)) \
			ProblemAdd(problem, path, __VA_ARGS__); \
	} while (0)
extern void ProblemNote(Problem *problem,
						const char *format,...) pg_attribute_printf(2, 3);
extern void ProblemRaise(Problem *problem, const char *format,...)
			pg_attribute_printf(2, 3) pg_attribute_noreturn();
extern void ProblemRaiseInvalid(Problem *problem) pg_attribute_noreturn();
extern bool ProblemRaised(const ErrorData *error);
extern int	ProblemStatus(ProblemCase kind);
extern const char *ProblemContentType(ProblemCase kind);
extern char *ProblemBody(Problem *problem, const char *correlation_id);
extern char *ProblemBodyOfError(const ErrorData *error, const char *correlation_id,
								ProblemCase *kind);
extern void ReportError(ProblemCase kind, const char *hint,
						const char *format,...)
			pg_attribute_printf(3, 4) pg_attribute_noreturn();
extern void ReportRequireArguments(FunctionCallInfo fcinfo, int n, const char *const *names);

#endif							/* DMS_REPORT_H */
