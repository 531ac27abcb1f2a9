/*
 * relations.c
 *		Relations at random: parents, collections, accounts and unique values, between
 *		documents that are written, renamed and deleted at the same time.
 *
 * A delete takes along what is below, so any document that ever got a parent may be
 * missing later.  That deletes take nothing else is left to the test of trees
 * (test/forest), which has one resource, and knows each tree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress.h"

/* Checks of what functions say about a document in one snapshot: each counts contradictions. */
static const struct
{
	const char *name;
	const char *sql;
}			questions[] = {
	{"children", "SELECT count(*) FROM dms.children($1, page_limit => 50) AS c WHERE dms.parent(c.document_uuid) <> $1 OR dms.parent(c.document_uuid) IS NULL"},
	{"covers", "SELECT count(*) FROM (SELECT g.document_uuid FROM dms.grant_sources($1) AS g ORDER BY random() LIMIT 2) AS g WHERE NOT dms.covers(g.document_uuid, $1)"},
	{"above", "SELECT count(*) FROM dms.ancestors($1) AS a WHERE a.document_uuid = $1 OR NOT a.document_uuid IN (SELECT g.document_uuid FROM dms.grant_sources($1) AS g)"},
	{"records", "SELECT count(*) FROM dms.query_records('Child#' || dms.urn($1), index_name => 'InvertedIndex') AS r"
	" WHERE r::jsonb IS DISTINCT FROM dms.get_record(r ->> 'PK', r ->> 'SK')::jsonb"},
	{"plan", "SELECT count(*) FROM (SELECT FROM dms.Document WHERE DocumentUuid = $1) AS d WHERE NOT EXISTS (SELECT FROM dms.delete_plan($1) WHERE part = 'goes')"},
};

#define NQUESTIONS (int) (sizeof(questions) / sizeof(questions[0]))

/* Prepare the statements of this file. */
void
prepare_relations(PGconn *conn)
{
	static const char *const statements[][2] = {
		{"set_parent", "SELECT dms.set_parent($1, $2)"},
		{"add_member", "SELECT dms.add_member($1, $2, random() < 0.5)"},
		{"remove_member", "SELECT dms.remove_member($1, $2)"},
		{"set_account", "SELECT dms.set_account($1, $2, random() < 0.5) > 0"},
		{"claim", "SELECT dms.claim_unique_key(split_part(u, ':', 3), 'code', $2, $1) FROM dms.urn($1) AS u WHERE u IS NOT NULL"},
		{"release", "SELECT dms.release_unique_key(split_part(u, ':', 3), 'code', $2) FROM dms.urn($1) AS u WHERE u IS NOT NULL"},
		{"attach", "SELECT r.status, right(r.headers ->> 'Location', 36) FROM dms.handle_request('POST', '/ed-fi/' || $1,"
			" jsonb_build_object('dms-parent', $2::text, 'dms-account', $3::text), $4) AS r"},
	};

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		prepare(conn, statements[i][0], statements[i][1]);
	for (int i = 0; i < NQUESTIONS; i++)
		prepare(conn, questions[i].name, questions[i].sql);
}

/* Choose a document of any type. */
static bool
pick_any(Session *session, Subject *subject)
{
	return pick(session, (TypeId) draw(&session->random, NTYPES), subject);
}

/* Call a function that relates a document to another one, or to a value. */
static Outcome
relate(Session *session, const char *name, const Subject *subject, const char *other)
{
	const char *values[2] = {subject->uuid, other};
	PGresult   *result = execute(session, name, 2, values);
	Outcome		outcome = DONE;

	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		count(RELATE, name);
	else
		outcome = judge(session, RELATE, result, name);
	PQclear(result);
	return outcome;
}

