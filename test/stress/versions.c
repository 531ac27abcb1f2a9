/*
 * versions.c
 *		Versions of documents: they are what readers got, without gaps.
 *
 * All resources keep their versions, and documents are restored at random.  In the end
 * all versions are compared with the representations that were read, with what the
 * server acknowledged, and with the documents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress.h"

static const char *const kinds[] = {"baseline", "inserted", "updated", "cascaded", "restored", "deleted"};

#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The version before, while all are read in order. */
typedef struct Previous
{
	char		uuid[37];
	long		number;
	long		time;			/* in microseconds */
	bool		deleted;
	char		etag[24];		/* of the document; "" if it is gone */
	long		modified;		/* when it got the etag */
} Previous;

/* Keep the versions of all resources, from now on. */
void
keep_versions(PGconn *conn)
{
	PGresult   *result = PQexec(conn, "SELECT dms.configure_resource(project, resource, '{\"history\": true}'), project, resource"
								" FROM dms.resources() WHERE kind <> 'abstract'");

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(result); i++)
	{
		char		sql[600];
		PGresult   *called;

		snprintf(sql, sizeof(sql), "CALL dms.baseline_history('%s', '%s')", PQgetvalue(result, i, 1), PQgetvalue(result, i, 2));
		called = PQexec(conn, sql);
		if (PQresultStatus(called) != PGRES_TUPLES_OK)
			die("%s", PQerrorMessage(conn));
		PQclear(called);
	}
	PQclear(result);
}

/* Check that the last version of a document belongs to it, or records its deletion. */
static void
check_last(const Previous *last)
{
	if (last->uuid[0] == '\0')
		return;
	if (last->etag[0] == '\0' && !last->deleted)
		finding("document %s is gone, and its last version is %ld", last->uuid, last->number);
	if (last->etag[0] != '\0' && (atol(last->etag) != last->number || last->modified != last->time))
		finding("document %s has etag %s, and its last version is %ld", last->uuid, last->etag, last->number);
	seen_last_version(last->uuid, last->number, last->deleted);
}

/* Check that a version follows the one before, or begins a history. */
static void
check_order(const Previous *previous, const Previous *this, const char *kind)
{
	if (strcmp(previous->uuid, this->uuid) != 0)
	{
		if (strcmp(kind, "baseline") != 0 && (strcmp(kind, "inserted") != 0 || this->number != 1))
			finding("the history of document %s begins with version %ld, %s", this->uuid, this->number, kind);
		return;
	}
	if (this->number != previous->number + 1)
		finding("version %ld of document %s follows %ld", this->number, this->uuid, previous->number);
	if (this->time < previous->time)
		finding("version %ld of document %s is older than the one before", this->number, this->uuid);
	if (previous->deleted && strcmp(kind, "restored") != 0)
		finding("version %ld of document %s, %s, follows a deletion", this->number, this->uuid, kind);
}

/* Check a version, which becomes the one before. */
static void
check_version(Previous *previous, PGresult *row)
{
	const char *kind = PQgetvalue(row, 0, 2);
	Previous	this = {.number = atol(PQgetvalue(row, 0, 1)),.time = atol(PQgetvalue(row, 0, 3)),
		.deleted = strcmp(kind, "deleted") == 0,.modified = atol(PQgetvalue(row, 0, 6))
	};

	snprintf(this.uuid, sizeof(this.uuid), "%s", PQgetvalue(row, 0, 0));
	snprintf(this.etag, sizeof(this.etag), "%s", PQgetvalue(row, 0, 5));
	if (strcmp(previous->uuid, this.uuid) != 0)
		check_last(previous);
	check_order(previous, &this, kind);
	if (this.deleted != PQgetisnull(row, 0, 4))
		finding("version %ld of document %s, %s, %s", this.number, this.uuid, kind, this.deleted ? "has a text" : "has no text");
	if (!this.deleted)
		seen_version(this.uuid, this.number, PQgetvalue(row, 0, 4));
	*previous = this;
}

/* Count a version of this kind. */
static void
count_kind(long *counts, const char *kind)
{
	for (size_t i = 0; i < NKINDS; i++)
		if (strcmp(kinds[i], kind) == 0)
			counts[i]++;
}

/* Print how many versions there are of each kind; there must be some of all. */
static void
print_kinds(const long *counts)
{
	for (size_t i = 0; i < NKINDS; i++)
	{
		printf("%s %ld ", kinds[i], counts[i]);
		if (counts[i] == 0)
			finding("no version is %s", kinds[i]);
	}
	printf("versions\n");
}

/* Check that current versions are what readers get now. */
static void
check_current(PGconn *conn)
{
	PGresult   *result = PQexec(conn, "SELECT d.DocumentUuid, d.Etag, v.VersionNumber IS NULL FROM dms.Document AS d"
								" LEFT JOIN dms.DocumentVersion AS v ON (v.DocumentUuid, v.VersionNumber) = (d.DocumentUuid, d.Etag)"
								" WHERE v.Content::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text LIMIT 20");

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(result); i++)
		finding("version %s of document %s %s", PQgetvalue(result, i, 1), PQgetvalue(result, i, 0),
				strcmp(PQgetvalue(result, i, 2), "t") == 0 ? "is missing" : "is not what it is now");
	PQclear(result);
}

/* Check all versions; no session writes any more. */
void
check_versions(PGconn *conn)
{
	Previous	previous = {0};
	PGresult   *result;
	long		counts[NKINDS] = {0};

	if (PQsendQuery(conn, "SELECT v.DocumentUuid, v.VersionNumber, v.Kind, (extract(epoch FROM v.CreatedAt) * 1000000)::bigint,"
					" v.Content, d.Etag, (extract(epoch FROM d.LastModifiedAt) * 1000000)::bigint"
					" FROM dms.DocumentVersion AS v LEFT JOIN dms.Document AS d ON d.DocumentUuid = v.DocumentUuid"
					" ORDER BY v.DocumentUuid, v.VersionNumber") != 1 ||
		PQsetSingleRowMode(conn) != 1)
		die("%s", PQerrorMessage(conn));
	while ((result = PQgetResult(conn)) != NULL)
	{
		ExecStatusType status = PQresultStatus(result);

		if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK)
			die("%s", PQerrorMessage(conn));
		if (status == PGRES_SINGLE_TUPLE)
		{
			check_version(&previous, result);
			count_kind(counts, PQgetvalue(result, 0, 2));
		}
		PQclear(result);
	}
	check_last(&previous);
	check_seen_versions();
	check_current(conn);
	print_kinds(counts);
}
