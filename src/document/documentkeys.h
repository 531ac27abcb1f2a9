/*
 * documentkeys.h
 *		The keys of documents, as those who follow the store know them.
 */
#ifndef DMS_DOCUMENTKEYS_H
#define DMS_DOCUMENTKEYS_H

#include "postgres.h"

#include "model/modelcache.h"
#include "utils/uuid.h"

/* The key of a document, and its ReferentialIds. */
typedef struct DocumentKey
{
	int64		document_id;
	text	   *key;
	bool		has_primary;
	bool		has_alias;
	pg_uuid_t	primary;
	pg_uuid_t	alias;
} DocumentKey;

extern DocumentKey *DocumentKeysRead(Resource *resource, const int64 *ids, int n,
									 const int64 *some, int nsome, int *found);
extern DocumentKey *DocumentKeysMake(Resource *resource, const StoredRows *rows, MemoryContext context);
extern void DocumentKeysReadIds(const ResourceModel *model, const int64 *ids, int n, DocumentKey *keys, int nkeys);
extern const DocumentKey *DocumentKeyFind(const DocumentKey *keys, int n, int64 document_id);
extern bool DocumentKeyIsSame(const DocumentKey *left, const DocumentKey *right);
extern bool DocumentKeyHasSameIds(const DocumentKey *left, const DocumentKey *right);

#endif							/* DMS_DOCUMENTKEYS_H */
