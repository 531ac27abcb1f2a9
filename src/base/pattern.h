/*
 * pattern.h
 *		The "pattern" of a JSON schema: an ECMAScript regular expression.
 */
#ifndef DMS_PATTERN_H
#define DMS_PATTERN_H

#include "postgres.h"

extern const char *PatternCheck(const char *pattern);
extern text *PatternRewrite(const char *pattern);
extern bool PatternMatches(const char *pattern, text *rewritten,
						   const char *value, int len);

#endif							/* DMS_PATTERN_H */
