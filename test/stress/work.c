/*
 * work.c
 *		One session of the stress test: transactions at random.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define MAX_RETRIES 30

static const char *const verb_names[NVERBS] = {"upsert", "update", "batch", "delete", "restore", "relate", "read"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long transactions = 0;
static long retries = 0;
static long deadlocks = 0;
static long given_up = 0;
static long lost = 0;
static struct
{
	char		name[16];
	long		count;
}			counts[NVERBS][24];

/* Count the result of a verb: its outcome or its SQLSTATE. */
void
count(Verb verb, const char *what)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 24; i++)
	{
		if (counts[verb][i].count == 0)
			snprintf(counts[verb][i].name, sizeof(counts[verb][i].name), "%s", what);
		if (strcmp(counts[verb][i].name, what) == 0)
		{
			counts[verb][i].count++;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
}

/* Increment a counter. */
static void
add(long *counter)
{
	pthread_mutex_lock(&mutex);
	(*counter)++;
	pthread_mutex_unlock(&mutex);
}

/* Print the counts of results. */
void
print_counts(void)
{
	for (int verb = 0; verb < NVERBS; verb++)
	{
		printf("%-8s", verb_names[verb]);
		for (int i = 0; i < 24 && counts[verb][i].count > 0; i++)
			printf(" %s %ld", counts[verb][i].name, counts[verb][i].count);
		printf("\n");
	}
	printf("%ld transactions, %ld retries (%ld deadlocks), %ld given up, %ld connections lost\n",
		   transactions, retries, deadlocks, given_up, lost);
}

/* Returns the number of finished transactions. */
long
transactions_done(void)
{
	long		done;

	pthread_mutex_lock(&mutex);
	done = transactions;
	pthread_mutex_unlock(&mutex);
	return done;
}

/* Prepare a statement. */
void
prepare(PGconn *conn, const char *name, const char *sql)
{
	PGresult   *result = PQprepare(conn, name, sql, 0, NULL);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && !options.crashes)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(result);
}

/* Prepare all statements of a session. */
void
prepare_all(PGconn *conn)
{
	char		name[64];
	char		sql[1024];

	prepare(conn, "upsert", "SELECT outcome, document_uuid, document_id, etag FROM dms.upsert_document('Ed-Fi', $1, $2, $3)");
	prepare(conn, "update", "SELECT outcome, document_uuid, document_id, etag FROM dms.update_document($1, $2, $3)");
	prepare(conn, "batch", "SELECT outcome, document_uuid, document_id, etag FROM dms.update_documents(ARRAY[$1, $2]::uuid[], ARRAY[$3, $4]::json[])");
	prepare(conn, "delete", "SELECT dms.delete_document($1, $2)");
	prepare(conn, "restore", "SELECT outcome, document_uuid, document_id, etag FROM dms.restore_document($1, (SELECT version"
			" FROM dms.list_versions($1, 1000) WHERE kind <> 'deleted' AND (random() < 0.5 OR version < $2) ORDER BY random() LIMIT 1))");
	prepare(conn, "versions", "SELECT version, dms.get_document($1, version), dms.get_document($1, as_of => created_at)"
			" FROM dms.list_versions($1, 10) WHERE kind <> 'deleted'");
	prepare(conn, "read", "SELECT dms.get_document($1)");
	prepare(conn, "request", "SELECT r.body FROM dms.handle_request('GET', '/ed-fi/' || $1 || '/' || $2) AS r WHERE r.status = 200");
	prepare(conn, "page", "SELECT q FROM dms.query_documents('Ed-Fi', $1, page_limit => 5, page_offset => $2::bigint) AS q");
	for (int i = 0; i < NTYPES; i++)
	{
		const char *resource = types[i].resource;

		sprintf(name, "pick_%d", i);
		sprintf(sql, "SELECT d.DocumentUuid, v.DocumentId, d.Etag, array_to_string(v.Vals, '|')"
				" FROM (SELECT DocumentId FROM edfi.%s ORDER BY random() LIMIT 1) AS p"
				" JOIN stress.%s AS v ON v.DocumentId = p.DocumentId JOIN dms.Document AS d ON d.DocumentId = p.DocumentId",
				resource, resource);
		prepare(conn, name, sql);
		sprintf(name, "values_%d", i);
		sprintf(sql, "SELECT array_to_string(Vals, '|') FROM stress.%s WHERE DocumentId = $1", resource);
		prepare(conn, name, sql);

		/* The representation and the checker's values, in one snapshot. */
		sprintf(name, "compare_%d", i);
		sprintf(sql, "SELECT g.Body, array_to_string(v.Vals, '|'), array_to_string(ARRAY(SELECT g.Body #>> string_to_array(substr(p, 3), '.')"
				" FROM unnest($2::text[]) WITH ORDINALITY AS u (p, n) ORDER BY n), '|'), d.Etag, g.Body ->> '_etag'"
				" FROM dms.Document AS d JOIN stress.%s AS v ON v.DocumentId = d.DocumentId, LATERAL (SELECT dms.get_document(d.DocumentUuid) OFFSET 0) AS g (Body)"
				" WHERE d.DocumentUuid = $1", resource);
		prepare(conn, name, sql);
	}
	prepare_checks(conn);
	if (options.relations)
		prepare_relations(conn);
}

