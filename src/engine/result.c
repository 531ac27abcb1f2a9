/*
 * result.c
 *		Getting checked values from the last result of SPI.
 *
 * The owner of the store may alter its tables, or put views in their place, so
 * a result may have other types, NULLs, or fewer rows than our statements are
 * written for.  To read a bigint as a pointer would let the owner read any memory
 * of the server.  Hence types and NULLs are checked before a datum is used.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Returns the number of rows of the last result. */
uint64
ResultRows(void)
{
	return SPI_processed;
}

/* Free the last result, before the connection ends. */
void
ResultFree(void)
{
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Returns true if values of the type found can be read as values of the type
 * expected.
 */
bool
ResultTypeFits(Oid found, Oid expected)
{
	if (found == expected)
		return true;
	return expected == TEXTOID && (found == VARCHAROID || found == BPCHAROID);
}

/* Raise an error unless the columns of the result have these types. */
void
ResultExpect(const Oid *types)
{
	TupleDesc	descriptor = SPI_tuptable->tupdesc;

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (!ResultTypeFits(column->atttypid, types[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" has type %s instead of %s", NameStr(column->attname),
							format_type_be(column->atttypid), format_type_be(types[i]))));
	}
}

/* Get all values of a row of the last result, whose types ResultExpect() has checked. */
void
ResultRow(uint64 row, Datum *values, bool *nulls)
{
	heap_deform_tuple(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, values, nulls);
}

/* Returns a value of the last result, whose type ResultExpect() has checked; columns count from 1. */
Datum
ResultDatum(uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc,
						 column, isnull);
}

/* Returns a value of the last result as text, or NULL. */
char *
ResultText(uint64 row, int column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

/*
 * Raise an error about a result.  A view in the place of a table need not return
 * the rows that a query asks for.
 */
void
ResultRefuse(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a table of the store gave %s", what),
			 errhint("Something else is in the place of the table, or a constraint of it was dropped.")));
}

/* Returns a value of the last result, which must have this type, but may be NULL. */
Datum
ResultTypedDatum(uint64 row, int column, Oid type, bool *isnull)
{
	TupleDesc	descriptor = SPI_tuptable->tupdesc;

	if (row >= SPI_tuptable->numvals || column > descriptor->natts)
		ResultRefuse("fewer rows or columns than it must have");
	if (!ResultTypeFits(TupleDescAttr(descriptor, column - 1)->atttypid, type))
		ResultRefuse("a value of another type than it must have");
	return ResultDatum(row, column, isnull);
}

/* Returns a value of the last result, which must exist and have this type. */
static Datum
RequiredDatum(uint64 row, int column, Oid type)
{
	bool		isnull;
	Datum		value = ResultTypedDatum(row, column, type, &isnull);

	if (isnull)
		ResultRefuse("NULL where there must be a value");
	return value;
}

/* Returns a value of the last result as text; it must not be NULL. */
char *
ResultName(uint64 row, int column)
{
	char	   *name = ResultText(row, column);

	if (name == NULL)
		ResultRefuse("NULL where there must be a value");
	return name;
}

/* Returns a column of the last result as texts that outlive it; none must be NULL. */
char **
ResultNames(int column)
{
	char	  **names = palloc_extended(sizeof(char *) * Max(SPI_processed, 1), MCXT_ALLOC_HUGE);

	for (uint64 i = 0; i < SPI_processed; i++)
		names[i] = ResultName(i, column);
	return names;
}

/* Returns a bigint of the last result, which must not be NULL. */
int64
ResultInt64(uint64 row, int column)
{
	return DatumGetInt64(RequiredDatum(row, column, INT8OID));
}

/* Returns the ids in the first column, which has no NULLs. */
int64 *
ResultIds(uint64 rows, int *n)
{
	int64	   *ids = palloc(sizeof(int64) * Max(rows, 1));

	for (uint64 i = 0; i < rows; i++)
		ids[i] = ResultInt64(i, 1);
	*n = (int) rows;
	return ids;
}

/* Returns an integer of the last result, which must not be NULL. */
int32
ResultInt32(uint64 row, int column)
{
	return DatumGetInt32(RequiredDatum(row, column, INT4OID));
}

/* Returns a boolean of the last result, which must not be NULL. */
bool
ResultBool(uint64 row, int column)
{
	return DatumGetBool(RequiredDatum(row, column, BOOLOID));
}

/* Returns a uuid of the last result, which must not be NULL. */
pg_uuid_t
ResultUuid(uint64 row, int column)
{
	return *DatumGetUUIDP(RequiredDatum(row, column, UUIDOID));
}

/* Returns a timestamp of the last result, which must not be NULL. */
TimestampTz
ResultTime(uint64 row, int column)
{
	return DatumGetTimestampTz(RequiredDatum(row, column, TIMESTAMPTZOID));
}
