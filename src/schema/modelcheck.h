/*
 * modelcheck.h
 *		Checking that the metadata of resources contradicts nothing.
 */
#ifndef DMS_MODELCHECK_H
#define DMS_MODELCHECK_H

#include "postgres.h"

#include "schema/modelset.h"

extern void ModelCheckMetadata(ModelSet *set, ModelEntry *entry);
extern void ModelCheckMembers(ModelSet *set, ModelEntry *entry);

#endif							/* DMS_MODELCHECK_H */
