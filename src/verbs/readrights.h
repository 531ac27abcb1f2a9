/*
 * readrights.h
 *		Whether the caller may read what is stored outside the tables of a resource.
 */
#ifndef DMS_READRIGHTS_H
#define DMS_READRIGHTS_H

#include "postgres.h"

#include "model/model.h"

extern bool ReadRightsHave(Oid table);
extern bool ReadRightsHideRows(Oid table);
extern bool ReadRightsOfTables(const ResourceModel *model);
extern bool ReadRightsOfResource(const ResourceModel *model, bool row_found);
extern bool ReadRightsOfKeys(const ResourceModel *model);

#endif							/* DMS_READRIGHTS_H */
