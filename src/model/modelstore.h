/*
 * modelstore.h
 *		Models as JSON text, as dms.ResourceModel stores them.
 */
#ifndef DMS_MODELSTORE_H
#define DMS_MODELSTORE_H

#include "postgres.h"

#include "model/model.h"

extern const char *ModelStoreKindName(int kind);
extern char *ModelStoreToJson(const ResourceModel *model);
extern ResourceModel *ModelStoreFromJson(const char *text, int len);
extern ResourceModel *ModelStoreFromOlder(const char *text, int len);
extern bool ModelStoreEqual(const ResourceModel *left, const ResourceModel *right);

#endif							/* DMS_MODELSTORE_H */
