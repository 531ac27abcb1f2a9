/*
 * write.h
 *		One write of a document, from body to result.
 */
#ifndef DMS_WRITE_H
#define DMS_WRITE_H

#include "postgres.h"

#include "cascade/closure.h"
#include "document/document.h"
#include "document/flatten.h"
#include "engine/session.h"
#include "fmgr.h"
#include "model/modelcache.h"
#include "verbs/precondition.h"

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

/* Columns of dms.write_result. */
#define WRITE_RESULT_COLUMNS 5

typedef struct Write
{
	Resource   *resource;
	FlatDocument *flat;
	bool		id_required;	/* the body of an update must name its id */
	Precondition precondition;
	WriteResult *result;
} Write;

/* A document to lock, if it still is the one that we mean. */
typedef struct LockRequest
{
	const Write *write;
	int64		document_id;
	DocumentHeader *header;
	bool		(*still) (const Write *write, int64 document_id);
	bool		found;			/* there is such a document */
	bool		meant;			/* and it is the one */
} LockRequest;

extern void WriteBegin(StoreSession *session, const char *function);
extern void WriteInit(Write *write, WriteResult *result, FunctionCallInfo fcinfo,
					  int if_match_argument);
extern void WriteTakeBody(Write *write, text *document, const pg_uuid_t *uuid);
extern bool WriteIdentityDiffers(const Write *write, int64 document_id);
extern void WriteRefuseKeyChange(const Write *write);
extern bool WriteLockFound(LockRequest *request);
extern bool WriteNew(Write *write);
extern bool WriteLocked(Write *write, DocumentHeader *header, const Closure *closure);
extern void WriteLockChildren(Write *write, int64 document_id, bool by_id);
extern bool WriteFinish(Write *write, WriteOutcome outcome,
						const DocumentHeader *header);
extern void WriteResultValues(const WriteResult *result, Datum *values);
extern Datum WriteResultRow(FunctionCallInfo fcinfo, const WriteResult *result);
extern void RaiseGone(const Precondition *precondition, const pg_uuid_t *uuid) pg_attribute_noreturn();

#endif							/* DMS_WRITE_H */
