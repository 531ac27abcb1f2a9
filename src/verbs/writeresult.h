/*
 * writeresult.h
 *		The result of a write, and rows of dms.write_result.
 */
#ifndef DMS_WRITERESULT_H
#define DMS_WRITERESULT_H

#include "postgres.h"

#include "document/document.h"
#include "fmgr.h"

typedef enum WriteOutcome
{
	WRITE_INSERTED,
	WRITE_UPDATED,
	WRITE_UNCHANGED
} WriteOutcome;

typedef struct WriteResult
{
	WriteOutcome outcome;
	DocumentHeader document;
} WriteResult;

extern Datum WriteResultRow(FunctionCallInfo fcinfo, const WriteResult *result);
extern void WriteResultPut(FunctionCallInfo fcinfo, const WriteResult *result);

#endif							/* DMS_WRITERESULT_H */
