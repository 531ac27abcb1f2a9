/*
 * modelset.h
 *		The models of a schema, and how to find one among them.
 */
#ifndef DMS_MODELSET_H
#define DMS_MODELSET_H

#include "postgres.h"

#include "model/model.h"
#include "schema/apischema.h"

/* A model, and if it is in the making, its sources. */
typedef struct ModelEntry
{
	ApiResource *api;			/* NULL for abstract resources, and of a store */
	ApiAbstract *abstract;
	ResourceModel *model;
	const char *place;
	List	   *subclasses;		/* abstract: ModelEntry */
	List	   *segments;		/* per table: the name of its ordinal */
	int			color;			/* walking graphs */
} ModelEntry;

typedef struct ModelSet
{
	ApiSchema  *schema;			/* NULL: of a store */
	Problem    *problems;
	List	   *entries;		/* resources by name, then abstract resources */
} ModelSet;

extern ModelEntry *ModelSetFind(const ModelSet *set, const char *project,
								const char *resource);
extern ModelSet *ModelSetFromStore(void);
extern List *ModelSetSchemas(const ModelSet *set);

#endif							/* DMS_MODELSET_H */
