/*
 * identityturns.h
 *		Taking the locks of a change of identities without starving.
 */
#ifndef DMS_IDENTITYTURNS_H
#define DMS_IDENTITYTURNS_H

#include "postgres.h"

#include "cascade/identitylocks.h"

/*
 * Takes the locks of a change of identities.  If busy is not NULL, it does not
 * wait for the identities that change.  If one of them is not free, it adds those
 * that are not to *busy, and returns false.
 */
typedef bool (*IdentityTurnsStep) (void *arg, BusyIdentities *busy);

extern void IdentityTurnsRun(IdentityTurnsStep step, void *arg);
extern bool IdentityTurnsTakeOne(int64 document_id);

#endif							/* DMS_IDENTITYTURNS_H */
