/*
 * edges.c
 *		Keeping dms.ReferenceEdge equal to the reference columns.
 *
 * The edges of a document are the set of (child, source, identity flag) over
 * the same uses of references that fill the columns.
 */
#include "postgres.h"

#include "base/faults.h"
#include "catalog/pg_type.h"
#include "document/edges.h"
#include "engine/keyscan.h"
#include "engine/plan.h"
#include "lib/qunique.h"
#include "utils/fmgroids.h"

typedef struct Edge
{
	int64		child;
	int64		source;
	bool		identity;
} Edge;

typedef struct EdgeSet
{
	Edge	   *edges;			/* by source and child, as the primary key */
	int			n;
} EdgeSet;

static const Oid read_types[] = {INT8OID};
static const Oid write_types[] = {INT8OID, INT8ARRAYOID, INT8ARRAYOID, BOOLARRAYOID};

static const char *const edge_columns[] = {"parentdocumentid", "childdocumentid", "edgesourceid", "isidentitycomponent"};
static const Oid edge_types[] = {INT8OID, INT8OID, INT8OID, BOOLOID};
static const KeyScanTable edges = {"dms", "referenceedge", edge_columns, edge_types, lengthof(edge_columns)};
static Statement read_edges = {
	.sql = "SELECT ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent FROM dms.ReferenceEdge"
	" WHERE ParentDocumentId OPERATOR(pg_catalog.=) $1",
	.nargs = 1,
	.argtypes = read_types,
};

static Statement insert_edges = {
	.sql = "INSERT INTO dms.ReferenceEdge"
	" (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)"
	" SELECT $1, pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4)",
	.nargs = 4,
	.argtypes = write_types,
};

static Statement delete_edges = {
	.sql = "DELETE FROM dms.ReferenceEdge AS e USING ROWS FROM"
	" (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4)) AS u (child, source, flag)"
	" WHERE e.ParentDocumentId OPERATOR(pg_catalog.=) $1"
	" AND e.EdgeSourceId OPERATOR(pg_catalog.=) u.source"
	" AND e.ChildDocumentId OPERATOR(pg_catalog.=) u.child",
	.nargs = 4,
	.argtypes = write_types,
};

static int
CompareEdges(const void *a, const void *b)
{
	const Edge *left = a;
	const Edge *right = b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	if (left->child != right->child)
		return left->child < right->child ? -1 : 1;
	return (int) left->identity - (int) right->identity;
}

/* Sort and drop duplicates. */
static void
SortEdges(EdgeSet *set)
{
	qsort(set->edges, set->n, sizeof(Edge), CompareEdges);
	set->n = (int) qunique(set->edges, set->n, sizeof(Edge), CompareEdges);
}

/* The edges that a body wants. */
static void
WantedEdges(const FlatDocument *flat, EdgeSet *set)
{
	set->edges = palloc(sizeof(Edge) * Max(flat->nuses, 1));
	set->n = flat->nuses;
	for (int i = 0; i < flat->nuses; i++)
	{
		set->edges[i].child = flat->uses[i].document_id;
		set->edges[i].source = flat->uses[i].reference->edge_source_id;
		set->edges[i].identity = flat->uses[i].reference->identity;
	}
	SortEdges(set);
	if (set->n > 0 && FAULT_SKIP("last_edge"))
		set->n--;
}

/* The edges that are stored. */
static void
StoredEdges(int64 document_id, EdgeSet *set)
{
	KeyScanKey	key = {.equals = F_INT8EQ,.value = Int64GetDatum(document_id)};
	StoredRows	rows;

	SnapshotBegin();
	KeyRead(&edges, &read_edges, &key, 1, &rows);
	SnapshotEnd();
	set->n = rows.nrows;
	set->edges = palloc(sizeof(Edge) * Max(set->n, 1));
	for (int i = 0; i < set->n; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		set->edges[i].child = DatumGetInt64(values[1]);
		set->edges[i].source = DatumGetInt64(values[2]);
		set->edges[i].identity = DatumGetBool(values[3]);
	}
	SortEdges(set);
}

/* Run a statement on a set of edges. */
static void
RunOnEdges(Statement *statement, int64 document_id, const EdgeSet *set)
{
	Datum	   *columns[3];
	Datum		values[4];

	if (set->n == 0)
		return;
	for (int i = 0; i < 3; i++)
		columns[i] = palloc(sizeof(Datum) * set->n);
	for (int i = 0; i < set->n; i++)
	{
		columns[0][i] = Int64GetDatum(set->edges[i].child);
		columns[1][i] = Int64GetDatum(set->edges[i].source);
		columns[2][i] = BoolGetDatum(set->edges[i].identity);
	}
	values[0] = Int64GetDatum(document_id);
	values[1] = ArrayDatum(set->n, columns[0], NULL, INT8OID);
	values[2] = ArrayDatum(set->n, columns[1], NULL, INT8OID);
	values[3] = ArrayDatum(set->n, columns[2], NULL, BOOLOID);
	StatementRun(statement, values, NULL, false, 0);
}

/* All edges of a new document. */
void
EdgesInsert(int64 document_id, const FlatDocument *flat)
{
	EdgeSet		wanted;

	WantedEdges(flat, &wanted);
	RunOnEdges(&insert_edges, document_id, &wanted);
}

/* Bring the stored edges to what the body wants; did anything differ? */
bool
EdgesDiff(int64 document_id, const FlatDocument *flat)
{
	EdgeSet		wanted;
	EdgeSet		stored;
	EdgeSet		surplus;
	EdgeSet		missing;
	int			i = 0;
	int			j = 0;

	WantedEdges(flat, &wanted);
	StoredEdges(document_id, &stored);
	surplus.edges = palloc(sizeof(Edge) * Max(stored.n, 1));
	missing.edges = palloc(sizeof(Edge) * Max(wanted.n, 1));
	surplus.n = missing.n = 0;
	while (i < stored.n || j < wanted.n)
	{
		int			order = i == stored.n ? 1 : j == wanted.n ? -1 :
		CompareEdges(&stored.edges[i], &wanted.edges[j]);

		if (order < 0)
			surplus.edges[surplus.n++] = stored.edges[i++];
		else if (order > 0)
			missing.edges[missing.n++] = wanted.edges[j++];
		else
		{
			i++;
			j++;
		}
	}
	RunOnEdges(&delete_edges, document_id, &surplus);
	RunOnEdges(&insert_edges, document_id, &missing);
	return surplus.n + missing.n > 0;
}
