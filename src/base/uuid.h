/*
 * uuid.h
 *		UUIDs made from names (v5) and from time (v7), and ReferentialIds.
 */
#ifndef DMS_UUID_H
#define DMS_UUID_H

#include "postgres.h"

#include "utils/uuid.h"

/* edf1edf1-3df1-3df1-3df1-3df1edf1edf1: the namespace of all ReferentialIds. */
extern const unsigned char ReferentialNamespace[UUID_LEN];

extern void UuidV5(const unsigned char ns[UUID_LEN], const char *name,
				   size_t len, pg_uuid_t *out);
extern void UuidV7(pg_uuid_t *out);
extern char *UuidText(const pg_uuid_t *uuid);
extern bool UuidParse(const char *string, pg_uuid_t *uuid);

extern bool ReferentialValueIsAmbiguous(const char *value);
extern void ReferentialId(const char *project, const char *resource, int n,
						  const char *const *paths, const char *const *values,
						  pg_uuid_t *out);

#endif							/* DMS_UUID_H */
