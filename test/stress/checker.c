/*
 * checker.c
 *		Checking invariants of the store while sessions write.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

static volatile long checks = 0;

/* Returns the result of a check, or NULL if the query failed. */
static PGresult *
judge_result(PGconn *conn, PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	if (!options.crashes)
		finding("the checker failed: %s", PQerrorMessage(conn));
	PQclear(result);
	return NULL;
}

/* Run a query of a check. */
static PGresult *
query(PGconn *conn, const char *sql)
{
	return judge_result(conn, PQexec(conn, sql));
}

/* Report a finding about a document. */
static void
tell(const char *what, const char *document_id, const char *detail)
{
	finding("%s: document %s, %s", what, document_id, detail);
}

/* Report the rows of the checker's view of findings; returns false if the query failed. */
static bool
check_structure(PGconn *conn)
{
	PGresult   *result = query(conn, "SELECT What, DocumentId, Detail FROM stress.Finding LIMIT 20");

	if (result == NULL)
		return false;
	for (int i = 0; i < PQntuples(result); i++)
		tell(PQgetvalue(result, i, 0), PQgetvalue(result, i, 1), PQgetvalue(result, i, 2));
	PQclear(result);
	return true;
}

/* Prepare the statements of check_identities(). */
void
prepare_checks(PGconn *conn)
{
	for (int i = 0; i <= NTYPES; i++)
	{
		bool		alias = i == NTYPES;
		const char *resource = types[alias ? SCHOOL : i].resource;
		char		name[32];
		char		sql[1024];

		sprintf(name, "identities_%d", i);
		sprintf(sql, "SELECT v.DocumentId, array_to_string(v.Vals, '|'), r.ReferentialId FROM stress.%s AS v"
				" LEFT JOIN dms.ReferentialIdentity AS r ON r.DocumentId = v.DocumentId AND r.ProjectName = 'Ed-Fi' AND r.ResourceName = '%s'",
				resource, alias ? "EducationOrganization" : resource);
		PQclear(PQprepare(conn, name, sql, 0, NULL));
	}
}

/* Check that every ReferentialId is that of the current values. */
bool
check_identities(PGconn *conn, TypeId type, bool alias)
{
	char		name[32];
	PGresult   *result;

	sprintf(name, "identities_%d", alias ? NTYPES : type);
	result = judge_result(conn, PQexecPrepared(conn, name, 0, NULL, NULL, NULL, 0));
	if (result == NULL)
		return false;
	for (int i = 0; i < PQntuples(result); i++)
	{
		Subject		subject = {.type = type};
		char		id[37];

		split_values(&subject, PQgetvalue(result, i, 1));
		referential_id(&subject, alias, id);
		if (strcmp(id, PQgetvalue(result, i, 2)) != 0)
			finding("document %s is %s %s, whose ReferentialId is %s, not %s", PQgetvalue(result, i, 0),
					types[type].resource, PQgetvalue(result, i, 1), id, PQgetvalue(result, i, 2));
	}
	PQclear(result);
	return true;
}

/*
 * Check that the cache has a fresh row for every document, and no others.  The texts of
 * some are compared with what is read without it.
 */
static bool
check_cache(PGconn *conn)
{
	static int	part = 0;
	char		sql[1024];
	PGresult   *result;

	PQclear(PQexec(conn, "SET LOCAL dms.cache_reads = off"));
	sprintf(sql, "SELECT COALESCE(d.DocumentId, c.DocumentId), d.Etag, c.Etag FROM dms.Document AS d"
			" FULL JOIN dms.DocumentCache AS c ON c.DocumentId = d.DocumentId"
			" WHERE c.Etag IS DISTINCT FROM d.Etag OR d.DocumentId %% 10 = %d"
			" AND c.DocumentJson::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text LIMIT 20", part++ % 10);
	result = query(conn, sql);
	if (result == NULL)
		return false;
	for (int i = 0; i < PQntuples(result); i++)
		finding("document %s has etag %s, and its row in the cache, whose text may differ, %s", PQgetvalue(result, i, 0),
				PQgetvalue(result, i, 1), PQgetvalue(result, i, 2));
	PQclear(result);
	return true;
}

/* Run all checks in one snapshot; returns false if the connection was lost. */
bool
check_once(PGconn *conn)
{
	bool		whole;

	PQclear(PQexec(conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
	whole = check_structure(conn);
	for (int type = 0; type < NTYPES && whole; type++)
		whole = check_identities(conn, type, false);
	whole = whole && check_identities(conn, SCHOOL, true);
	whole = whole && (!options.strict || check_cache(conn));
	PQclear(PQexec(conn, "COMMIT"));
	if (whole)
		checks++;
	return whole;
}

/* Check, once at the end, that every row has its entry in every index. */
void
check_indexes(PGconn *conn)
{
	PGresult   *result = PQexec(conn, "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS amcheck");
	bool		able = PQresultStatus(result) == PGRES_COMMAND_OK;

	PQclear(result);
	if (!able)
	{
		printf("indexes not checked: %s", PQerrorMessage(conn));
		return;
	}
	result = query(conn, "SELECT count(bt_index_check(i.indexrelid, true)) FROM pg_index AS i"
				   " JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS a ON a.oid = c.relam"
				   " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
				   " WHERE a.amname = 'btree' AND n.nspname IN ('dms', 'edfi')");
	if (result != NULL)
		printf("%s indexes checked\n", PQgetvalue(result, 0, 0));
	PQclear(result);
}

/* Returns the number of checks that were done. */
long
checks_done(void)
{
	return checks;
}

/* Open a connection for checks. */
PGconn *
connect_checker(const char *name)
{
	PGconn	   *conn = connect_patiently(name);

	prepare_checks(conn);
	return conn;
}

/* Sleep, unless it is time to stop. */
static void
pause_for(double seconds)
{
	double		end = now() + seconds;

	while (!stopping && now() < end)
		usleep(20000);
}

/*
 * Check at random moments.  The longer a check takes, the rarer it is, so that most
 * of the time is left to the writers.  If there are few documents, checks are
 * frequent, because the next write of a document may remove a fault.
 */
void *
keep_checking(void *argument)
{
	Random		random = {options.seed + 1000};
	PGconn	   *conn = connect_checker("stress checker");
	double		took = 0;

	(void) argument;
	while (!stopping)
	{
		double		start;

		pause_for(options.batches ? 2 * took : 0.2 + draw(&random, 2000) / 1000.0 + 4 * took);
		if (stopping)
			break;
		start = now();
		if (!check_once(conn) && PQstatus(conn) != CONNECTION_OK)
		{
			PQfinish(conn);
			conn = connect_checker("stress checker");
		}
		took = now() - start;
	}
	PQfinish(conn);
	return NULL;
}
