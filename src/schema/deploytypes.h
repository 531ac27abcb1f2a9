/*
 * deploytypes.h
 *		Giving each resource of a schema its number.
 */
#ifndef DMS_DEPLOYTYPES_H
#define DMS_DEPLOYTYPES_H

#include "schema/modelset.h"

extern void DeployTypesCheck(ModelSet *set);
extern void DeployTypesRecord(const ModelSet *set);

#endif							/* DMS_DEPLOYTYPES_H */
