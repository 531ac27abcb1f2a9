/*
 * requestroutes.c
 *		The table of routes: which handler serves which path and method.
 *
 * The table below is all that decides.  The methods of a path follow one another, in
 * the order in which Allow lists them, and the first path that fits is taken.  So
 * paths with words come before those that have a name or an id in their place.
 *
 * A request needs the right to execute the function of its route, so that a reader's
 * request can only read.  That and other checks come first, because handlers that
 * write run with the rights of the owner.  Those that read run with the rights of the
 * caller, in a snapshot of their own.  Reads of documents as they are need the
 * privileges on their tables, and no function.
 *
 * A new route is a line in the table, and a handler in a module of this folder.
 */
#include "postgres.h"

#include "base/urn.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "request/requestchanges.h"
#include "request/requestdocument.h"
#include "request/requestquery.h"
#include "request/requestrelations.h"
#include "request/requestroutes.h"
#include "request/requestversions.h"

#define ROUTE_RESOURCE ROUTE_PROJECT, ROUTE_ENDPOINT
#define ROUTE_DOCUMENT ROUTE_PROJECT, ROUTE_ENDPOINT, ROUTE_ID

static const Route routes[] = {
	{{ROUTE_URN}, METHOD_GET, {"id_of", 1, {TEXTOID}}, RequestUrnGet},

	{{"dms", "records"}, METHOD_GET, {"query_records", 5, {TEXTOID, TEXTOID, TEXTOID, INT4OID, TEXTOID}}, RequestRecordsGet},
	{{"dms", "accounts", ROUTE_ID, "documents"}, METHOD_GET,
	{"account_documents", 4, {UUIDOID, TEXTOID, INT4OID, UUIDOID}}, RequestAccountDocumentsGet},

	{{"changeQueries", "v1", "availableChangeVersions"}, METHOD_GET, {"available_change_versions", 0}, RequestAvailableChangesGet},
	{{ROUTE_RESOURCE, "deletes"}, METHOD_GET,
	{"deleted_documents", 6, {TEXTOID, TEXTOID, INT8OID, INT8OID, INT4OID, INT8OID}}, RequestDeletesGet},
	{{ROUTE_RESOURCE, "keyChanges"}, METHOD_GET,
	{"changed_keys", 6, {TEXTOID, TEXTOID, INT8OID, INT8OID, INT4OID, INT8OID}}, RequestKeyChangesGet},

	{{ROUTE_RESOURCE}, METHOD_GET, {NULL}, RequestQueryPage},
	{{ROUTE_RESOURCE}, METHOD_POST, {"upsert_document", 4, {TEXTOID, TEXTOID, JSONOID, INT8OID}}, RequestDocumentPost, RequestAttachCheck},

	{{ROUTE_DOCUMENT}, METHOD_GET, {NULL}, RequestDocumentGet},
	{{ROUTE_DOCUMENT}, METHOD_PUT, {"update_document", 3, {UUIDOID, JSONOID, INT8OID}}, RequestDocumentPut},
	{{ROUTE_DOCUMENT}, METHOD_DELETE, {"delete_document", 2, {UUIDOID, INT8OID}}, RequestDocumentDelete},

	{{ROUTE_DOCUMENT, "versions"}, METHOD_GET, {"list_versions", 3, {UUIDOID, INT4OID, INT8OID}}, RequestVersionsGet},
	{{ROUTE_DOCUMENT, "versions", ROUTE_NUMBER}, METHOD_GET, {"get_document", 2, {UUIDOID, INT8OID}}, RequestVersionGet},
	{{ROUTE_DOCUMENT, "versions", ROUTE_NUMBER, "diff"}, METHOD_GET, {"diff_versions", 3, {UUIDOID, INT8OID, INT8OID}}, RequestVersionDiff},
	{{ROUTE_DOCUMENT, "changes"}, METHOD_GET, {"change_log", 3, {UUIDOID, INT4OID, INT8OID}}, RequestChangesGet},
	{{ROUTE_DOCUMENT, "versions", ROUTE_NUMBER, "restore"}, METHOD_POST,
	{"restore_document", 3, {UUIDOID, INT8OID, INT8OID}}, RequestVersionRestore},

	{{ROUTE_DOCUMENT, "parent"}, METHOD_GET, {"parent", 1, {UUIDOID}}, RequestParentGet},
	{{ROUTE_DOCUMENT, "parent"}, METHOD_PUT, {"set_parent", 2, {UUIDOID, UUIDOID}}, RequestParentPut},
	{{ROUTE_DOCUMENT, "parent"}, METHOD_DELETE, {"set_parent", 2, {UUIDOID, UUIDOID}}, RequestParentDelete},
	{{ROUTE_DOCUMENT, "children"}, METHOD_GET, {"children", 4, {UUIDOID, TEXTOID, INT4OID, UUIDOID}}, RequestChildrenGet},
	{{ROUTE_DOCUMENT, "ancestors"}, METHOD_GET, {"ancestors", 1, {UUIDOID}}, RequestAncestorsGet},
	{{ROUTE_DOCUMENT, "members"}, METHOD_GET, {"members", 4, {UUIDOID, TEXTOID, INT4OID, UUIDOID}}, RequestMembersGet},
	{{ROUTE_DOCUMENT, "members", ROUTE_ID}, METHOD_PUT, {"add_member", 3, {UUIDOID, UUIDOID, BOOLOID}}, RequestMemberPut},
	{{ROUTE_DOCUMENT, "members", ROUTE_ID}, METHOD_DELETE, {"remove_member", 2, {UUIDOID, UUIDOID}}, RequestMemberDelete},
	{{ROUTE_DOCUMENT, "collections"}, METHOD_GET, {"collections", 1, {UUIDOID}}, RequestCollectionsGet},
};

