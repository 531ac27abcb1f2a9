/*
 * snapshot.c
 *		Snapshots that several read-only statements and scans share.
 *
 * A document is in several tables.  If each of them were read in a snapshot of
 * its own, the parts could be of different versions.
 */
#include "postgres.h"

#include "access/xact.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "utils/snapmgr.h"

/*
 * Push a new snapshot.  Statements that run read-only until SnapshotEnd() see
 * one state of the database, including our own changes.
 */
void
SnapshotBegin(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/*
 * Like SnapshotBegin(), but the snapshot is new even in Repeatable Read and
 * Serializable transactions, whose snapshot is fixed.
 */
void
SnapshotBeginLatest(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
}

/*
 * Push a catalog snapshot.  Models are read in their current state, whatever
 * the snapshot of the statement or transaction that needs them, because the
 * tables that they describe are those of the current catalogs, too.
 */
void
SnapshotBeginCatalog(void)
{
	PushActiveSnapshot(GetCatalogSnapshot(StoreTable(STORE_RESOURCE_MODEL)));
}

/* Pop the snapshot that one of the functions above pushed. */
void
SnapshotEnd(void)
{
	PopActiveSnapshot();
}
