/*
 * modelbuild.h
 *		Compiling an ApiSchema into models, at deploy.
 */
#ifndef DMS_MODELBUILD_H
#define DMS_MODELBUILD_H

#include "postgres.h"

#include "schema/modelset.h"

extern ModelSet *ModelBuildSet(ApiSchema *schema);

#endif							/* DMS_MODELBUILD_H */
