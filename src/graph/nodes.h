/*
 * nodes.h
 *		Documents as the ends of relations.
 */
#ifndef DMS_NODES_H
#define DMS_NODES_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "model/modelcache.h"
#include "utils/uuid.h"

/* A document that is related to others. */
typedef struct GraphNode
{
	pg_uuid_t	uuid;
	int64		document_id;
	Resource   *resource;
} GraphNode;

/* The name of a document. */
typedef struct NodeName
{
	int64		document_id;
	pg_uuid_t	uuid;
	const char *type;
	TimestampTz created;
} NodeName;

extern bool NodeFind(const pg_uuid_t *uuid, GraphNode *node);
extern bool NodeFindOneOfMany(const pg_uuid_t *uuid, GraphNode *node);
extern void NodeCheckType(const char *type);
extern const char *NodeType(const GraphNode *node);
extern char *NodeUrn(const char *type, const pg_uuid_t *uuid);
extern NodeName *NodesName(const int64 *ids, int n, int *nfound);
extern bool NodeIdOfUrn(const char *string, const Resource *resource, pg_uuid_t *uuid);
extern bool NodeOfUrn(const char *string, pg_uuid_t *uuid);

#endif							/* DMS_NODES_H */
