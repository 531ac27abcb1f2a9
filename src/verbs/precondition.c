/*
 * precondition.c
 *		Checking the etags that a caller expects, or excludes.
 *
 * A check before the locks may refuse early; the check under them decides.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "verbs/precondition.h"

/* Require that the document has this etag. */
void
PreconditionSetMatch(Precondition *precondition, int64 etag)
{
	precondition->match.given = true;
	precondition->match.n = 1;
	precondition->match.etags = palloc(sizeof(int64));
	precondition->match.etags[0] = etag;
}

/* Returns true if the list has this etag. */
bool
PreconditionListHas(const EtagList *list, int64 etag)
{
	if (!list->given)
		return false;
	for (int i = 0; i < list->n; i++)
		if (list->etags[i] == etag)
			return true;
	return list->any;
}

/* Report that the document does not have the etag that the caller expects. */
static void
RaiseMismatch(void)
{
	ReportError(PROBLEM_ETAG_MISMATCH,
				"Read the document again and repeat the change on what you then have.",
				"document was changed since its etag was read");
}

/* Check the precondition for a document that exists. */
void
PreconditionCheck(const Precondition *precondition, const DocumentHeader *header)
{
	if (precondition->match.given && !PreconditionListHas(&precondition->match, header->etag) &&
		!FAULT_SKIP("etag_check"))
		RaiseMismatch();
	if (PreconditionListHas(&precondition->none_match, header->etag))
		ReportError(PROBLEM_IF_NONE_MATCH, NULL, "document exists already");
}

/* Check the precondition if the document does not exist. */
void
PreconditionCheckAbsent(const Precondition *precondition)
{
	if (precondition->match.given)
		RaiseMismatch();
}

/*
 * Report that there is no such document; if the caller has read an etag of it,
 * that it was changed.
 */
void
PreconditionRaiseGone(const Precondition *precondition, const pg_uuid_t *uuid)
{
	Problem    *problem;

	PreconditionCheckAbsent(precondition);
	problem = ProblemNew(PROBLEM_NO_DOCUMENT);
	problem->detail = psprintf("There is no document with the id %s.", UuidText(uuid));
	ProblemRaise(problem, "there is no document %s", UuidText(uuid));
}
