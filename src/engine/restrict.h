/*
 * restrict.h
 *		Restrictions on functions that run with lent rights.
 */
#ifndef DMS_RESTRICT_H
#define DMS_RESTRICT_H

#include "postgres.h"

/*
 * A security context of our own, besides PostgreSQL's: rights are lent.  Like
 * those, it ends with the function that set it, or with the (sub)transaction.
 */
#define SECURITY_RIGHTS_LENT (1 << 16)

extern void RestrictInit(void);
extern bool RestrictRightsAreLent(void);

#endif							/* DMS_RESTRICT_H */
