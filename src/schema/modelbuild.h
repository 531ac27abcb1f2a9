/*
 * modelbuild.h
 *		Compiling an ApiSchema into models, at deploy.
 */
#ifndef DMS_MODELBUILD_H
#define DMS_MODELBUILD_H

#include "postgres.h"

#include "model/model.h"
#include "schema/apischema.h"

/* A model in the making, beside what it is made from. */
typedef struct ModelEntry
{
	ApiResource *api;			/* NULL for abstract resources */
	ApiAbstract *abstract;
	ResourceModel *model;
	const char *place;
	List	   *subclasses;		/* abstract: ModelEntry */
	List	   *segments;		/* per table: what its ordinal is called */
	int			color;			/* walking graphs */
} ModelEntry;

typedef struct ModelSet
{
	ApiSchema  *schema;
	Problem    *problems;
	List	   *entries;		/* resources by name, then abstract resources */
} ModelSet;

extern ModelSet *ModelSetBuild(ApiSchema *schema);

/* modelset.c */
extern ModelEntry *ModelSetFind(const ModelSet *set, const char *project,
								const char *resource);

/* modeltables.c */
extern void ModelBuildTables(ModelSet *set, ModelEntry *entry);
extern int	ModelAddColumn(ModelEntry *entry, int table, const char *title,
						   ColumnModel column);
extern int	ModelFindColumn(const ResourceModel *model, int table,
							const char *path);

/* modelcheck.c */
extern void ModelCheckMetadata(ModelSet *set, ModelEntry *entry);

/* modelbind.c */
extern void ModelFindSuperclass(ModelSet *set, ModelEntry *entry);
extern void ModelBindReferences(ModelSet *set, ModelEntry *entry);
extern void ModelBindIdentity(ModelSet *set, ModelEntry *entry);
extern void ModelBindAbstract(ModelSet *set, ModelEntry *entry);
extern void ModelBindQueries(ModelSet *set, ModelEntry *entry);
extern void ModelBindConstraints(ModelSet *set, ModelEntry *entry);
extern void ModelCheckMembers(ModelSet *set, ModelEntry *entry);

/* modelgraph.c */
extern void ModelRankIdentities(ModelSet *set);
extern void ModelOrderLoads(ModelSet *set);
extern void ModelProject(ModelSet *set, ModelEntry *entry);

extern bool PathEndsIn(const char *path, const char *ending);

#endif							/* DMS_MODELBUILD_H */
