/*
 * session.c
 *		Connections to SPI, with the rights that statements need.
 *
 * Verbs that read run with the rights of the caller, so that privileges and
 * policies on the tables apply.  Verbs that write run as the owner of the store,
 * because a caller needs no privileges on the tables to write documents: the
 * owner's rights are lent.  That is what a SECURITY DEFINER function does, with
 * two differences.  The owner is looked up and checked on each call (StoreOwner),
 * because the functions belong to the owner of the extension, not of the store.
 * And the mark SECURITY_RIGHTS_LENT makes restrict.c and ownercode.c guard the
 * code that runs with these rights; without it, every trigger on a table of the
 * store would be a way to run code as another role.
 */
#include "postgres.h"

#include "base/faults.h"
#include "engine/foreignkey.h"
#include "engine/nowait.h"
#include "engine/restrict.h"
#include "engine/session.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"

/* Longest value of dms.user, which is part of index entries. */
#define MAX_USER 256

static char *session_user = NULL;

/* Check a value of dms.user. */
static bool
CheckUser(char **value, void **extra, GucSource source)
{
	if (strlen(*value) > MAX_USER)
	{
		GUC_check_errdetail("The value has at most %d bytes.", MAX_USER);
		return false;
	}
	/* The options of a connection may have any bytes. */
	if (!pg_verifymbstr(*value, strlen(*value), true))
	{
		GUC_check_errdetail("The value is not valid in the encoding of the database.");
		return false;
	}
	return true;
}

/* Define the settings of this module. */
void
SessionInit(void)
{
	DefineCustomStringVariable("dms.user",
							   "The user of the application that a session acts for.",
							   "A front that serves several users with one role sets it for each request.",
							   &session_user, "", PGC_USERSET, 0, CheckUser, NULL, NULL);
}

/* Returns the user of the application; "" if the front did not set one. */
const char *
SessionUser(void)
{
	return session_user;
}

/*
 * Connect to SPI with the rights that the calling code has: within a session, for a
 * part whose memory is to be freed early.
 */
void
SessionBeginPart(void)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
}

/* End a part, and free all memory that it used. */
void
SessionEndPart(void)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "could not disconnect from SPI");
}

/*
 * Returns true if the code that runs may end the transaction: it is called neither in
 * a transaction block nor in a function.
 */
bool
SessionMayEndTransaction(void)
{
	return SPI_inside_nonatomic_context();
}

/*
 * Connect to SPI with the rights of the caller or the owner, and with more flags of
 * the security context.
 */
static void
Connect(Session *session, SessionRights rights, int flags)
{
	session->rights = rights;
	ForeignKeysForget();
	GetUserIdAndSecContext(&session->saved_user, &session->saved_context);
	if (flags != 0)
		SetUserIdAndSecContext(session->saved_user, session->saved_context | flags);
	if (rights == RIGHTS_OF_OWNER)
		SetUserIdAndSecContext(StoreOwner(),
							   session->saved_context | flags |
							   SECURITY_LOCAL_USERID_CHANGE |
							   SECURITY_NOFORCE_RLS |
							   SECURITY_RIGHTS_LENT);
	else
		SetUserIdAndSecContext(session->saved_user,
							   session->saved_context & ~SECURITY_RIGHTS_LENT);
	session->nowait_level = 0;
	if (rights == RIGHTS_OF_OWNER && StoreLockNowait() && !FAULT_SKIP("nowait_everywhere"))
		session->nowait_level = NowaitBegin();
	SessionBeginPart();
}

/*
 * Connect to SPI.  With the owner's rights, our own statements run as the owner
 * of the store and are exempt from forced policies, as the queries of foreign
 * keys are.  After an error, the end of the (sub)transaction restores the user.
 * A store of another version is refused, whatever the rights.
 */
void
SessionBegin(Session *session, SessionRights rights)
{
	if (StoreExists())
		StoreRowRequireVersion();
	Connect(session, rights, 0);
}

/* Connect with the rights of the owner, to upgrade a store of an older version. */
void
SessionBeginUpgrade(Session *session)
{
	Connect(session, RIGHTS_OF_OWNER, SECURITY_STORE_UPGRADE);
}

/* Disconnect from SPI, and restore the user and the settings. */
void
SessionEnd(Session *session)
{
	ForeignKeysForget();
	SessionEndPart();
	NowaitEnd(session->nowait_level);
	SetUserIdAndSecContext(session->saved_user, session->saved_context);
}
