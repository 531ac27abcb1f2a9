/*
 * identitylocks.h
 *		Locks on identities.
 */
#ifndef DMS_IDENTITYLOCKS_H
#define DMS_IDENTITYLOCKS_H

#include "postgres.h"

#include "nodes/lockoptions.h"

/* An identity to lock, and how. */
typedef struct IdentityClaim
{
	int			rank;			/* of the resource; the order of locks */
	int64		document_id;
	LockTupleMode mode;
	bool		gone;			/* set if there is no such document */
} IdentityClaim;

/* Identities whose locks were not free when they were tried. */
typedef struct BusyIdentities
{
	int64	   *ids;
	int			n;
} BusyIdentities;

extern bool IdentityLocksInserts(void);
extern void IdentityLocksAdd(int64 document_id);
extern int64 *IdentityLocksTake(const int64 *ids, int n, int *nlocked);
extern int64 *IdentityLocksTakeFree(const int64 *ids, int n, int *nlocked, BusyIdentities *busy);
extern void IdentityLocksClaim(IdentityClaim *claims, int n);
extern int64 *IdentityLocksShare(const int64 *ids, int n, int *nlocked);

#endif							/* DMS_IDENTITYLOCKS_H */