/* Create or update a document by a request that names its parent and its account. */
static Outcome
attach(Session *session, TypeId type, const Subject *parent, const Subject *account)
{
	char		body[BODY_SIZE];
	char		path[64];
	char		status[16];
	const char *values[4] = {path, parent->uuid, account->uuid, body};
	Subject		from;
	Subject		subject;
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!pick(session, type == SESSION ? SCHOOL : (TypeId) (type - 1), &from) || !derive(&subject, type, &from, &session->random))
		return DONE;
	endpoint(type, path, sizeof(path));
	write_body(&subject, &session->random, body);
	result = execute(session, "attach", 4, values);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		outcome = judge(session, RELATE, result, body);
	else
	{
		int			answered = atoi(PQgetvalue(result, 0, 0));

		snprintf(status, sizeof(status), "POST %d", answered);
		count(RELATE, status);
		if (answered == 200 || answered == 201)
			deleting(PQgetvalue(result, 0, 1));
		else if (answered != 409)
			finding("a request with a parent was answered by %d: %s", answered, body);
	}
	PQclear(result);
	return outcome;
}

/* Relate two random documents. */
Outcome
step_relate(Session *session)
{
	Random	   *random = &session->random;
	uint32_t	what = draw(random, 100);
	char		value[12];
	Subject		subject;
	Subject		other;

	if (!pick_any(session, &subject) || !pick_any(session, &other))
		return DONE;
	snprintf(value, sizeof(value), "%u", draw(random, 40));
	if (what < 35)
	{
		deleting(subject.uuid);
		return relate(session, "set_parent", &subject, what < 5 ? NULL : other.uuid);
	}
	if (what < 50)
		return relate(session, "add_member", &subject, other.uuid);
	if (what < 55)
		return relate(session, "remove_member", &subject, other.uuid);
	if (what < 67)
		return relate(session, "set_account", &subject, what < 60 ? NULL : other.uuid);
	if (what < 77)
		return relate(session, "claim", &subject, value);
	if (what < 80)
		return relate(session, "release", &subject, value);
	return attach(session, (TypeId) (SESSION + draw(random, NTYPES - SESSION)), &subject, &other);
}

/* Ask about the relations of a random document: the answers of one snapshot agree. */
Outcome
run_related(Session *session)
{
	int			question = (int) draw(&session->random, NQUESTIONS);
	Subject		subject;
	const char *values[1] = {subject.uuid};
	PGresult   *result;
	Outcome		outcome = DONE;

	if (!pick_any(session, &subject))
		return DONE;
	result = execute(session, questions[question].name, 1, values);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		outcome = judge(session, READ, result, subject.uuid);
	else
	{
		count(READ, questions[question].name);
		if (strcmp(PQgetvalue(result, 0, 0), "0") != 0)
			finding("relations of document %s contradict each other: %s", subject.uuid, questions[question].sql);
	}
	PQclear(result);
	return outcome;
}

/* Check that there are relations of all kinds, and that the store's own audit finds nothing. */
void
check_relations(PGconn *conn)
{
	static const char *const tables[] = {"ParentChild", "CollectionMember", "DocumentAccount", "UniqueKeyValue"};
	PGresult   *result;

	for (int i = 0; i < 4; i++)
	{
		char		sql[100];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM dms.%s", tables[i]);
		result = PQexec(conn, sql);
		if (PQresultStatus(result) != PGRES_TUPLES_OK)
			die("%s", PQerrorMessage(conn));
		printf("%s %s%s", tables[i], PQgetvalue(result, 0, 0), i < 3 ? ", " : "\n");
		if (atol(PQgetvalue(result, 0, 0)) == 0)
			finding("there are no rows in dms.%s", tables[i]);
		PQclear(result);
	}
	result = PQexec(conn, "SELECT kind, document_uuid, found FROM dms.audit() LIMIT 20");
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(result); i++)
		finding("dms.audit(): %s, document %s, %s", PQgetvalue(result, i, 0), PQgetvalue(result, i, 1), PQgetvalue(result, i, 2));
	PQclear(result);
}
