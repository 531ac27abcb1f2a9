/*
 * rows.c
 *		Reading the stored rows of a document, and writing the differences.
 *
 * Rows are matched by their keys, and written by one statement per table and
 * verb.  A table whose rows are equal is not written.  A row that stays is
 * never deleted and inserted again, because rows of other tables that refer to
 * it would be deleted with it.
 */
#include "postgres.h"

#include "document/rows.h"
#include "document/rowtables.h"
#include "engine/keyscan.h"
#include "engine/rowwrite.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "miscadmin.h"
#include "model/value.h"
#include "utils/builtins.h"

/* Which rows of a table must be deleted, updated and inserted. */
typedef struct RowDiff
{
	RowSet		surplus;		/* stored, not wanted */
	RowSet		changed;		/* both, with new values */
	RowSet		missing;		/* wanted, not stored */
} RowDiff;

/*
 * Read the stored rows of a document in one table, in order of the key.
 * Parents are read first; if the parent table has no row, this one cannot have
 * any.
 */
static void
ReadTable(Resource *resource, int table, int64 document_id, RowSet *stored)
{
	int			parent = resource->model->tables[table].parent;
	RowSet	   *rows = &stored[table];
	StoredRows	read;

	memset(rows, 0, sizeof(RowSet));
	if (parent >= 0 && stored[parent].nrows == 0)
		return;
	KeyScanReadIds(RowTable(resource, table), &document_id, 1, &read);
	*rows = StoredRowsSet(&read);
}

