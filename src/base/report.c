/*
 * report.c
 *		Building and raising user-facing errors.
 */
#include "postgres.h"

#include "base/report.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/json.h"

/* A thousand findings are enough for any body. */
#define MAX_FINDINGS 1000

/* Bytes of a path or message that are shown. */
#define MAX_SHOWN 8192

/* One thing that is wrong; without a path it concerns the whole request. */
typedef struct Finding
{
	int			number;			/* in the order found */
	const char *path;
	const char *message;
} Finding;

typedef struct ProblemCaseInfo
{
	int			sqlstate;
	int			status;
	const char *type;			/* after "urn:ed-fi:api:" */
	const char *title;
	const char *detail;
} ProblemCaseInfo;

static const ProblemCaseInfo problem_cases[] = {
	[PROBLEM_BODY_NOT_VALID] = {
		ERRCODE_DMS_INVALID_DOCUMENT, 400,
		"bad-request:data-validation-failed", "Data Validation Failed",
		"The document does not fit the schema of its resource. See 'validationErrors' for each place."
	},
	[PROBLEM_BODY_NOT_JSON] = {
		ERRCODE_DMS_INVALID_DOCUMENT, 400,
		"bad-request:data-validation-failed", "Data Validation Failed",
		"The body is not JSON. See 'validationErrors' for the reason."
	},
	[PROBLEM_BODY_EMPTY] = {
		ERRCODE_DMS_INVALID_DOCUMENT, 400, "bad-request", "Bad Request",
		"The request has no body."
	},
	[PROBLEM_ID_MISMATCH] = {
		ERRCODE_DMS_INVALID_DOCUMENT, 400, "bad-request", "Bad Request",
		"The id in the document is not the id of the document to update."
	},
	[PROBLEM_KEY_CHANGE] = {
		ERRCODE_DMS_INVALID_DOCUMENT, 400,
		"bad-request:data-validation-failed:key-change-not-supported",
		"Key Change Not Supported",
		"The identifying values of this resource cannot be changed."
	},
	[PROBLEM_CASCADE_EQUALITY] = {
		ERRCODE_DMS_INVALID_DOCUMENT, 400,
		"bad-request:data-validation-failed", "Data Validation Failed",
		"The change would leave documents whose references contradict each other."
	},
	[PROBLEM_ARGUMENT] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 400,
		"bad-request:parameter-validation-failed",
		"Parameter Validation Failed", "A parameter is not valid."
	},
	[PROBLEM_PAGING] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 400,
		"bad-request:parameter-validation-failed",
		"Parameter Validation Failed", "A parameter of the query is not valid."
	},
	[PROBLEM_QUERY_FIELD] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 400, "bad-request", "Bad Request",
		"The query names fields that this resource cannot be queried by."
	},
	[PROBLEM_QUERY_VALUE] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 400,
		"bad-request:data-validation-failed", "Data Validation Failed",
		"A value of the query does not fit its field. See 'validationErrors' for each."
	},
	[PROBLEM_UNRESOLVED_DESCRIPTOR] = {
		ERRCODE_FOREIGN_KEY_VIOLATION, 400, "bad-request", "Bad Request",
		"The document names descriptors that do not exist. See 'validationErrors' for each place."
	},
	[PROBLEM_UNRESOLVED_REFERENCE] = {
		ERRCODE_FOREIGN_KEY_VIOLATION, 409,
		"data-conflict:unresolved-reference", "Unresolved Reference",
		"The document refers to documents that do not exist. See 'validationErrors' for each place."
	},
	[PROBLEM_STILL_REFERENCED] = {
		ERRCODE_RESTRICT_VIOLATION, 409,
		"data-conflict:dependent-item-exists", "Dependent Item Exists",
		"Other documents refer to this one."
	},
	[PROBLEM_IDENTITY_TAKEN] = {
		ERRCODE_UNIQUE_VIOLATION, 409, "identity-conflict",
		"Identifying Values Are Not Unique",
		"Another document has these identifying values."
	},
	[PROBLEM_VALUE_TAKEN] = {
		ERRCODE_UNIQUE_VIOLATION, 409, "data-conflict:non-unique-values",
		"Non-Unique Values", "Another document has this value, which must be unique."
	},
	[PROBLEM_CYCLE] = {
		ERRCODE_CHECK_VIOLATION, 409, "data-conflict:cyclic-relationship",
		"Cyclic Relationship", "A document would be above itself."
	},
	[PROBLEM_ETAG_MISMATCH] = {
		ERRCODE_DMS_ETAG_MISMATCH, 412, "optimistic-lock-failed",
		"Optimistic Lock Failed",
		"The document was changed since its etag was read."
	},
	[PROBLEM_IF_NONE_MATCH] = {
		ERRCODE_DMS_ETAG_MISMATCH, 412, "precondition-failed:if-none-match",
		"If-None-Match Precondition Failed",
		"The document exists, and the request is only for one that does not."
	},
	[PROBLEM_NO_DOCUMENT] = {
		ERRCODE_DMS_NO_DOCUMENT, 404, "not-found", "Not Found",
		"There is no such document."
	},
	[PROBLEM_NO_VERSION] = {
		ERRCODE_DMS_NO_DOCUMENT, 404, "not-found", "Not Found",
		"There is no such version of the document."
	},
	[PROBLEM_NO_RELATION] = {
		ERRCODE_DMS_NO_DOCUMENT, 404, "not-found", "Not Found",
		"The documents are not related."
	},
	[PROBLEM_UNKNOWN_RESOURCE] = {
		ERRCODE_UNDEFINED_OBJECT, 404, "not-found", "Not Found",
		"There is no such resource in the deployed schema."
	},
	[PROBLEM_UNKNOWN_ENDPOINT] = {
		ERRCODE_UNDEFINED_OBJECT, 404, "not-found", "Not Found",
		"There is nothing at this path."
	},
	[PROBLEM_ID_MALFORMED] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 400,
		"bad-request:data-validation-failed", "Data Validation Failed",
		"The id in the path is not one."
	},
	[PROBLEM_METHOD] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 405, "method-not-allowed",
		"Method Not Allowed", "The method does not fit the path."
	},
	[PROBLEM_MEDIA_TYPE] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 415, "unsupported-media-type",
		"Unsupported Media Type", "The body must be JSON."
	},
	[PROBLEM_PATH_TOO_LONG] = {
		ERRCODE_PROGRAM_LIMIT_EXCEEDED, 414, "uri-too-long", "URI Too Long",
		"The path or the query is too long."
	},
	[PROBLEM_HEADERS_TOO_LARGE] = {
		ERRCODE_PROGRAM_LIMIT_EXCEEDED, 431, "request-header-fields-too-large",
		"Request Header Fields Too Large", "A header is too long."
	},
	[PROBLEM_KEY_REUSED] = {
		ERRCODE_INVALID_PARAMETER_VALUE, 422, "idempotency-key-reused",
		"Idempotency Key Reused",
		"The Idempotency-Key was used before, with another body."
	},
	[PROBLEM_UNAVAILABLE] = {
		ERRCODE_T_R_SERIALIZATION_FAILURE, 503, "service-unavailable",
		"Service Unavailable",
		"Others were in the way each time that the request was tried. Try again later."
	},
	[PROBLEM_NOT_DEPLOYED] = {
		ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, 500, "system",
		"No Schema Deployed", "This database has no deployed schema."
	},
	[PROBLEM_STORE_UNSAFE] = {
		ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, 500, "system",
		"Store Not Safe", "The store cannot be used until its owner has put something right."
	},
	[PROBLEM_SCHEMA_REFUSED] = {
		ERRCODE_DMS_SCHEMA_REFUSED, 422, "schema-refused", "Schema Refused",
		"The schema cannot be deployed; nothing was changed. See 'validationErrors' for each place."
	},
	[PROBLEM_OPTIONS_REFUSED] = {
		ERRCODE_DMS_SCHEMA_REFUSED, 422, "options-refused", "Options Refused",
		"The options cannot be set; nothing was changed."
	},
	[PROBLEM_NOT_PERMITTED] = {
		ERRCODE_INSUFFICIENT_PRIVILEGE, 403, "security:authorization",
		"Authorization Denied", "The role may not do this."
	},
	[PROBLEM_CASCADE_TOO_LARGE] = {
		ERRCODE_PROGRAM_LIMIT_EXCEEDED, 400, "bad-request", "Bad Request",
		"The change of identity would reach too many documents."
	},
	[PROBLEM_DELETE_TOO_LARGE] = {
		ERRCODE_PROGRAM_LIMIT_EXCEEDED, 400, "bad-request", "Bad Request",
		"Too many documents would be deleted."
	},
	[PROBLEM_CACHE_MODE] = {
		ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, 500, "system",
		"Cache Mode", "The mode of the cache does not allow this."
	},
	[PROBLEM_CHANGES_OFF] = {
		ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, 404, "system:configuration:feature-disabled",
		"Feature Disabled", "Changes of documents are not recorded."
	},
	[PROBLEM_CHANGES_FOREIGN] = {
		ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, 503, "service-unavailable", "Service Unavailable",
		"Nobody has written to this copy of the store yet, so its changes have no numbers."
	},
	[PROBLEM_CURSOR_LOST] = {
		ERRCODE_DMS_CURSOR_LOST, 410, "cursor-lost", "Cursor Lost",
		"Not all changes after the cursor are known."
	},
	[PROBLEM_EDGES_DIFFER] = {
		ERRCODE_DATA_CORRUPTED, 500, "system", "Edge Verification Failed",
		"The reference edges of the document differ from its stored rows."
	},
	[PROBLEM_NOT_SUPPORTED] = {
		ERRCODE_FEATURE_NOT_SUPPORTED, 400, "bad-request", "Bad Request",
		"This change is not supported."
	},
};

