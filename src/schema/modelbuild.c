/*
 * modelbuild.c
 *		Compiling all models of a schema: the order of the steps.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "schema/modelbind.h"
#include "schema/modelbuild.h"
#include "schema/modelcheck.h"
#include "schema/modelgraph.h"
#include "schema/modelkeys.h"
#include "schema/modeltables.h"

/* Add an entry with an empty model to the set. */
static ModelEntry *
NewEntry(ModelSet *set, const ApiProject *project, const char *name,
		 const char *place)
{
	ModelEntry *entry = palloc0(sizeof(ModelEntry));

	entry->model = palloc0(sizeof(ResourceModel));
	entry->model->format = MODEL_FORMAT;
	entry->model->project = pstrdup(project->name);
	entry->model->project_endpoint = pstrdup(project->endpoint);
	entry->model->version = pstrdup(project->version);
	entry->model->resource = pstrdup(name);
	entry->place = place;
	set->entries = lappend(set->entries, entry);
	return entry;
}

/*
 * Add an entry for each resource and each abstract resource, so that every
 * step finds all others by name.
 */
static void
AddEntries(ModelSet *set)
{
	ListCell   *cell;

	foreach(cell, set->schema->resources)
	{
		ApiResource *api = lfirst(cell);
		ModelEntry *entry = NewEntry(set, api->project, api->name, api->place);

		entry->api = api;
		entry->model->endpoint = pstrdup(api->endpoint);
		entry->model->allow_identity_updates = api->allow_identity_updates;
		entry->model->kind = api->descriptor ? RESOURCE_DESCRIPTOR :
			api->school_year ? RESOURCE_SCHOOL_YEAR : RESOURCE_PLAIN;
	}
	foreach(cell, set->schema->abstracts)
	{
		ApiAbstract *abstract = lfirst(cell);
		ModelEntry *entry = NewEntry(set, abstract->project, abstract->name, abstract->place);

		entry->abstract = abstract;
		entry->model->kind = RESOURCE_ABSTRACT;
	}
}

/*
 * Run a step for all resources, or all abstract ones, except those whose
 * files were found broken.
 */
static void
ForEach(ModelSet *set, bool abstract, void (*step) (ModelSet *, ModelEntry *))
{
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		ModelEntry *entry = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (abstract ? entry->abstract != NULL : entry->api && !entry->api->broken)
			step(set, entry);
	}
}

/*
 * Drop abstract resources without subclasses.  A core may define them for its
 * extensions; a reference to one was reported when it was bound.
 */
static void
DropEmptyAbstracts(ModelSet *set)
{
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		ModelEntry *entry = lfirst(cell);

		if (entry->abstract && entry->subclasses == NIL)
			set->entries = foreach_delete_current(set->entries, cell);
	}
}

/*
 * Compile the models of a schema.
 *
 * Each step relies on those before it:
 *
 * Tables come first, because everything else is found in them by JSON path.
 * Metadata is checked against them next, so that the list of problems begins
 * with their causes.  Superclasses are found before references are bound,
 * because a reference to an abstract resource is bound through one of its
 * subclasses.  Constraints use the columns of references, and query fields
 * follow constraints to equal paths.  Abstract resources copy the bound identity
 * of their subclasses.  Types of members are compared when all identities are
 * known, and ranks need all references.
 *
 * Steps go on where earlier ones found problems, so that one deploy lists as
 * many as possible.  Load order and projections follow edges of the whole
 * graph, so they wait until there are no problems.
 */
ModelSet *
ModelBuildSet(ApiSchema *schema)
{
	ModelSet   *set = palloc0(sizeof(ModelSet));
	ListCell   *cell;

	set->schema = schema;
	set->problems = schema->problems;
	AddEntries(set);
	ForEach(set, false, ModelTablesBuild);
	ForEach(set, false, ModelCheckMetadata);
	ForEach(set, false, ModelBindSuperclass);
	ForEach(set, false, ModelBindReferences);
	ForEach(set, false, ModelBindIdentity);
	ForEach(set, false, ModelBindQueries);
	ForEach(set, false, ModelKeysBind);
	ForEach(set, false, ModelBindEqualPaths);
	DropEmptyAbstracts(set);
	ForEach(set, true, ModelBindAbstract);
	ForEach(set, false, ModelCheckMembers);
	ModelGraphRank(set);
	if (set->problems->count > 0)
		return set;
	ModelGraphOrder(set);
	foreach(cell, set->entries)
		ModelGraphProject(set, lfirst(cell));
	return set;
}
