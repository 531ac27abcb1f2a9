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

#endif							/* DMS_NAMING_H */
