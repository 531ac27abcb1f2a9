/*
 * datums.h
 *		Arrays as parameters of statements.
 */
#ifndef DMS_DATUMS_H
#define DMS_DATUMS_H

#include "postgres.h"

extern Datum ArrayDatum(int n, Datum *values, bool *nulls, Oid type);
extern Datum Int8ArrayDatum(int n, const int64 *numbers);
extern Datum TextArrayDatum(int n, const char *const *texts);

#endif							/* DMS_DATUMS_H */
