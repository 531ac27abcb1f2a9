/*
 * requestbody.c
 *		Bodies of requests, before they are taken for documents.
 *
 * Documents are parsed and checked by the verbs.  Bodies that are no documents are
 * small objects, whose members are known here.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/words.h"
#include "miscadmin.h"
#include "request/requestbody.h"

#define NOT_AS_EXPECTED "The body is not as this path expects it. See 'validationErrors' for each place."

/* Check a body as far as possible without parsing it. */
void
RequestBodyRequire(const Request *request)
{
	Problem    *problem;

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

/* Refuse members of a body that have other names than these. */
static void
CheckNames(const JNode *body, const char *const *names, int n)
{
	Problem    *problem = ProblemNew(PROBLEM_BODY_NOT_VALID);

	problem->detail = NOT_AS_EXPECTED;
	foreach_child(child, body)
	{
		if (WordFind(names, n, child->name) < 0)
			ProblemAt(problem, JsonTreePath(child), "is not expected here.");
	}
	if (problem->count > 0)
		ProblemRaiseInvalid(problem);
}

/* Returns the body, which must be a JSON object with members of these names only. */
JNode *
RequestBodyObject(const Request *request, const char *const *names, int n)
{
	JsonFault	fault;
	JNode	   *body;
	Problem    *problem;

	RequestBodyRequire(request);
	body = JsonTreeParse(VARDATA_ANY(request->body), VARSIZE_ANY_EXHDR(request->body), &fault);
	if (body != NULL && body->kind == JNODE_OBJECT)
	{
		CheckNames(body, names, n);
		return body;
	}
	if (body == NULL && fault.duplicates == NIL)
	{
		problem = ProblemNew(PROBLEM_BODY_NOT_JSON);
		ProblemAt(problem, fault.path, "%s", fault.message);
	}
	else
	{
		problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
		problem->detail = NOT_AS_EXPECTED;
		ProblemAt(problem, "$.", "%s", body != NULL ? "must be an object." : "has a member more than once.");
	}
	ProblemRaiseInvalid(problem);
}