/* Returns true if the verb may raise this error. */
static bool
is_expected(const Session *session, Verb verb, const char *state)
{
	static const char *const expected[NVERBS] = {
		[UPSERT] = "23503 ZD412",
		[UPDATE] = "23503 23505 ZD400 ZD404 ZD412",
		[BATCH] = "23503 23505 ZD400 ZD404",
		[DELETE] = "23001 ZD404 ZD412",
		[RESTORE] = "23503 23505 ZD400 ZD404 22023",
		[RELATE] = "23503 23505 23514 ZD404",
		[READ] = "",
	};

	if (strstr(expected[verb], state) != NULL)
		return true;
	return session->nowait && strcmp(state, "55P03") == 0;
}

/* Returns true if the connection is lost, or the server is shutting down. */
static bool
is_lost(PGconn *conn, const char *state)
{
	return PQstatus(conn) != CONNECTION_OK || strncmp(state, "57P", 3) == 0;
}

/* Returns how the transaction continues after an error. */
Outcome
judge(Session *session, Verb verb, PGresult *result, const char *what)
{
	const char *field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	char		state[6];

	snprintf(state, sizeof(state), "%s", field ? field : "");
	if (is_lost(session->conn, state))
	{
		if (!options.crashes)
			finding("connection lost: %s", PQerrorMessage(session->conn));
		return LOST;
	}
	count(verb, state);
	if (strcmp(state, "40P01") == 0)
		add(&deadlocks);
	/* 25P02: an earlier statement of the transaction failed. */
	if (strcmp(state, "40P01") == 0 || strcmp(state, "40001") == 0 || strcmp(state, "25P02") == 0)
		return RETRY;
	if (!is_expected(session, verb, state))
		finding("%s of %s ended with %s: %s", verb_names[verb], what, state, PQresultErrorMessage(result));
	return REFUSED;
}

/* Execute a prepared statement. */
PGresult *
execute(Session *session, const char *name, int n, const char *const *values)
{
	return PQexecPrepared(session->conn, name, n, values, NULL, NULL, 0);
}

/* Choose a document of a type, with its current identity; returns false if there is none. */
bool
pick(Session *session, TypeId type, Subject *subject)
{
	char		name[16];
	PGresult   *result;
	bool		found;

	memset(subject, 0, sizeof(Subject));
	subject->type = type;
	sprintf(name, "pick_%d", type);
	result = execute(session, name, 0, NULL);
	found = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
	if (found)
	{
		snprintf(subject->uuid, sizeof(subject->uuid), "%s", PQgetvalue(result, 0, 0));
		snprintf(subject->document_id, sizeof(subject->document_id), "%s", PQgetvalue(result, 0, 1));
		snprintf(subject->etag, sizeof(subject->etag), "%s", PQgetvalue(result, 0, 2));
		split_values(subject, PQgetvalue(result, 0, 3));
	}
	PQclear(result);
	return found;
}

