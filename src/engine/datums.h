/*
 * datums.h
 *		Making arrays, which are parameters of statements.
 */
#ifndef DMS_DATUMS_H
#define DMS_DATUMS_H

#include "postgres.h"

extern Datum DatumArray(int n, Datum *values, bool *nulls, Oid type);
extern Datum DatumInt8Array(int n, const int64 *numbers);
extern Datum DatumTextArray(int n, const char *const *texts);

#endif							/* DMS_DATUMS_H */
