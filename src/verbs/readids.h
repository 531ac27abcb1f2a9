/*
 * readids.h
 *		Reading the documents of given ids.
 */
#ifndef DMS_READIDS_H
#define DMS_READIDS_H

#include "postgres.h"

#include "document/document.h"
#include "document/storedpage.h"
#include "model/modelcache.h"

/* Documents that are read together. */
#define READ_IDS_AT_ONCE 1000

/* Takes the documents of a page, one after the other. */
typedef void (*ReadSink) (void *state, const DocumentHeader *header, text *body);

extern void ReadIdsPutPage(StoredPage *page, ReadSink sink, void *state);
extern void ReadIdsPut(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state);
extern void ReadIdsAscending(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state);
extern void ReadIdsInOrder(Resource *resource, const int64 *ids, int n, ReadSink sink, void *state);

#endif							/* DMS_READIDS_H */
