/*
 * uniquevalues.h
 *		Values that only one document of a type may have.
 */
#ifndef DMS_UNIQUEVALUES_H
#define DMS_UNIQUEVALUES_H

#include "postgres.h"

#include "graph/uniquekeys.h"

extern bool UniqueValueRead(const UniqueKey *key, UniqueKeyRow *row);
extern int	UniqueValuesList(const UniqueKey *from, int limit, UniqueKeyRow **rows);
extern bool UniqueValuesShowReserved(void);
extern char *UniqueValueHolder(int64 document_id, MemoryContext context);

#endif							/* DMS_UNIQUEVALUES_H */
