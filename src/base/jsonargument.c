/*
 * jsonargument.c
 *		JSON arguments of SQL functions, in the types that clients send.
 *
 * Drivers send a document as text, as json or as jsonb, so there is a function for
 * each type.  Text and json are stored alike, and have one C function.
 */
#include "postgres.h"

#include "base/jsonargument.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

/*
 * Call a function with the same arguments, of which one is jsonb and is given as
 * its text.  The arguments are copied: those of the caller may be constants that it
 * uses again.
 */
Datum
JsonArgumentCall(PGFunction function, FunctionCallInfo fcinfo, int argument)
{
	FunctionCallInfo call = palloc(SizeForFunctionCallInfo(fcinfo->nargs));
	Datum		result;

	memcpy(call, fcinfo, SizeForFunctionCallInfo(fcinfo->nargs));
	if (!PG_ARGISNULL(argument))
	{
		Jsonb	   *jsonb = PG_GETARG_JSONB_P(argument);

		call->args[argument].value = CStringGetTextDatum(JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb)));
	}
	result = function(call);
	fcinfo->isnull = call->isnull;
	return result;
}
