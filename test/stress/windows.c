/*
 * windows.c
 *		A client of change queries, which reads from one number to the next.
 *
 * It knows documents by their ids, and what it hears of keys tells it which documents
 * to ask for.  For a delete is not told while another document has the key; whoever had
 * it in the copy may be gone.
 *
 * Nobody tells it which number a commit got.  So it writes a marker after what was
 * acknowledged.  When a window has the marker, the copy must have all of that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "follow.h"

#define MAX_RESOURCES 64

/* Documents of a window that is read twice, at most. */
#define MAX_AGAIN 2000

/* Keys that were mentioned, in the order of their hashes. */
typedef struct Mentioned
{
	uuid_t	   *keys;
	size_t		n;
	size_t		size;
} Mentioned;

/* A document as a window had it. */
typedef struct Delivered
{
	uuid_t		id;
	int64_t		etag;
} Delivered;

/* A document that is written after a part of the log. */
typedef struct Marker
{
	uuid_t		id;
	int64_t		etag;			/* 0: there is none on the way */
	size_t		fenced;			/* the log up to here was acknowledged before */
} Marker;

static PGconn *conn = NULL;
static Random random_choices;
static Copy copy;
static int	nresources = 0;
static char resources[MAX_RESOURCES][2][64];
static volatile long windows = 0;
static int64_t saved = 0;		/* up to which all was read */
static Marker marker;
static size_t checked = 0;		/* up to where the log is in the copy */
static Mentioned mentioned;
static Delivered *delivered = NULL;
static size_t ndelivered = 0;
static long documents_read = 0;
static long asked = 0;

/* The values of the identity in a document of each resource, in any order. */
static void
key_of_document(const char *resource, char *sql)
{
	strcpy(sql, "NULL::text");
	for (int i = 0; i < NTYPES; i++)
	{
		if (strcmp(types[i].resource, resource) != 0)
			continue;
		strcpy(sql, "(SELECT string_agg(DISTINCT v, '|' ORDER BY v) FROM unnest(ARRAY[");
		for (int j = 0; j < types[i].nvalues; j++)
			sprintf(sql + strlen(sql), "%sdocument #>> string_to_array('%s', '.')", j == 0 ? "" : ", ", types[i].paths[j] + 2);
		strcat(sql, "]) AS v)");
	}
}

/* Prepare the calls for a resource. */
static void
prepare_resource(int i)
{
	const char *project = resources[i][0];
	const char *resource = resources[i][1];
	char		name[32];
	char		sql[4096];
	char		key[2048];

	key_of_document(resource, key);
	sprintf(name, "documents_%d", i);
	sprintf(sql, "SELECT document_uuid, etag, document, %s, change_version, document_id"
			" FROM dms.changed_documents('%s', '%s', $1, $2, $3, $4, $5)", key, project, resource);
	PQclear(PQprepare(conn, name, sql, 0, NULL));
	sprintf(name, "keys_%d", i);
	sprintf(sql, "SELECT document_uuid, " VALUES_OF("old_key_values") ", " VALUES_OF("new_key_values")
			" FROM dms.changed_keys('%s', '%s', $1, $2, 2147483647)", project, resource);
	PQclear(PQprepare(conn, name, sql, 0, NULL));
	sprintf(name, "deletes_%d", i);
	sprintf(sql, "SELECT document_uuid, " VALUES_OF("key_values")
			" FROM dms.deleted_documents('%s', '%s', $1, $2, 2147483647)", project, resource);
	PQclear(PQprepare(conn, name, sql, 0, NULL));
}

/* Run a statement; NULL if the connection was lost. */
static PGresult *
ask(const char *name, int n, const char *const *values)
{
	PGresult   *result = PQexecPrepared(conn, name, n, values, NULL, NULL, 0);

	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;
	if (!options.crashes)
		die("change queries: %s", PQerrorMessage(conn));
	PQclear(result);
	return NULL;
}

