/*
 * edges.c
 *		The rows of dms.ReferenceEdge: keeping them equal to the reference
 *		columns, and finding the documents that refer to others.
 *
 * The edges of a document are the set of (child, source, identity flag) over
 * the same uses of references that fill the columns.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "catalog/pg_type.h"
#include "document/edges.h"
#include "engine/coresql.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "lib/qunique.h"

/* An edge of a document. */
typedef struct Edge
{
	int64		child;
	int64		source;
	bool		identity;
} Edge;

/* The edges of a document. */
typedef struct EdgeSet
{
	Edge	   *edges;			/* by source and child, as the primary key */
	int			n;
} EdgeSet;

/* The columns of an edge, by the document that refers. */
enum
{
	EDGE_PARENT,
	EDGE_SOURCE,
	EDGE_CHILD,
	EDGE_IDENTITY,
	EDGE_COLUMNS
};

static const char *const parent_columns[EDGE_COLUMNS] = {
	"parentdocumentid", "edgesourceid", "childdocumentid", "isidentitycomponent"
};
static const Oid edge_types[EDGE_COLUMNS] = {INT8OID, INT8OID, INT8OID, BOOLOID};
static KeyedTable edges_of_parents =
{
	.schema = "dms",.name = "referenceedge", KEYED_COLUMNS(parent_columns, edge_types),.nkeys = 3
};

static const char *const child_columns[] = {
	"childdocumentid", "parentdocumentid", "edgesourceid", "isidentitycomponent"
};
static KeyedTable edges_of_children =
{
	.schema = "dms",.name = "referenceedge", KEYED_COLUMNS(child_columns, edge_types),
	.nkeys = 3,.any_order = true
};

static const Oid id_types[] = {INT8OID};
static const Oid uuid_types[] = {UUIDOID};

/* The resource of an edge is in its source's key: no join to the parents. */
static Statement count_parents =
{
	.sql = "SELECT pg_catalog.split_part(s.EdgeSourceKey, ':', 1), pg_catalog.count(DISTINCT e.ParentDocumentId)"
	" FROM dms.ReferenceEdge AS e JOIN " EDGE_SOURCES_SQL("s")
	" ON s.EdgeSourceId OPERATOR(pg_catalog.=) e.EdgeSourceId"
	" WHERE e.ChildDocumentId OPERATOR(pg_catalog.=) $1"
	" AND e.ParentDocumentId OPERATOR(pg_catalog.<>) $1"
	" GROUP BY 1 ORDER BY 1",
	.nargs = 1,
	.argtypes = id_types,
};

static Statement find_referencing =
{
	.sql = "SELECT p.DocumentUuid, p.ProjectName::pg_catalog.text, p.ResourceName::pg_catalog.text,"
	" s.EdgeSourceKey::pg_catalog.text"
	" FROM " DOCUMENTS_SQL("c")
	" JOIN dms.ReferenceEdge AS e ON e.ChildDocumentId OPERATOR(pg_catalog.=) c.DocumentId"
	DOCUMENT_JOIN_SQL("p", "e.ParentDocumentId")
	" JOIN " EDGE_SOURCES_SQL("s") " ON s.EdgeSourceId OPERATOR(pg_catalog.=) e.EdgeSourceId"
	" WHERE c.DocumentUuid OPERATOR(pg_catalog.=) $1"
	" ORDER BY p.ProjectName COLLATE pg_catalog.\"C\", p.ResourceName COLLATE pg_catalog.\"C\","
	" p.DocumentUuid, s.EdgeSourceKey COLLATE pg_catalog.\"C\"",
	.nargs = 1,
	.argtypes = uuid_types,
};

/* Run by dms.rebuild_edges(), which has a search_path of its own. */
static Statement delete_orphans = {
	.sql = "DELETE FROM dms.ReferenceEdge AS e WHERE NOT " DOCUMENT_EXISTS_SQL("e.ParentDocumentId"),
};

/* Order edges as the primary key does. */
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

/* Compute the edges of a body. */
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

/* Read the stored edges of a document. */
static void
StoredEdges(int64 document_id, EdgeSet *set)
{
	StoredRows	rows;

	SnapshotBegin();
	KeyScanReadIds(&edges_of_parents, &document_id, 1, &rows);
	SnapshotEnd();
	set->n = rows.nrows;
	set->edges = palloc(sizeof(Edge) * Max(set->n, 1));
	for (int i = 0; i < set->n; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		set->edges[i].child = DatumGetInt64(values[EDGE_CHILD]);
		set->edges[i].source = DatumGetInt64(values[EDGE_SOURCE]);
		set->edges[i].identity = DatumGetBool(values[EDGE_IDENTITY]);
	}
	SortEdges(set);
}

