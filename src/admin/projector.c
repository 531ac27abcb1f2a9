/*
 * projector.c
 *		Bringing dms.DocumentCache up to date.
 *
 * A step takes one batch of documents, in the transaction of its caller: a background
 * worker, or dms.project_documents().  The row of the consumer "cache" is locked for it,
 * so there is one projector at a time, and no error can leave the lock behind.
 *
 * The projector follows the journal of changes in passes.  A pass begins with a snapshot
 * and reads the journal, resource by resource, from a number on: that of the oldest
 * transaction that ran when the pass before it began.  Whatever had committed when that
 * pass began has a lower number, or was read by it; whatever commits during a pass is
 * read by the next one.  So nothing is missed, and documents that are met twice are
 * skipped, because their rows are fresh.  The place within a pass is stored with each
 * batch, in the same transaction.
 *
 * A rebuild visits all documents in order of their ids.  Batches of it alternate with
 * those of the feed.
 *
 * A document that cannot be projected becomes a row of dms.ProjectionFailure, and is
 * tried again later.  It holds up no other one: a batch that fails is halved until the
 * document fails alone.
 */
#include "postgres.h"

#include "access/transam.h"
#include "admin/projector.h"
#include "base/faults.h"
#include "base/ids.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "document/changes.h"
#include "document/documentcache.h"
#include "engine/attempt.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/progress.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/storerow.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "verbs/write.h"

/* Seconds until a document that failed is tried again: at first, at most, and if it was locked. */
#define FIRST_RETRY 60
#define LAST_RETRY 3600
#define LOCKED_RETRY 1

static int	projector_batch = 500;
static int	projector_rate = 0;

/*
 * Where the projector is.  The pass reads numbers from "from" on, and the next one will
 * begin at "to".  The last change that was read is that of the place.
 */
typedef struct Cursor
{
	int64		base;			/* what the numbers are counted from, on this
								 * server */
	int64		from;
	int64		to;				/* 0: no pass has begun */
	int64		started;		/* when it did */
	int64		type_id;
	int64		version;
	int64		document_id;
} Cursor;

#define CURSOR_FORMAT "%u." INT64_FORMAT "." INT64_FORMAT "." INT64_FORMAT "." INT64_FORMAT "." INT64_FORMAT \
	"." INT64_FORMAT "." INT64_FORMAT

/* Documents of one resource. */
typedef struct Batch
{
	Resource   *resource;
	int64	   *ids;
	int			n;
	int			written;
} Batch;

static const Oid int8_types[] = {INT8OID, INT8OID, INT8OID, INT8OID};
static const Oid change_types[] = {INT4OID, INT8OID, INT8OID, INT4OID};
static const Oid ids_types[] = {INT8ARRAYOID, TIMESTAMPTZOID};
static const Oid failure_types[] = {INT8OID, INT4OID, TEXTOID, TEXTOID, INT4OID, INT4OID};

static Statement take_consumer =
{
	.sql = "SELECT Cursor FROM dms.ChangeConsumer WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
	" FOR UPDATE SKIP LOCKED"
};

static Statement find_consumer =
{
	.sql = "SELECT 1 FROM dms.ChangeConsumer WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
};

/* The next resource with changes from a number on. */
static Statement next_type =
{
	.sql = "SELECT t.ResourceTypeId, t.ProjectName::pg_catalog.text, t.ResourceName::pg_catalog.text"
	" FROM " RESOURCE_TYPES_SQL("t") " WHERE t.ResourceTypeId OPERATOR(pg_catalog.>=) $1"
	" AND EXISTS (SELECT FROM " CHANGES_SQL("j") " WHERE j.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId"
	" AND j.ChangeVersion OPERATOR(pg_catalog.>=) $2)"
	" ORDER BY t.ResourceTypeId LIMIT 1",
	.nargs = 2,
	.argtypes = int8_types,
	.ordered = true,
};