/* Find the resources that have documents, or will have some. */
static void
find_resources(void)
{
	PGresult   *result = PQexec(conn, "SELECT project, resource FROM dms.resources() AS r WHERE EXISTS"
								" (SELECT FROM dms.Document AS d WHERE d.ProjectName = r.project AND d.ResourceName = r.resource)"
								" OR resource IN ('Session', 'CourseOffering', 'Section', 'StudentSectionAssociation', 'Grade', 'ReportCard')");

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	nresources = PQntuples(result);
	if (nresources > MAX_RESOURCES)
		die("more than %d resources have documents", MAX_RESOURCES);
	for (int i = 0; i < nresources; i++)
		for (int j = 0; j < 2; j++)
			snprintf(resources[i][j], sizeof(resources[i][j]), "%s", PQgetvalue(result, i, j));
	PQclear(result);
}

/* Connect, and prepare all calls. */
static void
connect_windows(void)
{
	if (conn != NULL)
		PQfinish(conn);
	conn = connect_patiently("stress change queries");
	if (nresources == 0)
		find_resources();
	for (int i = 0; i < nresources; i++)
		prepare_resource(i);
	PQclear(PQprepare(conn, "newest", "SELECT newest FROM dms.available_change_versions()", 0, NULL));
	PQclear(PQprepare(conn, "mark", "SELECT document_uuid, etag FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', json_build_object("
					  "'schoolYear', 2040, 'schoolYearDescription', $1::text, 'currentSchoolYear', false))", 0, NULL));
	PQclear(PQprepare(conn, "is_there", "SELECT dms.get_document($1) IS NOT NULL", 0, NULL));
}

/* Ask for the newest number; returns false if the connection was lost. */
static bool
ask_newest(int64_t *newest)
{
	PGresult   *result = ask("newest", 0, NULL);

	if (result == NULL)
		return false;
	*newest = atol(PQgetvalue(result, 0, 0));
	PQclear(result);
	return true;
}

/* Remember that a key was mentioned. */
static void
mention(const uuid_t key)
{
	if (mentioned.n == mentioned.size)
	{
		mentioned.size = mentioned.size ? mentioned.size * 2 : 1024;
		mentioned.keys = realloc(mentioned.keys, mentioned.size * sizeof(uuid_t));
	}
	uuid_copy(mentioned.keys[mentioned.n++], key);
}

/* Remember that values were mentioned as a key of a resource. */
static void
mention_values(int resource, PGresult *result, int row, int column, uuid_t key)
{
	char		text[2048];

	if (PQgetisnull(result, row, column))
		return;
	snprintf(text, sizeof(text), "%d|%s", resource, PQgetvalue(result, row, column));
	hash_text(text, key);
	mention(key);
}

/*
 * Take the changes of keys of a resource.  Until such a document comes, nobody knows
 * its key: it may be deleted before, and the delete not be told.
 */
static void
take_keys(int resource, PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		uuid_t		id;
		uuid_t		key;
		Copied	   *found;

		mention_values(resource, result, i, 1, key);
		mention_values(resource, result, i, 2, key);
		if (strcmp(PQgetvalue(result, i, 1), PQgetvalue(result, i, 2)) == 0)
			finding("document %s has changed its key from %s to the same", PQgetvalue(result, i, 0), PQgetvalue(result, i, 1));
		uuid_parse(PQgetvalue(result, i, 0), id);
		found = copy_find(&copy, id);
		if (found != NULL)
			found->unsure = true;
	}
}

/* Take the deletes of a resource. */
static void
take_deletes(int resource, PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		const char *uuid = PQgetvalue(result, i, 0);
		Copied	   *found = copy_entry(&copy, uuid);
		uuid_t		key;

		if (!delete_tried(uuid))
			finding("change queries tell the delete of document %s, which nobody deleted", uuid);
		found->gone = true;
		found->pass = windows;
		mention_values(resource, result, i, 1, key);
	}
}

