/*
 * identityread.c
 *		Reading identities along the references that they depend on, table
 *		by table, each by its primary key.
 *
 * The result equals that of the joins of ProjectionAppendSelect(), for many
 * documents at once: each table is read once, for all ids that were found in
 * the table before it.
 */
#include "postgres.h"

#include "base/ids.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "document/descriptoruris.h"
#include "document/identityread.h"
#include "engine/keyscan.h"
#include "model/value.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* The columns to read from one table; the first is its key. */
typedef struct JoinStep
{
	KeyedTable	table;
	int			from;			/* the step that has its ids; -1 for the first */
	int			from_column;	/* in that step */
	bool		uris;			/* reads the URIs of descriptors, nothing else */
} JoinStep;

/* How to read the identities of a projection. */
typedef struct JoinScan
{
	JoinStep   *steps;			/* as projection->joins */
	int			nsteps;
	int		   *value_columns;	/* as projection->values, in their steps */
	bool		has_view;		/* must be read by SQL */
} JoinScan;

/*
 * Returns the position of a column in a step, which is added if necessary.
 * The arrays have space for all columns.
 */
static int
StepColumn(JoinStep *step, const char *name, Oid type)
{
	KeyedTable *table = &step->table;

	for (int i = 0; i < table->ncolumns; i++)
		if (strcmp(table->columns[i], name) == 0)
			return i;
	((const char **) table->columns)[table->ncolumns] = name;
	((Oid *) table->types)[table->ncolumns] = type;
	return table->ncolumns++;
}

/*
 * Returns true if a join reads a view, as that of an abstract resource does.
 */
static bool
IsView(const JoinModel *join)
{
	Oid			schema = get_namespace_oid(join->schema, true);

	return OidIsValid(schema) &&
		get_rel_relkind(get_relname_relid(join->table, schema)) == RELKIND_VIEW;
}

/* Returns true if a step reads the URIs of descriptors, and nothing else. */
static bool
ReadsUris(const KeyedTable *table)
{
	return table->ncolumns == 2 && table->types[1] == TEXTOID &&
		DescriptorUrisAre(table->schema, table->name, table->columns[1]);
}

/* Plan the steps of a projection.  The result lives as long as the model. */
static JoinScan *
PrepareScan(const Resource *resource, const ProjectionModel *projection)
{
	MemoryContext saved = MemoryContextSwitchTo(resource->context);
	JoinScan   *scan = palloc0(sizeof(JoinScan));
	int			most = 1 + projection->njoins + projection->nvalues;

	scan->nsteps = projection->njoins;
	scan->steps = palloc0(sizeof(JoinStep) * scan->nsteps);
	scan->value_columns = palloc(sizeof(int) * Max(projection->nvalues, 1));
	for (int i = 0; i < scan->nsteps; i++)
	{
		const JoinModel *join = &projection->joins[i];
		JoinStep   *step = &scan->steps[i];

		step->table.schema = join->schema;
		step->table.name = join->table;
		step->table.nkeys = 1;
		step->table.context = resource->context;
		step->table.nrequired = 1;
		step->table.placed = true;
		step->table.columns = palloc(sizeof(char *) * most);
		step->table.types = palloc(sizeof(Oid) * most);
		step->from = i == 0 ? -1 : join->from;
		scan->has_view = scan->has_view || IsView(join);
		StepColumn(step, "documentid", INT8OID);
		if (i > 0)
			step->from_column = StepColumn(&scan->steps[join->from], join->from_column, INT8OID);
	}
	for (int i = 0; i < projection->nvalues; i++)
	{
		const ProjectedModel *value = &projection->values[i];

		scan->value_columns[i] = StepColumn(&scan->steps[value->join], value->column, ValueTypeOid(value->type));
	}
	for (int i = 1; i < scan->nsteps; i++)
		scan->steps[i].uris = ReadsUris(&scan->steps[i].table);
	MemoryContextSwitchTo(saved);
	return scan;
}

/* Returns the ids in a column, ascending and without duplicates. */
static int64 *
IdsInColumn(const StoredRows *rows, int column, int *n)
{
	int64	   *ids = palloc_extended(sizeof(int64) * Max(rows->nrows, 1), MCXT_ALLOC_HUGE);
	int			found = 0;

	for (int i = 0; i < rows->nrows; i++)
		if (!StoredRowNulls(rows, i)[column])
			ids[found++] = DatumGetInt64(StoredRowValues(rows, i)[column]);
	*n = IdsSort(ids, found);
	return ids;
}

