/*
 * modelset.c
 *		The models of a schema: those in the making, or those of a store.
 */
#include "postgres.h"

#include "engine/result.h"
#include "miscadmin.h"
#include "model/modelstore.h"
#include "model/resourcemodels.h"
#include "schema/modelset.h"

/* The entry of a resource, concrete or abstract; NULL if there is none. */
ModelEntry *
ModelSetFind(const ModelSet *set, const char *project, const char *resource)
{
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		ModelEntry *entry = lfirst(cell);

		if (strcmp(entry->model->resource, resource) == 0 &&
			strcmp(entry->model->project, project) == 0)
			return entry;
	}
	return NULL;
}

/* Make the entry of a stored model. */
static ModelEntry *
EntryOfStored(const char *json)
{
	ModelEntry *entry = palloc0(sizeof(ModelEntry));

	entry->model = ModelStoreFromJson(json, strlen(json));
	entry->place = psprintf("%s.%s", entry->model->project, entry->model->resource);
	return entry;
}

/* Raise an error about stored models that do not fit together. */
static void
RefuseEntry(const ModelEntry *entry, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored model of \"%s\" %s", entry->place, what)));
}

/*
 * Returns the entry that a stored model refers to, which must be there, and be
 * abstract or not, as expected.
 */
static ModelEntry *
StoredTarget(const ModelSet *set, const ModelEntry *entry, const char *project, const char *resource, bool abstract)
{
	ModelEntry *target = ModelSetFind(set, project, resource);

	if (target == NULL || (target->model->kind == RESOURCE_ABSTRACT) != abstract)
		RefuseEntry(entry, psprintf("refers to \"%s.%s\", which is not there or of another kind", project, resource));
	return target;
}

/* Check the references of a stored model, and add it to the subclasses of its superclass. */
static void
LinkStored(const ModelSet *set, ModelEntry *entry)
{
	const ResourceModel *model = entry->model;

	if (ModelSetFind(set, model->project, model->resource) != entry)
		RefuseEntry(entry, "is there twice");
	if (model->kind == RESOURCE_ABSTRACT && (model->member_schema == NULL || model->member_table == NULL))
		RefuseEntry(entry, "has no table of members");
	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *r = &model->references[i];

		if (!r->descriptor)
			(void) StoredTarget (set, entry, r->project, r->resource, r->abstract);
	}
	if (model->superclass_resource != NULL)
	{
		ModelEntry *super = StoredTarget (set, entry, model->superclass_project, model->superclass_resource, true);

		super->subclasses = lappend(super->subclasses, entry);
	}
}

/*
 * Load the models of the store, in the active snapshot.  The entries have no
 * sources: what the models do not say is not known.
 */
ModelSet *
ModelSetFromStore(void)
{
	ModelSet   *set = palloc0(sizeof(ModelSet));
	uint64		n = ResourceModelsAll();
	char	  **models = ResultNames(1);
	ListCell   *cell;

	set->problems = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		set->entries = lappend(set->entries, EntryOfStored(models[i]));
	}
	foreach(cell, set->entries)
		LinkStored(set, lfirst(cell));
	return set;
}

/* Add a name to a list, unless it is there. */
static List *
AddName(List *names, const char *name)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return names;
	}
	return lappend(names, unconstify(char *, name));
}

/* Returns the schemas of the database that models have tables in, each once; not that of the core tables. */
List *
ModelSetSchemas(const ModelSet *set)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		const ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		for (int i = 0; model->kind != RESOURCE_DESCRIPTOR && i < model->ntables; i++)
			names = AddName(names, model->tables[i].schema);
		if (model->member_schema != NULL)
			names = AddName(names, model->member_schema);
	}
	return names;
}
