/*
 * modelcache.c
 *		Loading models by name, and releasing them.
 *
 * A model is loaded when its resource is first used.  When a deploy has
 * changed the stored models, all that were loaded are retired: the next
 * lookup loads anew, and the old ones are freed at the end of the
 * transaction, when they can no longer be in use.
 *
 * Prepared plans take much more memory than models.  A session that uses
 * hundreds of resources keeps the plans of those that were used last.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/report.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/storerow.h"
#include "model/modelcache.h"
#include "model/modelstore.h"
#include "model/resourcemodels.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/* A name has many spellings; more than this many are not kept. */
#define MAX_SPELLINGS 4096

/* "project/resource" as a caller spells it, to the resource; "/" before endpoints. */
typedef struct SpelledName
{
	char		name[2 * MODEL_MAX_NAME + 3];
	Resource   *resource;
} SpelledName;

/* The models that were loaded from one state of the store. */
typedef struct Generation
{
	uint64		number;
	MemoryContext context;
	HTAB	   *names;
	Resource   *resources;
	Resource   *last;			/* found last by its exact names; may be NULL */
	struct Generation *retired;
} Generation;

static Generation *current = NULL;
static Generation *retired = NULL;
static uint64 clock_ticks = 0;
static int	cached_plans = 64;

/* Release the plans of a resource. */
static void
ForgetPlans(Resource *resource)
{
	for (int i = 0; i < resource->model->ntables; i++)
		KeyedTableForget(&resource->tables[i]);
	KeyedTableForget(&resource->kept_root);
	KeyedTableForget(&resource->root_ids);
	KeyedTableForget(&resource->member);
	for (int i = 0; i < resource->model->nprojections; i++)
		StatementForget(&resource->projections[i]);
	for (int i = 0; i < resource->model->nequalities; i++)
		StatementForget(&resource->equalities[i]);
	for (int i = 0; i < RESOURCE_QUERIES; i++)
		StatementForget(&resource->queries[i]);
	StatementForget(&resource->clear);
	StatementForget(&resource->verify);
}

/*
 * Free retired generations at the end of a transaction, when they are no
 * longer in use.
 */
static void
FreeRetired(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;
	while (retired != NULL)
	{
		Generation *generation = retired;

		retired = generation->retired;
		for (Resource *r = generation->resources; r != NULL; r = r->next)
			ForgetPlans(r);
		MemoryContextDelete(generation->context);
	}
}

/* Define the settings of this module, and register its callback. */
void
ModelCacheInit(void)
{
	DefineCustomIntVariable("dms.cached_plans",
							"Resources whose prepared plans a session keeps.",
							"Plans of resources that were not used for longest are released first.",
							&cached_plans, 64, 1, 10000, PGC_USERSET, 0,
							NULL, NULL, NULL);
	RegisterXactCallback(FreeRetired, NULL);
}

/*
 * The generation of the models as they are stored now.  Retires the one
 * before it if a deploy has changed them.
 */
static Generation *
CurrentGeneration(void)
{
	uint64		number = StoreRowGeneration();
	MemoryContext context;
	Generation *generation;
	HASHCTL		control = {0};

	if (current != NULL && current->number == number)
		return current;
	if (current != NULL)
	{
		current->retired = retired;
		retired = current;
		current = NULL;
	}
	context = AllocSetContextCreate(TopMemoryContext, "dms models", ALLOCSET_DEFAULT_SIZES);
	generation = MemoryContextAllocZero(context, sizeof(Generation));
	control.keysize = sizeof(((SpelledName *) NULL)->name);
	control.entrysize = sizeof(SpelledName);
	control.hcxt = context;
	generation->names = hash_create("dms resource names", 64, &control,
									HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	generation->context = context;
	generation->number = number;
	current = generation;
	return generation;
}

/* Returns true if these are the names of the resource, in the same spelling. */
static bool
HasNames(const Resource *resource, const char *project, const char *name)
{
	return strcmp(resource->model->resource, name) == 0 && strcmp(resource->model->project, project) == 0;
}

/* The resource if it is loaded, under whatever spelling; else NULL. */
static Resource *
FindLoaded(const Generation *generation, const char *project, const char *name)
{
	for (Resource *r = generation->resources; r != NULL; r = r->next)
		if (HasNames(r, project, name))
			return r;
	return NULL;
}

/*
 * Refuse a model that is stored under the name of another: it would be loaded
 * again and again.
 */
static void
RequireNames(const ResourceModel *model, const char *project, const char *resource)
{
	if (strcmp(model->project, project) != 0 || strcmp(model->resource, resource) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model of \"%s.%s\" is that of \"%s.%s\"", project, resource,
						model->project, model->resource)));
}