/* Compare an id with the first column of a row, for bsearch(). */
static int
CompareToRow(const void *id, const void *row)
{
	int64		there = DatumGetInt64(*(const Datum *) row);

	return IdsCompare(id, &there);
}

/*
 * Returns the row with this id in its first column, or -1; rows are ascending.
 */
static int
FindRow(const StoredRows *rows, int64 id)
{
	Size		width = sizeof(Datum) * rows->ncolumns;
	const Datum *found = rows->nrows == 0 ? NULL :
	bsearch(&id, rows->values, rows->nrows, width, CompareToRow);

	return found == NULL ? -1 : (int) ((found - rows->values) / rows->ncolumns);
}

/*
 * Returns, for each row of the step before, the row of this step that it
 * refers to.
 */
static int *
Follow(const StoredRows *before, int column, const StoredRows *rows)
{
	int		   *found = palloc_extended(sizeof(int) * Max(before->nrows, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < before->nrows; i++)
		found[i] = StoredRowNulls(before, i)[column] ? -1 :
			FindRow(rows, DatumGetInt64(StoredRowValues(before, i)[column]));
	return found;
}

/*
 * Read the table of a step, for the ids that were found in the step before it.
 * Returns false if the table must be read by SQL.
 */
static bool
ReadStep(const JoinScan *scan, int i, bool can_change, StoredRows *rows, int **follow)
{
	JoinStep   *step = &scan->steps[i];
	const StoredRows *before = &rows[step->from];
	int			n;
	int64	   *ids = IdsInColumn(before, step->from_column, &n);

	StoredRowsInit(&rows[i], step->table.ncolumns, n);
	if (n > 0 && !(step->uris ? DescriptorUrisTry(ids, n, can_change, &rows[i]) :
				   KeyScanTryIds(&step->table, ids, n, &rows[i])))
		return false;
	follow[i] = Follow(before, step->from_column, &rows[i]);
	return true;
}

/* Returns the row of a step that belongs to a row of the first step, or -1. */
static int
RowOfStep(const JoinScan *scan, int step, int first, int *const *follow)
{
	int			before;

	if (step == 0)
		return first;
	before = RowOfStep(scan, scan->steps[step].from, first, follow);
	return before < 0 ? -1 : follow[step][before];
}

/* Add one row to the result: the id, then the values of the identity. */
static void
PutRow(const JoinScan *scan, const ProjectionModel *projection, int first,
	   const StoredRows *steps, int *const *follow, StoredRows *rows)
{
	Datum	   *values;
	bool	   *nulls;

	StoredRowsGrow(rows);
	values = StoredRowValues(rows, rows->nrows);
	nulls = StoredRowNulls(rows, rows->nrows);
	values[0] = StoredRowValues(&steps[0], first)[0];
	nulls[0] = false;
	for (int i = 0; i < projection->nvalues; i++)
	{
		int			step = projection->values[i].join;
		int			row = RowOfStep(scan, step, first, follow);

		nulls[i + 1] = row < 0 || StoredRowNulls(&steps[step], row)[scan->value_columns[i]];
		values[i + 1] = nulls[i + 1] ? (Datum) 0 :
			StoredRowValues(&steps[step], row)[scan->value_columns[i]];
	}
	rows->nrows++;
}

/*
 * Read the identities of documents by one of the resource's projections: the
 * id, then the values, which are NULL if a row is missing in one of the
 * tables.  Ids are ascending, and so are the rows; documents that do not exist
 * are not among them.  can_change is false if the identities are known not to
 * change.  Returns false if a table must be read by SQL.
 */
bool
IdentityReadRows(Resource *resource, int projection, const int64 *ids, int n,
				 bool can_change, StoredRows *rows)
{
	const ProjectionModel *model = &resource->model->projections[projection];
	JoinScan   *scan = resource->joins[projection];
	StoredRows *steps;
	int		  **follow;

	if (scan == NULL)
		scan = resource->joins[projection] = PrepareScan(resource, model);
	if (scan->has_view)
		return false;
	steps = palloc0(sizeof(StoredRows) * scan->nsteps);
	follow = palloc0(sizeof(int *) * scan->nsteps);
	StoredRowsInit(&steps[0], scan->steps[0].table.ncolumns, n);
	if (!KeyScanTryIds(&scan->steps[0].table, ids, n, &steps[0]))
		return false;
	for (int i = 1; i < scan->nsteps; i++)
		if (!ReadStep(scan, i, can_change, steps, follow))
			return false;
	StoredRowsInit(rows, 1 + model->nvalues, steps[0].nrows);
	for (int i = 0; i < steps[0].nrows; i++)
		PutRow(scan, model, i, steps, follow, rows);
	return true;
}
