/*
 * naming.h
 *		Names of database objects, derived from names in the ApiSchema.
 */
#ifndef DMS_NAMING_H
#define DMS_NAMING_H

#include "postgres.h"

extern bool NameIsPlain(const char *name, const char *also);
extern char *NamePascal(const char *property);
extern char *NameSingular(const char *pascal);
extern char *NameWithoutSuffix(const char *name, const char *suffix);
extern char *NameWithoutParentWords(const char *segment, const char *parent);
extern char *NamePhysical(const char *pascal);
extern char *NameOfSchema(const char *endpoint);
extern char *NameEdgeSourceKey(const char *project, const char *resource,
							   bool descriptor, const char *path);
extern int64 NameEdgeSourceId(const char *project, const char *resource,
							  bool descriptor, const char *path);
extern char *Sha256Hex(const char *text, size_t len);

#endif							/* DMS_NAMING_H */
