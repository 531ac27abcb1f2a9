/*
 * value.c
 *		Coercing, checking and converting the values of documents.
 *
 * A value is canonicalised once, in place: its node then holds the text that
 * is compared, hashed and stored.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/decimal.h"
#include "base/pattern.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

/* Set the text of a node. */
static void
SetText(JNode *node, JNodeKind kind, char *string)
{
	node->kind = kind;
	node->text = string;
	node->length = strlen(string);
}

/* Report why a value is refused; always false. */
static bool
Refuse(ValueFault *fault, char *message)
{
	fault->decimal = false;
	fault->message = message;
	return false;
}

/* Drop blanks at both ends. */
static void
TrimNode(JNode *node)
{
	const char *start = node->text;
	const char *end = &node->text[node->length];

	while (start < end && strchr(" \t\r\n", *start))
		start++;
	while (end > start && strchr(" \t\r\n", end[-1]))
		end--;
	if (end - start < node->length)
		SetText(node, JNODE_STRING, pnstrdup(start, end - start));
}

/* Check a string against its lengths and its pattern. */
static bool
CheckText(JNode *node, const ValueModel *value, bool trim, ValueFault *fault)
{
	int			characters;

	if (node->kind != JNODE_STRING)
		return Refuse(fault, psprintf("must be a string, not %s.", JsonTreeKindName(node)));
	if (trim)
		TrimNode(node);
	characters = pg_mbstrlen_with_len(node->text, node->length);
	if (characters < value->min_length)
		return Refuse(fault, psprintf("must have at least %d character%s.", value->min_length,
									  value->min_length == 1 ? "" : "s"));
	if (value->max_length >= 0 && characters > value->max_length)
		return Refuse(fault, psprintf("must have at most %d character%s, not %d.", value->max_length,
									  value->max_length == 1 ? "" : "s", characters));
	if (value->pattern && !PatternMatches(value->pattern, value->rewritten, node->text, node->length))
		return Refuse(fault, psprintf("must match the pattern \"%s\".", value->pattern));
	return true;
}

/* Read a number, or a string that holds one. */
static DecimalResult
ReadNumber(const JNode *node, Decimal *decimal)
{
	const char *start = node->text;
	const char *end = &node->text[node->length];

	if (node->kind == JNODE_STRING)
	{
		while (start < end && *start == ' ')
			start++;
		while (end > start && end[-1] == ' ')
			end--;
	}
	else if (node->kind != JNODE_NUMBER)
		return DECIMAL_NOT_A_NUMBER;
	return DecimalParse(start, end - start, decimal);
}

/* Compare a number with a bound of the schema, which was checked to be a number. */
static int
CompareBound(const Decimal *decimal, const char *bound)
{
	Decimal		limit;

	if (DecimalParse(bound, strlen(bound), &limit) != DECIMAL_OK)
		elog(ERROR, "bound \"%s\" is not a number", bound);
	return DecimalCompare(decimal, &limit);
}

/* Compare two numbers of a schema as bounds and values are compared. */
int
ValueCompareNumbers(const char *left, const char *right)
{
	Decimal		number;

	if (DecimalParse(left, strlen(left), &number) != DECIMAL_OK)
		elog(ERROR, "bound \"%s\" is not a number", left);
	return CompareBound(&number, right);
}

/* Check a number against its bounds. */
static bool
CheckBounds(const Decimal *decimal, const ValueModel *value, ValueFault *fault)
{
	int			order;

	if (value->minimum)
	{
		order = CompareBound(decimal, value->minimum);
		if (order < 0 || (order == 0 && value->exclusive_minimum))
			return Refuse(fault, psprintf("must be %s %s.",
										  value->exclusive_minimum ? "greater than" : "at least",
										  value->minimum));
	}
	if (value->maximum)
	{
		order = CompareBound(decimal, value->maximum);
		if (order > 0 || (order == 0 && value->exclusive_maximum))
			return Refuse(fault, psprintf("must be %s %s.",
										  value->exclusive_maximum ? "less than" : "at most",
										  value->maximum));
	}
	return true;
}

/* Check a whole number, which must fit its column. */
static bool
CheckInteger(JNode *node, const ValueModel *value, ValueFault *fault)
{
	bool		wide = value->type == VALUE_INT8;
	const char *least = wide ? "-9223372036854775808" : VALUE_INT4_LEAST;
	const char *most = wide ? "9223372036854775807" : VALUE_INT4_MOST;
	Decimal		decimal;
	DecimalResult result = ReadNumber(node, &decimal);

	if (result == DECIMAL_NOT_A_NUMBER || result == DECIMAL_TOO_FINE ||
		(result == DECIMAL_OK && decimal.scale > 0))
		return Refuse(fault, pstrdup("must be a whole number."));
	if (result == DECIMAL_TOO_LONG || CompareBound(&decimal, least) < 0 ||
		CompareBound(&decimal, most) > 0)
		return Refuse(fault, psprintf("must be between %s and %s.", least, most));
	if (!CheckBounds(&decimal, value, fault))
		return false;
	SetText(node, JNODE_NUMBER, DecimalText(&decimal));
	return true;
}

