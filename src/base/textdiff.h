/*
 * textdiff.h
 *		The lines in which two texts differ.
 */
#ifndef DMS_TEXTDIFF_H
#define DMS_TEXTDIFF_H

#include "postgres.h"

#include "lib/stringinfo.h"

extern bool TextDiff(const char *old_text, int old_length, const char *new_text, int new_length,
					 int64 *work, StringInfo out);

#endif							/* DMS_TEXTDIFF_H */
