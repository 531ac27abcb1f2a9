/*
 * feed.c
 *		A follower of the feed: what was acknowledged before a pass began is in it.
 *
 * It keeps a copy of the store, and all changes of keys.  In the end its copy must be
 * the store, and the keys that a document had must follow each other.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "follow.h"

#define CURSOR_SIZE 4096

/* A key that a document had, and the one that it has got; a deleted document has got none. */
typedef struct KeyChange
{
	uuid_t		id;
	int64_t		etag;
	uuid_t		old_key;
	uuid_t		new_key;
	bool		deleted;
} KeyChange;

static PGconn *conn = NULL;
static Random random_choices;
static Copy copy;
static char cursor[CURSOR_SIZE];	/* "": from the beginning */
static char older[CURSOR_SIZE]; /* where to go back to */
static size_t checked = 0;		/* up to where the log is in the copy */
static volatile long passes = 0;
static long rows = 0;
static KeyChange *keys = NULL;
static size_t nkeys = 0;

/* Connect, and prepare the calls. */
static void
connect_feed(void)
{
	if (conn != NULL)
		PQfinish(conn);
	conn = connect_patiently("stress feed");
	PQclear(PQprepare(conn, "feed", "SELECT kind, document_uuid, etag, document, " VALUES_OF("old_key") ", "
					  VALUES_OF("new_key") ", next_cursor FROM dms.read_changes(NULLIF($1, ''), $2)", 0, NULL));
}

/* Take a document as it is now. */
static void
take_document(const char *uuid, int64_t etag, const char *document)
{
	Copied	   *found = copy_entry(&copy, uuid);

	if (etag < found->etag)
		finding("the feed delivers document %s with etag %ld after %ld", uuid, (long) etag, (long) found->etag);
	found->etag = etag;
	found->gone = false;
	found->pass = passes;
	hash_text(document, found->hash);
	seen_representation(uuid, document);
}

/* Take the news that a document is gone. */
static void
take_delete(const char *uuid, int64_t etag)
{
	Copied	   *found = copy_entry(&copy, uuid);

	if (!delete_tried(uuid))
		finding("the feed delivers the delete of document %s, which nobody deleted", uuid);
	if (found->pass == passes && found->etag != 0 && !found->gone)
		finding("the feed delivers document %s and its delete in one pass", uuid);
	/* With an older cursor there may also come a delete after which it was restored, and deleted again. */
	if (etag <= found->etag && !found->gone && !restore_tried(found->id))
		finding("the feed delivers the delete of document %s with etag %ld after %ld", uuid, (long) etag, (long) found->etag);
	if (etag > found->etag)
		found->etag = etag;
	found->gone = true;
	found->pass = passes;
}

/* Keep a change of a key. */
static void
take_key(const char *uuid, int64_t etag, const char *old_key, const char *new_key)
{
	KeyChange  *change;

	if ((nkeys & (nkeys - 1)) == 0)
		keys = realloc(keys, (nkeys ? nkeys * 2 : 1) * sizeof(KeyChange));
	change = &keys[nkeys++];
	memset(change, 0, sizeof(KeyChange));
	uuid_parse(uuid, change->id);
	change->etag = etag;
	change->deleted = new_key == NULL;
	hash_text(old_key, change->old_key);
	if (new_key != NULL)
		hash_text(new_key, change->new_key);
}

/* Take a row of the feed; returns true at the end of a pass. */
static bool
take_row(PGresult *result, int row)
{
	const char *kind = PQgetvalue(result, row, 0);
	const char *uuid = PQgetvalue(result, row, 1);
	int64_t		etag = atol(PQgetvalue(result, row, 2));

	snprintf(cursor, sizeof(cursor), "%s", PQgetvalue(result, row, 6));
	rows++;
	if (strcmp(kind, "end") == 0)
		return true;
	if (strcmp(kind, "document") == 0)
		take_document(uuid, etag, PQgetvalue(result, row, 3));
	else
		take_key(uuid, etag, PQgetvalue(result, row, 4), strcmp(kind, "key") == 0 ? PQgetvalue(result, row, 5) : NULL);
	if (strcmp(kind, "delete") == 0)
		take_delete(uuid, etag);
	return false;
}

/* Read a part of a pass; *end is set at its end.  Returns false if the connection was lost. */
static bool
read_part(bool *end)
{
	char		limit[12];
	const char *values[2] = {cursor, limit};
	PGresult   *result;
	bool		read;

	/* Sometimes a part ends in the middle of everything. */
	snprintf(limit, sizeof(limit), "%u", chance(&random_choices, 50) ? 1 + draw(&random_choices, 50) : 1000);
	result = PQexecPrepared(conn, "feed", 2, values, NULL, NULL, 0);
	read = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!read && !options.crashes)
		die("the feed: %s", PQerrorMessage(conn));
	for (int i = 0; read && i < PQntuples(result); i++)
		*end = take_row(result, i);
	PQclear(result);
	return read;
}

