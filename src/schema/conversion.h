/*
 * conversion.h
 *		From the type of a column to another one.
 */
#ifndef DMS_CONVERSION_H
#define DMS_CONVERSION_H

#include "postgres.h"

#include "model/model.h"

typedef enum ConversionKind
{
	CONVERSION_NONE,			/* the types are equal */
	CONVERSION_HARMLESS,		/* no row changes, and both schemas can be
								 * used */
	CONVERSION_WIDER,			/* every value stays the same */
	CONVERSION_NARROWER,		/* values that do not fit are lost */
	CONVERSION_OTHER			/* values look different, or are lost */
} ConversionKind;

typedef struct Conversion
{
	ConversionKind kind;
	const char *expression;		/* as SQL; NULL where a value does not fit */
} Conversion;

extern Conversion ConversionMake(ConversionKind kind, const char *expression);
extern Conversion ConversionOf(const char *column, const ValueModel *before, const ValueModel *after);

#endif							/* DMS_CONVERSION_H */
