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
#include "verbs/attach.h"
#include "verbs/precondition.h"
#include "verbs/writeresult.h"

typedef struct Write
{
	Resource   *resource;
	const pg_uuid_t *uuid;		/* of a write by id; NULL: by identity */
	int64		document_id;	/* the document to write; 0: not found */
	bool		renames;		/* its identity changes */
	Closure    *closure;		/* of a single rename, when it is locked */
	bool		id_required;	/* the body of an update must name its id */
	bool		restores;		/* the body is that of an earlier version */
	const DocumentHeader *deleted;	/* what a document that was deleted gets
									 * again; NULL: none */
	bool		generated;		/* the document has the id below */
	bool		id_given;		/* which the body has given */
	pg_uuid_t	id;
	AttachRequest attach;		/* what the document is attached to */
	FlatDocument *flat;
	Precondition precondition;
	WriteResult *result;
} Write;

/* The outcome of locking a document. */
typedef enum WriteLock
{
	WRITE_LOCKED,				/* it is locked, and has the body's identity */
	WRITE_MOVED,				/* it has another identity by now */
	WRITE_GONE					/* it was deleted */
} WriteLock;

extern void WriteBegin(Session *session, const char *function);
extern void WriteInit(Write *write, WriteResult *result, FunctionCallInfo fcinfo,
					  int if_match_argument);
extern void WriteTakeBody(Write *write, text *document);
extern const FlatDocument *WriteDocument(void *write);
extern bool WriteIdentityDiffers(const Write *write, int64 document_id);
extern void WriteRefuseKeyChange(const Write *write);
extern int64 WriteFindOwn(const Write *write);
extern WriteLock WriteLockFound(const Write *write, DocumentHeader *header);
extern bool WriteNew(Write *write);
extern void WriteLocked(Write *write, DocumentHeader *header);
extern void WriteBump(Write *write, DocumentHeader *header);
extern void WriteLockChildren(Write *write);
extern void WriteFinish(Write *write, WriteOutcome outcome,
						const DocumentHeader *header);

#endif							/* DMS_WRITE_H */
