/*
 * decimal.c
 *		Reading, rounding, comparing and writing decimal numbers as text.
 *
 * PostgreSQL's numeric could do the rest after the form of a number and its
 * count of digits are checked, which is half of this module.  But values come
 * as text, leave as text and are hashed as text.  With numeric_in() and
 * numeric_out(), checking an integer, which is compared with two bounds, took
 * 0.41 us instead of 0.08 us; a small write that changes nothing takes 34 us, so
 * a few integers would slow it down by several percent.
 */
#include "postgres.h"

#include <limits.h>

#include "base/decimal.h"

/*
 * Digits on either side of the point: more than any column holds, less than
 * would cost memory.
 */
#define MAX_DIGITS 1000

/* Finish a number whose digits were cut: drop zeros that are last now. */
static void
Normalise(Decimal *decimal)
{
	while (decimal->ndigits > 0 && decimal->digits[decimal->ndigits - 1] == '0')
	{
		decimal->ndigits--;
		decimal->scale--;
	}
	if (decimal->ndigits == 0)
	{
		decimal->scale = 0;
		decimal->negative = false;
	}
	decimal->digits[decimal->ndigits] = '\0';
}

/* Read an exponent; returns false if there is none where one should be. */
static bool
ParseExponent(const char *at, const char *end, int *exponent)
{
	bool		negative = at < end && *at == '-';
	int			value = 0;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end)
		return false;
	for (; at < end; at++)
	{
		if (*at < '0' || *at > '9')
			return false;
		if (value < 1000000)
			value = value * 10 + (*at - '0');
	}
	*exponent = negative ? -value : value;
	return true;
}

/*
 * Read an optional sign, digits with an optional point, and an optional
 * exponent; returns false if the text has another form.  A request can hold
 * millions of digits: all are counted, but those past the limits on both sides
 * of the point are not kept.
 */
static bool
ParseDigits(const char *at, const char *end, Decimal *decimal)
{
	int			room = Min(end - at, 2 * MAX_DIGITS);
	int			exponent = 0;
	int			n = 0;			/* digits after leading zeros */
	int			scale = 0;
	bool		any = false;
	bool		point = false;

	decimal->digits = palloc(room + 1);
	decimal->ndigits = 0;
	decimal->negative = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	for (; at < end && *at != 'e' && *at != 'E'; at++)
	{
		if (*at >= '0' && *at <= '9')
		{
			any = true;
			scale += point;
			if (n == 0 && *at == '0')
				continue;
			if (n < room)
				decimal->digits[n] = *at;
			n++;
			if (*at != '0')
				decimal->ndigits = n;
		}
		else if (*at == '.' && !point)
			point = true;
		else
			return false;
	}
	if (!any || (at < end && !ParseExponent(at + 1, end, &exponent)))
		return false;
	decimal->scale = scale - (n - decimal->ndigits) - exponent;
	return true;
}

/* Read a number. */
DecimalResult
DecimalParse(const char *number, int len, Decimal *decimal)
{
	DecimalResult result = DECIMAL_OK;

	if (!ParseDigits(number, number + len, decimal))
		return DECIMAL_NOT_A_NUMBER;
	if (decimal->ndigits > 0)
	{
		if (decimal->ndigits - decimal->scale > MAX_DIGITS)
			return DECIMAL_TOO_LONG;
		if (decimal->scale > MAX_DIGITS)
		{
			/* The digit that decides about rounding is before these. */
			decimal->ndigits = Max(decimal->ndigits - (decimal->scale - MAX_DIGITS), 0);
			decimal->scale = MAX_DIGITS;
			result = DECIMAL_TOO_FINE;
		}
	}
	Normalise(decimal);
	return result;
}

/* Round half away from zero to a number of digits after the point. */
void
DecimalRound(Decimal *decimal, int scale)
{
	int			kept = decimal->ndigits - (decimal->scale - scale);

	if (decimal->scale <= scale)
		return;
	decimal->ndigits = Max(kept, 0);
	decimal->scale = scale;
	if (kept >= 0 && decimal->digits[kept] >= '5')
	{
		while (decimal->ndigits > 0 && decimal->digits[decimal->ndigits - 1] == '9')
		{
			decimal->ndigits--;
			decimal->scale--;
		}
		if (decimal->ndigits == 0)
			decimal->digits[decimal->ndigits++] = '1';
		else
			decimal->digits[decimal->ndigits - 1]++;
	}
	Normalise(decimal);
}

/* Count the digits before the point: none for 0.5. */
int
DecimalWholeDigits(const Decimal *decimal)
{
	return Max(decimal->ndigits - decimal->scale, 0);
}

/* Compare two numbers without their signs. */
static int
CompareMagnitude(const Decimal *a, const Decimal *b)
{
	int			whole_a = a->ndigits == 0 ? INT_MIN : a->ndigits - a->scale;
	int			whole_b = b->ndigits == 0 ? INT_MIN : b->ndigits - b->scale;

	if (whole_a != whole_b)
		return whole_a < whole_b ? -1 : 1;

	/* The first digits have the same weight, so text order is value order. */
	return strcmp(a->digits, b->digits);
}

/* Compare two numbers: less than, equal to or greater than 0, as strcmp(). */
int
DecimalCompare(const Decimal *a, const Decimal *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? CompareMagnitude(b, a) : CompareMagnitude(a, b);
}

/* Returns the number in fixed-point notation. */
char *
DecimalText(const Decimal *decimal)
{
	int			whole = decimal->ndigits - decimal->scale;	/* place of the point */
	int			end = Max(decimal->ndigits, whole);
	char	   *result = palloc(end - Min(whole, 0) + 4);
	char	   *at = result;

	if (decimal->negative)
		*at++ = '-';
	if (whole <= 0)
		*at++ = '0';
	for (int i = Min(whole, 0); i < end; i++)
	{
		if (i == whole)
			*at++ = '.';
		*at++ = i >= 0 && i < decimal->ndigits ? decimal->digits[i] : '0';
	}
	*at = '\0';
	return result;
}
