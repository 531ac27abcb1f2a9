/*
 * decimal.h
 *		Decimal numbers as canonical text.
 */
#ifndef DMS_DECIMAL_H
#define DMS_DECIMAL_H

#include "postgres.h"

/*
 * A finite decimal: (-1)^negative * digits * 10^-scale.  Canonical: no leading
 * zeros, no trailing zeros behind the point, zero is not negative.
 */
typedef struct Decimal
{
	bool		negative;
	char	   *digits;			/* "0" for zero */
	int			ndigits;
	int			scale;			/* digits behind the point, >= 0 */
} Decimal;

typedef enum DecimalResult
{
	DECIMAL_OK,
	DECIMAL_NOT_A_NUMBER,
	DECIMAL_TOO_LONG,			/* before the point */
	DECIMAL_TOO_FINE			/* behind it: cut off, fit for rounding only */
} DecimalResult;

extern DecimalResult DecimalParse(const char *text, int len, Decimal *decimal);
extern void DecimalRound(Decimal *decimal, int scale);
extern int	DecimalWholeDigits(const Decimal *decimal);
extern int	DecimalCompare(const Decimal *a, const Decimal *b);
extern char *DecimalText(const Decimal *decimal);

#endif							/* DMS_DECIMAL_H */
