/*
 * store.h
 *		The store: the core tables of this database, their owner, and the gate.
 */
#ifndef DMS_STORE_H
#define DMS_STORE_H

#include "postgres.h"

#include "storage/lockdefs.h"

/* The core tables that C code needs to find by itself. */
typedef enum StoreTableId
{
	STORE_DOCUMENT,
	STORE_REFERENCE_EDGE,
	STORE_RESOURCE_MODEL,
	STORE_TABLES
} StoreTableId;

extern void StoreInit(void);
extern bool StoreExists(void);
extern Oid	StoreTable(StoreTableId id);
extern Oid	StoreOwner(void);
extern void StoreGate(LOCKMODE mode);
extern void StoreGateClose(void);
extern uint64 StoreGeneration(void);
extern bool StoreLockNowait(void);

#endif							/* DMS_STORE_H */
