/*
 * writeresult.c
 *		Rows of dms.write_result.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "verbs/writeresult.h"

/* Columns of dms.write_result. */
#define WRITE_RESULT_COLUMNS 5

/* Fill in the columns; none of them is null. */
static void
FillRow(const WriteResult *result, Datum *values, bool *nulls)
{
	static const char *const outcomes[] = {
		[WRITE_INSERTED] = "inserted",
		[WRITE_UPDATED] = "updated",
		[WRITE_UNCHANGED] = "unchanged",
	};

	values[0] = CStringGetTextDatum(outcomes[result->outcome]);
	values[1] = UUIDPGetDatum(&result->document.uuid);
	values[2] = Int64GetDatum(result->document.document_id);
	values[3] = Int64GetDatum(result->document.etag);
	values[4] = TimestampTzGetDatum(result->document.last_modified);
	memset(nulls, false, sizeof(bool) * WRITE_RESULT_COLUMNS);
}

/* Make the row that a function returns. */
Datum
WriteResultRow(FunctionCallInfo fcinfo, const WriteResult *result)
{
	TupleDesc	descriptor;
	Datum		values[WRITE_RESULT_COLUMNS];
	bool		nulls[WRITE_RESULT_COLUMNS];

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	FillRow(result, values, nulls);
	return HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
}

/* Add a row to the set that a function returns. */
void
WriteResultPut(FunctionCallInfo fcinfo, const WriteResult *result)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[WRITE_RESULT_COLUMNS];
	bool		nulls[WRITE_RESULT_COLUMNS];

	FillRow(result, values, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}
