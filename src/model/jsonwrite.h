/*
 * jsonwrite.h
 *		Writing JSON text straight from stored values.
 */
#ifndef DMS_JSONWRITE_H
#define DMS_JSONWRITE_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "model/model.h"

extern void JsonWriteString(StringInfo out, const char *bytes, int len);
extern void JsonWriteName(StringInfo out, const char *name);
extern void JsonWriteInteger(StringInfo out, int64 number);
extern void JsonWriteValue(StringInfo out, Datum datum, ValueType type);

#endif							/* DMS_JSONWRITE_H */
