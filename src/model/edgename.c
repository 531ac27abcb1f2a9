/*
 * edgename.c
 *		Naming the places from which documents refer to others.
 *
 * The key of an edge source consists of the resource and the path of the
 * reference; its id is a hash of that, so it is the same in every store.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "mb/pg_wchar.h"
#include "model/edgename.h"

#define EDGE_SOURCE_KEY_MAX 256

/* The key before it is cut to the length of its column. */
static char *
RawKey(const char *project, const char *resource, bool descriptor, const char *path)
{
	return psprintf("%s.%s:%s:%s", project, resource, descriptor ? "desc" : "docref", path);
}

/* The key of an edge source; a long one is cut and ends with its hash. */
char *
EdgeNameKey(const char *project, const char *resource, bool descriptor, const char *path)
{
	char	   *key = RawKey(project, resource, descriptor, path);
	size_t		length = strlen(key);
	int			kept;

	if (pg_mbstrlen(key) <= EDGE_SOURCE_KEY_MAX)
		return key;
	kept = pg_mbcharcliplen(key, length, EDGE_SOURCE_KEY_MAX - 9);
	return psprintf("%.*s|%.8s", kept, key, Sha256Hex(key, length));
}

/* The id of an edge source. */
int64
EdgeNameId(const char *project, const char *resource, bool descriptor, const char *path)
{
	char	   *key = RawKey(project, resource, descriptor, path);

	return Sha256Int64(key, strlen(key));
}
