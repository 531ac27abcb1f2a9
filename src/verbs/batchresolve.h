/*
 * batchresolve.h
 *		References between the documents of one call.
 */
#ifndef DMS_BATCHRESOLVE_H
#define DMS_BATCHRESOLVE_H

#include "postgres.h"

#include "verbs/batch.h"

extern void BatchResolve(Batch *batch);
extern void BatchResolveSeeds(Batch *batch);
extern void BatchResolveLock(Batch *batch);
extern void BatchResolveAgain(Batch *batch);
extern void BatchResolveRaiseMoved(void) pg_attribute_noreturn();

#endif							/* DMS_BATCHRESOLVE_H */