/* Read a whole pass, and check that it has what was acknowledged before. */
static void
read_pass(void)
{
	size_t		before = acknowledgements();
	bool		end = false;

	passes++;
	while (!end)
		if (!read_part(&end))
			connect_feed();
	copy_check_log(&copy, conn, checked, before, true, "the feed");
	checked = before;
}

/* Delete what is superseded in the journal, beside those who write and read. */
static void
compact(void)
{
	PGresult   *result = PQexec(conn, "SELECT dms.compact_changes()");

	if (PQresultStatus(result) != PGRES_TUPLES_OK && !options.crashes)
		finding("the journal could not be compacted: %s", PQerrorMessage(conn));
	PQclear(result);
}

/* Follow the store until it is time to stop. */
void *
follow_feed(void *argument)
{
	(void) argument;
	random_choices.state = options.seed + 2000;
	connect_feed();
	while (!stopping)
	{
		/* A follower that fails goes on with a cursor that it has saved, if there is one. */
		if (chance(&random_choices, 5) && older[0] != '\0')
			strcpy(cursor, older);
		else if (chance(&random_choices, 20))
			strcpy(older, cursor);
		if (chance(&random_choices, 2))
			compact();
		read_pass();
		usleep(draw(&random_choices, 50000));
	}
	return NULL;
}

/* Order changes of keys by document and etag. */
static int
compare_keys(const void *a, const void *b)
{
	const KeyChange *left = a;
	const KeyChange *right = b;
	int			order = uuid_compare(left->id, right->id);

	return order != 0 ? order : (left->etag > right->etag) - (left->etag < right->etag);
}

/* Check that the keys that each document had follow each other. */
static void
check_keys(void)
{
	qsort(keys, nkeys, sizeof(KeyChange), compare_keys);
	for (size_t i = 1; i < nkeys; i++)
	{
		const KeyChange *before = &keys[i - 1];
		const KeyChange *after = &keys[i];
		bool		again = before->etag == after->etag;
		char		uuid[37];

		/* Who is restored may get an older key, and the delete before it is not told any more. */
		if (uuid_compare(before->id, after->id) != 0 || (!again && restore_tried(after->id)))
			continue;
		if (uuid_compare(again ? before->old_key : before->new_key, after->old_key) == 0 &&
			before->deleted == (again && after->deleted))
			continue;
		uuid_unparse_lower(after->id, uuid);
		finding("the keys of document %s with etags %ld and %ld do not follow each other", uuid, (long) before->etag,
				(long) after->etag);
	}
}

/* Check that a document of the store has the last key that it got. */
static void
check_last_key(const char *uuid, const char *values)
{
	KeyChange	wanted = {.etag = INT64_MAX};
	size_t		low = 0;
	size_t		high = nkeys;
	uuid_t		key;

	uuid_parse(uuid, wanted.id);
	hash_text(values, key);
	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (compare_keys(&keys[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && uuid_compare(keys[low - 1].id, wanted.id) == 0 && !restore_tried(wanted.id) &&
		uuid_compare(keys[low - 1].new_key, key) != 0)
		finding("document %s is %s, which is not the last key that the feed has delivered", uuid, values);
}

/* Check all documents whose keys can change. */
static void
check_last_keys(void)
{
	for (int type = 0; type < NTYPES; type++)
	{
		char		sql[512];
		PGresult   *result;

		snprintf(sql, sizeof(sql), "SELECT d.DocumentUuid, (SELECT string_agg(DISTINCT u, '|' ORDER BY u) FROM unnest(v.Vals) AS u)"
				 " FROM stress.%s AS v JOIN dms.Document AS d ON d.DocumentId = v.DocumentId", types[type].resource);
		result = PQexec(conn, sql);
		if (PQresultStatus(result) != PGRES_TUPLES_OK)
			die("%s", PQerrorMessage(conn));
		for (int i = 0; i < PQntuples(result); i++)
			check_last_key(PQgetvalue(result, i, 0), PQgetvalue(result, i, 1));
		PQclear(result);
	}
}

/* Read a last pass, when nobody writes any more: the copy is the store then. */
void
finish_feed(void)
{
	Copy		fresh = {0};

	read_pass();
	copy_check_store(&copy, conn, "the feed");
	check_keys();
	check_last_keys();
	printf("%ld passes of the feed, %ld rows, %ld keys of documents\n", passes, rows, (long) nkeys);

	/* Whoever begins now has the same copy. */
	free(copy.documents);
	copy = fresh;
	cursor[0] = '\0';
	read_pass();
	copy_check_store(&copy, conn, "a new follower");
	PQfinish(conn);
}

/* Returns the number of passes that were read. */
long
feed_passes(void)
{
	return passes;
}
