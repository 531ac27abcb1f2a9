/*
 * identityread.c
 *		Reading identities along the references they are made of, table by
 *		table, each by its primary key.
 *
 * Gives what the joins of ProjectionAppendSelect() give, for many documents at
 * once: a table on the way is read once, for all ids that the one before it
 * holds.
 */
#include "postgres.h"

#include "base/ids.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "document/identityread.h"
#include "engine/keyscan.h"
#include "model/value.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* What to read of one table on the way; the first column is its key. */
typedef struct JoinStep
{
	KeyedTable	table;
	int			from;			/* the step it hangs on; -1 for the first */
	int			from_column;	/* in that step */
} JoinStep;

typedef struct JoinScan
{
	JoinStep   *steps;			/* as projection->joins */
	int			nsteps;
	int		   *value_columns;	/* as projection->values, in their steps */
	bool		has_view;		/* which is for SQL to read */
} JoinScan;

/*
 * The position of a column in a step, added if it is not there yet.  There is
 * room for all of them.
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

/* The identities of an abstract resource are in a view. */
static bool
IsView(const JoinModel *join)
{
	Oid			schema = get_namespace_oid(join->schema, true);

	return OidIsValid(schema) &&
		get_rel_relkind(get_relname_relid(join->table, schema)) == RELKIND_VIEW;
}

/* Work out what must be read; lives as long as the model. */
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
		step->table.nrequired = 1;
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
	MemoryContextSwitchTo(saved);
	return scan;
}

/* The ids that a column holds, ascending, each once. */
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

/* The row with this id in the first column; rows are ascending.  -1: none. */
static int
FindRow(const StoredRows *rows, int64 id)
{
	Size		width = sizeof(Datum) * rows->ncolumns;
	const Datum *found = rows->nrows == 0 ? NULL :
	bsearch(&id, rows->values, rows->nrows, width, CompareToRow);

	return found == NULL ? -1 : (int) ((found - rows->values) / rows->ncolumns);
}

/* For each row of the step before, the row of this one that it leads to. */
static int *
Follow(const StoredRows *before, int column, const StoredRows *rows)
{
	int		   *found = palloc_extended(sizeof(int) * Max(before->nrows, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < before->nrows; i++)
		found[i] = StoredRowNulls(before, i)[column] ? -1 :
			FindRow(rows, DatumGetInt64(StoredRowValues(before, i)[column]));
	return found;
}

/* Read the table of a step, for what the step before it holds. */
static bool
ReadStep(const JoinScan *scan, int i, StoredRows *rows, int **follow)
{
	const JoinStep *step = &scan->steps[i];
	const StoredRows *before = &rows[step->from];
	int			n;
	int64	   *ids = IdsInColumn(before, step->from_column, &n);

	StoredRowsInit(&rows[i], step->table.ncolumns, n);
	if (n > 0 && !KeyScanTryIds(&step->table, ids, n, &rows[i]))
		return false;
	follow[i] = Follow(before, step->from_column, &rows[i]);
	return true;
}

/* The row of a step that belongs to a row of the first; -1: none. */
static int
RowOfStep(const JoinScan *scan, int step, int first, int *const *follow)
{
	int			before;

	if (step == 0)
		return first;
	before = RowOfStep(scan, scan->steps[step].from, first, follow);
	return before < 0 ? -1 : follow[step][before];
}

/* One row of the result: the document, then the values of its identity. */
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
 * id, then the values, NULL where a row is missing on the way.  Ids are
 * ascending, and so are the rows; documents that are not there are not among
 * them.  False when a table on the way must be read by SQL.
 */
bool
IdentityReadRows(Resource *resource, int projection, const int64 *ids, int n,
				 StoredRows *rows)
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
		if (!ReadStep(scan, i, steps, follow))
			return false;
	StoredRowsInit(rows, 1 + model->nvalues, steps[0].nrows);
	for (int i = 0; i < steps[0].nrows; i++)
		PutRow(scan, model, i, steps, follow, rows);
	return true;
}
