/*
 * session.h
 *		Connections to SPI, with the rights that statements need.
 */
#ifndef DMS_SESSION_H
#define DMS_SESSION_H

#include "postgres.h"

/* The role whose rights statements run with; see session.c. */
typedef enum SessionRights
{
	RIGHTS_OF_CALLER,
	RIGHTS_OF_OWNER
} SessionRights;

/* A connection, and the state to restore when it ends. */
typedef struct Session
{
	Oid			saved_user;
	int			saved_context;
	SessionRights rights;
	int			nowait_level;	/* of settings; 0 if waits are allowed */
} Session;

extern void SessionInit(void);
extern const char *SessionUser(void);
extern void SessionBegin(Session *session, SessionRights rights);
extern void SessionBeginUpgrade(Session *session);
extern void SessionEnd(Session *session);
extern void SessionBeginPart(void);
extern void SessionEndPart(void);
extern bool SessionMayEndTransaction(void);

#endif							/* DMS_SESSION_H */
