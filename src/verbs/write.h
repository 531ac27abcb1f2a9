/*
 * write.h
 *		One write of a document, from body to result.
 */
#ifndef DMS_WRITE_H
#define DMS_WRITE_H

#include "postgres.h"

#include "cascade/closure.h"
#include "document/flatten.h"
#include "document/header.h"
#include "engine/plan.h"
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
	const pg_uuid_t *uuid;		/* of a write by id; NULL: by identity */
	int64		document_id;	/* the document to write; 0: not found */
	bool		renames;		/* its identity changes */
	bool		id_required;	/* the body of an update must name its id */
	FlatDocument *flat;
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
extern void WriteTakeBody(Write *write, text *document);
extern const FlatDocument *WriteDocument(void *write);
extern bool WriteIdentityDiffers(const Write *write, int64 document_id);
extern void WriteRefuseKeyChange(const Write *write);
extern bool WriteLockFound(LockRequest *request);
extern bool WriteNew(Write *write);
extern bool WriteLocked(Write *write, DocumentHeader *header, const Closure *closure);
extern void WriteLockChildren(Write *write);
extern bool WriteFinish(Write *write, WriteOutcome outcome,
						const DocumentHeader *header);
extern void WriteResultValues(const WriteResult *result, Datum *values);
extern Datum WriteResultRow(FunctionCallInfo fcinfo, const WriteResult *result);
extern void RaiseGone(const Precondition *precondition, const pg_uuid_t *uuid) pg_attribute_noreturn();

#endif							/* DMS_WRITE_H */
