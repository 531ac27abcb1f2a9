/*
 * read.h
 *		The verbs that read documents.
 */
#ifndef DMS_READ_H
#define DMS_READ_H

#include "postgres.h"

#include "document/document.h"
#include "engine/session.h"
#include "lib/stringinfo.h"
#include "model/modelcache.h"
#include "model/resourceoptions.h"
#include "verbs/query.h"
#include "verbs/readids.h"

/* A document as it is read. */
typedef struct ReadResult
{
	Resource   *resource;
	DocumentHeader document;
	text	   *body;
} ReadResult;

extern void ReadBegin(Session *session);
extern const ResourceOptions *ReadOptionsOf(Resource *resource);
extern bool ReadDocument(const pg_uuid_t *uuid, MemoryContext context, ReadResult *result);
extern void ReadPage(Resource *resource, DocumentQuery *query, int64 after, int64 limit,
					 int64 offset, ReadSink sink, void *state);
extern void ReadPutDocument(void *state, const DocumentHeader *header, text *body);

#endif							/* DMS_READ_H */
