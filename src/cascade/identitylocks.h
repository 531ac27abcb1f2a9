/*
 * identitylocks.h
 *		Locks on identities, and the queue for them.
 */
#ifndef DMS_IDENTITYLOCKS_H
#define DMS_IDENTITYLOCKS_H

#include "postgres.h"

/* The start of an INSERT of the lock row of a new document. */
#define IDENTITY_LOCK_INSERT_SQL "INSERT INTO dms.IdentityLock (DocumentId)"

/*
 * Takes the locks of a change of identities.  Without wait, it does not wait for
 * the identities that change, and returns false if one of them is not free.
 */
typedef bool (*IdentityLocksStep) (void *arg, bool wait);

extern void IdentityLocksByTurns(IdentityLocksStep step, void *arg);
extern int64 *IdentityLocksTake(const int64 *ids, int n, int *nlocked);
extern int64 *IdentityLocksTakeFree(const int64 *ids, int n, int *nlocked);
extern int64 *IdentityLocksShare(const int64 *ids, int n, int *nlocked);
extern bool IdentityLocksTakeFirst(int64 document_id);

#endif							/* DMS_IDENTITYLOCKS_H */