/* Changes of documents that have failed, and whose time has not come, are left out. */
static Statement next_changes =
{
	.sql = "SELECT j.DocumentId, j.ChangeVersion FROM dms.DocumentChange AS j"
	" WHERE j.ResourceTypeId OPERATOR(pg_catalog.=) $1"
	" AND (j.ChangeVersion, j.DocumentId) OPERATOR(pg_catalog.>) ($2, $3)"
	" AND " DOCUMENT_IS_CURRENT_SQL("j")
	" AND NOT EXISTS (SELECT FROM dms.ProjectionFailure AS f WHERE f.Consumer::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
	" AND f.DocumentId OPERATOR(pg_catalog.=) j.DocumentId AND f.Etag OPERATOR(pg_catalog.=) j.Etag"
	" AND f.NextAttemptAt OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp())"
	" ORDER BY j.ChangeVersion, j.DocumentId LIMIT $4",
	.nargs = lengthof(change_types),
	.argtypes = change_types,
	.ordered = true,
};

static Statement next_documents =
{
	.sql = "SELECT d.DocumentId, d.ProjectName::pg_catalog.text, d.ResourceName::pg_catalog.text"
	" FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.>) $1 ORDER BY d.DocumentId LIMIT $2",
	.nargs = 2,
	.argtypes = int8_types,
	.ordered = true,
};

static Statement failed_documents =
{
	.sql = "SELECT d.DocumentId, d.ProjectName::pg_catalog.text, d.ResourceName::pg_catalog.text"
	" FROM dms.ProjectionFailure AS f" DOCUMENT_JOIN_SQL("d", "f.DocumentId")
	" WHERE f.Consumer::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
	" AND f.NextAttemptAt OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp() ORDER BY d.DocumentId LIMIT $1",
	.nargs = 1,
	.argtypes = int8_types,
};

/* Those of documents that are projected now, or gone. */
static Statement forget_failures =
{
	.sql = "DELETE FROM dms.ProjectionFailure AS f WHERE f.Consumer::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
	" AND (f.DocumentId OPERATOR(pg_catalog.=) ANY ($1) AND EXISTS (SELECT FROM dms.DocumentCache AS c"
	DOCUMENT_JOIN_CURRENT_SQL("d", "c")
	" WHERE c.DocumentId OPERATOR(pg_catalog.=) f.DocumentId AND c.ComputedAt OPERATOR(pg_catalog.>=) $2)"
	" OR NOT " DOCUMENT_EXISTS_SQL("f.DocumentId") ")",
	.nargs = lengthof(ids_types),
	.argtypes = ids_types,
};

/* $2: seconds until the next attempt; $5: by what they grow; $6: at most. */
static Statement note_failure =
{
	.sql = "INSERT INTO dms.ProjectionFailure AS f (Consumer, DocumentId, Etag, Attempts, NextAttemptAt, SqlState, Message)"
	" SELECT 'cache', d.DocumentId, d.Etag, 1, pg_catalog.clock_timestamp()"
	" OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => $2), $3, $4"
	" FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.=) $1"
	" ON CONFLICT (Consumer, DocumentId) DO UPDATE SET Etag = EXCLUDED.Etag,"
	" Attempts = f.Attempts OPERATOR(pg_catalog.+) 1, SqlState = EXCLUDED.SqlState, Message = EXCLUDED.Message,"
	" NextAttemptAt = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) pg_catalog.make_interval("
	"secs => LEAST($2 OPERATOR(pg_catalog.*) pg_catalog.power($5, LEAST(f.Attempts, 10)), $6))"
	" RETURNING f.Attempts, (SELECT d.DocumentUuid FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.=) f.DocumentId)",
	.nargs = lengthof(failure_types),
	.argtypes = failure_types,
};

static Statement next_attempt =
{
	.sql = "SELECT pg_catalog.min(NextAttemptAt) FROM dms.ProjectionFailure"
	" WHERE Consumer::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
};

static Statement take_rebuild =
{
	.sql = "SELECT AfterDocumentId, Documents, Expected FROM dms.CacheRebuild WHERE FinishedAt IS NULL FOR UPDATE"
};

static Statement advance_rebuild =
{
	.sql = "UPDATE dms.CacheRebuild SET AfterDocumentId = $1, Documents = Documents OPERATOR(pg_catalog.+) $2,"
	" FinishedAt = CASE WHEN $2 OPERATOR(pg_catalog.=) 0 THEN pg_catalog.clock_timestamp() END",
	.nargs = 2,
	.argtypes = int8_types,
};