/* The greatest number with these digits in total and after the point. */
static char *
GreatestDecimal(int precision, int scale)
{
	char	   *nines = palloc(precision + 1);

	memset(nines, '9', precision);
	nines[precision] = '\0';
	if (scale <= 0)
		return nines;
	return psprintf("%s%.*s.%s", precision == scale ? "0" : "",
					precision - scale, nines, nines + precision - scale);
}

/* Check a decimal, and round it to the scale of its column. */
static bool
CheckDecimal(JNode *node, const ValueModel *value, ValueFault *fault)
{
	Decimal		decimal;
	DecimalResult result = ReadNumber(node, &decimal);
	int			scale = Max(value->scale, 0);

	if (result == DECIMAL_NOT_A_NUMBER)
		return Refuse(fault, pstrdup("must be a number."));
	if ((result == DECIMAL_TOO_LONG && value->precision <= 0) ||
		(result == DECIMAL_TOO_FINE && value->scale < 0))
		return Refuse(fault, pstrdup("must have at most 1000 digits on either side of the point."));
	if (result != DECIMAL_TOO_LONG && value->scale >= 0)
		DecimalRound(&decimal, value->scale);
	if (result != DECIMAL_TOO_LONG && !CheckBounds(&decimal, value, fault))
		return false;
	if (value->precision > 0 &&
		(result == DECIMAL_TOO_LONG ||
		 DecimalWholeDigits(&decimal) > value->precision - scale))
	{
		char	   *greatest = GreatestDecimal(value->precision, scale);

		fault->decimal = true;
		fault->message = psprintf("must be between -%s and %s.", greatest, greatest);
		return false;
	}
	SetText(node, JNODE_NUMBER, DecimalText(&decimal));
	return true;
}

/* Check a boolean.  Strings and numbers that mean one are accepted. */
static bool
CheckBoolean(JNode *node, ValueFault *fault)
{
	if (node->kind == JNODE_STRING || node->kind == JNODE_NUMBER)
	{
		bool		yes = strcmp(node->text, "1") == 0;
		bool		no = strcmp(node->text, "0") == 0;

		if (node->kind == JNODE_STRING)
		{
			yes |= pg_strcasecmp(node->text, "true") == 0;
			no |= pg_strcasecmp(node->text, "false") == 0;
		}
		if (yes || no)
		{
			node->kind = JNODE_BOOL;
			node->boolean = yes;
		}
	}
	if (node->kind != JNODE_BOOL)
		return Refuse(fault, pstrdup("must be true or false."));
	node->text = node->boolean ? "true" : "false";
	node->length = strlen(node->text);
	return true;
}

/* Check a date or time. */
static bool
CheckTemporal(JNode *node, ValueType type, ValueFault *fault)
{
	const char *expected;
	char	   *canonical;

	if (node->kind == JNODE_STRING)
	{
		expected = ValueParseText(node->text, node->length, type, &canonical);
		if (expected == NULL)
		{
			SetText(node, JNODE_STRING, canonical);
			return true;
		}
		return Refuse(fault, psprintf("must be %s.", expected));
	}
	return Refuse(fault, psprintf("must be a string, not %s.", JsonTreeKindName(node)));
}

/*
 * Make a value canonical in place.  Returns false, with the reason in *fault,
 * if it is refused.
 */
bool
ValueCanonicalise(JNode *node, const ValueModel *value, bool trim,
				  ValueFault *fault)
{
	switch ((ValueType) value->type)
	{
		case VALUE_TEXT:
			return CheckText(node, value, trim, fault);
		case VALUE_INT4:
		case VALUE_INT8:
			return CheckInteger(node, value, fault);
		case VALUE_NUMERIC:
			return CheckDecimal(node, value, fault);
		case VALUE_BOOL:
			return CheckBoolean(node, fault);
		case VALUE_DATE:
		case VALUE_TIME:
		case VALUE_TIMESTAMP:
			return CheckTemporal(node, value->type, fault);
	}
	return false;
}

/*
 * Make the canonical text of a date or time.  Returns NULL, or a description
 * of the expected form.
 */
