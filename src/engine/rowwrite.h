/*
 * rowwrite.h
 *		Writing the rows of a document.
 */
#ifndef DMS_ROWWRITE_H
#define DMS_ROWWRITE_H

#include "postgres.h"

#include "engine/keyedtable.h"
#include "nodes/lockoptions.h"


/*
 * Callback: change the values of a row, except the key; returns false if a
 * statement must decide.
 */
typedef bool (*RowEdit) (Datum *values, bool *nulls, void *arg);

extern uint64 RowWriteRun(KeyedTable *table, KeyedVerb verb, const RowSet *rows);
extern bool RowWriteInserts(KeyedTable *table, int ngiven);
extern bool RowWriteReturning(KeyedTable *table, Row *row, int ngiven);
extern bool RowWriteClaim(KeyedTable *table, const Row *row);
extern bool RowWriteEdit(KeyedTable *table, const Datum *keys, RowEdit edit, void *arg);
extern bool RowWriteLock(KeyedTable *table, int64 id, LockTupleMode mode, LockWaitPolicy wait,
						 Datum *values);

#endif							/* DMS_ROWWRITE_H */
