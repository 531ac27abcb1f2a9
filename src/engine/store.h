/*
 * store.h
 *		The core tables of this database, their owner, and the gate.
 */
#ifndef DMS_STORE_H
#define DMS_STORE_H

#include "postgres.h"

#include "storage/lockdefs.h"

/* The core tables, and the sequences that number documents and jobs. */
typedef enum StoreTableId
{
	STORE_DOCUMENT,
	STORE_REFERENCE_EDGE,
	STORE_RESOURCE_MODEL,
	STORE_RESOURCE_TYPE,
	STORE_STORE,
	STORE_REFERENTIAL_IDENTITY,
	STORE_DESCRIPTOR,
	STORE_EDGE_SOURCE,
	STORE_IDENTITY_LOCK,
	STORE_EFFECTIVE_SCHEMA,
	STORE_SCHEMA_COMPONENT,
	STORE_IDEMPOTENCY_KEYS,
	STORE_DOCUMENT_VERSION,
	STORE_PARENT_CHILD,
	STORE_COLLECTION_MEMBER,
	STORE_UNIQUE_KEY_VALUE,
	STORE_DOCUMENT_ACCOUNT,
	STORE_DOCUMENT_CHANGE,
	STORE_TRACKED_CHANGE,
	STORE_DOCUMENT_CACHE,
	STORE_CHANGE_CONSUMER,
	STORE_PROJECTION_FAILURE,
	STORE_CACHE_REBUILD,
	STORE_VERSION_DIFF,
	STORE_JOB,
	STORE_DEAD_JOB,
	STORE_DOCUMENT_SEQUENCE,
	STORE_JOB_SEQUENCE,
	STORE_TABLES
} StoreTableId;

/*
 * A flag of the security context: the store is being upgraded, and tables may be
 * missing.  The end of a (sub)transaction clears it.
 */
#define SECURITY_STORE_UPGRADE (1 << 17)

extern void StoreInit(void);
extern Oid	StoreExtension(void);
extern Oid	StoreSchema(void);
extern bool StoreExists(void);
extern Oid	StoreTable(StoreTableId id);
extern bool StoreTableIsEmpty(StoreTableId id);
extern Oid	StoreOwner(void);
extern bool StoreTrusts(Oid owner, Oid role);
extern void StoreCheckSchema(Oid schema, Oid owner);
extern void StoreCheckRelation(Oid relation, char kind, Oid owner);
extern void StoreGate(LOCKMODE mode);
extern void StoreLockModels(void);
extern void StoreCloseModels(void);
extern void StoreDeployLock(void);
extern uint64 StoreChanges(void);
extern bool StoreLockNowait(void);

#endif							/* DMS_STORE_H */
