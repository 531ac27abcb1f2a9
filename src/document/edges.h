/*
 * edges.h
 *		Rows of dms.ReferenceEdge.
 */
#ifndef DMS_EDGES_H
#define DMS_EDGES_H

#include "postgres.h"

#include "document/flatten.h"
#include "utils/uuid.h"

/* An edge to a document, as found from that document. */
typedef struct ParentEdge
{
	int64		parent;
	int64		source;
	bool		identity;
} ParentEdge;

extern void EdgesInsert(int64 document_id, const FlatDocument *flat);
extern bool EdgesDiff(int64 document_id, const FlatDocument *flat);
extern ParentEdge *EdgesTo(const int64 *ids, int n, int *nfound);
extern ParentEdge *EdgesToLocked(const int64 *ids, int n, int *nfound);
extern bool EdgesHaveParents(int64 document_id);
extern uint64 EdgesCountParents(int64 document_id);
extern uint64 EdgesFindReferencing(const pg_uuid_t *uuid);
extern uint64 EdgesDeleteOrphans(void);

#endif							/* DMS_EDGES_H */
