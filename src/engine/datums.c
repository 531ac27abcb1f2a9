/*
 * datums.c
 *		Making arrays, which are parameters of statements.
 *
 * A statement on many rows takes one array per column, so that its text and
 * its plan are the same for any number of rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Make an array of values of a type; nulls may be NULL if there are none. */
Datum
DatumArray(int n, Datum *values, bool *nulls, Oid type)
{
	int			dims[1] = {n};
	int			bounds[1] = {1};
	int16		length;
	bool		by_value;
	char		alignment;

	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, bounds,
											  type, length, by_value, alignment));
}

/* Make a bigint[]. */
Datum
DatumInt8Array(int n, const int64 *numbers)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(numbers[i]);
	return DatumArray(n, values, NULL, INT8OID);
}

/* Make a text[] of C strings; NULL pointers become NULL elements. */
Datum
DatumTextArray(int n, const char *const *texts)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		nulls[i] = texts[i] == NULL;
		values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
	}
	return DatumArray(n, values, nulls, TEXTOID);
}
