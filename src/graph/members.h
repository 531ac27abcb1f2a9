/*
 * members.h
 *		Rows of dms.CollectionMember: which documents are in which collections.
 */
#ifndef DMS_MEMBERS_H
#define DMS_MEMBERS_H

#include "postgres.h"

#include "graph/farends.h"
#include "graph/nodes.h"

extern int64 *MembersCollectionsOf(const int64 *ids, int n, bool conveying, int *nfound);
extern int64 *MembersOf(const int64 *ids, int n, bool conveying, int *nfound);
extern bool MembersHave(int64 document_id);
extern bool MembersAdd(int64 collection, const GraphNode *member, bool conveys);
extern bool MembersRemove(int64 collection, int64 member);
extern TimestampTz MembersAddedAt(int64 collection, int64 member, bool *conveys);
extern const FarEndTable *MembersOfCollection(void);

#endif							/* DMS_MEMBERS_H */
