/*
 * keywrite.h
 *		Writing rows of many documents at a time.
 */
#ifndef DMS_KEYWRITE_H
#define DMS_KEYWRITE_H

#include "postgres.h"

#include "engine/keyscan.h"
#include "nodes/lockoptions.h"

/* Callback: change the values of a row, except the key. */
typedef void (*RowChange) (Datum *values, void *arg);

/* Callback: returns true if the row is to be deleted. */
typedef bool (*RowChoice) (const Datum *values, void *arg);

/* Callback: called for each row that was locked. */
typedef void (*RowTaken) (const Datum *values, void *arg);

/* Callback: fill in the values of a row to insert. */
typedef void (*RowSource) (int row, Datum *values, void *arg);

extern void KeyWriteUpdate(KeyedTable *table, const int64 *ids, int n, RowChange change, void *arg);
extern void KeyWriteDelete(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg);
extern bool KeyWriteTryDelete(KeyedTable *table, const int64 *ids, int n, RowChoice choose, void *arg,
							  uint64 *deleted);
extern void KeyWriteInsert(KeyedTable *table, int n, RowSource source, void *arg);
extern void KeyWriteLock(KeyedTable *table, const int64 *ids, int n, LockWaitPolicy wait,
						 RowTaken taken, void *arg);

#endif							/* DMS_KEYWRITE_H */
