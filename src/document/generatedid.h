/*
 * generatedid.h
 *		Identities that the store makes: the option "generatedId".
 */
#ifndef DMS_GENERATEDID_H
#define DMS_GENERATEDID_H

#include "postgres.h"

#include "base/jsontree.h"
#include "base/report.h"
#include "model/modelcache.h"
#include "utils/uuid.h"

extern bool GeneratedIdFill(JNode *body, const char *property, const pg_uuid_t *uuid);
extern void GeneratedIdRead(JNode *body, const char *property, pg_uuid_t *uuid);
extern void GeneratedIdFindOthers(const ResourceModel *model, int column, Problem *problem);

#endif							/* DMS_GENERATEDID_H */
