/*
 * delete.c
 *		dms.delete_document(): deleting a document that no other refers to, and all
 *		that is below it.
 *
 * References are looked for first, without a lock.  Then the document's identity
 * and the row that foreign keys point at are locked, which waits for transactions
 * that are about to refer to it, and references are looked for again.  The row of
 * dms.Document takes everything else with it.
 *
 * With children, the same is done for the whole subtree at once: either all of it is
 * deleted, or nothing is, and all that prevents it is listed.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "cascade/closure.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "document/edges.h"
#include "document/notices.h"
#include "document/rowtables.h"
#include "document/trackedchanges.h"
#include "engine/attempt.h"
#include "engine/keywrite.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "graph/parents.h"
#include "graph/subtree.h"
#include "graph/unrelated.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "model/resourcemodels.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "verbs/delete.h"
#include "verbs/dependents.h"
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

/* From this size on, the size of a deleted subtree is reported. */
#define REPORTED_SIZE 1000

/* What listeners are notified of; a delete is a version of its own, as in the history. */
#define KIND_DELETED "deleted"

static int	max_delete_size = 0;

/* Define the settings of this module. */
void
DeleteInit(void)
{
	DefineCustomIntVariable("dms.max_delete_size",
							"The largest number of documents that one delete may reach.",
							"A delete of a document with more documents below it is refused; 0 means no limit.",
							&max_delete_size, 0, 0, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
}

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
	ResultFree();
}

/* Callback: a row was locked, and its values are not needed. */
static void
IgnoreLocked(const Datum *values pg_attribute_unused(), void *arg pg_attribute_unused())
{
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

/* Rows of dms.Document to delete, and the etag that the only one had. */
typedef struct DeleteAttempt
{
	const Delete *delete;
	const Subtree *tree;		/* NULL: the one document */
	const DocumentHeader *header;	/* of the one document, which is locked */
	int64		etag;
	bool		deleted;
} DeleteAttempt;

/* Delete the row of the only document. */
static void
DeleteOne(void *arg)
{
	DeleteAttempt *attempt = arg;
	const Delete *delete = attempt->delete;

	attempt->deleted = DocumentDelete(delete->document_id, delete->precondition.match.given, &attempt->etag);
}

/* Delete the rows; run in a subtransaction. */
static bool
TryDelete(void *arg)
{
	DeleteAttempt *attempt = arg;

	if (attempt->tree != NULL)
		attempt->deleted = DocumentsDelete(attempt->tree->ids, attempt->tree->n) == (uint64) attempt->tree->n;
	else if (ChangesAreTracked() && TrackedChangesNoteDelete(attempt->delete->resource, attempt->header))
	{
		/*
		 * What is recorded is rolled back with the attempt if there is no
		 * such row.
		 */
		ChangesRunRecorded(DeleteOne, attempt);
		return attempt->deleted;
	}
	else
		DeleteOne(attempt);
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
 * Delete rows of dms.Document, and all else by its triggers.  A violated foreign key is
 * reported in terms of documents.
 */
static void
DeleteRows(DeleteAttempt *attempt)
{
	bool		stays;
	ErrorData  *error;

	/* After a violation we still have to read models, to report it. */
	error = AttemptCatch(TryDelete, attempt, &stays);
	UnrelatedSet(0);
	if (error != NULL && !IsForeignKey(error))
		ReThrowError(error);
	if (error != NULL)
		RaiseViolated(attempt->delete, error);
}

/*
 * Delete the row of dms.Document.  The etag of the header is the one that the caller
 * relies on, if any, and is set to the one that was deleted.  Returns false if there is
 * no such row.
 */
static bool
DeleteRow(const Delete *delete, DocumentHeader *header)
{
	DeleteAttempt attempt = {.delete = delete,.header = header,.etag = header->etag};

	UnrelatedSet(UnrelatedLook(delete->document_id) ? delete->document_id : 0);
	DeleteRows(&attempt);
	header->etag = attempt.etag;
	return attempt.deleted;
}

/* Refuse a subtree that is larger than allowed. */
static void
RefuseLarge(const Subtree *tree)
{
	int			limit = StoreRowLimits()->max_delete_size;

	if (max_delete_size > 0 && (limit == 0 || max_delete_size < limit))
		limit = max_delete_size;
	if (limit > 0 && tree->n > limit)
		ReportError(PROBLEM_DELETE_TOO_LARGE, NULL,
					"%d documents would be deleted, but at most %d may be", tree->n, limit);
}

/* Look at a subtree before it is locked, so that what cannot be deleted locks nothing. */
static void
RefuseSubtree(const Delete *delete)
{
	Subtree		tree;

	SubtreeLook(delete->document_id, &tree);
	RefuseLarge(&tree);
	DependentsRefuse(&tree);
}

/* Lock the rows of documents of one type that foreign keys point at, and check the code that clears them. */
static void
LockKeyRowsOf(const ClosureType *type)
{
	Resource   *resource = ModelCacheFind(type->project, type->resource);
	LockWaitPolicy wait = StoreLockNowait() ? LockWaitError : LockWaitBlock;

	KeyWriteLock(RowTable(resource, 0), type->ids, type->n, wait, IgnoreLocked, NULL);
	if (resource->model->member_table)
		KeyWriteLock(RowTableMember(resource), type->ids, type->n, wait, IgnoreLocked, NULL);
	StatementCheck(RowTablesClear(resource));
}

/* Delete a subtree whose identities are locked.  Returns the etag that its root had. */
static int64
DeleteSubtree(const Delete *delete, const Subtree *tree)
{
	DeleteAttempt attempt = {.delete = delete,.tree = tree};
	DocumentHeader header;

	RefuseLarge(tree);
	(void) DocumentsLockToDelete(tree->ids, tree->n);
	SnapshotBegin();
	if (!DocumentHeaderRead(delete->document_id, &header))
		PreconditionRaiseGone(&delete->precondition, delete->uuid);
	SnapshotEnd();
	PreconditionCheck(&delete->precondition, &header);
	for (const ClosureType *type = ClosureGroup(tree->ids, tree->n); type != NULL; type = type->next)
	{
		LockKeyRowsOf(type);
		NoticesTellDocuments(ModelCacheFind(type->project, type->resource), type->ids, type->n, KIND_DELETED, true);
	}
	if (!FAULT_SKIP("subtree_look"))
		DependentsRefuse(tree);
	UnrelatedLookAtTree(unconstify(Subtree *, tree));
	DeleteRows(&attempt);
	if (!attempt.deleted)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("not all of %d documents could be deleted", tree->n)));
	if (tree->n >= REPORTED_SIZE)
		ereport(NOTICE, (errmsg("deleted %d documents", tree->n)));
	return header.etag;
}

