/*
 * relate.h
 *		Relations between documents: parents and collections.
 */
#ifndef DMS_RELATE_H
#define DMS_RELATE_H

#include "postgres.h"

#include "graph/nodes.h"
#include "utils/uuid.h"

extern void RelateRaiseGone(const pg_uuid_t *uuid) pg_attribute_noreturn();
extern void RelateRaiseNoTarget(const pg_uuid_t *uuid) pg_attribute_noreturn();
extern void RelateFind(const pg_uuid_t *uuid, GraphNode *node);
extern void RelateFindTarget(const pg_uuid_t *uuid, GraphNode *node);
extern bool RelateSetParent(const pg_uuid_t *child, const pg_uuid_t *parent);
extern bool RelateAddMember(const pg_uuid_t *collection, const pg_uuid_t *member, bool conveys);
extern bool RelateRemoveMember(const pg_uuid_t *collection, const pg_uuid_t *member);

#endif							/* DMS_RELATE_H */