/* Take a document of a window. */
static void
take_document(int resource, PGresult *result, int row)
{
	const char *uuid = PQgetvalue(result, row, 0);
	Copied	   *found = copy_entry(&copy, uuid);
	int64_t		etag = atol(PQgetvalue(result, row, 1));

	if (etag < found->etag)
		finding("change queries tell document %s with etag %ld after %ld", uuid, (long) etag, (long) found->etag);
	found->etag = etag;
	found->gone = found->unsure = false;
	found->pass = windows;
	hash_text(PQgetvalue(result, row, 2), found->hash);
	mention_values(resource, result, row, 3, found->key);
	seen_representation(uuid, PQgetvalue(result, row, 2));
	documents_read++;
}

/* Remember that a document was in a window. */
static void
note_delivered(PGresult *result, int row)
{
	if ((ndelivered & (ndelivered - 1)) == 0)
		delivered = realloc(delivered, (ndelivered ? ndelivered * 2 : 1) * sizeof(Delivered));
	uuid_parse(PQgetvalue(result, row, 0), delivered[ndelivered].id);
	delivered[ndelivered++].etag = atol(PQgetvalue(result, row, 1));
}

/* Check that a document was in the window when it was read before, with this etag. */
static void
check_delivered(PGresult *result, int row)
{
	uuid_t		id;
	int64_t		etag = atol(PQgetvalue(result, row, 1));

	uuid_parse(PQgetvalue(result, row, 0), id);
	for (size_t i = 0; i < ndelivered; i++)
		if (delivered[i].etag == etag && uuid_compare(delivered[i].id, id) == 0)
			return;
	finding("a window has document %s with etag %ld, which was not there before", PQgetvalue(result, row, 0), (long) etag);
}

/* Read the documents of a resource, page by page; returns false if the connection was lost. */
static bool
read_documents(int resource, const char *from, const char *to, bool again)
{
	char		name[32];
	char		limit[12];
	char		version[24];
	char		document_id[24];
	const char *values[5] = {from, to, limit, NULL, NULL};
	int			n;
	int			most = 1 + (int) draw(&random_choices, 100);

	sprintf(name, "documents_%d", resource);
	sprintf(limit, "%d", most);
	do
	{
		PGresult   *result = ask(name, 5, values);

		if (result == NULL)
			return false;
		n = PQntuples(result);
		for (int i = 0; i < n; i++)
		{
			if (again)
				check_delivered(result, i);
			else
			{
				take_document(resource, result, i);
				note_delivered(result, i);
			}
		}
		if (n > 0)
		{
			snprintf(version, sizeof(version), "%s", PQgetvalue(result, n - 1, 4));
			snprintf(document_id, sizeof(document_id), "%s", PQgetvalue(result, n - 1, 5));
			values[3] = version;
			values[4] = document_id;
		}
		PQclear(result);
	} while (n == most);
	return true;
}

/* Read the keys or deletes of a resource; returns false if the connection was lost. */
static bool
read_items(const char *what, int resource, const char *from, const char *to, void (*take) (int, PGresult *))
{
	char		name[32];
	const char *values[2] = {from, to};
	PGresult   *result;

	sprintf(name, "%s_%d", what, resource);
	result = ask(name, 2, values);
	if (result == NULL)
		return false;
	take(resource, result);
	PQclear(result);
	return true;
}

/* Order keys by their hashes. */
static int
compare_hashes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uuid_t));
}

/* Ask for a document by its id; returns false if the connection was lost. */
static bool
ask_whether_there(Copied *found)
{
	char		uuid[37];
	const char *values[1] = {uuid};
	PGresult   *result;

	uuid_unparse_lower(found->id, uuid);
	result = ask("is_there", 1, values);
	if (result == NULL)
		return false;
	asked++;
	found->gone = strcmp(PQgetvalue(result, 0, 0), "f") == 0;
	PQclear(result);
	return true;
}

/* Ask for documents whose keys were mentioned, and that the window did not have. */
static bool
ask_for_mentioned(void)
{
	qsort(mentioned.keys, mentioned.n, sizeof(uuid_t), compare_hashes);
	for (size_t i = 0; i < copy.size; i++)
	{
		Copied	   *found = &copy.documents[i];

		if (found->used && !found->gone && found->pass != windows &&
			(found->unsure ||
			 bsearch(found->key, mentioned.keys, mentioned.n, sizeof(uuid_t), compare_hashes) != NULL) &&
			!ask_whether_there(found))
			return false;
	}
	return true;
}

