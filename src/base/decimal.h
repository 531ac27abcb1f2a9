/*
 * decimal.h
 *		Decimal numbers as canonical text.
 */
#ifndef DMS_DECIMAL_H
#define DMS_DECIMAL_H

#include "postgres.h"

/*
 * A finite decimal: (-1)^negative * digits * 10^-scale.  There are no leading
 * and no trailing zeros, so that each number has one form; zero has no digits.
 */
typedef struct Decimal
{
	bool		negative;
	char	   *digits;
	int			ndigits;
	int			scale;			/* digits after the point; negative if the
								 * number ends in zeros before it */
} Decimal;

typedef enum DecimalResult
{
	DECIMAL_OK,
	DECIMAL_NOT_A_NUMBER,
	DECIMAL_TOO_LONG,			/* before the point */
	DECIMAL_TOO_FINE			/* after it: cut off, fit for rounding only */
} DecimalResult;

extern DecimalResult DecimalParse(const char *number, int len, Decimal *decimal);
extern void DecimalRound(Decimal *decimal, int scale);
extern int	DecimalWholeDigits(const Decimal *decimal);
extern int	DecimalCompare(const Decimal *a, const Decimal *b);
extern char *DecimalText(const Decimal *decimal);

#endif							/* DMS_DECIMAL_H */
