/*
 * account.h
 *		The account that documents belong to.
 */
#ifndef DMS_ACCOUNT_H
#define DMS_ACCOUNT_H

#include "postgres.h"

#include "utils/uuid.h"

extern uint64 AccountSet(const pg_uuid_t *uuid, const pg_uuid_t *account_uuid, bool subtree);

#endif							/* DMS_ACCOUNT_H */
