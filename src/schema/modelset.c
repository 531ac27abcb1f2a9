/*
 * modelset.c
 *		The models in the making.
 */
#include "postgres.h"

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
