/*
 * result.h
 *		Getting checked values from the last result of SPI.
 */
#ifndef DMS_RESULT_H
#define DMS_RESULT_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "utils/uuid.h"

extern uint64 ResultRows(void);
extern void ResultFree(void);
extern bool ResultTypeFits(Oid found, Oid expected);
extern void ResultExpect(const Oid *types);
extern void ResultRow(uint64 row, Datum *values, bool *nulls);
extern Datum ResultDatum(uint64 row, int column, bool *isnull);
extern Datum ResultTypedDatum(uint64 row, int column, Oid type, bool *isnull);
extern char *ResultText(uint64 row, int column);
extern char *ResultName(uint64 row, int column);
extern char **ResultNames(int column);
extern int64 ResultInt64(uint64 row, int column);
extern int64 *ResultIds(uint64 rows, int *n);
extern int32 ResultInt32(uint64 row, int column);
extern bool ResultBool(uint64 row, int column);
extern pg_uuid_t ResultUuid(uint64 row, int column);
extern TimestampTz ResultTime(uint64 row, int column);
extern void ResultRefuse(const char *what) pg_attribute_noreturn();

#endif							/* DMS_RESULT_H */