/*
 * Look at a document before it is locked.  Returns true if it has no children; their
 * references are looked for with those of the subtree.
 */
static bool
LookFirst(const Delete *delete, DocumentHeader *header)
{
	bool		alone;

	SnapshotBegin();
	if (!DocumentHeaderRead(delete->document_id, header))
		PreconditionRaiseGone(&delete->precondition, delete->uuid);
	PreconditionCheck(&delete->precondition, header);
	alone = !ParentsHaveChildren(delete->document_id);
	if (alone)
		RefuseReferenced(delete);
	SnapshotEnd();
	if (!alone)
		RefuseSubtree(delete);
	return alone;
}

/* Refuse to delete the account of other documents. */
static void
RefuseAccount(const Subtree *tree)
{
	if (!StoreTableIsEmpty(STORE_DOCUMENT_ACCOUNT))
		DependentsRefuse(tree);
}

/* The steps of a delete after the gate. */
static int64
RunDelete(const Delete *delete)
{
	DocumentHeader header;
	bool		alone = LookFirst(delete, &header);
	int64		id = delete->document_id;
	Subtree		tree = {.ids = &id,.n = 1};

	if (!FAULT_SKIP("delete_lock"))
	{
		if (!SubtreeLock(delete->document_id, alone, &tree))
			PreconditionRaiseGone(&delete->precondition, delete->uuid);
		if (tree.n > 1)
			return DeleteSubtree(delete, &tree);

		/* The document before its rows: all writers lock them in this order. */
		if (!FAULT_SKIP("document_first") && !DocumentLock(delete->document_id, &header))
			PreconditionRaiseGone(&delete->precondition, delete->uuid);
		PreconditionCheck(&delete->precondition, &header);
		LockKeyRows(delete);
	}
	if (!FAULT_SKIP("delete_look"))
		LookAgain(delete);
	RefuseAccount(&tree);
	StatementCheck(RowTablesClear(delete->resource));
	if (DeleteRow(delete, &header))
	{
		NoticesTellDocument(delete->resource, delete->uuid, header.etag + 1, KIND_DELETED);
		return header.etag;
	}

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
