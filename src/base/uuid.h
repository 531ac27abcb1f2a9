/*
 * uuid.h
 *		UUIDs made from names (v5) and from time (v7).
 */
#ifndef DMS_UUID_H
#define DMS_UUID_H

#include "postgres.h"

#include "utils/uuid.h"

extern void UuidV5(const unsigned char ns[UUID_LEN], const char *name,
				   size_t len, pg_uuid_t *out);
extern char *UuidName(Datum value);
extern void UuidV7(pg_uuid_t *out);
extern char *UuidText(const pg_uuid_t *uuid);
extern bool UuidParse(const char *string, pg_uuid_t *uuid);

#endif							/* DMS_UUID_H */
