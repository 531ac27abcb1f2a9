/*
 * resourceoptions.h
 *		The options of a resource.
 */
#ifndef DMS_RESOURCEOPTIONS_H
#define DMS_RESOURCEOPTIONS_H

#include "postgres.h"

#include "model/modelcache.h"
#include "utils/jsonb.h"

/* The options of a resource that sessions need; see dms.configure_resource(). */
typedef struct ResourceOptions
{
	bool		history;		/* all versions of its documents are kept */
	bool		history_admin;	/* only administrators may read them */
} ResourceOptions;

extern Jsonb *ResourceOptionsTake(Jsonb *given, const ResourceModel *model);
extern Jsonb *ResourceOptionsMerge(Jsonb *current, Jsonb *given);
extern bool ResourceOptionsKeepHistory(Jsonb *options);
extern const ResourceOptions *ResourceOptionsOf(Resource *resource);

#endif							/* DMS_RESOURCEOPTIONS_H */
