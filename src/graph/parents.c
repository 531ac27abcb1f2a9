/*
 * parents.c
 *		The rows of dms.ParentChild: which document is the parent of which.
 *
 * This module has all statements on the table.  The child is the key, so a document
 * cannot have two parents.  Writers hold locks on both identities, see relate.c.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "graph/parents.h"
#include "utils/timestamp.h"

static const char *const row_columns[] = {
	"childdocumentid", "parentdocumentid", "childtypeid", "childuuid", "createdat"
};
static const Oid row_types[] = {INT8OID, INT8OID, INT4OID, UUIDOID, TIMESTAMPTZOID};
static KeyedTable rows_of_children =
{
	.schema = "dms",.name = "parentchild", KEYED_COLUMNS(row_columns, row_types),.nkeys = 1
};

static const Oid id_types[] = {INT8OID, INT8OID};
static const char *const child_columns[] = {"childdocumentid", "parentdocumentid"};
static KeyedTable parents_of_children =
{
	.schema = "dms",.name = "parentchild", KEYED_COLUMNS(child_columns, id_types),.nkeys = 1
};

static const char *const parent_columns[] = {"parentdocumentid", "childdocumentid"};
static KeyedTable children_of_parents =
{
	.schema = "dms",.name = "parentchild", KEYED_COLUMNS(parent_columns, id_types),
	.nkeys = 2,.nsearch = 1,.any_order = true
};

static FarEndTable children = FAR_END_TABLE("dms.ParentChild", "ParentDocumentId", "ChildTypeId", "ChildUuid",
											"r.CreatedAt", "");

/* Returns the parent of a document, in the active snapshot; 0 if it has none. */
int64
ParentsRead(int64 child)
{
	StoredRows	rows;

	KeyScanReadIds(&parents_of_children, &child, 1, &rows);
	return rows.nrows == 0 ? 0 : DatumGetInt64(rows.values[1]);
}

/* The same, and when the document got this parent. */
int64
ParentsReadSince(int64 child, TimestampTz *since)
{
	StoredRows	rows;

	KeyScanReadIds(&rows_of_children, &child, 1, &rows);
	if (rows.nrows == 0)
		return 0;
	*since = DatumGetTimestampTz(rows.values[4]);
	return DatumGetInt64(rows.values[1]);
}

/* Returns true if a document has children, in the active snapshot. */
bool
ParentsHaveChildren(int64 parent)
{
	return KeyScanHas(&children_of_parents, parent);
}

/* Returns the second column of the rows whose first column is one of these ascending ids. */
static int64 *
OtherEnds(KeyedTable *table, const int64 *ids, int n, int *nfound)
{
	StoredRows	rows;
	int64	   *found;

	KeyScanReadIds(table, ids, n, &rows);
	found = palloc_extended(sizeof(int64) * Max(rows.nrows, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < rows.nrows; i++)
		found[i] = DatumGetInt64(StoredRowValues(&rows, i)[1]);
	*nfound = rows.nrows;
	return found;
}

/* Returns the parents of documents, whose ids are ascending, in the active snapshot. */
int64 *
ParentsOf(const int64 *ids, int n, int *nfound)
{
	return OtherEnds(&parents_of_children, ids, n, nfound);
}

/* Returns the children of documents, whose ids are ascending, in the active snapshot. */
int64 *
ParentsChildrenOf(const int64 *ids, int n, int *nfound)
{
	return OtherEnds(&children_of_parents, ids, n, nfound);
}

/* Write the row of a child that is locked. */
static void
WriteRow(KeyedVerb verb, const GraphNode *child, int64 parent)
{
	Datum		values[lengthof(row_columns)] = {
		Int64GetDatum(child->document_id), Int64GetDatum(parent),
		Int32GetDatum(child->resource->type_id), UUIDPGetDatum(&child->uuid),
		TimestampTzGetDatum(GetCurrentTransactionStartTimestamp())
	};
	Row			row = {.values = values};
	RowSet		set = {.rows = &row,.nrows = 1};

	if (RowWriteRun(&rows_of_children, verb, &set) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("dms.ParentChild did not take a row")));
}

/* Give a parent to a document that has none. */
void
ParentsInsert(const GraphNode *child, int64 parent)
{
	WriteRow(KEYED_INSERT, child, parent);
}

/* Give another parent to a document that has one. */
void
ParentsUpdate(const GraphNode *child, int64 parent)
{
	WriteRow(KEYED_UPDATE, child, parent);
}

/* Take the parent of a document away. */
void
ParentsDelete(int64 child)
{
	Datum		values[1] = {Int64GetDatum(child)};
	Row			row = {.values = values};
	RowSet		set = {.rows = &row,.nrows = 1};

	(void) RowWriteRun(&parents_of_children, KEYED_DELETE, &set);
}

/* Returns the table of children by parent, for FarEndsRead(). */
const FarEndTable *
ParentsChildren(void)
{
	return &children;
}
