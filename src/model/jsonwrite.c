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

/* The same byte eight times. */
#define EIGHT_TIMES(byte) (UINT64CONST(0x0101010101010101) * (byte))

/*
 * Returns true if one of eight bytes must be escaped: a control character, a quote
 * or a backslash.  A difference has the highest bit of a byte set if the byte is
 * smaller than what is subtracted; bytes that have that bit themselves do not count.
 */
static inline bool
NeedsEscape(uint64 bytes)
{
	uint64		control = bytes - EIGHT_TIMES(' ');
	uint64		quote = (bytes ^ EIGHT_TIMES('"')) - EIGHT_TIMES(1);
	uint64		backslash = (bytes ^ EIGHT_TIMES('\\')) - EIGHT_TIMES(1);

	return ((control | quote | backslash) & ~bytes & EIGHT_TIMES(0x80)) != 0;
}

/* Returns the number of bytes at the start of a string that need not be escaped. */
static int
PlainBytes(const char *bytes, int len)
{
	int			i = 0;

	for (uint64 eight; i + (int) sizeof(eight) <= len; i += sizeof(eight))
	{
		memcpy(&eight, bytes + i, sizeof(eight));
		if (NeedsEscape(eight))
			break;
	}
	for (; i < len; i++)
	{
		unsigned char byte = bytes[i];

		if (unlikely(byte < ' ' || byte == '"' || byte == '\\'))
			break;
	}
	return i;
}

/* Make sure that there is space for some bytes and a zero byte. */
static inline void
Reserve(StringInfo out, int needed)
{
	if (unlikely(needed >= out->maxlen - out->len))
		enlargeStringInfo(out, needed);
}

/* Write some bytes; the caller has reserved space. */
static inline void
Put(StringInfo out, const char *bytes, int len)
{
	memcpy(out->data + out->len, bytes, len);
	out->len += len;
}

/* A string literal; most have nothing to escape and are copied in one go. */
void
JsonWriteString(StringInfo out, const char *bytes, int len)
{
	int			plain = PlainBytes(bytes, len);

	Reserve(out, len + 2);
	out->data[out->len++] = '"';
	Put(out, bytes, plain);
	while (unlikely(plain < len))
	{
		WriteEscaped(out, bytes[plain++]);
		bytes += plain;
		len -= plain;
		plain = PlainBytes(bytes, len);
		Reserve(out, len + 1);
		Put(out, bytes, plain);
	}
	out->data[out->len++] = '"';
	out->data[out->len] = '\0';
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
void
JsonWriteInteger(StringInfo out, int64 number)
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
	char		string[DATETIME_SIZE];
	char	   *end;

	if ((type == VALUE_DATE && DATE_NOT_FINITE(DatumGetDateADT(datum))) ||
		(type == VALUE_TIMESTAMP && TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(datum))))
	{
		bool		begin = type == VALUE_DATE ? DATE_IS_NOBEGIN(DatumGetDateADT(datum)) :
		TIMESTAMP_IS_NOBEGIN(DatumGetTimestampTz(datum));

		appendStringInfoString(out, begin ? "\"-infinity\"" : "\"infinity\"");
		return;
	}
	string[0] = '"';
	if (type == VALUE_DATE)
		end = DateWrite(string + 1, DatumGetDateADT(datum));
	else if (type == VALUE_TIME)
		end = TimeWrite(string + 1, DatumGetTimeADT(datum));
	else
		end = DateTimeWrite(string + 1, DatumGetTimestampTz(datum));
	*end++ = '"';
	appendBinaryStringInfo(out, string, end - string);
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
			JsonWriteInteger(out, DatumGetInt32(datum));
			break;
		case VALUE_INT8:
			JsonWriteInteger(out, DatumGetInt64(datum));
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
