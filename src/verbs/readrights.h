/*
 * readrights.h
 *		Whether the caller may read what is stored outside the tables of a resource.
 */
#ifndef DMS_READRIGHTS_H
#define DMS_READRIGHTS_H

#include "postgres.h"

#include "model/model.h"

extern bool RightsRead(Oid table);
extern bool RightsHideRows(Oid table);
extern bool RightsReadResource(const ResourceModel *model, bool row_found);
extern bool RightsReadKeys(const ResourceModel *model);

#endif							/* DMS_READRIGHTS_H */
