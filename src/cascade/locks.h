/*
 * locks.h
 *		Share locks on the documents that a document refers to.
 */
#ifndef DMS_LOCKS_H
#define DMS_LOCKS_H

#include "postgres.h"

#include "document/flatten.h"

extern void LocksInit(void);
extern bool LockChildren(FlatDocument *flat, int64 updated_id);

#endif							/* DMS_LOCKS_H */
