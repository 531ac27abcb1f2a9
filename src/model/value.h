/*
 * value.h
 *		Values of documents: from JSON to canonical text, to datums and back.
 */
#ifndef DMS_VALUE_H
#define DMS_VALUE_H

#include "postgres.h"

#include "base/jsontree.h"
#include "model/model.h"

/* The range of a 4-byte integer. */
#define VALUE_INT4_LEAST "-2147483648"
#define VALUE_INT4_MOST "2147483647"

/* Why a value is refused, and at which stage of the checks. */
typedef struct ValueFault
{
	bool		decimal;		/* in the stage of decimals, after the schema */
	const char *message;
} ValueFault;

extern bool ValueCanonicalise(JNode *node, const ValueModel *value, bool trim,
							  ValueFault *fault);
extern int	ValueCompareNumbers(const char *left, const char *right);
extern const char *ValueParseText(const char *text, int len, ValueType type,
								  char **canonical);
extern Datum ValueToDatum(const char *canonical, int len, ValueType type);
extern char *ValueFromDatum(Datum datum, ValueType type);
extern bool ValueDatumsEqual(Datum a, Datum b, ValueType type);
extern Oid	ValueTypeOid(ValueType type);
extern Oid	ValueArrayTypeOid(ValueType type);

#endif							/* DMS_VALUE_H */