/* Load a model; it becomes visible to others only when it is complete. */
static Resource *
LoadResource(Generation *generation, const char *project, const char *name, const char *json)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dms model", ALLOCSET_SMALL_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	Resource   *resource = palloc0(sizeof(Resource));

	resource->model = ModelStoreFromJson(json, strlen(json));
	RequireNames(resource->model, project, name);
	resource->type_id = ResourceTypeId(project, name);
	resource->context = context;
	resource->tables = palloc0(sizeof(KeyedTable) * Max(resource->model->ntables, 1));
	resource->equalities = palloc0(sizeof(Statement) * Max(resource->model->nequalities, 1));
	resource->projections = palloc0(sizeof(Statement) * Max(resource->model->nprojections, 1));
	resource->joins = palloc0(sizeof(struct JoinScan *) * Max(resource->model->nprojections, 1));
	MemoryContextSwitchTo(saved);
	MemoryContextSetParent(context, generation->context);
	resource->next = generation->resources;
	generation->resources = resource;
	return resource;
}

/* Look up a resource by the names that dms.Document has; NULL if there is none. */
static Resource *
ReadByName(Generation *generation, const char *project, const char *resource)
{
	Resource   *found = FindLoaded(generation, project, resource);
	char	   *json;

	if (found != NULL)
		return found;
	json = ResourceModelsRead(project, resource);
	return json == NULL ? NULL : LoadResource(generation, project, resource, json);
}

/*
 * Look up a resource by its endpoint, or by any of its names in any case;
 * NULL if there is none.
 */
static Resource *
ReadByQuery(Generation *generation, const char *project, const char *resource,
			bool endpoint)
{
	Resource   *found;

	if (!ResourceModelsFind(project, resource, endpoint))
		return NULL;
	found = FindLoaded(generation, ResultName(0, 2), ResultName(0, 3));
	return found ? found : LoadResource(generation, ResultName(0, 2), ResultName(0, 3), ResultName(0, 1));
}

/*
 * Read the model of a name as it is spelled; NULL if there is none.  It is
 * read as it is now: the snapshot of the caller may be older than the deploy
 * that made us look, and the model is kept.
 */
static Resource *
ReadResource(Generation *generation, const char *project, const char *resource,
			 bool endpoint)
{
	Resource   *found = NULL;

	if (!FAULT_SKIP("newest_model"))
		SnapshotBeginCatalog();
	if (!endpoint)
		found = ReadByName(generation, project, resource);
	if (found == NULL)
		found = ReadByQuery(generation, project, resource, endpoint);
	if (!FAULT_SKIP("newest_model"))
		SnapshotEnd();
	return found;
}

/*
 * Keep the plans of the resources that were used last.  Does nothing while
 * one of our statements runs, whose trigger called us: its plan could be
 * released.
 */
static void
BoundPlans(Generation *generation, const Resource *keep)
{
	Resource   *oldest = NULL;
	int			n = 0;

	if (StatementsRunning() > 0)
		return;
	for (Resource *r = generation->resources; r != NULL; r = r->next)
	{
		if (r->last_use == 0)
			continue;
		n++;
		if (r != keep && (oldest == NULL || r->last_use < oldest->last_use))
			oldest = r;
	}
	if (n > cached_plans && oldest != NULL)
	{
		ForgetPlans(oldest);
		oldest->last_use = 0;
	}
}