/* Record a write of the current transaction. */
static void
remember(Session *session, const char *uuid, const char *etag, bool deleted)
{
	Written    *w;

	if (session->nwritten == MAX_STEPS * 2)
		return;
	w = &session->written[session->nwritten++];
	snprintf(w->uuid, sizeof(w->uuid), "%s", uuid);
	snprintf(w->etag, sizeof(w->etag), "%s", etag);
	w->deleted = deleted;
}

/*
 * Check that the document that was written has the identity that was sent.  A write
 * holds locks that keep it from changing.  An answer of "unchanged" holds none, so
 * it can be checked only if the snapshot is fixed.
 */
static void
check_result(Session *session, const Subject *sent, PGresult *result, int row)
{
	const char *values[1] = {PQgetvalue(result, row, 2)};
	bool		unchanged = strcmp(PQgetvalue(result, row, 0), "unchanged") == 0;
	char		name[16];
	char		expected[MAX_VALUES * VALUE_SIZE];
	PGresult   *found;

	if (!unchanged)
		remember(session, PQgetvalue(result, row, 1), PQgetvalue(result, row, 3), false);
	else if (!session->fixed_snapshot)
		return;
	sprintf(name, "values_%d", sent->type);
	join_values(sent, expected);
	found = execute(session, name, 1, values);
	if (PQresultStatus(found) == PGRES_TUPLES_OK &&
		(PQntuples(found) != 1 || strcmp(PQgetvalue(found, 0, 0), expected) != 0))
		finding("sent %s, %s is %s", expected, PQgetvalue(result, row, 1),
				PQntuples(found) == 1 ? PQgetvalue(found, 0, 0) : "not there");
	PQclear(found);
}

/* Write a document by its identity. */
static Outcome
run_upsert(Session *session, const Subject *subject, const char *if_match)
{
	char		body[BODY_SIZE];
	const char *values[3] = {types[subject->type].resource, body, if_match};
	PGresult   *result;
	Outcome		outcome = DONE;

	write_body(subject, &session->random, body);
	result = execute(session, "upsert", 3, values);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		count(UPSERT, PQgetvalue(result, 0, 0));
		check_result(session, subject, result, 0);
	}
	else
		outcome = judge(session, UPSERT, result, body);
	PQclear(result);
	return outcome;
}

/* Write a document by its id. */
Outcome
run_update(Session *session, const Subject *subject, const char *if_match)
{
	char		body[BODY_SIZE];
	const char *values[3] = {subject->uuid, body, if_match};
	PGresult   *result;
	Outcome		outcome = DONE;

	write_body(subject, &session->random, body);
	result = execute(session, "update", 3, values);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		count(UPDATE, PQgetvalue(result, 0, 0));
		check_result(session, subject, result, 0);
	}
	else
		outcome = judge(session, UPDATE, result, body);
	PQclear(result);
	return outcome;
}

/* Write two documents in one call. */
Outcome
run_batch(Session *session, const Subject *one, const Subject *other)
{
	char		bodies[2][BODY_SIZE];
	const char *values[4] = {one->uuid, other->uuid, bodies[0], bodies[1]};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (strcmp(one->uuid, other->uuid) == 0)
		return DONE;
	write_body(one, &session->random, bodies[0]);
	write_body(other, &session->random, bodies[1]);
	result = execute(session, "batch", 4, values);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		for (int i = 0; i < PQntuples(result); i++)
		{
			count(BATCH, PQgetvalue(result, i, 0));
			check_result(session, i == 0 ? one : other, result, i);
		}
	else
		outcome = judge(session, BATCH, result, bodies[0]);
	PQclear(result);
	return outcome;
}

/* Swap the identities of two documents of a type. */
Outcome
run_swap(Session *session, TypeId type)
{
	Subject		one;
	Subject		other;
	Subject		swapped;

	if (!pick(session, type, &one) || !pick(session, type, &other))
		return DONE;
	swapped = one;
	memcpy(one.values, other.values, sizeof(one.values));
	memcpy(other.values, swapped.values, sizeof(one.values));
	return run_batch(session, &one, &other);
}