/* Define the settings of this module. */
void
ProjectorInit(void)
{
	DefineCustomIntVariable("dms.projector_batch",
							"The number of documents that are projected together.",
							NULL, &projector_batch, 500, 1, 10000, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.projector_rate",
							"The largest number of documents that are projected in a second.",
							"0 is no limit.",
							&projector_rate, 0, 0, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* Returns the number of documents that are taken together: no more than those of a second. */
static int
BatchSize(void)
{
	return projector_rate > 0 ? Min(projector_batch, projector_rate) : projector_batch;
}

/* Returns for how long to rest after so many documents, in milliseconds. */
static int
RestAfter(int64 documents, TimestampTz since)
{
	int64		due = projector_rate > 0 ? documents * 1000 / projector_rate : 0;

	return (int) Max(due - TimestampDifferenceMilliseconds(since, GetCurrentTimestamp()), 0);
}

/* --- the cursor ------------------------------------------------------------- */

/* Returns the number that changes of the oldest running transaction have, or would have. */
static int64
OldestNumber(void)
{
	Snapshot	snapshot = GetLatestSnapshot();
	FullTransactionId next = ReadNextFullTransactionId();
	uint64		oldest = U64FromFullTransactionId(next) - (uint32) (XidFromFullTransactionId(next) - snapshot->xmin);

	if (FAULT_SKIP("projector_running"))
		oldest = U64FromFullTransactionId(next);
	return StoreRowJournal()->base + 2 * (int64) oldest;
}

/* Read a cursor from its text; returns false if it is not one. */
static bool
ReadCursor(const char *text, Cursor *cursor)
{
	unsigned int format;

	return sscanf(text, CURSOR_FORMAT, &format, &cursor->base, &cursor->from, &cursor->to, &cursor->started,
				  &cursor->type_id, &cursor->version, &cursor->document_id) == 8 && format == 1;
}

/*
 * Returns the number from which on the projector has still to read changes, and deletes;
 * if there is none, or its place is lost, it needs nothing.
 */
int64
ProjectorReadsFrom(void)
{
	Cursor		cursor;
	bool		isnull;

	SnapshotBeginLatest();
	(void) StatementExecuteWithArgs("SELECT pg_catalog.min(Cursor) FROM dms.ChangeConsumer"
									" WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'", 0, NULL, NULL, true);
	SnapshotEnd();
	(void) ResultDatum(0, 1, &isnull);
	if (isnull || !ReadCursor(ResultText(0, 1), &cursor) || cursor.base != StoreRowJournal()->base)
		return PG_INT64_MAX;
	return cursor.from;
}

/* Store the cursor; a pass that has ended sets the time at which it began. */
static void
StoreCursor(const Cursor *cursor, int64 documents, bool ended)
{
	Oid			types[] = {TEXTOID, INT8OID, TIMESTAMPTZOID};
	char	   *text = psprintf(CURSOR_FORMAT, 1, cursor->base, cursor->from, cursor->to, cursor->started,
								cursor->type_id, cursor->version, cursor->document_id);
	Datum		values[] = {CStringGetTextDatum(text), Int64GetDatum(documents), TimestampTzGetDatum(cursor->started)};

	(void) StatementExecuteWithArgs(ended ?
									"UPDATE dms.ChangeConsumer SET Cursor = $1, Documents = Documents OPERATOR(pg_catalog.+) $2, UpdatedAt = $3"
									" WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'" :
									"UPDATE dms.ChangeConsumer SET Cursor = $1, Documents = Documents OPERATOR(pg_catalog.+) $2"
									" WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache' AND $3 IS NOT NULL",
									lengthof(types), types, values, false);
}

/* Begin to follow now: everything before is left to a rebuild. */
void
ProjectorStart(void)
{
	Oid			types[] = {TEXTOID};
	char	   *text = psprintf(CURSOR_FORMAT, 1, StoreRowJournal()->base, OldestNumber(), INT64CONST(0),
								INT64CONST(0), INT64CONST(0), INT64CONST(0), INT64CONST(0));
	Datum		values[] = {CStringGetTextDatum(text)};

	(void) StatementExecuteWithArgs("INSERT INTO dms.ChangeConsumer (Name, Cursor, UpdatedAt)"
									" VALUES ('cache', $1, '-infinity')"
									" ON CONFLICT (Name) DO UPDATE SET Cursor = EXCLUDED.Cursor, UpdatedAt = EXCLUDED.UpdatedAt",
									lengthof(types), types, values, false);
	(void) ProjectorRebuild();
}

/* Begin a rebuild; returns an estimate of the number of documents. */
int64
ProjectorRebuild(void)
{
	(void) StatementExecuteWithArgs("INSERT INTO dms.CacheRebuild (StartedAt, AfterDocumentId, Documents, Expected)"
									" SELECT pg_catalog.clock_timestamp(), -9223372036854775808, 0, GREATEST(c.reltuples, 0)"
									" FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) 'dms.document'::pg_catalog.regclass"
									" ON CONFLICT (Singleton) DO UPDATE SET StartedAt = EXCLUDED.StartedAt, FinishedAt = NULL,"
									" AfterDocumentId = EXCLUDED.AfterDocumentId, Documents = 0, Expected = EXCLUDED.Expected"
									" RETURNING Expected", 0, NULL, NULL, false);
	return ResultInt64(0, 1);
}

/* Forget where the projector is, and what has failed. */
void
ProjectorStop(void)
{
	static const char *const sql[] = {
		"DELETE FROM dms.ChangeConsumer WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'",
		"DELETE FROM dms.ProjectionFailure WHERE Consumer::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'",
		"DELETE FROM dms.CacheRebuild",
	};

	for (int i = 0; i < (int) lengthof(sql); i++)
		(void) StatementExecuteWithArgs(sql[i], 0, NULL, NULL, false);
}

/* --- batches ---------------------------------------------------------------- */

/* Record that a document could not be projected. */
static void
NoteFailure(int64 id, int seconds, int growth, const char *sqlstate, const char *message)
{
	Datum		values[] = {Int64GetDatum(id), Int32GetDatum(seconds), CStringGetTextDatum(sqlstate),
		CStringGetTextDatum(message), Int32GetDatum(growth), Int32GetDatum(growth > 1 ? LAST_RETRY : seconds)
	};
	pg_uuid_t	uuid;

	if (StatementRun(&note_failure, values, NULL, false, 0) == 0 || growth == 1)
		return;
	uuid = ResultUuid(0, 2);
	ereport(WARNING,
			(errmsg("document %s could not be projected (%s), attempt %d", UuidText(&uuid), sqlstate, ResultInt32(0, 1))));
}

/* Project a batch, for AttemptCatch(). */
static bool
ProjectBatch(void *arg)
{
	Batch	   *batch = arg;

	batch->written = DocumentCacheProject(batch->resource, batch->ids, batch->n);
	return true;
}

/* Returns true if an error says nothing about the document: it is the fault of the moment. */
static bool
IsOfTheMoment(const ErrorData *error)
{
	int			class = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return class == ERRCODE_TRANSACTION_ROLLBACK || class == ERRCODE_INSUFFICIENT_RESOURCES ||
		class == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE || class == ERRCODE_OPERATOR_INTERVENTION ||
		class == ERRCODE_SYSTEM_ERROR;
}

/* Project documents; those that fail are found by halving.  Returns how many were written. */
static int
ProjectIds(Resource *resource, int64 *ids, int n)
{
	Batch		batch = {resource, ids, n, 0};
	ErrorData  *error;
	bool		stays;
	int			half = n / 2;

	if (n == 0)
		return 0;
	error = AttemptCatch(ProjectBatch, &batch, &stays);
	if (error == NULL)
		return batch.written;
	if (IsOfTheMoment(error) || FAULT_SKIP("poison_alone"))
		ReThrowError(error);
	if (n > 1)
		return ProjectIds(resource, ids, half) + ProjectIds(resource, ids + half, n - half);
	NoteFailure(ids[0], FIRST_RETRY, 2, unpack_sql_state(error->sqlerrcode), error->message);
	return 0;
}

/*
 * Bring the rows of documents of one resource up to date.  Returns how many were written.
 * The place is for pg_stat_activity.
 */
static int
ProjectDocuments(const char *project, const char *name, int64 *ids, int n, const char *place)
{
	Resource   *resource = ModelCacheTry(project, name);
	Datum		values[2];
	int64	   *stale;
	int64	   *busy;
	int			nstale;
	int			nbusy;
	int			written;

	if (resource == NULL || n == 0)
		return 0;
	n = IdsSort(ids, n);
	ProgressReport("projecting %d documents of %s.%s%s", n, project, name, place);
	stale = DocumentCacheStale(ids, n, &nstale, &busy, &nbusy);
	written = ProjectIds(resource, stale, nstale);
	values[0] = DatumInt8Array(n, ids);
	values[1] = TimestampTzGetDatum(StoreRowCache()->valid_from);
	(void) StatementRun(&forget_failures, values, NULL, false, 0);
	for (int i = 0; i < nbusy && !FAULT_SKIP("busy_retry"); i++)
		NoteFailure(busy[i], LOCKED_RETRY, 1, "55P03", "the document is locked");
	return written;
}

/*
 * Bring the documents of the last result up to date: ids, projects and resources.
 * Returns how many were written, and the last id in *last if there is one.
 */
static int
ProjectResult(uint64 rows, int64 *last, const char *place)
{
	int64	   *ids = palloc(sizeof(int64) * Max(rows, 1));
	char	  **projects = palloc(sizeof(char *) * Max(rows, 1));
	char	  **names = palloc(sizeof(char *) * Max(rows, 1));
	int			written = 0;

	for (uint64 i = 0; i < rows; i++)
	{
		ids[i] = *last = ResultInt64(i, 1);
		projects[i] = ResultName(i, 2);
		names[i] = ResultName(i, 3);
	}
	for (uint64 first = 0; first < rows; first++)
	{
		int64	   *same = palloc(sizeof(int64) * rows);
		int			n = 0;

		if (projects[first] == NULL)
			continue;
		for (uint64 i = rows; i > first; i--)
			if (projects[i - 1] != NULL && strcmp(projects[i - 1], projects[first]) == 0 &&
				strcmp(names[i - 1], names[first]) == 0)
			{
				same[n++] = ids[i - 1];
				if (i - 1 != first)
					projects[i - 1] = NULL;
			}
		written += ProjectDocuments(projects[first], names[first], same, n, place);
	}
	return written;
}

/* --- steps ------------------------------------------------------------------- */

/* Begin a pass if none has begun. */
static void
BeginPass(Cursor *cursor)
{
	if (cursor->to != 0)
		return;
	cursor->started = GetCurrentTimestamp();
	cursor->to = OldestNumber();
	cursor->type_id = PG_INT32_MIN;
	cursor->version = 0;
	cursor->document_id = 0;
	FAULT_PAUSE("after_pass_begin");
}

/* Read the next changes of the pass.  Returns false if there are none left. */
static bool
ReadChanges(Cursor *cursor, Batch *batch, char **project, char **name)
{
	Datum		type_values[] = {Int64GetDatum(cursor->type_id), Int64GetDatum(cursor->from)};
	Datum		values[4];
	uint64		rows;
	int32		type_id;

	SnapshotBeginLatest();
	rows = StatementRun(&next_type, type_values, NULL, true, 0);
	if (rows == 0)
	{
		SnapshotEnd();
		return false;
	}
	type_id = ResultInt32(0, 1);
	*project = ResultName(0, 2);
	*name = ResultName(0, 3);
	if (type_id != cursor->type_id || cursor->version == 0)
	{
		cursor->type_id = type_id;
		cursor->version = cursor->from - 1;
		cursor->document_id = PG_INT64_MAX;
	}
	values[0] = Int32GetDatum(type_id);
	values[1] = Int64GetDatum(cursor->version);
	values[2] = Int64GetDatum(cursor->document_id);
	values[3] = Int32GetDatum(BatchSize());
	rows = StatementRun(&next_changes, values, NULL, true, 0);
	batch->ids = palloc(sizeof(int64) * Max(rows, 1));
	batch->n = (int) rows;
	for (uint64 i = 0; i < rows; i++)
	{
		batch->ids[i] = cursor->document_id = ResultInt64(i, 1);
		cursor->version = ResultInt64(i, 2);
	}
	SnapshotEnd();
	if (batch->n < BatchSize())
	{
		cursor->type_id = (int64) type_id + 1;
		cursor->version = 0;
	}
	return true;
}

/* End the pass: delete what is left of deleted documents, and let the next one begin. */
static void
EndPass(Cursor *cursor)
{
	DocumentCacheSweepDeleted(cursor->from);
	cursor->from = cursor->to;
	cursor->to = 0;
}

/* Take some documents from the journal; returns false if the pass has ended. */
static bool
FollowJournal(Cursor *cursor, ProjectorResult *result)
{
	int64		written = 0;
	int			taken = 0;

	BeginPass(cursor);
	while (taken < BatchSize())
	{
		Batch		batch = {0};
		char	   *project;
		char	   *name;

		CHECK_FOR_INTERRUPTS();
		if (!ReadChanges(cursor, &batch, &project, &name))
		{
			EndPass(cursor);
			StoreCursor(cursor, written, true);
			result->projected += written;
			return false;
		}
		taken += batch.n;
		written += ProjectDocuments(project, name, batch.ids, batch.n, "");
	}
	StoreCursor(cursor, written, false);
	result->projected += written;
	return true;
}

/* Take some documents of a rebuild; returns false if there is none, or if it has ended. */
static bool
Rebuild(ProjectorResult *result)
{
	Datum		values[2];
	char	   *place;
	int64		after;
	int64		last;
	uint64		rows;

	if (StatementRun(&take_rebuild, NULL, NULL, false, 0) == 0)
		return false;
	after = last = ResultInt64(0, 1);
	place = psprintf(", " INT64_FORMAT " of " INT64_FORMAT " documents are rebuilt", ResultInt64(0, 2),
					 Max(ResultInt64(0, 2), ResultInt64(0, 3)));
	values[0] = Int64GetDatum(after);
	values[1] = Int64GetDatum(BatchSize());
	SnapshotBeginLatest();
	rows = StatementRun(&next_documents, values, NULL, true, 0);
	SnapshotEnd();
	result->projected += ProjectResult(rows, &last, place);
	DocumentCacheSweep(after, rows == 0 ? PG_INT64_MAX : last);
	values[0] = Int64GetDatum(last);
	values[1] = Int64GetDatum(rows);
	(void) StatementRun(&advance_rebuild, values, NULL, false, 0);
	return rows > 0;
}

/* Try documents again that have failed, and find out when the next ones are to be tried. */
static void
Retry(ProjectorResult *result)
{
	Datum		values[] = {Int64GetDatum(BatchSize())};
	int64		last = 0;
	uint64		rows;
	bool		isnull;
	Datum		next;

	SnapshotBeginLatest();
	rows = StatementRun(&failed_documents, values, NULL, true, 0);
	SnapshotEnd();
	result->projected += ProjectResult(rows, &last, ", once more");
	SnapshotBeginLatest();
	if (StatementRun(&next_attempt, NULL, NULL, true, 0) == 1)
	{
		next = ResultTypedDatum(0, 1, TIMESTAMPTZOID, &isnull);
		result->next = isnull ? 0 : DatumGetTimestampTz(next);
	}
	SnapshotEnd();
}

/*
 * Lock the consumer, and read its cursor; returns false if another session has it.  A
 * consumer that is gone begins anew, with a rebuild.
 */
static bool
TakeConsumer(Cursor *cursor)
{
	char	   *text;
	uint64		rows;
	bool		taken;

	SnapshotBeginLatest();
	rows = StatementRun(&take_consumer, NULL, NULL, false, 0);
	text = rows > 0 ? ResultText(0, 1) : NULL;

	taken = rows > 0 || StatementRun(&find_consumer, NULL, NULL, true, 0) == 0;
	SnapshotEnd();
	if (!taken)
		return false;

	/* After a restore, numbers are of another server. */
	if (text == NULL || !ReadCursor(text, cursor) || cursor->base != StoreRowJournal()->base)
	{
		ProjectorStart();
		cursor->base = StoreRowJournal()->base;
		cursor->from = OldestNumber();
		cursor->to = 0;
	}
	return true;
}

/*
 * Do a part of what is to be done, in this transaction, and say whether there is more.
 * At the end of a pass, listeners are notified.
 */
void
ProjectorStep(ProjectorResult *result)
{
	TimestampTz start = GetCurrentTimestamp();
	Session		session;
	Cursor		cursor;

	memset(result, 0, sizeof(ProjectorResult));
	WriteBegin(&session, "dms.project_documents()");
	ChangesBegin();
	result->on = StoreRowCache()->mode != CACHE_OFF;
	if (result->on && !TakeConsumer(&cursor) && !FAULT_SKIP("projector_lock"))
		result->busy = true;
	else if (result->on)
	{
		bool		reading = FollowJournal(&cursor, result);
		bool		rebuilding = Rebuild(result);

		if (!reading)
			Retry(result);
		result->more = reading || rebuilding || result->projected > 0;
		if (!reading && result->projected > 0)
			Async_Notify("dms_changes", "");
		result->pause = result->more ? RestAfter(result->projected, start) : 0;
	}
	ProgressEnd();
	SessionEnd(&session);
}
