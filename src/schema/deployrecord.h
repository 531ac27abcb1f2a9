/*
 * deployrecord.h
 *		What the store records about deploys.
 */
#ifndef DMS_DEPLOYRECORD_H
#define DMS_DEPLOYRECORD_H

#include "postgres.h"

#include "schema/modelset.h"

/* Version of the rules from ApiSchema to tables; part of every hash. */
#define MAPPING_VERSION "1"

extern char *DeployRecordHash(void);
extern void DeployRecordSchema(const ApiSchema *schema, const char *hash);
extern void DeployRecordEdgeSources(const ModelSet *set);
extern void DeployRecordForgetEdgeSources(const ModelSet *set);

#endif							/* DMS_DEPLOYRECORD_H */
