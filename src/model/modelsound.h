/*
 * modelsound.h
 *		Completing and checking a model that was read.
 */
#ifndef DMS_MODELSOUND_H
#define DMS_MODELSOUND_H

#include "postgres.h"

#include "model/model.h"

extern void ModelSoundComplete(ResourceModel *model);

#endif							/* DMS_MODELSOUND_H */
