/*
 * audit.h
 *		Mending what an audit found.
 */
#ifndef DMS_AUDIT_H
#define DMS_AUDIT_H

#include "postgres.h"

#include "model/model.h"

extern int64 AuditMendEdges(const ResourceModel *model);

#endif							/* DMS_AUDIT_H */
