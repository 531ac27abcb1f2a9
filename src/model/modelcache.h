/*
 * modelcache.h
 *		The models that this session works with, ready to use.
 */
#ifndef DMS_MODELCACHE_H
#define DMS_MODELCACHE_H

#include "postgres.h"

#include "engine/keyedtable.h"
#include "engine/statement.h"
#include "model/model.h"

/* Queries of different shape whose plans a resource keeps. */
#define RESOURCE_QUERIES 16

/* A resource as a session works with it. */
typedef struct Resource
{
	ResourceModel *model;
	int32		type_id;		/* its number in dms.ResourceType */
	struct ResourceOptions *options;	/* NULL until they are asked for */
	MemoryContext context;
	KeyedTable *tables;			/* as model->tables, described on first use */
	KeyedTable	kept_root;		/* the root without columns of the identity */
	KeyedTable	root_ids;		/* the ids in the root */
	KeyedTable	member;			/* the superclass' member table */
	Statement  *projections;	/* identities of documents, from storage, as
								 * model->projections */
	struct JoinScan **joins;	/* the same, for reads without a statement */
	Statement  *equalities;		/* documents that break a constraint, as
								 * model->equalities */
	char	  **key_members;	/* see KeyQueryMembers(); NULL at first */
	Statement	clear;			/* as the delete trigger; checked, never run */
	Statement	verify;			/* edges that differ from the columns */
	Statement	queries[RESOURCE_QUERIES];
	uint64		query_uses[RESOURCE_QUERIES];	/* when each was last used */
	Oid			cache_role;		/* that was asked for last whether it may read
								 * cached texts */
	uint64		cache_changes;	/* KeyAccessChanges() then */
	bool		cache_readable;
	uint64		nqueries;		/* that were run */
	uint64		last_use;
	struct Resource *next;
} Resource;

extern void ModelCacheInit(void);
extern Resource *ModelCacheFind(const char *project, const char *resource);
extern Resource *ModelCacheTry(const char *project, const char *resource);
extern bool ModelCacheHasProject(const char *project, char **similar);
extern Resource *ModelCacheFindEndpoint(const char *project, const char *endpoint);
extern bool ModelCacheSame(const Resource *left, const Resource *right);
extern void ModelCacheRefuseAbstract(const Resource *resource);

#endif							/* DMS_MODELCACHE_H */
