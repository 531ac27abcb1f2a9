/*
 * session.h
 *		Connections to SPI.
 */
#ifndef DMS_SESSION_H
#define DMS_SESSION_H

#include "postgres.h"

/* The role whose rights statements run with. */
typedef enum SessionRights
{
	RIGHTS_OF_CALLER,
	RIGHTS_OF_OWNER
} SessionRights;

typedef struct Session
{
	Oid			saved_user;
	int			saved_context;
	SessionRights rights;
	int			guc_level;		/* 0: no settings are changed */
} Session;

extern void SessionInit(void);
extern const char *SessionUser(void);
extern void SessionBegin(Session *session, SessionRights rights);
extern void SessionEnd(Session *session);

#endif							/* DMS_SESSION_H */
