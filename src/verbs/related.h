/*
 * related.h
 *		Reading relations between documents.
 */
#ifndef DMS_RELATED_H
#define DMS_RELATED_H

#include "postgres.h"

#include "graph/farends.h"
#include "utils/uuid.h"

/* A document that is related to another one. */
typedef struct RelatedDocument
{
	const char *type;
	pg_uuid_t	uuid;
	TimestampTz created;		/* the relation, or the document */
} RelatedDocument;

typedef struct RelatedList
{
	RelatedDocument *documents;
	int			n;
} RelatedList;

/* Which page of a list is asked for. */
typedef struct RelatedPage
{
	const char *type;			/* NULL: any */
	int64		limit;
	const pg_uuid_t *after;		/* NULL: from the start */
} RelatedPage;

extern bool RelatedParent(const pg_uuid_t *uuid, pg_uuid_t *parent);
extern void RelatedAncestors(const pg_uuid_t *uuid, RelatedList *list);
extern void RelatedCollections(const pg_uuid_t *uuid, RelatedList *list);
extern void RelatedFarEnds(const FarEndTable *table, const pg_uuid_t *uuid, const RelatedPage *page, RelatedList *list);

#endif							/* DMS_RELATED_H */
