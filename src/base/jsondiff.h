/*
 * jsondiff.h
 *		What changed from one JSON value to another.
 */
#ifndef DMS_JSONDIFF_H
#define DMS_JSONDIFF_H

#include "postgres.h"

#include "utils/jsonb.h"

extern Jsonb *JsonDiff(const text *old_json, const text *new_json, const char *const *left_out);

#endif							/* DMS_JSONDIFF_H */