/* Returns true if a segment of a path is one that the route has there. */
static bool
SegmentFits(const char *expected, const char *segment)
{
	if (expected[0] != '{')
		return pg_strcasecmp(expected, segment) == 0;
	return strcmp(expected, ROUTE_URN) != 0 || UrnIsMeant(segment);
}

/* Returns true if the path of a request is that of a route. */
static bool
PathFits(const Route *route, const Request *request)
{
	int			n = request->nsegments;

	if (route->path[n - 1] == NULL || (n < REQUEST_SEGMENTS && route->path[n] != NULL))
		return false;
	for (int i = 0; i < n; i++)
		if (!SegmentFits(route->path[i], request->segments[i]))
			return false;
	return true;
}

/* Returns true if two routes have one path. */
static bool
SamePath(const Route *left, const Route *right)
{
	for (int i = 0; i < REQUEST_SEGMENTS; i++)
	{
		if (left->path[i] == NULL || right->path[i] == NULL)
			return left->path[i] == right->path[i];
		if (strcmp(left->path[i], right->path[i]) != 0)
			return false;
	}
	return true;
}

/* Returns true if a route follows another one in the table, and has its path. */
static bool
IsOfPath(const Route *route, const Route *path)
{
	return route < routes + lengthof(routes) && SamePath(route, path);
}

/* Find the route of a request. */
void
RequestRoutesFind(const Request *request, RouteMatch *match)
{
	memset(match, 0, sizeof(RouteMatch));
	if (request->nsegments < 1)
		return;
	for (const Route *path = routes; path < routes + lengthof(routes); path++)
	{
		if (!PathFits(path, request))
			continue;
		match->path = path;
		for (const Route *route = path; IsOfPath(route, path); route++)
			if (route->method == request->method)
				match->route = route;
		return;
	}
}

/* Returns the methods of a path, as they are listed in the header Allow. */
char *
RequestRoutesMethods(const Route *path)
{
	StringInfoData methods;

	initStringInfo(&methods);
	for (const Route *route = path; IsOfPath(route, path); route++)
		appendStringInfo(&methods, "%s%s", methods.len > 0 ? ", " : "", RequestMethodName(route->method));
	return methods.data;
}
