/*
 * changepage.h
 *		Pages of documents in the order of their changes.
 */
#ifndef DMS_CHANGEPAGE_H
#define DMS_CHANGEPAGE_H

#include "postgres.h"

#include "document/changes.h"
#include "document/document.h"
#include "model/modelcache.h"

/* Takes the documents of a page, one after the other, with the numbers of their changes. */
typedef void (*ChangeSink) (void *state, int64 version, const DocumentHeader *header, text *body);

extern void ChangePageRead(Resource *resource, const NotedChange *after, int64 max, int64 limit,
						   int64 offset, ChangeSink sink, void *state);

#endif							/* DMS_CHANGEPAGE_H */
