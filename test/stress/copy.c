/*
 * copy.c
 *		A copy of the store, as those keep it who follow its changes.
 *
 * A document that is gone stays in the copy, marked: so what came before is known.
 */
#include <stdlib.h>
#include <string.h>

#include "follow.h"

/* Returns the first place of a document in the table. */
static size_t
place(const Copy *copy, const uuid_t id)
{
	uint64_t	half;

	memcpy(&half, id + 8, sizeof(half));
	return (size_t) (half * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (copy->size - 1);
}

/* Find the entry of a document, or the free place for it. */
static Copied *
find(const Copy *copy, const uuid_t id)
{
	size_t		at = place(copy, id);

	while (copy->documents[at].used && uuid_compare(copy->documents[at].id, id) != 0)
		at = (at + 1) & (copy->size - 1);
	return &copy->documents[at];
}

/* Enlarge the table if it is half full. */
static void
grow(Copy *copy)
{
	Copy		old = *copy;

	if (copy->n * 2 < copy->size)
		return;
	copy->size = old.size ? old.size * 2 : 1 << 12;
	copy->documents = calloc(copy->size, sizeof(Copied));
	for (size_t i = 0; i < old.size; i++)
		if (old.documents[i].used)
			*find(copy, old.documents[i].id) = old.documents[i];
	free(old.documents);
}

/* Returns the entry of a document, which is there or gone; NULL if nobody has heard of it. */
Copied *
copy_find(const Copy *copy, const uuid_t id)
{
	Copied	   *found = copy->size == 0 ? NULL : find(copy, id);

	return found != NULL && found->used ? found : NULL;
}

/* Returns the entry of a document, a new one if nobody has heard of it. */
Copied *
copy_entry(Copy *copy, const char *uuid)
{
	uuid_t		id;
	Copied	   *found;

	uuid_parse(uuid, id);
	grow(copy);
	found = find(copy, id);
	if (!found->used)
	{
		copy->n++;
		found->used = true;
		uuid_copy(found->id, id);
	}
	return found;
}

/* Compute a hash of a text. */
void
hash_text(const char *text, uuid_t hash)
{
	static const uuid_t namespace = {0};

	uuid_generate_md5(hash, namespace, text, strlen(text));
}

/*
 * Returns the etag that a document has now; 0 if it is not there, or if nobody can be
 * asked because the server has crashed.
 */
static int64_t
etag_now(PGconn *conn, const char *uuid)
{
	const char *values[1] = {uuid};
	PGresult   *result = PQexecParams(conn, "SELECT Etag FROM dms.Document WHERE DocumentUuid = $1", 1, NULL, values, NULL, NULL, 0);
	int64_t		etag = PQntuples(result) == 1 ? atol(PQgetvalue(result, 0, 0)) : 0;

	if (PQresultStatus(result) != PGRES_TUPLES_OK && !options.crashes)
		die("%s", PQerrorMessage(conn));
	PQclear(result);
	return etag;
}

/*
 * Check that the copy has all that was acknowledged, from one place of the log to
 * another.  It may have later changes, too.  A document that has changed again while
 * the copy was brought up to date is still to come.
 */
void
copy_check_log(const Copy *copy, PGconn *conn, size_t from, size_t to, bool deletes, const char *whose)
{
	for (size_t i = from; i < to; i++)
	{
		Acknowledged logged = acknowledged_at(i);
		const Copied *found = copy_find(copy, logged.id);
		bool		there = found != NULL && !found->gone;
		char		uuid[37];

		uuid_unparse_lower(logged.id, uuid);
		if (logged.etag == 0 && deletes && there && !logged.restoring)
			finding("%s: document %s is there with etag %ld, although its delete was acknowledged before", whose, uuid,
					(long) found->etag);
		if (logged.etag != 0 && (found == NULL || found->etag < logged.etag) && etag_now(conn, uuid) == logged.etag)
			finding("%s: document %s has etag %ld, although %ld was acknowledged before", whose, uuid,
					(long) (found == NULL ? 0 : found->etag), (long) logged.etag);
	}
}

/* Compare a document of the store with the copy. */
static void
compare_document(Copy *copy, PGresult *result, int row, const char *whose)
{
	Copied	   *found = copy_entry(copy, PQgetvalue(result, row, 0));
	int64_t		etag = atol(PQgetvalue(result, row, 1));
	uuid_t		hash;

	hash_text(PQgetvalue(result, row, 2), hash);
	if (found->etag == 0 || found->gone)
		finding("%s: document %s is missing in the end", whose, PQgetvalue(result, row, 0));
	else if (found->etag != etag)
		finding("%s: document %s has etag %ld in the end, and %ld in the store", whose, PQgetvalue(result, row, 0),
				(long) found->etag, (long) etag);
	else if (uuid_compare(found->hash, hash) != 0)
		finding("%s: document %s is another one in the end than in the store: %s", whose, PQgetvalue(result, row, 0),
				PQgetvalue(result, row, 2));
	found->met = true;
}

/* Check that the copy is the store; nobody writes any more. */
void
copy_check_store(Copy *copy, PGconn *conn, const char *whose)
{
	PGresult   *result = PQexec(conn, "SELECT DocumentUuid, Etag, dms.get_document(DocumentUuid) FROM dms.Document");

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(result); i++)
		compare_document(copy, result, i, whose);
	for (size_t i = 0; i < copy->size; i++)
		if (copy->documents[i].used && !copy->documents[i].gone && !copy->documents[i].met)
		{
			char		uuid[37];

			uuid_unparse_lower(copy->documents[i].id, uuid);
			finding("%s: document %s is there in the end, and not in the store", whose, uuid);
		}
	PQclear(result);
}
