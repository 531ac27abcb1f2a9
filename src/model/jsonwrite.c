/*
 * jsonwrite.c
 *		Writing JSON text straight from stored values.
 *
 * A value is written as its canonical text was when it was stored, whatever
 * the settings of the session are.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/datetime.h"
#include "fmgr.h"
#include "model/jsonwrite.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

/* Write a byte that cannot be in a string as it is. */
static void
WriteEscaped(StringInfo out, unsigned char byte)
{
	switch (byte)
	{
		case '\b':
			appendStringInfoString(out, "\\b");
			break;
		case '\f':
			appendStringInfoString(out, "\\f");
			break;
		case '\n':
			appendStringInfoString(out, "\\n");
			break;
		case '\r':
			appendStringInfoString(out, "\\r");
			break;
		case '\t':
			appendStringInfoString(out, "\\t");
			break;
		case '"':
			appendStringInfoString(out, "\\\"");
			break;
		case '\\':
			appendStringInfoString(out, "\\\\");
			break;
		default:
			appendStringInfo(out, "\\u%04x", byte);
	}
}

/* A string literal; most have nothing to escape and are copied in one go. */
void
JsonWriteString(StringInfo out, const char *bytes, int len)
{
	int			copied = 0;

	appendStringInfoCharMacro(out, '"');
	for (int i = 0; i < len; i++)
	{
		unsigned char byte = bytes[i];

		if (likely(byte >= ' ' && byte != '"' && byte != '\\'))
			continue;
		appendBinaryStringInfo(out, bytes + copied, i - copied);
		WriteEscaped(out, byte);
		copied = i + 1;
	}
	appendBinaryStringInfo(out, bytes + copied, len - copied);
	appendStringInfoCharMacro(out, '"');
}

/* Write the name of a member, after a comma unless it is the first of its object. */
void
JsonWriteName(StringInfo out, const char *name)
{
	if (out->data[out->len - 1] != '{')
		appendStringInfoCharMacro(out, ',');
	JsonWriteString(out, name, strlen(name));
	appendStringInfoCharMacro(out, ':');
}

/* Write a text as a string. */
static void
WriteStringDatum(StringInfo out, Datum datum)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(datum);

	JsonWriteString(out, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	if ((Pointer) value != DatumGetPointer(datum))
		pfree(value);
}

/* Write an integer. */
static void
WriteInteger(StringInfo out, int64 number)
{
	char		digits[MAXINT8LEN + 1];

	appendBinaryStringInfo(out, digits, pg_lltoa(number, digits));
}

/*
 * Write a numeric without trailing zeros.  NaN and infinity, which are no
 * JSON numbers, become strings.
 */
static void
WriteNumeric(StringInfo out, Datum datum)
{
	char	   *digits = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
	int			len = strlen(digits);

	if (numeric_is_nan(DatumGetNumeric(datum)) || numeric_is_inf(DatumGetNumeric(datum)))
		JsonWriteString(out, digits, len);
	else
	{
		if (strchr(digits, '.') != NULL)
		{
			while (digits[len - 1] == '0')
				len--;
			if (digits[len - 1] == '.')
				len--;
		}
		appendBinaryStringInfo(out, digits, len);
	}
	pfree(digits);
}

/* Write a date or time.  Only plain SQL can have stored "infinity". */
static void
WriteTemporal(StringInfo out, Datum datum, ValueType type)
{
	char	   *string;

	if ((type == VALUE_DATE && DATE_NOT_FINITE(DatumGetDateADT(datum))) ||
		(type == VALUE_TIMESTAMP && TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(datum))))
	{
		bool		begin = type == VALUE_DATE ? DATE_IS_NOBEGIN(DatumGetDateADT(datum)) :
		TIMESTAMP_IS_NOBEGIN(DatumGetTimestampTz(datum));

		appendStringInfoString(out, begin ? "\"-infinity\"" : "\"infinity\"");
		return;
	}
	string = ValueFromDatum(datum, type);
	appendStringInfoCharMacro(out, '"');
	appendStringInfoString(out, string);
	appendStringInfoCharMacro(out, '"');
	pfree(string);
}

/* Write a stored value. */
void
JsonWriteValue(StringInfo out, Datum datum, ValueType type)
{
	switch (type)
	{
		case VALUE_TEXT:
			WriteStringDatum(out, datum);
			break;
		case VALUE_INT4:
			WriteInteger(out, DatumGetInt32(datum));
			break;
		case VALUE_INT8:
			WriteInteger(out, DatumGetInt64(datum));
			break;
		case VALUE_NUMERIC:
			WriteNumeric(out, datum);
			break;
		case VALUE_BOOL:
			appendStringInfoString(out, DatumGetBool(datum) ? "true" : "false");
			break;
		case VALUE_DATE:
		case VALUE_TIME:
		case VALUE_TIMESTAMP:
			WriteTemporal(out, datum, type);
			break;
	}
}
