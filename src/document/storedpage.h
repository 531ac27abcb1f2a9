/*
 * storedpage.h
 *		The stored rows of some documents of one resource, and the
 *		identities of the documents that they refer to.
 */
#ifndef DMS_STOREDPAGE_H
#define DMS_STOREDPAGE_H

#include "postgres.h"

#include "document/document.h"
#include "engine/keyscan.h"
#include "model/modelcache.h"

/* A document that is referred to; row is -1 if it is missing or not visible. */
typedef struct StoredTarget
{
	int64		document_id;
	int			row;
} StoredTarget;

/* The documents of one type that are referred to, and their identities. */
typedef struct StoredTargets
{
	StoredTarget *targets;		/* by id, each once */
	int			n;
	bool		can_change;		/* their identities can */
	StoredRows	rows;
} StoredTargets;

/* All that is needed to write the JSON of a page. */
typedef struct StoredPage
{
	Resource   *resource;
	StoredRows	documents;		/* dms.Document, as the rows of the root */
	StoredRows *tables;			/* as model->tables, in order of their keys */
	StoredTargets *targets;		/* as model->projections */
	StoredTargets descriptors;
} StoredPage;

extern StoredPage *StoredPageRead(Resource *resource, const int64 *ids, int n);
extern StoredPage *StoredPageReadOne(Resource *resource, const DocumentHeader *header);
extern StoredPage *StoredPageReadAfter(Resource *resource, const int64 *after, int limit,
									   int64 *last, int *n);
extern bool StoredPageIdsAfter(Resource *resource, const int64 *after, int limit, int64 **ids, int *n);
extern void StoredPageHeader(const StoredPage *page, int document, DocumentHeader *header);
extern const Datum *StoredPageTarget(const StoredTargets *targets, int64 document_id,
									 const bool **nulls);

#endif							/* DMS_STOREDPAGE_H */
