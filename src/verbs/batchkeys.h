/*
 * batchkeys.h
 *		Natural keys of the documents of one call.
 */
#ifndef DMS_BATCHKEYS_H
#define DMS_BATCHKEYS_H

#include "postgres.h"

#include "verbs/batch.h"

extern void BatchKeysWrite(Batch *batch);

#endif							/* DMS_BATCHKEYS_H */