/* Insert or delete a set of edges of a document. */
static void
WriteEdges(KeyedVerb verb, int64 document_id, const EdgeSet *set)
{
	Row		   *rows = palloc(sizeof(Row) * Max(set->n, 1));
	RowSet		row_set = {.rows = rows,.nrows = set->n};

	for (int i = 0; i < set->n; i++)
	{
		rows[i].nulls = NULL;
		rows[i].values = palloc(sizeof(Datum) * EDGE_COLUMNS);
		rows[i].values[EDGE_PARENT] = Int64GetDatum(document_id);
		rows[i].values[EDGE_SOURCE] = Int64GetDatum(set->edges[i].source);
		rows[i].values[EDGE_CHILD] = Int64GetDatum(set->edges[i].child);
		rows[i].values[EDGE_IDENTITY] = BoolGetDatum(set->edges[i].identity);
	}
	(void) RowWriteRun(&edges_of_parents, verb, &row_set);
}

/* Insert the edges of a new document. */
void
EdgesInsert(int64 document_id, const FlatDocument *flat)
{
	EdgeSet		wanted;

	WantedEdges(flat, &wanted);
	WriteEdges(KEYED_INSERT, document_id, &wanted);
}

/* Make the stored edges those of the body; returns true if any differed. */
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
	WriteEdges(KEYED_DELETE, document_id, &surplus);
	WriteEdges(KEYED_INSERT, document_id, &missing);
	return surplus.n + missing.n > 0;
}

/* Order edges to parents, for comparing two reads of them. */
static int
CompareParents(const void *a, const void *b)
{
	const ParentEdge *left = a;
	const ParentEdge *right = b;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return (int) left->identity - (int) right->identity;
}

/* Returns true if two sets of n edges are the same; both are sorted here. */
static bool
SameParents(ParentEdge *a, ParentEdge *b, int n)
{
	qsort(a, n, sizeof(ParentEdge), CompareParents);
	qsort(b, n, sizeof(ParentEdge), CompareParents);
	for (int i = 0; i < n; i++)
		if (CompareParents(&a[i], &b[i]) != 0)
			return false;
	return true;
}

/* Read the edges to documents, whose ids are ascending, in the active snapshot. */
ParentEdge *
EdgesTo(const int64 *ids, int n, int *nfound)
{
	StoredRows	rows;
	ParentEdge *found;

	KeyScanReadIds(&edges_of_children, ids, n, &rows);
	found = palloc_extended(sizeof(ParentEdge) * Max(rows.nrows, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		found[i].parent = DatumGetInt64(values[1]);
		found[i].source = DatumGetInt64(values[2]);
		found[i].identity = DatumGetBool(values[3]);
	}
	*nfound = rows.nrows;
	return found;
}

/*
 * Read the edges to documents, whose ids are ascending, in a new snapshot.
 * The caller holds update locks on their identities, so no edge to them can be
 * added.  (If an identity can never change, writers do not lock it; then a
 * delete relies on the foreign keys.)
 *
 * If the transaction's snapshot is fixed, it may not show edges that were
 * committed before the locks were granted: then the latest state must agree,
 * or the transaction must be retried.
 */
ParentEdge *
EdgesToLocked(const int64 *ids, int n, int *nfound)
{
	ParentEdge *seen;
	ParentEdge *latest;
	int			nlatest;

	SnapshotBegin();
	seen = EdgesTo(ids, n, nfound);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return seen;
	SnapshotBeginLatest();
	latest = EdgesTo(ids, n, &nlatest);
	SnapshotEnd();
	if (*nfound != nlatest || !SameParents(seen, latest, nlatest))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent changes of references")));
	return seen;
}

/*
 * Returns true if any document refers to this one, whose identity is locked.
 */
bool
EdgesHaveParents(int64 document_id)
{
	int			n;

	(void) EdgesToLocked(&document_id, 1, &n);
	return n > 0;
}

/*
 * Count the documents that refer to this one, by resource, in the active
 * snapshot.  The rows are the result of SPI: resource and number, as text.
 */
uint64
EdgesCountParents(int64 document_id)
{
	Datum		values[1] = {Int64GetDatum(document_id)};

	return StatementRun(&count_parents, values, NULL, true, 0);
}

/*
 * Find the documents that refer to the one with a uuid.  The rows are the
 * result of SPI: uuid, project, resource and place of each.
 */
uint64
EdgesFindReferencing(const pg_uuid_t *uuid)
{
	static const Oid types[] = {UUIDOID, TEXTOID, TEXTOID, TEXTOID};
	Datum		values[1] = {UUIDPGetDatum(uuid)};

	StatementRead(&find_referencing, values, 0);
	ResultExpect(types);
	return ResultRows();
}

/* Delete the edges of documents that do not exist; returns how many there were. */
uint64
EdgesDeleteOrphans(void)
{
	return StatementRun(&delete_orphans, NULL, NULL, false, 0);
}
