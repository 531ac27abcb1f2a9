/*
 * resourceoptions.h
 *		The options of a resource.
 */
#ifndef DMS_RESOURCEOPTIONS_H
#define DMS_RESOURCEOPTIONS_H

#include "postgres.h"

#include "base/report.h"
#include "model/modelcache.h"
#include "model/searchvector.h"
#include "utils/jsonb.h"

/* Whether the documents of a resource have accounts. */
typedef enum AccountOption
{
	ACCOUNT_OPTIONAL,
	ACCOUNT_REQUIRED,			/* new documents must have one */
	ACCOUNT_SELF				/* each is its own */
} AccountOption;

/* The queue of the jobs that the library runs itself; longest name of one, in characters. */
#define QUEUE_OWN "dms"
#define QUEUE_MAX_NAME 64

/* The options of a resource that sessions need; see dms.configure_resource(). */
typedef struct ResourceOptions
{
	bool		history;		/* all versions of its documents are kept */
	bool		history_admin;	/* only administrators may read them */
	const char *generated_id;	/* property with an id that the store makes,
								 * which is that of the document; or NULL */
	int			title;			/* columns of the root table; -1: none */
	int			content;
	SearchVector search;
	AccountOption account;
	int		   *unique_columns; /* of the root table: declared unique keys */
	int			nunique;
	const char *diff_queue;		/* its workers compare versions; NULL: none do */
} ResourceOptions;

extern Jsonb *ResourceOptionsTake(Jsonb *given, Jsonb *current, const ResourceModel *model, Problem *problem);
extern void ResourceOptionsRefuse(Problem *problem, const ResourceModel *model);
extern bool ResourceOptionsKeepHistory(Jsonb *options);
extern char *ResourceOptionsType(Jsonb *options);
extern const ResourceOptions *ResourceOptionsOf(Resource *resource);

#endif							/* DMS_RESOURCEOPTIONS_H */
