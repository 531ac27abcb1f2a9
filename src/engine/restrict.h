/*
 * restrict.h
 *		Restrictions on functions that run with lent rights.
 */
#ifndef DMS_RESTRICT_H
#define DMS_RESTRICT_H

#include "postgres.h"

/*
 * A flag of our own in PostgreSQL's security context: the current user is the
 * store's owner, and its rights are lent to a caller.  Like the other flags, it
 * is saved and restored with the user, by functions and by (sub)transactions.
 */
#define SECURITY_RIGHTS_LENT (1 << 16)

extern void RestrictInit(void);
extern bool RestrictRightsAreLent(void);

#endif							/* DMS_RESTRICT_H */
