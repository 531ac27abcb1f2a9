/*
 * precondition.c
 *		Checking the etags that a caller expects, or does not want to meet.
 *
 * A look before the locks may answer early; the check behind them decides.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "verbs/precondition.h"

/* The document must have this etag. */
void
PreconditionSetMatch(Precondition *precondition, int64 etag)
{
	precondition->match.given = true;
	precondition->match.n = 1;
	precondition->match.etags = palloc(sizeof(int64));
	precondition->match.etags[0] = etag;
}

/* Does the list name this etag? */
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

static void
RaiseMismatch(void)
{
	ReportError(PROBLEM_ETAG_MISMATCH,
				"Read the document again and repeat the change on what you then have.",
				"document was changed since its etag was read");
}

/* The document is there. */
void
PreconditionCheck(const Precondition *precondition, const DocumentHeader *header)
{
	if (precondition->match.given && !PreconditionListHas(&precondition->match, header->etag) &&
		!FAULT_SKIP("etag_check"))
		RaiseMismatch();
	if (PreconditionListHas(&precondition->none_match, header->etag))
		ReportError(PROBLEM_IF_NONE_MATCH, NULL, "document exists already");
}

/* The document is not there. */
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
	PreconditionCheckAbsent(precondition);
	ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document %s", UuidText(uuid));
}
