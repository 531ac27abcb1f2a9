/*
 * referentialid.h
 *		ReferentialIds: UUIDs that stand for identities.
 */
#ifndef DMS_REFERENTIALID_H
#define DMS_REFERENTIALID_H

#include "postgres.h"

#include "utils/uuid.h"

extern bool ReferentialIdValueIsAmbiguous(const char *value);
extern void ReferentialId(const char *project, const char *resource, int n,
						  const char *const *paths, const char *const *values,
						  pg_uuid_t *out);

#endif							/* DMS_REFERENTIALID_H */
