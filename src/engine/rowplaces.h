/*
 * rowplaces.h
 *		Where rows were found that are read over and over again.
 */
#ifndef DMS_ROWPLACES_H
#define DMS_ROWPLACES_H

#include "postgres.h"

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* What identifies a row: the value of a column, a bigint or a uuid. */
typedef struct RowKey
{
	AttrNumber	column;
	Oid			type;
	Datum		value;
} RowKey;

extern bool RowPlacesFind(Relation relation, const RowKey *key, Snapshot snapshot, TupleTableSlot *slot);
extern void RowPlacesLearn(Relation relation, const RowKey *key, TupleTableSlot *slot);
extern void RowPlacesMove(Relation relation, const RowKey *key, const ItemPointerData *place);

#endif							/* DMS_ROWPLACES_H */