/* Read a window: keys, documents, deletes; returns false if the connection was lost. */
static bool
read_window(int64_t newest)
{
	char		from[24];
	char		to[24];
	bool		again;

	windows++;
	mentioned.n = 0;
	ndelivered = 0;
	sprintf(from, "%ld", (long) saved + 1);
	sprintf(to, "%ld", (long) newest);
	for (int i = 0; i < nresources; i++)
		if (!read_items("keys", i, from, to, take_keys))
			return false;
	for (int i = 0; i < nresources; i++)
		if (!read_documents(i, from, to, false))
			return false;
	for (int i = nresources - 1; i >= 0; i--)
		if (!read_items("deletes", i, from, to, take_deletes))
			return false;
	if (!ask_for_mentioned())
		return false;
	again = ndelivered < MAX_AGAIN && chance(&random_choices, 20);
	for (int i = 0; again && i < nresources; i++)
		if (!read_documents(i, from, to, true))
			return false;
	saved = newest;
	return true;
}

/*
 * Write a marker after what was acknowledged.  Another session may restore it, and be
 * in the way; then there is none for now.  Returns false if the connection was lost.
 */
static bool
write_marker(void)
{
	static long number = 0;
	char		text[40];
	const char *values[1] = {text};
	size_t		before = acknowledgements();
	PGresult   *result;
	const char *state;
	bool		lost;

	sprintf(text, "marker %ld", ++number);
	result = PQexecPrepared(conn, "mark", 1, values, NULL, NULL, 0);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		uuid_parse(PQgetvalue(result, 0, 0), marker.id);
		marker.etag = atol(PQgetvalue(result, 0, 1));
		marker.fenced = before;
	}
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	lost = PQresultStatus(result) != PGRES_TUPLES_OK && strncmp(state ? state : "", "40", 2) != 0;
	if (lost && !options.crashes)
		die("the marker: %s", PQerrorMessage(conn));
	PQclear(result);
	return !lost;
}

/* Check what was acknowledged before the marker, if that has come.  Deletes may still be held back. */
static void
check_marker(void)
{
	const Copied *found = copy_find(&copy, marker.id);

	if (marker.etag == 0 || found == NULL || found->etag < marker.etag)
		return;
	copy_check_log(&copy, conn, checked, marker.fenced, false, "change queries");
	checked = marker.fenced;
	marker.etag = 0;
}

/* Read the next window, if there is one; returns false if the connection was lost. */
static bool
read_next(void)
{
	int64_t		newest;

	if (marker.etag == 0 && !write_marker())
		return false;
	if (!ask_newest(&newest))
		return false;
	if (newest < saved)
		finding("the newest number has fallen from %ld to %ld", (long) saved, (long) newest);
	if (newest > saved && !read_window(newest))
		return false;
	check_marker();
	return true;
}

/* Read windows until it is time to stop. */
void *
follow_windows(void *argument)
{
	(void) argument;
	random_choices.state = options.seed + 3000;
	connect_windows();
	while (!stopping)
	{
		if (!read_next())
			connect_windows();
		usleep(draw(&random_choices, 100000));
	}
	return NULL;
}

/* Read all that is left, when nobody writes any more: the copy is the store then. */
void
finish_windows(void)
{
	double		start = now();

	while (marker.etag != 0 || checked < acknowledgements())
	{
		if (!read_next())
			connect_windows();
		if (now() - start > PATIENCE)
			die("the newest number stays at %ld", (long) saved);
	}
	copy_check_store(&copy, conn, "change queries");
	printf("%ld windows, %ld documents, %ld asked for\n", windows, documents_read, asked);
	PQfinish(conn);
}

/* Returns the number of windows that were read. */
long
windows_read(void)
{
	return windows;
}
