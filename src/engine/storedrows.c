/*
 * storedrows.c
 *		Rows of tables in memory.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/ids.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "engine/storedrows.h"

/* Make room for rows. */
void
StoredRowsInit(StoredRows *rows, int ncolumns, int expected)
{
	memset(rows, 0, sizeof(StoredRows));
	rows->ncolumns = ncolumns;
	rows->capacity = Max(expected, 1);
	rows->values = palloc_extended(sizeof(Datum) * rows->capacity * ncolumns, MCXT_ALLOC_HUGE);
	rows->nulls = palloc_extended(sizeof(bool) * rows->capacity * ncolumns, MCXT_ALLOC_HUGE);
}

/* Make room for one more row. */
void
StoredRowsGrow(StoredRows *rows)
{
	if (rows->nrows < rows->capacity)
		return;
	rows->capacity *= 2;
	rows->values = repalloc_huge(rows->values, sizeof(Datum) * rows->capacity * rows->ncolumns);
	rows->nulls = repalloc_huge(rows->nulls, sizeof(bool) * rows->capacity * rows->ncolumns);
}

/* Put a row in the place of another. */
void
StoredRowsMove(StoredRows *rows, int from, int to)
{
	if (from == to)
		return;
	memcpy(StoredRowValues(rows, to), StoredRowValues(rows, from), sizeof(Datum) * rows->ncolumns);
	memcpy(StoredRowNulls(rows, to), StoredRowNulls(rows, from), sizeof(bool) * rows->ncolumns);
}

/* Refuse a row that has NULL in one of its first columns. */
void
StoredRowsRequireValues(const bool *nulls, int nrequired)
{
	for (int i = 0; i < nrequired; i++)
		if (unlikely(nulls[i]))
			ResultRefuse("NULL where there must be a value");
}

/*
 * Take the rows of the last result apart; they live as long as it does.  Its
 * columns must be of these types, and the first nrequired must not be NULL.
 */
void
StoredRowsTake(StoredRows *rows, const Oid *types, int nrequired)
{
	ResultExpect(types);
	StoredRowsInit(rows, SPI_tuptable->tupdesc->natts, (int) SPI_processed);
	rows->nrows = (int) SPI_processed;
	for (int i = 0; i < rows->nrows; i++)
	{
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  StoredRowValues(rows, i), StoredRowNulls(rows, i));
		StoredRowsRequireValues(StoredRowNulls(rows, i), nrequired);
	}
}

/*
 * Refuse rows of documents that were not asked for.  A view computes the rows
 * it returns and the condition on them separately, so they may disagree.  The
 * ids are ascending.
 */
void
StoredRowsRequireIds(const StoredRows *rows, const int64 *ids, int n)
{
	for (int i = 0; i < rows->nrows; i++)
		if (!IdsHave(ids, n, DatumGetInt64(StoredRowValues(rows, i)[0])))
			ResultRefuse("a row that it was not asked for");
}

/* Returns the rows one by one; their values stay where they are. */
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
