/*
 * attach.h
 *		The parent and the account that a new document gets.
 */
#ifndef DMS_ATTACH_H
#define DMS_ATTACH_H

#include "postgres.h"

#include "document/document.h"
#include "model/modelcache.h"

/* What a new document is to be attached to, as it is asked for. */
typedef struct AttachRequest
{
	const pg_uuid_t *parent;	/* NULL: none */
	const char *account;		/* its id or URN; NULL: that of the setting,
								 * or of the parent */
} AttachRequest;

/* The documents that a new document is attached to, which are locked. */
typedef struct Attachment
{
	int64		parent;			/* 0: none */
	int64		account;		/* 0: none */
	bool		self;			/* it is its own account */
} Attachment;

extern void AttachInit(void);
extern void AttachLock(Resource *resource, const AttachRequest *request, Attachment *attachment);
extern void AttachHold(const Resource *resource, const AttachRequest *request, int64 document_id);
extern void AttachWrite(Resource *resource, const DocumentHeader *header, const Attachment *attachment);

#endif							/* DMS_ATTACH_H */