/* Find a resource by names that were looked up before, or else in the store. */
static Resource *
FindSpelled(Generation *generation, const char *project, const char *resource, bool endpoint)
{
	char		key[2 * MODEL_MAX_NAME + 3] = {0};
	SpelledName *entry;
	Resource   *found;
	bool		known;

	snprintf(key, sizeof(key), "%s%s/%s", endpoint ? "/" : "", project, resource);
	entry = hash_search(generation->names, key, HASH_FIND, NULL);
	if (entry != NULL)
		return entry->resource;
	found = ReadResource(generation, project, resource, endpoint);
	if (found != NULL && hash_get_num_entries(generation->names) < MAX_SPELLINGS)
	{
		entry = hash_search(generation->names, key, HASH_ENTER, &known);
		entry->resource = found;
	}
	return found;
}

/* Find a resource by endpoint names only, or by any of its names. */
static Resource *
Lookup(const char *project, const char *resource, bool endpoint)
{
	Generation *generation = CurrentGeneration();
	Resource   *found = endpoint ? NULL : generation->last;

	if (strlen(project) > MODEL_MAX_NAME || strlen(resource) > MODEL_MAX_NAME ||
		strchr(project, '/') != NULL || strchr(resource, '/') != NULL)
		return NULL;
	if (found == NULL || !HasNames(found, project, resource))
		found = FindSpelled(generation, project, resource, endpoint);
	if (found == NULL)
		return NULL;
	if (HasNames(found, project, resource))
		generation->last = found;
	if (found->last_use == 0)
	{
		found->last_use = ++clock_ticks;
		BoundPlans(generation, found);
	}
	found->last_use = ++clock_ticks;
	return found;
}

/*
 * The resource at an endpoint; NULL when there is none.  A resource may have the
 * name of another's endpoint, so names do not count here.
 */
Resource *
ModelCacheFindEndpoint(const char *project, const char *endpoint)
{
	return Lookup(project, endpoint, true);
}

/* Like ModelCacheFind(), but returns NULL if there is no such resource. */
Resource *
ModelCacheTry(const char *project, const char *resource)
{
	return Lookup(project, resource, false);
}

/*
 * Returns true if there is a project of this name or endpoint name, in any case.
 * Otherwise *similar is one that may be meant, or NULL.
 */
bool
ModelCacheHasProject(const char *project, char **similar)
{
	bool		found;

	SnapshotBeginCatalog();
	found = ResourceModelsHaveProject(project, similar);
	SnapshotEnd();
	return found;
}

/*
 * The resource of this name, by names or endpoint names in any case.  Must be
 * called within an SPI connection, after passing the gate or taking a lock that
 * lets no deploy pass while the model is used.
 */
Resource *
ModelCacheFind(const char *project, const char *resource)
{
	Resource   *found = Lookup(project, resource, false);
	char	   *similar;

	if (found == NULL && !ModelCacheHasProject(project, &similar))
		ReportError(PROBLEM_UNKNOWN_RESOURCE,
					similar ? psprintf("Perhaps you mean \"%s\".", similar) :
					"dms.resources() lists the projects of the deployed schema.",
					"there is no project \"%s\"", project);
	if (found == NULL)
		ReportError(PROBLEM_UNKNOWN_RESOURCE,
					"dms.resources() lists the resources of the deployed schema.",
					"there is no resource \"%s\" in project \"%s\"", resource, project);
	return found;
}

/*
 * Returns true if both are the same resource.  Pointers may differ, if the
 * session had to load all models again in between.
 */
bool
ModelCacheSame(const Resource *left, const Resource *right)
{
	if (left == right || FAULT_SKIP("same_resource"))
		return left == right;
	return strcmp(left->model->project, right->model->project) == 0 &&
		strcmp(left->model->resource, right->model->resource) == 0;
}

/* Refuse an abstract resource, which has no documents of its own. */
void
ModelCacheRefuseAbstract(const Resource *resource)
{
	if (resource->model->kind == RESOURCE_ABSTRACT)
		ReportError(PROBLEM_UNKNOWN_RESOURCE,
					"Use one of the resources that extend it.",
					"resource \"%s\" of project \"%s\" is abstract",
					resource->model->resource, resource->model->project);
}
