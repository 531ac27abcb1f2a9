/*
 * modelset.h
 *		The models in the making, and how to find one among them.
 */
#ifndef DMS_MODELSET_H
#define DMS_MODELSET_H

#include "postgres.h"

#include "model/model.h"
#include "schema/apischema.h"

/* A model in the making, and its sources. */
typedef struct ModelEntry
{
	ApiResource *api;			/* NULL for abstract resources */
	ApiAbstract *abstract;
	ResourceModel *model;
	const char *place;
	List	   *subclasses;		/* abstract: ModelEntry */
	List	   *segments;		/* per table: the name of its ordinal */
	int			color;			/* walking graphs */
} ModelEntry;

typedef struct ModelSet
{
	ApiSchema  *schema;
	Problem    *problems;
	List	   *entries;		/* resources by name, then abstract resources */
} ModelSet;

extern ModelEntry *ModelSetFind(const ModelSet *set, const char *project,
								const char *resource);

#endif							/* DMS_MODELSET_H */
