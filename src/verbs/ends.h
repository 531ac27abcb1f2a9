/*
 * ends.h
 *		Finding the documents at the ends of a relation that is written.
 */
#ifndef DMS_ENDS_H
#define DMS_ENDS_H

#include "postgres.h"

#include "graph/nodes.h"
#include "utils/uuid.h"

extern void EndsRaiseGone(const pg_uuid_t *uuid) pg_attribute_noreturn();
extern void EndsRaiseNoTarget(const pg_uuid_t *uuid) pg_attribute_noreturn();
extern void EndsFind(const pg_uuid_t *uuid, GraphNode *node);
extern void EndsFindBoth(const pg_uuid_t *uuid, GraphNode *node, const pg_uuid_t *target_uuid, GraphNode *target);
extern bool EndsHold(const pg_uuid_t *uuid);
extern void EndsFindTarget(const pg_uuid_t *uuid, GraphNode *node);

#endif							/* DMS_ENDS_H */
