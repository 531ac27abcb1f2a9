/*
 * lowercase.h
 *		Lower case that does not depend on locale, collation or library.
 */
#ifndef DMS_LOWERCASE_H
#define DMS_LOWERCASE_H

#include "postgres.h"

extern char *LowercaseInvariant(const char *s, size_t len);

#endif							/* DMS_LOWERCASE_H */
