/*
 * requestid.c
 *		Documents that requests name: by their ids, or by URNs.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "engine/snapshot.h"
#include "graph/nodes.h"
#include "request/requestid.h"

/* Refuse the name of a document that is neither an id nor a URN. */
static void
pg_attribute_noreturn()
RefuseId(const char *name)
{
	Problem    *problem = ProblemNew(PROBLEM_ID_MALFORMED);

	problem->detail = psprintf("\"%s\" is not the id of a document, which is a UUID.", name);
	ProblemAt(problem, "$.id", "must be a UUID, not \"%s\".", name);
	ProblemRaise(problem, "id in the path is not valid");
}

/* Report that there is no document of a name. */
void
RequestIdRaiseNone(const char *name)
{
	Problem    *problem = ProblemNew(PROBLEM_NO_DOCUMENT);

	problem->detail = psprintf("There is no document with the id %s.", name);
	ProblemRaise(problem, "there is no document %s", name);
}

/*
 * Take the id from the path, if the route has one.  Returns false if it is the URN of
 * another resource, whose documents do not exist there.
 */
bool
RequestIdTake(RouteCall *call, const Route *route)
{
	const char *name;
	bool		here;

	if (!RouteNamesDocument(route))
		return true;
	name = call->request->segments[2];
	if (UuidParse(name, &call->uuid))
		return true;
	if (!UrnIsMeant(name))
		RefuseId(name);
	SnapshotBegin();
	here = NodeIdOfUrn(name, call->resource, &call->uuid);
	SnapshotEnd();
	return here;
}

/*
 * Find the id of a document of any resource, in the active snapshot.  Returns false if
 * it is given as a URN, and there is none.
 */
bool
RequestIdFind(const char *name, pg_uuid_t *uuid)
{
	if (UuidParse(name, uuid))
		return true;
	if (!UrnIsMeant(name))
		RefuseId(name);
	return NodeOfUrn(name, uuid);
}
