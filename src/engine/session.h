/*
 * session.h
 *		Connections to SPI, snapshots, and subtransactions.
 */
#ifndef DMS_SESSION_H
#define DMS_SESSION_H

#include "postgres.h"

/* The role whose rights statements run with. */
typedef enum StoreRights
{
	RIGHTS_OF_CALLER,
	RIGHTS_OF_OWNER
} StoreRights;

typedef struct StoreSession
{
	Oid			saved_user;
	int			saved_context;
	StoreRights rights;
	int			guc_level;		/* 0: no settings are changed */
} StoreSession;

extern void StoreBegin(StoreSession *session, StoreRights rights);
extern void StoreEnd(StoreSession *session);

/* Returns true to keep what it did. */
typedef bool (*AttemptFunction) (void *arg);

extern bool Attempt(AttemptFunction function, void *arg);
extern ErrorData *AttemptCatch(AttemptFunction function, void *arg, bool *stays);

extern void SnapshotBegin(void);
extern void SnapshotBeginLatest(void);
extern void SnapshotBeginCatalog(void);
extern void SnapshotEnd(void);

#endif							/* DMS_SESSION_H */
