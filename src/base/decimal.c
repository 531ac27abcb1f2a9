/*
 * decimal.c
 *		Reading, rounding, comparing and writing decimal numbers as text.
 *
 * Values come as text, leave as text and are hashed as text, and most never
 * need arithmetic; this keeps them exact and independent of settings.
 */
#include "postgres.h"

#include <limits.h>

#include "base/decimal.h"

/*
 * Digits on either side of the point: more than any column holds, less than
 * what would cost memory.
 */
#define MAX_DIGITS 1000

/* Drop leading zeros, and trailing ones behind the point. */
static void
Normalise(Decimal *decimal)
{
	while (decimal->scale > 0 && decimal->ndigits > 0 &&
		   decimal->digits[decimal->ndigits - 1] == '0')
	{
		decimal->ndigits--;
		decimal->scale--;
	}
	while (decimal->ndigits > 0 && decimal->digits[0] == '0')
	{
		decimal->digits++;
		decimal->ndigits--;
	}
	if (decimal->ndigits == 0)
	{
		decimal->digits = pstrdup("0");
		decimal->ndigits = 1;
		decimal->scale = 0;
		decimal->negative = false;
	}
	decimal->digits[decimal->ndigits] = '\0';
}

/* Read an exponent; false when there is none where one should be. */
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
 * Cut off digits that stand further behind the point than anybody looks.  The
 * digit that decides about rounding is before them.
 */
static DecimalResult
CutFraction(Decimal *decimal)
{
	int			drop = decimal->scale - MAX_DIGITS;

	if (drop <= 0)
		return DECIMAL_OK;
	decimal->ndigits = Max(decimal->ndigits - drop, 0);
	decimal->scale = MAX_DIGITS;
	Normalise(decimal);
	return DECIMAL_TOO_FINE;
}

/* Apply the exponent to a number that is not zero. */
static DecimalResult
Scale(Decimal *decimal, int exponent)
{
	char	   *digits;

	if (decimal->ndigits - decimal->scale + exponent > MAX_DIGITS)
		return DECIMAL_TOO_LONG;
	decimal->scale -= exponent;
	if (decimal->scale < 0)
	{
		digits = palloc(decimal->ndigits - decimal->scale + 1);
		memcpy(digits, decimal->digits, decimal->ndigits);
		memset(digits + decimal->ndigits, '0', -decimal->scale);
		decimal->digits = digits;
		decimal->ndigits -= decimal->scale;
		decimal->scale = 0;
	}
	Normalise(decimal);
	return CutFraction(decimal);
}

/*
 * Read a number: an optional sign, digits with an optional point, an optional
 * exponent.
 */
DecimalResult
DecimalParse(const char *text, int len, Decimal *decimal)
{
	const char *at = text;
	const char *end = text +len;
	char	   *digits = palloc(len + 2);
	int			n = 0;
	int			scale = 0;
	int			exponent = 0;
	bool		point = false;

	decimal->negative = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	for (; at < end && *at != 'e' && *at != 'E'; at++)
	{
		if (*at == '.' && !point)
			point = true;
		else if (*at >= '0' && *at <= '9')
		{
			digits[n++] = *at;
			scale += point;
		}
		else
			return DECIMAL_NOT_A_NUMBER;
	}
	if (n == 0 || (at < end && !ParseExponent(at + 1, end, &exponent)))
		return DECIMAL_NOT_A_NUMBER;
	decimal->digits = digits;
	decimal->ndigits = n;
	decimal->scale = scale;
	digits[n] = '\0';
	Normalise(decimal);
	if (strcmp(decimal->digits, "0") == 0)
		return DECIMAL_OK;
	return Scale(decimal, exponent);
}

/* Round half away from zero to so many digits behind the point. */
void
DecimalRound(Decimal *decimal, int scale)
{
	int			drop = decimal->scale - scale;
	int			kept = decimal->ndigits - drop;
	bool		up;
	char	   *digits;

	if (drop <= 0)
		return;
	if (kept < 0)
	{
		decimal->ndigits = 0;
		Normalise(decimal);
		return;
	}
	up = decimal->digits[kept] >= '5';
	digits = palloc(kept + 2);
	digits[0] = '0';
	memcpy(digits + 1, decimal->digits, kept);
	for (int i = kept; up && i >= 0; i--)
	{
		up = digits[i] == '9';
		digits[i] = up ? '0' : digits[i] + 1;
	}
	decimal->digits = digits;
	decimal->ndigits = kept + 1;
	decimal->scale = scale;
	Normalise(decimal);
}

/* How many digits stand before the point; none for 0.5. */
int
DecimalWholeDigits(const Decimal *decimal)
{
	if (strcmp(decimal->digits, "0") == 0)
		return 0;
	return Max(decimal->ndigits - decimal->scale, 0);
}

/* Compare two numbers without their signs. */
static int
CompareMagnitude(const Decimal *a, const Decimal *b)
{
	int			whole_a = strcmp(a->digits, "0") == 0 ? INT_MIN : a->ndigits - a->scale;
	int			whole_b = strcmp(b->digits, "0") == 0 ? INT_MIN : b->ndigits - b->scale;

	if (whole_a != whole_b)
		return whole_a < whole_b ? -1 : 1;

	/* The first digits have the same weight, so text order is value order. */
	return strcmp(a->digits, b->digits);
}

int
DecimalCompare(const Decimal *a, const Decimal *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? CompareMagnitude(b, a) : CompareMagnitude(a, b);
}

/* So many zeros. */
static char *
Zeros(int n)
{
	char	   *zeros = palloc(n + 1);

	memset(zeros, '0', n);
	zeros[n] = '\0';
	return zeros;
}

/* Fixed-point text. */
char *
DecimalText(const Decimal *decimal)
{
	const char *sign = decimal->negative ? "-" : "";
	int			whole = decimal->ndigits - decimal->scale;

	if (decimal->scale == 0)
		return psprintf("%s%s", sign, decimal->digits);
	if (whole > 0)
		return psprintf("%s%.*s.%s", sign, whole, decimal->digits,
						decimal->digits + whole);
	return psprintf("%s0.%.*s%s", sign, -whole, Zeros(-whole), decimal->digits);
}