const char *
ValueParseText(const char *text, int len, ValueType type, char **canonical)
{
	DateADT		date;
	TimeADT		time;
	TimestampTz instant;

	switch (type)
	{
		case VALUE_DATE:
			if (!DateParse(text, len, &date))
				return "a date, YYYY-MM-DD";
			*canonical = DateText(date);
			return NULL;
		case VALUE_TIME:
			if (!TimeParse(text, len, &time))
				return "a time, HH:MM:SS";
			*canonical = TimeText(time);
			return NULL;
		case VALUE_TIMESTAMP:
			if (!DateTimeParse(text, len, &instant))
				return "a date and time, YYYY-MM-DDTHH:MM:SSZ";
			*canonical = DateTimeText(instant);
			return NULL;
		default:
			elog(ERROR, "type %d is not temporal", type);
	}
}

/* A canonical text as a datum of its column's type. */
Datum
ValueToDatum(const char *canonical, int len, ValueType type)
{
	DateADT		date;
	TimeADT		time;
	TimestampTz instant;

	switch (type)
	{
		case VALUE_TEXT:
			return PointerGetDatum(cstring_to_text_with_len(canonical, len));
		case VALUE_INT4:
			return Int32GetDatum((int32) strtol(canonical, NULL, 10));
		case VALUE_INT8:
			return Int64GetDatum(strtoll(canonical, NULL, 10));
		case VALUE_NUMERIC:
			return DirectFunctionCall3(numeric_in, CStringGetDatum(canonical),
									   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
		case VALUE_BOOL:
			return BoolGetDatum(canonical[0] == 't');
		case VALUE_DATE:
			DateParse(canonical, len, &date);
			return DateADTGetDatum(date);
		case VALUE_TIME:
			TimeParse(canonical, len, &time);
			return TimeADTGetDatum(time);
		case VALUE_TIMESTAMP:
			DateTimeParse(canonical, len, &instant);
			return TimestampTzGetDatum(instant);
	}
	return (Datum) 0;
}

/* The canonical text of a stored value, as it was when it was stored. */
char *
ValueFromDatum(Datum datum, ValueType type)
{
	Decimal		decimal;
	char	   *plain;

	switch (type)
	{
		case VALUE_TEXT:
			return TextDatumGetCString(datum);
		case VALUE_INT4:
			return psprintf("%d", DatumGetInt32(datum));
		case VALUE_INT8:
			return psprintf(INT64_FORMAT, DatumGetInt64(datum));
		case VALUE_NUMERIC:
			plain = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
			if (DecimalParse(plain, strlen(plain), &decimal) != DECIMAL_OK)
				return plain;
			return DecimalText(&decimal);
		case VALUE_BOOL:
			return pstrdup(DatumGetBool(datum) ? "true" : "false");
		case VALUE_DATE:
			return DateText(DatumGetDateADT(datum));
		case VALUE_TIME:
			return TimeText(DatumGetTimeADT(datum));
		case VALUE_TIMESTAMP:
			return DateTimeText(DatumGetTimestampTz(datum));
	}
	return NULL;
}

/* Returns true if two stored values are the same.  Text is compared by its bytes. */
bool
ValueDatumsEqual(Datum a, Datum b, ValueType type)
{
	switch (type)
	{
		case VALUE_TEXT:
			return datum_image_eq(a, b, false, -1);
		case VALUE_NUMERIC:
			return DatumGetBool(DirectFunctionCall2(numeric_eq, a, b));
		case VALUE_INT8:
		case VALUE_TIME:
		case VALUE_TIMESTAMP:
			return DatumGetInt64(a) == DatumGetInt64(b);
		case VALUE_INT4:
		case VALUE_DATE:
			return DatumGetInt32(a) == DatumGetInt32(b);
		case VALUE_BOOL:
			return DatumGetBool(a) == DatumGetBool(b);
	}
	return false;
}

/* The PostgreSQL type of a value. */
Oid
ValueTypeOid(ValueType type)
{
	static const Oid oids[] = {
		[VALUE_TEXT] = TEXTOID,
		[VALUE_INT4] = INT4OID,
		[VALUE_INT8] = INT8OID,
		[VALUE_NUMERIC] = NUMERICOID,
		[VALUE_BOOL] = BOOLOID,
		[VALUE_DATE] = DATEOID,
		[VALUE_TIME] = TIMEOID,
		[VALUE_TIMESTAMP] = TIMESTAMPTZOID,
	};

	return oids[type];
}

/* The PostgreSQL array type of a value. */
Oid
ValueArrayTypeOid(ValueType type)
{
	static const Oid oids[] = {
		[VALUE_TEXT] = TEXTARRAYOID,
		[VALUE_INT4] = INT4ARRAYOID,
		[VALUE_INT8] = INT8ARRAYOID,
		[VALUE_NUMERIC] = NUMERICARRAYOID,
		[VALUE_BOOL] = BOOLARRAYOID,
		[VALUE_DATE] = DATEARRAYOID,
		[VALUE_TIME] = TIMEARRAYOID,
		[VALUE_TIMESTAMP] = TIMESTAMPTZARRAYOID,
	};

	return oids[type];
}
