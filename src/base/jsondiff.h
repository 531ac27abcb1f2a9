/*
 * jsondiff.h
 *		What changed from one JSON value to another.
 */
#ifndef DMS_JSONDIFF_H
#define DMS_JSONDIFF_H

#include "postgres.h"

#include "base/jsontree.h"
#include "utils/jsonb.h"

/* Returns true if a member of an object is to be left out. */
typedef bool (*JsonDiffSkip) (const JNode *member);

extern Jsonb *JsonDiff(const text *old_json, const text *new_json, JsonDiffSkip skip);

#endif							/* DMS_JSONDIFF_H */
