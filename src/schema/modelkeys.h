/*
 * modelkeys.h
 *		Binding what must be unique or equal.
 */
#ifndef DMS_MODELKEYS_H
#define DMS_MODELKEYS_H

#include "postgres.h"

#include "schema/modelset.h"

extern void ModelKeysAddNatural(ModelSet *set, ModelEntry *entry);
extern void ModelKeysBind(ModelSet *set, ModelEntry *entry);

#endif							/* DMS_MODELKEYS_H */
