/*
 * identityread.h
 *		Identities of documents by their ids, read without a planner.
 */
#ifndef DMS_IDENTITYREAD_H
#define DMS_IDENTITYREAD_H

#include "postgres.h"

#include "engine/keyscan.h"
#include "model/modelcache.h"

extern bool IdentityReadRows(Resource *resource, int projection, const int64 *ids, int n,
							 bool can_change, StoredRows *rows);

#endif							/* DMS_IDENTITYREAD_H */