/* Delete a document by its id. */
static Outcome
run_delete(Session *session, const Subject *subject, const char *if_match)
{
	const char *values[2] = {subject->uuid, if_match};
	PGresult   *result;
	Outcome		outcome = DONE;

	deleting(subject->uuid);
	result = execute(session, "delete", 2, values);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		count(DELETE, "deleted");
		remember(session, subject->uuid, "0", true);
	}
	else
		outcome = judge(session, DELETE, result, subject->uuid);
	PQclear(result);
	return outcome;
}

/* Read a random document. */
static Outcome
run_read(Session *session)
{
	char		uuid[37];
	const char *values[1] = {uuid};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!any_uuid(&session->random, false, uuid))
		return DONE;
	result = execute(session, "read", 1, values);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		outcome = judge(session, READ, result, uuid);
	else if (PQgetisnull(result, 0, 0))
		count(READ, "none");
	else
	{
		count(READ, "found");
		/* An etag that is not committed yet may be given to another version. */
		if (!session->writing)
			seen_representation(uuid, PQgetvalue(result, 0, 0));
	}
	PQclear(result);
	return outcome;
}

/* Give a random document, which may be deleted, the content of a random version. */
static Outcome
run_restore(Session *session)
{
	char		uuid[37];
	const char *values[2] = {uuid, "3"};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!any_uuid(&session->random, true, uuid))
		return DONE;
	restoring(uuid);
	result = execute(session, "restore", 2, values);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		count(RESTORE, PQgetvalue(result, 0, 0));
		if (strcmp(PQgetvalue(result, 0, 0), "unchanged") != 0)
			remember(session, uuid, PQgetvalue(result, 0, 3), false);
	}
	else
		outcome = judge(session, RESTORE, result, uuid);
	PQclear(result);
	return outcome;
}

/* Check that versions are what readers got. */
static Outcome
run_versions(Session *session)
{
	char		uuid[37];
	const char *values[1] = {uuid};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!any_uuid(&session->random, true, uuid))
		return DONE;
	result = execute(session, "versions", 1, values);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		outcome = judge(session, READ, result, uuid);
	else
		count(READ, "versions");
	for (int i = 0; outcome == DONE && i < PQntuples(result); i++)
		for (int column = 1; column <= 2; column++)
			seen_representation(uuid, PQgetvalue(result, i, column));
	PQclear(result);
	return outcome;
}

/* Check that a representation shows the identities of its snapshot. */
static Outcome
run_compare(Session *session, TypeId type)
{
	Subject		subject;
	char		name[16];
	char		paths[1024] = "{";
	const char *values[2] = {subject.uuid, paths};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!pick(session, type, &subject))
		return DONE;
	for (int i = 0; i < types[type].nvalues; i++)
		sprintf(paths + strlen(paths), "%s%s", i == 0 ? "" : ",", types[type].paths[i]);
	strcat(paths, "}");
	sprintf(name, "compare_%d", type);
	result = execute(session, name, 2, values);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		outcome = judge(session, READ, result, subject.uuid);
	else if (PQntuples(result) == 1)
	{
		count(READ, "compared");
		if (strcmp(PQgetvalue(result, 0, 1), PQgetvalue(result, 0, 2)) != 0 ||
			strcmp(PQgetvalue(result, 0, 3), PQgetvalue(result, 0, 4)) != 0)
			finding("document %s is %s with etag %s, its representation %s", subject.uuid,
					PQgetvalue(result, 0, 1), PQgetvalue(result, 0, 3), PQgetvalue(result, 0, 0));
		if (!session->writing)
			seen_representation(subject.uuid, PQgetvalue(result, 0, 0));
	}
	PQclear(result);
	return outcome;
}

/* The name of a type's resource in paths. */
void
endpoint(TypeId type, char *path, size_t size)
{
	snprintf(path, size, "%ss", types[type].resource);
	path[0] = (char) tolower((unsigned char) path[0]);
}

