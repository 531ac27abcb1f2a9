/*
 * snapshot.h
 *		Snapshots that several read-only statements and scans share.
 */
#ifndef DMS_SNAPSHOT_H
#define DMS_SNAPSHOT_H

#include "postgres.h"

extern void SnapshotBegin(void);
extern void SnapshotBeginLatest(void);
extern void SnapshotBeginCatalog(void);
extern void SnapshotEnd(void);

#endif							/* DMS_SNAPSHOT_H */
