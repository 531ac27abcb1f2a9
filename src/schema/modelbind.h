/*
 * modelbind.h
 *		Binding references, identities and query fields.
 */
#ifndef DMS_MODELBIND_H
#define DMS_MODELBIND_H

#include "postgres.h"

#include "schema/modelset.h"

extern void ModelBindSuperclass(ModelSet *set, ModelEntry *entry);
extern void ModelBindReferences(ModelSet *set, ModelEntry *entry);
extern void ModelBindIdentity(ModelSet *set, ModelEntry *entry);
extern void ModelBindAbstract(ModelSet *set, ModelEntry *entry);
extern void ModelBindQueries(ModelSet *set, ModelEntry *entry);
extern void ModelBindEqualPaths(ModelSet *set, ModelEntry *entry);

#endif							/* DMS_MODELBIND_H */
