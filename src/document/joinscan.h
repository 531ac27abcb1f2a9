/*
 * joinscan.h
 *		Identities of documents by their ids, read without a planner.
 */
#ifndef DMS_JOINSCAN_H
#define DMS_JOINSCAN_H

#include "postgres.h"

#include "engine/keyscan.h"
#include "model/modelcache.h"

extern bool JoinScanRead(Resource *resource, int projection, const int64 *ids, int n,
						 StoredRows *rows);

#endif							/* DMS_JOINSCAN_H */
