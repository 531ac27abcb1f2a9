/*
 * foreignkey.h
 *		Checking foreign keys of rows that were written without statements.
 */
#ifndef DMS_FOREIGNKEY_H
#define DMS_FOREIGNKEY_H

#include "postgres.h"

#include "engine/writefacts.h"
#include "executor/tuptable.h"

extern void ForeignKeysForget(void);
extern bool ForeignKeysHold(Relation relation, const ForeignKey *keys, int nkeys,
							TupleTableSlot **rows, TupleTableSlot *old, int nrows);

#endif							/* DMS_FOREIGNKEY_H */
