/*
 * jsonargument.h
 *		JSON arguments of SQL functions, in the types that clients send.
 */
#ifndef DMS_JSONARGUMENT_H
#define DMS_JSONARGUMENT_H

#include "postgres.h"

#include "fmgr.h"

extern Datum JsonArgumentCall(PGFunction function, FunctionCallInfo fcinfo, int argument);

#endif							/* DMS_JSONARGUMENT_H */
