/*
 * migratekeys.h
 *		Unique keys and names in URNs, when the schema changes.
 */
#ifndef DMS_MIGRATEKEYS_H
#define DMS_MIGRATEKEYS_H

#include "postgres.h"

#include "schema/schemadiff.h"

extern bool MigrateKeysRelease(const SchemaDiff *diff);
extern void MigrateKeysRestore(const SchemaDiff *diff);
extern void MigrateKeysRename(const ResourceDiff *resource);

#endif							/* DMS_MIGRATEKEYS_H */
