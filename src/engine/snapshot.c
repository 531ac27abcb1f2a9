/*
 * snapshot.c
 *		Snapshots that several read-only statements and scans share.
 */
#include "postgres.h"

#include "access/xact.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "utils/snapmgr.h"

/*
 * Push a new snapshot: statements that run read-only until SnapshotEnd() see
 * one state of the database, our own changes included.
 */
void
SnapshotBegin(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* The same, but newer than the transaction's snapshot if that is fixed. */
void
SnapshotBeginLatest(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
}

/*
 * Push a catalog snapshot.  Models are read as they are now, whatever the
 * snapshot of the statement or transaction that needs them.
 */
void
SnapshotBeginCatalog(void)
{
	PushActiveSnapshot(GetCatalogSnapshot(StoreTable(STORE_RESOURCE_MODEL)));
}

/* Pop the snapshot that one of the functions above has pushed. */
void
SnapshotEnd(void)
{
	PopActiveSnapshot();
}
