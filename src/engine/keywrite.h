/*
 * keywrite.h
 *		Many rows of a table written at a time, without an executor.
 */
#ifndef DMS_KEYWRITE_H
#define DMS_KEYWRITE_H

#include "postgres.h"

#include "engine/keyscan.h"
#include "nodes/lockoptions.h"

/*
 * Change a row: the values are those of the table's columns, and all but the
 * first, the document's id, may be replaced.  False to leave the row to SQL.
 */
typedef bool (*RowChange) (Datum *values, void *arg);

/* Shall this row be deleted? */
typedef bool (*RowChoice) (const Datum *values, void *arg);

/* Learn that a row is locked. */
typedef void (*RowTaken) (const Datum *values, void *arg);

/* Do by SQL what could not be done to a row. */
typedef void (*RowBySql) (const Datum *values, void *arg);

/* Give the values of the columns of a row to insert. */
typedef void (*RowSource) (int row, Datum *values, void *arg);

extern bool KeyUpdate(const KeyScanTable *table, const int64 *ids, int n,
					  RowChange change, RowBySql by_sql, void *arg);
extern bool KeyDelete(const KeyScanTable *table, const int64 *ids, int n,
					  const KeyScanKey *others, int nothers,
					  RowChoice choose, RowBySql by_sql, void *arg);
extern bool KeyInsert(const KeyScanTable *table, int n, RowSource source, void *arg);
extern bool KeyLock(const KeyScanTable *table, const int64 *ids, int n,
					LockWaitPolicy wait, RowTaken taken, RowBySql by_sql, void *arg);

#endif							/* DMS_KEYWRITE_H */
