/*
 * conversion.c
 *		Converting the values of a column to another type.
 *
 * An expression keeps each value that the new type can express, and is NULL for the
 * others.  It must not fail for any value, because a change of the schema would fail
 * as a whole; so a value is looked at before it is cast.  Texts are those of
 * canonical documents, whatever the settings of the session.
 */
#include "postgres.h"

#include "schema/conversion.h"
#include "utils/builtins.h"

/* Digits of the widest integers. */
#define INT4_DIGITS 10
#define INT8_DIGITS 19

/* Texts of more characters are not taken for numbers. */
#define NUMBER_LENGTH 1000

/* Make a conversion from its parts. */
Conversion
ConversionMake(ConversionKind kind, const char *expression)
{
	Conversion	conversion = {.kind = kind,.expression = expression};

	return conversion;
}

/* Returns true if a number has a fixed number of digits. */
static bool
IsFixed(const ValueModel *value)
{
	return value->precision > 0 && value->scale >= 0;
}

/* Returns the number of characters that a text may have; the largest integer if there is no limit. */
static int
MaxLength(const ValueModel *value)
{
	return value->max_length > 0 ? value->max_length : PG_INT32_MAX;
}

/* Returns true for integers of both widths. */
static bool
IsInteger(const ValueModel *value)
{
	return value->type == VALUE_INT4 || value->type == VALUE_INT8;
}

/* An expression that is NULL unless the condition holds. */
static const char *
If(const char *condition, const char *expression)
{
	return psprintf("CASE WHEN %s THEN %s END", condition, expression);
}

/* A text, if it is not too long. */
static const char *
FitText(const char *text, const ValueModel *after)
{
	return after->max_length > 0 ? If(psprintf("char_length(%s) <= %d", text, after->max_length), text) : text;
}

/* A whole number, if it is within the range of the type. */
static const char *
FitInteger(const char *number, const ValueModel *after)
{
	bool		narrow = after->type == VALUE_INT4;

	return If(psprintf("%s BETWEEN %s AND %s", number, narrow ? "-2147483648" : "-9223372036854775808",
					   narrow ? "2147483647" : "9223372036854775807"),
			  psprintf("%s::%s", number, narrow ? "integer" : "bigint"));
}

/* A number, if it does not have more digits than the type. */
static const char *
FitNumeric(const char *number, const ValueModel *after)
{
	if (!IsFixed(after))
		return psprintf("%s::numeric", number);
	return If(psprintf("%s = round(%s::numeric, %d) AND abs(%s) < 1e%d", number, number, after->scale,
					   number, after->precision - after->scale),
			  psprintf("%s::numeric", number));
}

/* The text of a value in a document. */
static const char *
TextOf(const char *column, const ValueModel *before)
{
	switch ((ValueType) before->type)
	{
		case VALUE_NUMERIC:
			return psprintf("trim_scale(%s)::text", column);
		case VALUE_DATE:
			return psprintf("to_char(%s, 'YYYY-MM-DD')", column);
		case VALUE_TIMESTAMP:
			return psprintf("to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')", column);
		default:
			return psprintf("%s::text", column);
	}
}

/* A value of a text; NULL if values of the type cannot be read from texts. */
static const char *
ValueOfText(const char *column, const ValueModel *after)
{
	const char *number = psprintf("%s::numeric", column);

	if (IsInteger(after))
		return If(psprintf("%s ~ '^-?[0-9]{1,%d}$'", column, INT8_DIGITS), FitInteger(number, after));
	if (after->type == VALUE_NUMERIC)
		return If(psprintf("char_length(%s) <= %d AND %s ~ '^-?[0-9]+([.][0-9]+)?$'", column, NUMBER_LENGTH, column),
				  FitNumeric(number, after));
	if (after->type == VALUE_BOOL)
		return psprintf("CASE %s WHEN 'true' THEN true WHEN 'false' THEN false END", column);
	return NULL;
}

/* Conversions between texts. */
static Conversion
TextToText(const char *column, const ValueModel *before, const ValueModel *after)
{
	bool		wider = MaxLength(after) >= MaxLength(before);

	return ConversionMake(wider ? CONVERSION_HARMLESS : CONVERSION_NARROWER, FitText(column, after));
}

/* Conversions between decimals.  PostgreSQL rewrites the table if the scale differs. */
static Conversion
NumericToNumeric(const char *column, const ValueModel *before, const ValueModel *after)
{
	ConversionKind kind = CONVERSION_NARROWER;

	if (!IsFixed(after))
		kind = CONVERSION_HARMLESS;
	else if (IsFixed(before) && after->scale >= before->scale &&
			 after->precision - after->scale >= before->precision - before->scale)
		kind = after->scale == before->scale ? CONVERSION_HARMLESS : CONVERSION_WIDER;
	return ConversionMake(kind, FitNumeric(column, after));
}

/* Conversions from integers to numbers. */
static Conversion
IntegerToNumber(const char *column, const ValueModel *before, const ValueModel *after)
{
	int			digits = before->type == VALUE_INT4 ? INT4_DIGITS : INT8_DIGITS;

	if (after->type == VALUE_INT8)
		return ConversionMake(CONVERSION_WIDER, psprintf("%s::bigint", column));
	if (after->type == VALUE_INT4)
		return ConversionMake(CONVERSION_NARROWER, FitInteger(column, after));
	return ConversionMake(!IsFixed(after) || after->precision - after->scale >= digits ?
						  CONVERSION_WIDER : CONVERSION_NARROWER, FitNumeric(psprintf("%s::numeric", column), after));
}

/* Conversions to another kind of value. */
static Conversion
ToOther(const char *column, const ValueModel *before, const ValueModel *after)
{
	const char *expression = NULL;

	if (after->type == VALUE_TEXT)
		expression = FitText(TextOf(column, before), after);
	else if (before->type == VALUE_TEXT)
		expression = ValueOfText(column, after);
	else if (before->type == VALUE_DATE && after->type == VALUE_TIMESTAMP)
		expression = psprintf("%s::timestamp AT TIME ZONE 'UTC'", column);
	else if (before->type == VALUE_TIMESTAMP && after->type == VALUE_DATE)
		expression = psprintf("(%s AT TIME ZONE 'UTC')::date", column);
	return ConversionMake(CONVERSION_OTHER, expression != NULL ? expression : "NULL");
}

/* Returns the conversion between two types; column is as SQL. */
Conversion
ConversionOf(const char *column, const ValueModel *before, const ValueModel *after)
{
	bool		to_number = IsInteger(after) || after->type == VALUE_NUMERIC;

	if (before->type == VALUE_TEXT && after->type == VALUE_TEXT)
		return TextToText(column, before, after);
	if (before->type == VALUE_NUMERIC && after->type == VALUE_NUMERIC)
		return NumericToNumeric(column, before, after);
	if (IsInteger(before) && to_number)
		return IntegerToNumber(column, before, after);
	if (before->type == VALUE_NUMERIC && IsInteger(after))
		return ConversionMake(CONVERSION_NARROWER,
							  If(psprintf("%s = trunc(%s)", column, column), FitInteger(column, after)));
	return ToOther(column, before, after);
}