/* Check that requests and pages return the same document. */
static Outcome
run_request(Session *session, TypeId type)
{
	Subject		subject;
	char		path[64];
	char		offset[12];
	bool		page = chance(&session->random, 50);
	const char *values[2] = {path, page ? offset : subject.uuid};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!pick(session, type, &subject))
		return DONE;
	endpoint(type, path, sizeof(path));
	snprintf(offset, sizeof(offset), "%u", draw(&session->random, 40));
	result = execute(session, page ? "page" : "request", 2, values);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		outcome = judge(session, READ, result, path);
	else
		count(READ, page ? "paged" : "requested");
	for (int i = 0; outcome == DONE && i < PQntuples(result); i++)
	{
		const char *body = PQgetvalue(result, i, 0);
		char		uuid[37];

		if (sscanf(body, "{\"id\"%*[ :\"]%36[0-9a-f-]", uuid) == 1)
			seen_representation(uuid, body);
		else
			finding("a representation does not begin with its id: %s", body);
	}
	PQclear(result);
	return outcome;
}

/* Upsert: insert a document, or update it by its identity. */
static Outcome
step_upsert(Session *session)
{
	static const TypeId choice[] = {SESSION, SESSION, COURSE_OFFERING, COURSE_OFFERING, SECTION, SECTION, SECTION,
	ENROLMENT, ENROLMENT, ENROLMENT, ENROLMENT, GRADE, GRADE, GRADE, REPORT_CARD, REPORT_CARD};
	TypeId		type = choice[draw(&session->random, sizeof(choice) / sizeof(choice[0]))];
	TypeId		below = type == SESSION ? SCHOOL : (TypeId) (type - 1);
	Subject		from;
	Subject		subject;

	if (!pick(session, below, &from) || !derive(&subject, type, &from, &session->random))
		return DONE;
	return run_upsert(session, &subject, chance(&session->random, 3) ? "1" : NULL);
}

/* Update by id: a plain value, the own part of the identity, or a reference. */
static Outcome
step_update(Session *session)
{
	static const TypeId choice[] = {SCHOOL, SESSION, SESSION, COURSE_OFFERING, SECTION, SECTION, ENROLMENT, GRADE, REPORT_CARD};
	Random	   *random = &session->random;
	TypeId		type = choice[draw(random, sizeof(choice) / sizeof(choice[0]))];
	Subject		subject;
	Subject		from;
	Subject		moved;

	if (!pick(session, type, &subject))
		return DONE;
	if (type >= SECTION && chance(random, 25))
	{
		/* A report card of another grade has another identity. */
		if (type != REPORT_CARD && pick(session, type - 1, &from) && derive(&moved, type, &from, random))
			memcpy(subject.values, moved.values, sizeof(subject.values));
	}
	else if (type == SESSION && chance(random, 10))
	{
		if (pick(session, SCHOOL, &from))
			set_value(&subject, 0, "%s", from.values[0]);
	}
	else if (chance(random, type == SCHOOL ? 20 : 60))
		(void) rename_subject(&subject, random);
	return run_update(session, &subject, chance(random, 20) ? subject.etag : NULL);
}

/* Delete a random document. */
static Outcome
step_delete(Session *session)
{
	static const TypeId choice[] = {SESSION, COURSE_OFFERING, SECTION, ENROLMENT, ENROLMENT, GRADE, GRADE, GRADE, REPORT_CARD, REPORT_CARD, SCHOOL};
	Subject		subject;

	if (!pick(session, choice[draw(&session->random, sizeof(choice) / sizeof(choice[0]))], &subject))
		return DONE;
	return run_delete(session, &subject, chance(&session->random, 10) ? subject.etag : NULL);
}

/* Run a random step of a transaction. */
static Outcome
step(Session *session)
{
	uint32_t	what = draw(&session->random, 100);

	if (options.batches)
		return step_batch(session);
	if (options.history && chance(&session->random, 8))
		return run_restore(session);
	if (options.relations && chance(&session->random, 35))
		return step_relate(session);
	if (what < 45)
		return step_upsert(session);
	if (what < 70)
		return step_update(session);
	if (what < 73)
		return run_swap(session, chance(&session->random, 50) ? SESSION : SECTION);
	if (what < 88)
		return step_delete(session);
	return run_read(session);
}

/* Run a command of transaction control; returns true if it took effect. */
static bool
command(Session *session, const char *sql)
{
	PGresult   *result = PQexec(session->conn, sql);
	bool		done = PQresultStatus(result) == PGRES_COMMAND_OK;

	/* COMMIT of a failed transaction succeeds, but rolls back. */
	done = done && strcmp(PQcmdStatus(result), sql[0] == 'C' ? "COMMIT" : PQcmdStatus(result)) == 0;
	PQclear(result);
	return done;
}