static const struct config_enum_entry unresolved_options[] = {
	{"409", 409, false},
	{"400", 400, false},
	{NULL, 0, false}
};

static int	unresolved_status = 409;

/*
 * The domains of our errors, one for each case, so that the case of an error that
 * is caught is known.  They have no translations.
 */
static char domains[PROBLEM_CASES][sizeof(REPORT_DOMAIN) + 3];

/* Define the settings, and name the domains. */
void
ReportInit(void)
{
	for (int i = 0; i < PROBLEM_CASES; i++)
		snprintf(domains[i], sizeof(domains[i]), REPORT_DOMAIN "-%d", i);
	DefineCustomEnumVariable("dms.unresolved_reference_status",
							 "The status that says that a reference does not exist.",
							 "An older generation of clients expects 400.",
							 &unresolved_status, 409, unresolved_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

/* Make a problem without findings. */
Problem *
ProblemNew(ProblemCase kind)
{
	Problem    *problem = palloc0(sizeof(Problem));

	problem->kind = kind;
	return problem;
}

/*
 * Returns a text that can be shown: names and values of a request can be longer than
 * is worth reading.
 */
static const char *
Clip(const char *text)
{
	size_t		len = strlen(text);

	if (len <= MAX_SHOWN)
		return text;

	return psprintf("%.*s...", pg_mbcliplen(text, (int) len, MAX_SHOWN), text);
}

/* Returns true if one more finding is listed, and counts it otherwise. */
bool
ProblemHasRoom(Problem *problem)
{
	CHECK_FOR_INTERRUPTS();
	if (problem->count < MAX_FINDINGS)
		return true;
	problem->count++;
	return false;
}

/* Keep a finding. */
static void
AddFinding(Problem *problem, const char *path, char *message)
{
	Finding    *finding = palloc(sizeof(Finding));

	finding->number = ++problem->count;
	finding->path = path ? Clip(path) : NULL;
	finding->message = Clip(message);
	problem->findings = lappend(problem->findings, finding);
}

/* Format like psprintf, from a va_list that a macro provides. */
#define FORMAT_INTO(target, format) \
	do { \
		StringInfoData formatted; \
		initStringInfo(&formatted); \
		for (;;) \
		{ \
			va_list args; \
			int needed; \
			va_start(args, format); \
			needed = appendStringInfoVA(&formatted, format, args); \
			va_end(args); \
			if (needed == 0) \
				break; \
			enlargeStringInfo(&formatted, needed); \
		} \
		(target) = formatted.data; \
	} while (0)

/* Add a finding at a path, for ProblemAt(). */
void
ProblemAdd(Problem *problem, const char *path, const char *format,...)
{
	char	   *message;

	FORMAT_INTO(message, format);
	AddFinding(problem, path, message);
}

/* Add a finding about the whole. */
void
ProblemNote(Problem *problem, const char *format,...)
{
	char	   *message;

	if (!ProblemHasRoom(problem))
		return;
	FORMAT_INTO(message, format);
	AddFinding(problem, NULL, message);
}

/* Order findings by path, and those of one path as they were found. */
static int
CompareFindings(const ListCell *a, const ListCell *b)
{
	const Finding *left = lfirst(a);
	const Finding *right = lfirst(b);
	int			order = strcmp(left->path ? left->path : "",
							   right->path ? right->path : "");

	return order != 0 ? order : left->number - right->number;
}

/* Append "validationErrors": {path: [messages]}. */
static void
AppendValidationErrors(StringInfo out, List *findings)
{
	const char *open = NULL;
	ListCell   *cell;

	appendStringInfoString(out, ", \"validationErrors\": {");
	foreach(cell, findings)
	{
		Finding    *finding = lfirst(cell);

		if (finding->path == NULL)
			continue;
		if (open != NULL && strcmp(open, finding->path) == 0)
			appendStringInfoString(out, ", ");
		else
		{
			appendStringInfoString(out, open != NULL ? "], " : "");
			escape_json(out, finding->path);
			appendStringInfoString(out, ": [");
			open = finding->path;
		}
		escape_json(out, finding->message);
	}
	appendStringInfoString(out, open != NULL ? "]}" : "}");
}

/* Append "errors": [messages]. */
static void
AppendErrors(StringInfo out, const Problem *problem)
{
	bool		first = true;
	ListCell   *cell;

	appendStringInfoString(out, ", \"errors\": [");
	foreach(cell, problem->findings)
	{
		Finding    *finding = lfirst(cell);

		if (finding->path != NULL)
			continue;
		appendStringInfoString(out, first ? "" : ", ");
		first = false;
		escape_json(out, finding->message);
	}
	if (problem->count > MAX_FINDINGS)
		appendStringInfo(out, "%s\"%d more are not listed.\"", first ? "" : ", ",
						 problem->count - MAX_FINDINGS);
	appendStringInfoChar(out, ']');
}

/* Returns the HTTP status of a case. */
int
ProblemStatus(ProblemCase kind)
{
	return kind == PROBLEM_UNRESOLVED_REFERENCE ? unresolved_status : problem_cases[kind].status;
}

/*
 * Returns the content type of a body.  Existing clients expect plain JSON for two
 * cases.
 */
const char *
ProblemContentType(ProblemCase kind)
{
	return kind == PROBLEM_METHOD || kind == PROBLEM_PAGING ?
		"application/json; charset=utf-8" : "application/problem+json";
}

/* Returns the case of an error that was raised here; -1 for any other. */
static int
CaseOfError(const ErrorData *error)
{
	for (int i = 0; i < PROBLEM_CASES; i++)
		if (error->domain != NULL && strcmp(error->domain, domains[i]) == 0)
			return i;
	return -1;
}

/* Returns true if an error was raised by ProblemRaise(). */
bool
ProblemRaised(const ErrorData *error)
{
	return CaseOfError(error) >= 0;
}

/* Append the members that depend on nothing but the case. */
static void
AppendCase(StringInfo out, ProblemCase kind)
{
	const ProblemCaseInfo *info = &problem_cases[kind];

	appendStringInfo(out, ", \"type\": \"urn:ed-fi:api:%s\", \"title\": \"%s\", \"status\": %d",
					 info->type, info->title, ProblemStatus(kind));
}

/* Append "correlationId": id. */
static void
AppendCorrelationId(StringInfo out, const char *correlation_id)
{
	appendStringInfoString(out, ", \"correlationId\": ");
	escape_json(out, correlation_id);
}

#define BODY_START "{\"detail\": "

/* Returns the problem body; the correlation id may be NULL. */
char *
ProblemBody(Problem *problem, const char *correlation_id)
{
	StringInfoData out;

	list_sort(problem->findings, CompareFindings);
	initStringInfo(&out);
	appendStringInfoString(&out, BODY_START);
	escape_json(&out, problem->detail ? problem->detail : problem_cases[problem->kind].detail);
	AppendCase(&out, problem->kind);
	if (correlation_id != NULL)
		AppendCorrelationId(&out, correlation_id);
	AppendValidationErrors(&out, problem->findings);
	AppendErrors(&out, problem);
	if (problem->dependents != NULL)
		appendStringInfo(&out, ", \"dependents\": %s", problem->dependents);
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* Returns the length of a JSON string, with its quotes; 0 if it is none. */
static size_t
JsonStringLength(const char *json)
{
	size_t		len = 1;

	if (json[0] != '"')
		return 0;
	while (json[len] != '"')
	{
		if (json[len] == '\\')
			len++;
		if (json[len] == '\0')
			return 0;
		len++;
	}
	return len + 1;
}

/*
 * Returns the problem body of an error that was raised here, and sets its case;
 * NULL for other errors.  Its DETAIL is the body without the correlation id, which
 * comes after the members of the case.
 */
char *
ProblemBodyOfError(const ErrorData *error, const char *correlation_id, ProblemCase *kind)
{
	int			found = CaseOfError(error);
	size_t		start = strlen(BODY_START);
	StringInfoData out;

	if (found < 0 || error->detail == NULL || strncmp(error->detail, BODY_START, start) != 0)
		return NULL;
	*kind = found;
	initStringInfo(&out);
	appendBinaryStringInfo(&out, error->detail, start + JsonStringLength(error->detail + start));
	AppendCase(&out, *kind);
	start = out.len;
	if (strncmp(error->detail, out.data, start) != 0)
		return NULL;
	AppendCorrelationId(&out, correlation_id);
	appendStringInfoString(&out, error->detail + start);
	return out.data;
}

/*
 * Name the database objects that the cause of a problem was about, so that
 * clients need not know our messages to find the violated constraint.
 */
static int
KeepObjectNames(const ErrorData *cause)
{
	if (cause == NULL)
		return 0;
	if (cause->schema_name)
		err_generic_string(PG_DIAG_SCHEMA_NAME, cause->schema_name);
	if (cause->table_name)
		err_generic_string(PG_DIAG_TABLE_NAME, cause->table_name);
	if (cause->column_name)
		err_generic_string(PG_DIAG_COLUMN_NAME, cause->column_name);
	if (cause->datatype_name)
		err_generic_string(PG_DIAG_DATATYPE_NAME, cause->datatype_name);
	if (cause->constraint_name)
		err_generic_string(PG_DIAG_CONSTRAINT_NAME, cause->constraint_name);
	return 0;
}

/* Raise the problem as an error. */
void
ProblemRaise(Problem *problem, const char *format,...)
{
	char	   *message;
	char	   *body = ProblemBody(problem, NULL);

	FORMAT_INTO(message, format);
	ereport_domain(ERROR, domains[problem->kind],
				   (errcode(problem_cases[problem->kind].sqlstate),
					errmsg_internal("%s", Clip(message)),
					errdetail_internal("%s", body),
					problem->hint ? errhint("%s", problem->hint) : 0,
					KeepObjectNames(problem->cause)));
	pg_unreachable();
}

/*
 * Raise the problems of a document.  The message has the first finding, because many
 * clients do not show more than the message.
 */
void
ProblemRaiseInvalid(Problem *problem)
{
	const Finding *first = problem->findings != NIL ? linitial(problem->findings) : NULL;
	StringInfoData message;

	initStringInfo(&message);
	appendStringInfoString(&message, "document is not valid");
	if (first != NULL)
	{
		appendStringInfo(&message, ": %s%s%s", first->path ? first->path : "",
						 first->path ? " " : "", first->message);
		if (message.data[message.len - 1] == '.')
			message.data[--message.len] = '\0';
	}
	if (problem->count > 1)
		appendStringInfo(&message, " (and %d more)", problem->count - 1);
	ProblemRaise(problem, "%s", message.data);
}

/* Raise a problem without findings; the hint may be NULL. */
void
ReportError(ProblemCase kind, const char *hint, const char *format,...)
{
	Problem    *problem = ProblemNew(kind);
	char	   *message;

	FORMAT_INTO(message, format);
	problem->hint = hint;
	ProblemNote(problem, "%s", message);
	ProblemRaise(problem, "%s", message);
}

/* Refuse NULL for any of the first n arguments. */
void
ReportRequireArguments(FunctionCallInfo fcinfo, int n, const char *const *names)
{
	for (int i = 0; i < n; i++)
		if (PG_ARGISNULL(i))
			ReportError(PROBLEM_ARGUMENT, NULL, "%s must not be null", names[i]);
}