/* Order rows by their ordinals; the document is the same. */
static int
CompareKeys(const TableModel *table, const Row *a, const Row *b)
{
	for (int i = 1; i < table->nkeys; i++)
	{
		int32		left = DatumGetInt32(a->values[i]);
		int32		right = DatumGetInt32(b->values[i]);

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

/*
 * Returns true if two rows of the same key hold the same values.  Identity
 * columns are not compared: the document was found by them, and a descriptor
 * that is sent in another case keeps the case that is stored.
 */
static bool
SameValues(const TableModel *table, const Row *a, const Row *b)
{
	for (int i = table->nkeys; i < table->ncolumns; i++)
	{
		const ColumnModel *column = &table->columns[i];

		if (RowTableColumnIsIdentity(table, i))
			continue;
		if (a->nulls[i] != b->nulls[i])
			return false;
		if (!a->nulls[i] && !ValueDatumsEqual(a->values[i], b->values[i], column->value.type))
			return false;
	}
	return true;
}

/* Returns true if two sets of rows are the same. */
static bool
SameRows(const TableModel *table, const RowSet *a, const RowSet *b)
{
	if (a->nrows != b->nrows)
		return false;
	for (int i = 0; i < a->nrows; i++)
		if (CompareKeys(table, &a->rows[i], &b->rows[i]) != 0 ||
			!SameValues(table, &a->rows[i], &b->rows[i]))
			return false;
	return true;
}

/*
 * Returns true if the identity columns of the root row, or only those that are
 * references, have the values of the body.
 */
static bool
SameIdentityColumns(Resource *resource, int64 document_id, const FlatDocument *flat,
					bool only_references)
{
	const TableModel *root = &resource->model->tables[0];
	const Row  *wanted = &flat->tables[0].rows[0];
	RowSet		stored;

	ReadTable(resource, 0, document_id, &stored);
	if (stored.nrows == 0)
		return false;
	for (int i = root->nkeys; i < root->ncolumns; i++)
		if (root->columns[i].identity && (!only_references || root->columns[i].reference >= 0) &&
			(stored.rows[0].nulls[i] || wanted->nulls[i] ||
			 !ValueDatumsEqual(stored.rows[0].values[i], wanted->values[i], root->columns[i].value.type)))
			return false;
	return true;
}

/*
 * Returns true if the document has the identity columns of the body.  If it
 * has, but not the identity, then that follows from a document that it refers
 * to.
 */
bool
RowsSameKey(Resource *resource, int64 document_id, const FlatDocument *flat)
{
	return SameIdentityColumns(resource, document_id, flat, false);
}

/*
 * Returns true if the document's identity refers to the same documents as that
 * of the body.  If the identity stays, nothing else of it is written: values
 * that differ nevertheless are descriptors in another case.
 */
bool
RowsSameTargets(Resource *resource, int64 document_id, const FlatDocument *flat)
{
	return SameIdentityColumns(resource, document_id, flat, true);
}

/*
 * Returns true if the stored rows are those of the body, in the active
 * snapshot.
 */
bool
RowsUnchanged(Resource *resource, int64 document_id, const FlatDocument *flat)
{
	RowSet	   *stored = palloc(sizeof(RowSet) * resource->model->ntables);

	for (int i = 0; i < resource->model->ntables; i++)
	{
		ReadTable(resource, i, document_id, stored);
		if (!SameRows(&resource->model->tables[i], &stored[i], &flat->tables[i]))
			return false;
	}
	return true;
}

/* Add a row to a set; most is the number of rows that it may get. */
static void
AddTo(RowSet *set, const Row *row, int most)
{
	if (set->rows == NULL)
		set->rows = palloc(sizeof(Row) * most);
	set->rows[set->nrows++] = *row;
}

/*
 * Compare the stored with the wanted rows of a table; both are in order of the
 * key.  If the identity changes, the root row counts as changed.
 */
static void
DiffRows(const TableModel *table, const RowSet *stored, const RowSet *wanted,
		 bool identity, RowDiff *diff)
{
	int			most = stored->nrows + wanted->nrows;
	int			i = 0;
	int			j = 0;

	memset(diff, 0, sizeof(RowDiff));
	while (i < stored->nrows || j < wanted->nrows)
	{
		int			order = i == stored->nrows ? 1 : j == wanted->nrows ? -1 :
		CompareKeys(table, &stored->rows[i], &wanted->rows[j]);

		if (order < 0)
			AddTo(&diff->surplus, &stored->rows[i++], most);
		else if (order > 0)
			AddTo(&diff->missing, &wanted->rows[j++], most);
		else
		{
			if ((identity && table->kind == TABLE_ROOT) ||
				!SameValues(table, &stored->rows[i], &wanted->rows[j]))
				AddTo(&diff->changed, &wanted->rows[j], most);
			i++;
			j++;
		}
	}
}

/*
 * Raise an error: a table has taken fewer rows than it was given, because a
 * trigger or a rule of its owner skipped some, and the document would not be
 * the one that was sent.
 *
 * The statement is planned again next time.  The plan of a rule that does
 * nothing has no table to be invalidated by, so PostgreSQL would keep it after
 * the rule is dropped.
 */
static void
RefuseLostRows(KeyedTable *table, uint64 taken, int given)
{
	if (StatementsRunning() == 0)
		KeyedTableForget(table);
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 errmsg("table %s took " UINT64_FORMAT " of %d rows of the document",
					quote_qualified_identifier(table->schema, table->name), taken, given),
			 errhint("A trigger or a rule of the table leaves rows out.")));
}

/* Insert, update or delete rows, and make sure that all of them were. */
static void
WriteRows(KeyedTable *table, KeyedVerb verb, const RowSet *rows)
{
	uint64		taken = RowWriteRun(table, verb, rows);

	if (taken != (uint64) rows->nrows)
		RefuseLostRows(table, taken, rows->nrows);
}

/* Update the root row, except the columns of the identity. */
static void
UpdateKeptRoot(Resource *resource, const Row *row)
{
	const TableModel *root = &resource->model->tables[0];
	KeyedTable *table = RowTableKeepingIdentity(resource);
	Row			kept = {
		.values = palloc(sizeof(Datum) * table->ncolumns),
		.nulls = palloc(sizeof(bool) * table->ncolumns)
	};
	RowSet		set = {.rows = &kept,.nrows = 1};
	int			n = 0;

	for (int i = 0; i < root->ncolumns; i++)
	{
		if (RowTableColumnIsIdentity(root, i))
			continue;
		kept.values[n] = row->values[i];
		kept.nulls[n++] = row->nulls[i];
	}
	WriteRows(table, KEYED_UPDATE, &set);
}

