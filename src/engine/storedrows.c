/*
 * storedrows.c
 *		Rows of tables, in memory.
 *
 * Scans and statements both return rows in this form, so their callers need not
 * know where the rows came from.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/ids.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "engine/storedrows.h"

/* Initialize, with space for the expected number of rows. */
void
StoredRowsInit(StoredRows *rows, int ncolumns, int expected)
{
	memset(rows, 0, sizeof(StoredRows));
	rows->ncolumns = ncolumns;
	rows->capacity = Max(expected, 1);
	rows->values = palloc_extended(sizeof(Datum) * rows->capacity * ncolumns, MCXT_ALLOC_HUGE);
	rows->nulls = palloc_extended(sizeof(bool) * rows->capacity * ncolumns, MCXT_ALLOC_HUGE);
}

/* Make sure that there is space for one more row. */
void
StoredRowsGrow(StoredRows *rows)
{
	if (rows->nrows < rows->capacity)
		return;
	rows->capacity *= 2;
	rows->values = repalloc_huge(rows->values, sizeof(Datum) * rows->capacity * rows->ncolumns);
	rows->nulls = repalloc_huge(rows->nulls, sizeof(bool) * rows->capacity * rows->ncolumns);
}

/* Overwrite a row with another one. */
void
StoredRowsMove(StoredRows *rows, int from, int to)
{
	if (from == to)
		return;
	memcpy(StoredRowValues(rows, to), StoredRowValues(rows, from), sizeof(Datum) * rows->ncolumns);
	memcpy(StoredRowNulls(rows, to), StoredRowNulls(rows, from), sizeof(bool) * rows->ncolumns);
}

/* Raise an error if one of the leading columns of a row is NULL. */
void
StoredRowsRequireValues(const bool *nulls, int nrequired)
{
	for (int i = 0; i < nrequired; i++)
		if (unlikely(nulls[i]))
			ResultRefuse("NULL where there must be a value");
}

/*
 * Deform the rows of the last SPI result; they are valid as long as the result.
 * Its columns must have these types, and the first nrequired must not be NULL.
 */
void
StoredRowsTake(StoredRows *rows, const Oid *types, int nrequired)
{
	ResultExpect(types);
	StoredRowsInit(rows, SPI_tuptable->tupdesc->natts, (int) SPI_processed);
	rows->nrows = (int) SPI_processed;
	rows->result = SPI_tuptable;
	for (int i = 0; i < rows->nrows; i++)
	{
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  StoredRowValues(rows, i), StoredRowNulls(rows, i));
		StoredRowsRequireValues(StoredRowNulls(rows, i), nrequired);
	}
}

/*
 * Free the result of SPI that rows were taken from, if there is one.  Their values
 * must not be used any more.
 */
void
StoredRowsFreeResult(StoredRows *rows)
{
	if (rows->result != NULL)
		SPI_freetuptable(rows->result);
	rows->result = NULL;
	rows->nrows = 0;
}

/*
 * Raise an error if there are rows of documents that were not asked for.  If a view
 * is in the place of a table, its volatile columns may differ between the condition
 * and the result.  The ids are ascending.
 */
void
StoredRowsRequireIds(const StoredRows *rows, const int64 *ids, int n)
{
	for (int i = 0; i < rows->nrows; i++)
		if (!IdsHave(ids, n, DatumGetInt64(StoredRowValues(rows, i)[0])))
			ResultRefuse("a row that it was not asked for");
}

/* Returns the rows as a RowSet, which points to the same values. */
RowSet
StoredRowsSet(const StoredRows *rows)
{
	RowSet		set = {.nrows = rows->nrows};

	set.rows = palloc_extended(sizeof(Row) * Max(rows->nrows, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < rows->nrows; i++)
	{
		set.rows[i].values = StoredRowValues(rows, i);
		set.rows[i].nulls = StoredRowNulls(rows, i);
	}
	return set;
}
