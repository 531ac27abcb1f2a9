/*
 * deploytypes.c
 *		Giving each resource of a schema its number.
 *
 * Numbers are hashes of names, so two resources can have the same one, although
 * that is very unlikely.  Their documents could not be distinguished then.
 */
#include "postgres.h"

#include "model/resourcetypes.h"
#include "schema/deploytypes.h"
#include "utils/hsearch.h"

/* A number that was given, and to which resource. */
typedef struct GivenId
{
	int32		id;
	const ResourceModel *model;
} GivenId;

/* A name that was given, and to which resource. */
typedef struct GivenName
{
	char		name[2 * MODEL_MAX_NAME + 2];
	const ResourceModel *model;
} GivenName;

/* Report two resources with the same number. */
static void
CheckId(ModelSet *set, HTAB *given, const ModelEntry *entry)
{
	const ResourceModel *model = entry->model;
	int32		id = ResourceTypeId(model->project, model->resource);
	bool		found;
	GivenId    *seen = hash_search(given, &id, HASH_ENTER, &found);

	if (found)
		ProblemAt(set->problems, entry->place, "%s.%s and %s.%s have the same number, %d.",
				  seen->model->project, seen->model->resource, model->project, model->resource, id);
	seen->model = model;
}

/* Report two resources with the same name of one word. */
static void
CheckName(ModelSet *set, HTAB *given, const ModelEntry *entry)
{
	const ResourceModel *model = entry->model;
	const char *name = ResourceTypeName(model->project, model->resource);
	bool		found;
	GivenName  *seen = hash_search(given, name, HASH_ENTER, &found);

	if (found)
		ProblemAt(set->problems, entry->place, "%s.%s and %s.%s would both be called \"%s\".",
				  seen->model->project, seen->model->resource, model->project, model->resource, name);
	seen->model = model;
}

/* Report resources whose numbers or names are equal. */
void
DeployTypesCheck(ModelSet *set)
{
	HASHCTL		by_id = {.keysize = sizeof(int32),.entrysize = sizeof(GivenId),.hcxt = CurrentMemoryContext};
	HASHCTL		by_name = {.keysize = sizeof(((GivenName *) NULL)->name),.entrysize = sizeof(GivenName),
	.hcxt = CurrentMemoryContext};
	HTAB	   *ids = hash_create("dms resource numbers", 512, &by_id, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	HTAB	   *names = hash_create("dms resource type names", 512, &by_name,
									HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		CheckId(set, ids, lfirst(cell));
		CheckName(set, names, lfirst(cell));
	}
}

/* Record the resources of a deploy. */
void
DeployTypesRecord(const ModelSet *set)
{
	int			n = list_length(set->entries);
	const char **projects = palloc(sizeof(char *) * Max(n, 1));
	const char **resources = palloc(sizeof(char *) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		const ResourceModel *model = ((ModelEntry *) list_nth(set->entries, i))->model;

		projects[i] = model->project;
		resources[i] = model->resource;
	}
	ResourceTypesInsert(projects, resources, n);
}