/* Commit; writes count as acknowledged only if this succeeds. */
static Outcome
commit(Session *session)
{
	PGresult   *result = PQexec(session->conn, "COMMIT");
	Outcome		outcome = DONE;

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		outcome = judge(session, UPDATE, result, "commit");
	else if (strcmp(PQcmdStatus(result), "COMMIT") == 0)
		for (int i = 0; i < session->nwritten; i++)
		{
			if (session->written[i].deleted)
				acknowledge_delete(session->written[i].uuid);
			else
				acknowledge(session->written[i].uuid, session->written[i].etag);
		}
	PQclear(result);
	return outcome;
}

/* Run a transaction of random writes. */
static Outcome
run_writes(Session *session)
{
	static const char *const begins[] = {"BEGIN ISOLATION LEVEL READ COMMITTED", "BEGIN ISOLATION LEVEL REPEATABLE READ",
	"BEGIN ISOLATION LEVEL SERIALIZABLE"};
	Random	   *random = &session->random;
	uint32_t	what = draw(random, 100);
	int			level = options.single || what < 80 ? 0 : what < 92 ? 1 : 2;
	int			steps = options.single || chance(random, 80) ? 1 : 2 + (int) draw(random, MAX_STEPS - 1);
	Outcome		outcome = DONE;

	session->fixed_snapshot = level > 0;
	session->nowait = chance(random, 3);
	session->nwritten = 0;
	session->writing = true;
	if (!command(session, begins[level]))
		return LOST;
	if (session->nowait)
		command(session, "SET LOCAL dms.lock_nowait = on");
	for (int i = 0; i < steps && outcome == DONE; i++)
		outcome = step(session);
	if (options.batches)
		usleep(draw(random, 4000));
	if (outcome == DONE && chance(random, 95))
		outcome = commit(session);
	else if (outcome != LOST)
		command(session, "ROLLBACK");
	session->writing = false;
	return outcome;
}

/* Check in this session, because the checker is too rare to see short-lived faults. */
static Outcome
run_check(Session *session)
{
	return check_identities(session->conn, SECTION + draw(&session->random, 3), false) ? DONE : RETRY;
}

/* Run a random transaction. */
static Outcome
run_transaction(Session *session)
{
	uint32_t	what = draw(&session->random, 100);

	session->writing = false;
	if (options.batches && chance(&session->random, 20))
		return run_check(session);
	if (options.history && chance(&session->random, 10))
		return run_versions(session);
	if (options.relations && chance(&session->random, 10))
		return run_related(session);
	if (what < 15)
		return run_read(session);
	if (what < 19)
		return run_compare(session, SESSION + draw(&session->random, NTYPES - SESSION));
	if (what < 23)
		return run_request(session, SESSION + draw(&session->random, NTYPES - SESSION));
	return run_writes(session);
}

/* Open a new connection after the old one was lost. */
static void
reconnect(Session *session)
{
	add(&lost);
	PQfinish(session->conn);
	session->conn = connect_patiently(session->name);
	prepare_all(session->conn);
}

/* Run transactions until it is time to stop; failed ones are retried. */
void *
work(void *argument)
{
	Session		session = {0};
	long		number = (long) argument;

	snprintf(session.name, sizeof(session.name), "stress %ld", number);
	session.random.state = options.seed * 1000 + (uint64_t) number;
	session.conn = connect_patiently(session.name);
	prepare_all(session.conn);
	while (!stopping)
	{
		Random		before = session.random;
		Outcome		outcome = run_transaction(&session);

		for (int i = 0; outcome == RETRY && i < MAX_RETRIES; i++)
		{
			add(&retries);
			usleep(draw(&session.random, 1000u << (i < 6 ? i : 6)));
			session.random = before;
			outcome = run_transaction(&session);
		}
		if (outcome == RETRY)
			add(&given_up);
		if (outcome == LOST)
			reconnect(&session);
		add(&transactions);
	}
	PQfinish(session.conn);
	return NULL;
}
