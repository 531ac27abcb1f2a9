/*
 * trackedchanges.h
 *		Deletes of documents, and changes of their keys: rows of dms.TrackedChange.
 */
#ifndef DMS_TRACKEDCHANGES_H
#define DMS_TRACKEDCHANGES_H

#include "postgres.h"

#include "document/changes.h"
#include "document/document.h"
#include "document/documentkeys.h"
#include "model/modelcache.h"

/* Documents whose etags were raised, as far as it is known which they have now. */
typedef struct RaisedDocuments
{
	const ChangedDocument *documents;	/* together, as DocumentsBump() leaves
										 * them */
	int			n;
	const DocumentHeader *written;	/* by itself; NULL: none */
} RaisedDocuments;

extern void TrackedChangesNoteKeys(Resource *resource, const DocumentKey *before, int nbefore,
								   const DocumentKey *after, int nafter, const RaisedDocuments *raised);
extern void TrackedChangesNoteRecomputed(Resource *resource, const DocumentKey *before, int nbefore,
										 const DocumentKey *after, int nafter);
extern bool TrackedChangesNoteDelete(Resource *resource, const DocumentHeader *header);
extern void TrackedChangesKeepKeys(const ResourceModel *model, int32 type_id);
extern void TrackedChangesRenewKeys(const ResourceModel *model);
extern uint64 TrackedChangesCompareKeys(void);
extern void TrackedChangesTrigger(bool tracked);
extern int64 TrackedChangesPurgeable(int64 highest, Datum older_than);
extern int64 TrackedChangesPurge(int64 through, int64 max_rows);

#endif							/* DMS_TRACKEDCHANGES_H */