/* Update the changed rows of a table. */
static void
UpdateRows(Resource *resource, int table, const RowSet *rows, bool identity)
{
	if (rows->nrows > 0 && !identity && resource->model->tables[table].kind == TABLE_ROOT)
		UpdateKeptRoot(resource, &rows->rows[0]);
	else
		WriteRows(RowTable(resource, table), KEYED_UPDATE, rows);
}

/* Insert the row of a new document into the member table of its superclass. */
static void
InsertMember(Resource *resource, int64 document_id)
{
	const ResourceModel *model = resource->model;
	Datum		values[2] = {
		Int64GetDatum(document_id),
		CStringGetTextDatum(psprintf("%s:%s", model->project, model->resource))
	};
	Row			row = {.values = values};
	RowSet		set = {.rows = &row,.nrows = 1};

	(void) RowWriteRun(RowTableMember(resource), KEYED_INSERT, &set);
}

/* Insert all rows of a new document, parents first. */
void
RowsInsert(Resource *resource, const FlatDocument *flat)
{
	/* First, because the document may refer to itself by its superclass. */
	if (resource->model->member_table)
		InsertMember(resource, DatumGetInt64(flat->tables[0].rows[0].values[0]));
	for (int i = 0; i < resource->model->ntables; i++)
		WriteRows(RowTable(resource, i), KEYED_INSERT, &flat->tables[i]);
}

/* Returns true if some columns of the stored root row have the values of the body. */
bool
RowsSameColumns(Resource *resource, int64 document_id, const FlatDocument *flat, const int *columns, int n)
{
	const TableModel *root = &resource->model->tables[0];
	const Row  *wanted = &flat->tables[0].rows[0];
	RowSet		stored;

	ReadTable(resource, 0, document_id, &stored);
	if (stored.nrows == 0)
		return false;
	for (int i = 0; i < n; i++)
	{
		int			c = columns[i];

		if (stored.rows[0].nulls[c] != wanted->nulls[c] ||
			(!wanted->nulls[c] &&
			 !ValueDatumsEqual(stored.rows[0].values[c], wanted->values[c], root->columns[c].value.type)))
			return false;
	}
	return true;
}

/* Update the root rows of several documents in one statement, columns of the identity included. */
void
RowsUpdateRoots(Resource *resource, const RowSet *roots)
{
	WriteRows(RowTable(resource, 0), KEYED_UPDATE, roots);
}

/*
 * Make the stored rows those of the body: delete surplus rows, children first,
 * then update changed rows, then insert missing ones, parents first.  Returns
 * true if any differed.
 */
bool
RowsUpdate(Resource *resource, int64 document_id, const FlatDocument *flat,
		   bool identity)
{
	const ResourceModel *model = resource->model;
	RowDiff    *diffs = palloc(sizeof(RowDiff) * model->ntables);
	RowSet	   *stored = palloc(sizeof(RowSet) * model->ntables);
	bool		any = false;

	SnapshotBegin();
	for (int i = 0; i < model->ntables; i++)
	{
		ReadTable(resource, i, document_id, stored);
		DiffRows(&model->tables[i], &stored[i], &flat->tables[i], identity, &diffs[i]);
		any |= diffs[i].surplus.nrows + diffs[i].changed.nrows + diffs[i].missing.nrows > 0;
	}
	SnapshotEnd();
	for (int i = model->ntables - 1; i >= 0; i--)
		WriteRows(RowTable(resource, i), KEYED_DELETE, &diffs[i].surplus);
	for (int i = 0; i < model->ntables; i++)
		UpdateRows(resource, i, &diffs[i].changed, identity);
	for (int i = 0; i < model->ntables; i++)
		WriteRows(RowTable(resource, i), KEYED_INSERT, &diffs[i].missing);
	return any;
}
