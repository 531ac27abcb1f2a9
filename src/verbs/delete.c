/*
 * delete.c
 *		dms.delete_document(): deleting a document that no other refers to.
 *
 * References are looked for first, without a lock.  Then the document's identity
 * and the row that foreign keys point at are locked, which waits for transactions
 * that are about to refer to it, and references are looked for again.  The row of
 * dms.Document takes everything else with it.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "cascade/identityturns.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "document/edges.h"
#include "document/rowtables.h"
#include "engine/attempt.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "model/resourcemodels.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "verbs/delete.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_delete_document);

/* One delete. */
typedef struct Delete
{
	Resource   *resource;
	const pg_uuid_t *uuid;
	int64		document_id;
	Precondition precondition;
} Delete;

/*
 * Refuse to delete a document that others refer to.  The sentence names their
 * resources, and programs find them with their numbers in a member of the problem.
 */
static void
RefuseReferenced(const Delete *delete)
{
	Problem    *problem;
	StringInfoData names;
	StringInfoData dependents;
	uint64		n = EdgesCountParents(delete->document_id);

	if (n == 0)
		return;
	initStringInfo(&names);
	initStringInfo(&dependents);
	for (uint64 i = 0; i < n; i++)
	{
		const char *resource = ResultName(i, 1);

		appendStringInfo(&names, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", resource);
		appendStringInfoString(&dependents, i == 0 ? "[{\"resource\": " : ", {\"resource\": ");
		escape_json(&dependents, resource);
		appendStringInfo(&dependents, ", \"count\": " INT64_FORMAT "}", ResultInt64(i, 2));
	}
	appendStringInfoChar(&dependents, ']');
	problem = ProblemNew(PROBLEM_STILL_REFERENCED);
	problem->detail = psprintf("Documents of %s refer to this one.", names.data);
	problem->dependents = dependents.data;
	ProblemRaise(problem, "document is still referred to by other documents");
}

/*
 * Look again under the locks, in a new statement; where the transaction's
 * snapshot is fixed, there must be no references in the latest one either.
 */
static void
LookAgain(const Delete *delete)
{
	if (!EdgesHaveParents(delete->document_id))
		return;
	SnapshotBegin();
	RefuseReferenced(delete);
	SnapshotEnd();
}

/* Lock one row of a document that foreign keys point at. */
static void
LockKeyRow(KeyedTable *table, int64 document_id)
{
	(void) KeyedTableLockOne(table, document_id, LCS_FORUPDATE,
							 StoreLockNowait() ? LockWaitError : LockWaitBlock, NULL);
	SPI_freetuptable(SPI_tuptable);
}

/* Lock the rows that foreign keys point at. */
static void
LockKeyRows(const Delete *delete)
{
	LockKeyRow(RowTable(delete->resource, 0), delete->document_id);
	if (delete->resource->model->member_table)
		LockKeyRow(RowTableMember(delete->resource), delete->document_id);
}

/* Returns the place in a document whose foreign key has this name. */
static const char *
PathOfConstraint(const ResourceModel *model, const char *constraint)
{
	for (int i = 0; i < model->ntables; i++)
		for (int j = 0; j < model->tables[i].ncolumns; j++)
		{
			const ColumnModel *column = &model->tables[i].columns[j];

			if (column->path != NULL && column->foreign_key != NULL &&
				strcmp(column->foreign_key, constraint) == 0)
				return column->path;
		}
	return "an unknown place";
}

/*
 * Report a foreign key that refused a delete which the edges allowed: an edge is
 * missing.  The name of the constraint leads to the place of the reference.
 */
static void
RaiseViolated(const Delete *delete, const ErrorData *error)
{
	Problem    *problem = ProblemNew(PROBLEM_STILL_REFERENCED);

	problem->cause = error;
	if (ResourceModelsOfForeignKey(error->constraint_name, error->schema_name, error->table_name) > 0)
		problem->detail = psprintf("Documents of %s.%s refer to this one at %s, although no edge tells so: run dms.audit().",
								   ResultName(0, 1), ResultName(0, 2),
								   PathOfConstraint(ModelCacheFind(ResultName(0, 1), ResultName(0, 2))->model,
													error->constraint_name));
	else
		problem->detail = psprintf("Rows of %s.%s refer to this document, by the constraint %s.",
								   error->schema_name, error->table_name, error->constraint_name);
	ProblemRaise(problem, "document is still referred to by other documents");
}

/* A row of dms.Document to delete, and the etag that it had. */
typedef struct DeleteAttempt
{
	const Delete *delete;
	int64		etag;
	bool		deleted;
} DeleteAttempt;

/* Delete the row; run in a subtransaction. */
static bool
TryDelete(void *arg)
{
	DeleteAttempt *attempt = arg;
	const Delete *delete = attempt->delete;

	attempt->deleted = DocumentDelete(delete->document_id, delete->precondition.match.given, &attempt->etag);
	return true;
}

/*
 * Returns true if an error is the violation of a foreign key.  A trigger of the
 * tables' owner can raise the same SQLSTATE, by a call of ours or by itself.
 */
static bool
IsForeignKey(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_FOREIGN_KEY_VIOLATION && !ProblemRaised(error) &&
		error->constraint_name != NULL && error->schema_name != NULL && error->table_name != NULL;
}

/*
 * Delete the row of dms.Document, and all else by its triggers.  *etag is the
 * one that the caller relies on, if any, and is set to the one that was deleted.
 * Returns false if there is no such row.
 */
static bool
DeleteRow(const Delete *delete, int64 *etag)
{
	DeleteAttempt attempt = {.delete = delete,.etag = *etag};
	bool		stays;
	ErrorData  *error;

	/* After a violation we still have to read models, to report it. */
	error = AttemptCatch(TryDelete, &attempt, &stays);
	if (error != NULL && !IsForeignKey(error))
		ReThrowError(error);
	if (error != NULL)
		RaiseViolated(delete, error);
	*etag = attempt.etag;
	return attempt.deleted;
}

/* The steps of a delete after the gate. */
static int64
RunDelete(const Delete *delete)
{
	DocumentHeader header;

	SnapshotBegin();
	if (!DocumentHeaderRead(delete->document_id, &header))
		PreconditionRaiseGone(&delete->precondition, delete->uuid);
	PreconditionCheck(&delete->precondition, &header);
	RefuseReferenced(delete);
	SnapshotEnd();
	if (!FAULT_SKIP("delete_lock"))
	{
		/* The document before its rows: all writers lock them in this order. */
		if (!IdentityTurnsTakeOne(delete->document_id) ||
			(!FAULT_SKIP("document_first") && !DocumentLock(delete->document_id, &header)))
			PreconditionRaiseGone(&delete->precondition, delete->uuid);
		PreconditionCheck(&delete->precondition, &header);
		LockKeyRows(delete);
	}
	if (!FAULT_SKIP("delete_look"))
		LookAgain(delete);
	StatementCheck(RowTablesClear(delete->resource));
	if (DeleteRow(delete, &header.etag))
		return header.etag;

	/* The statement found no row with the etag: report why. */
	SnapshotBegin();
	if (!DocumentHeaderRead(delete->document_id, &header))
		PreconditionRaiseGone(&delete->precondition, delete->uuid);
	PreconditionCheck(&delete->precondition, &header);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("document " INT64_FORMAT " could not be deleted", delete->document_id)));
	return 0;
}

/*
 * Delete a document by its id, of a certain resource unless that is NULL, and
 * return the etag that it had.  To be called like UpsertDocument().
 */
int64
DeleteDocument(Resource *resource, const pg_uuid_t *uuid, const Precondition *precondition)
{
	Delete		delete = {.resource = resource,.uuid = uuid,.precondition = *precondition};

	if (!DocumentFindToWrite(uuid, &delete.document_id, &delete.resource))
		PreconditionRaiseGone(precondition, uuid);
	return RunDelete(&delete);
}

/* Delete a document by its id. */
Datum
dms_delete_document(PG_FUNCTION_ARGS)
{
	Session		session;
	Precondition precondition = {0};

	if (PG_ARGISNULL(0))
		ReportError(PROBLEM_ARGUMENT, NULL, "document_uuid must not be null");
	WriteBegin(&session, "dms.delete_document()");
	if (!PG_ARGISNULL(1))
		PreconditionSetMatch(&precondition, PG_GETARG_INT64(1));
	DeleteDocument(NULL, PG_GETARG_UUID_P(0), &precondition);
	SessionEnd(&session);
	PG_RETURN_BOOL(true);
}
