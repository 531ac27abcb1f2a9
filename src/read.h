/*
 * read.h
 *		The verbs that read documents.
 */
#ifndef DMS_READ_H
#define DMS_READ_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "locks.h"
#include "modelcache.h"

/* A document as it is read. */
typedef struct ReadResult
{
	Resource   *resource;
	DocumentHeader document;
	text	   *body;
}			ReadResult;

extern bool ReadDocument(const pg_uuid_t *uuid, MemoryContext context, ReadResult * result);

#endif							/* DMS_READ_H */
