/*
 * versiondiffs.c
 *		What changed from one version of a document to another: rows of
 *		dms.VersionDiff.
 *
 * A write only enqueues a job that names both versions.  Whoever runs the job reads
 * them and stores the diff.  Doing so twice is doing it once, because a new version has
 * one row.
 *
 * A diff repeats parts of the old version, and goes with it.  Who stores a diff locks
 * the old version first: who deletes that version waits, and deletes diffs afterwards.
 *
 * This module has all statements on the table.
 */
#include "postgres.h"

#include "base/jsondiff.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/jobs.h"
#include "document/versiondiffs.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

static const Oid insert_types[] = {UUIDOID, INT8OID, INT8OID, JSONBOID};

static Statement insert_diff =
{
	.sql = "INSERT INTO dms.VersionDiff (DocumentUuid, VersionNumber, OldVersionNumber, Diff)"
	" VALUES ($1, $2, $3, $4) ON CONFLICT (DocumentUuid, VersionNumber) DO NOTHING",
	.nargs = lengthof(insert_types),
	.argtypes = insert_types,
};

static const Oid read_types[] = {UUIDOID, INT8OID, INT8OID};
static const Oid diff_types[] = {INT8OID, INT8OID, JSONBOID};

static Statement read_diffs =
{
	.sql = "SELECT VersionNumber, OldVersionNumber, Diff FROM dms.VersionDiff"
	" WHERE DocumentUuid OPERATOR(pg_catalog.=) $1 AND VersionNumber OPERATOR(pg_catalog.>=) $2"
	" AND VersionNumber OPERATOR(pg_catalog.<=) $3 ORDER BY VersionNumber",
	.nargs = lengthof(read_types),
	.argtypes = read_types,
	.ordered = true,
};

static Statement erase =
{
	.sql = "DELETE FROM dms.VersionDiff WHERE DocumentUuid OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = read_types,
};

static const Oid forget_types[] = {UUIDARRAYOID, INT8ARRAYOID};

static Statement forget =
{
	.sql = "DELETE FROM dms.VersionDiff AS d"
	" USING ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (DocumentUuid, VersionNumber)"
	" WHERE d.DocumentUuid OPERATOR(pg_catalog.=) u.DocumentUuid"
	" AND d.OldVersionNumber OPERATOR(pg_catalog.<=) u.VersionNumber",
	.nargs = lengthof(forget_types),
	.argtypes = forget_types,
};

/* --- ids of versions ------------------------------------------------------- */

/* Returns the id of a version, which can be a part of URLs and of keys. */
char *
VersionDiffsId(const pg_uuid_t *uuid, int64 number)
{
	return psprintf("%s@" INT64_FORMAT, UuidText(uuid), number);
}

/* Take the id of a version apart; returns false if it is none. */
bool
VersionDiffsParseId(const char *id, pg_uuid_t *uuid, int64 *number)
{
	const char *at = strchr(id, '@');
	char	   *end;

	if (at == NULL || at[1] < '1' || at[1] > '9' || !UuidParse(pnstrdup(id, at - id), uuid))
		return false;
	errno = 0;
	*number = strtoi64(at + 1, &end, 10);
	return errno == 0 && *end == '\0';
}

/* --- making diffs ----------------------------------------------------------- */

/*
 * Enqueue the job that compares the version that a document has just got with the one
 * before, if the options of its resource ask for it.
 */
void
VersionDiffsEnqueue(Resource *resource, const DocumentHeader *header)
{
	const ResourceOptions *options = ResourceOptionsOf(resource);
	NewJob		job = {.queue = options->diff_queue,.kind = JOB_KIND_DIFF,.document = &header->uuid};

	if (!options->history || options->diff_queue == NULL)
		return;
	job.payload = DirectFunctionCall1(jsonb_in, CStringGetDatum(
																psprintf("{\"documentId\":\"%s\",\"oldVersionId\":\"%s\",\"newVersionId\":\"%s\"}",
																		 UuidText(&header->uuid), VersionDiffsId(&header->uuid, header->etag - 1),
																		 VersionDiffsId(&header->uuid, header->etag))));
	(void) JobsEnqueue(&job);
}

/* Members of a document that are different in each version. */
static const char *const of_version[] = {"_etag", "_lastModifiedDate", NULL};

/* Returns what changed from one text of a document to another, beside its etag and time. */
Jsonb *
VersionDiffOf(const text *old_text, const text *new_text)
{
	return JsonDiff(old_text, new_text, of_version);
}

/*
 * Store a diff of versions that the caller keeps from being deleted, unless there is one.
 * Returns false if there is.
 */
bool
VersionDiffsInsert(const pg_uuid_t *uuid, int64 old_number, int64 new_number, Datum diff)
{
	Datum		values[] = {UUIDPGetDatum(uuid), Int64GetDatum(new_number), Int64GetDatum(old_number), diff};

	return StatementRun(&insert_diff, values, NULL, false, 0) > 0;
}

/* --- reading and deleting ---------------------------------------------------- */

/* Read the diffs of versions with these numbers, in the active snapshot. */
StoredDiff *
VersionDiffsRead(const pg_uuid_t *uuid, int64 first, int64 last, int *n)
{
	Datum		values[] = {UUIDPGetDatum(uuid), Int64GetDatum(first), Int64GetDatum(last)};
	uint64		rows = StatementRun(&read_diffs, values, NULL, true, 0);
	StoredDiff *diffs = palloc(sizeof(StoredDiff) * Max(rows, 1));

	ResultExpect(diff_types);
	for (uint64 i = 0; i < rows; i++)
	{
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		diffs[i].number = ResultInt64(i, 1);
		diffs[i].old_number = ResultInt64(i, 2);
		diffs[i].diff = ResultDatum(i, 3, &isnull);
		if (isnull)
			ResultRefuse("NULL where there must be a value");
	}
	*n = (int) rows;
	return diffs;
}

/* Delete all diffs of a document. */
void
VersionDiffsErase(const pg_uuid_t *uuid)
{
	Datum		values[] = {UUIDPGetDatum(uuid)};

	(void) StatementRun(&erase, values, NULL, false, 0);
}

/*
 * Delete the diffs of documents whose old versions have numbers up to these, which were
 * deleted before.
 */
void
VersionDiffsForget(Datum documents, Datum numbers)
{
	Datum		values[] = {documents, numbers};

	(void) StatementRun(&forget, values, NULL, false, 0);
}
