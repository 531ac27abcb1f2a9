/*
 * deployschemas.h
 *		Schemas of the database that hold other things than the store.
 */
#ifndef DMS_DEPLOYSCHEMAS_H
#define DMS_DEPLOYSCHEMAS_H

#include "postgres.h"

#include "schema/ddl.h"

extern void DeploySchemasCheck(ApiSchema *schema, const ModelSet *before, const ModelSet *after, const DdlPlan *ddl);

#endif							/* DMS_DEPLOYSCHEMAS_H */
