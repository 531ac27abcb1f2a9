/*
 * documents.h
 *		The verbs that write documents, for callers in C.
 *
 * All are to be called between WriteBegin() and StoreEnd(), with a resource
 * that was found in between.
 */
#ifndef DMS_DOCUMENTS_H
#define DMS_DOCUMENTS_H

#include "postgres.h"

#include "verbs/write.h"

extern void UpsertDocument(Write *write, text *document);
extern void UpdateDocument(Write *write, const pg_uuid_t *uuid, text *document);
extern int64 DeleteDocument(Resource *resource, const pg_uuid_t *uuid,
							const Precondition *precondition);

#endif							/* DMS_DOCUMENTS_H */
