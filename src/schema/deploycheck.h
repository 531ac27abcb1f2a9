/*
 * deploycheck.h
 *		Checks of a deploy that have to do with the store and the server.
 */
#ifndef DMS_DEPLOYCHECK_H
#define DMS_DEPLOYCHECK_H

#include "postgres.h"

#include "schema/modelset.h"

extern void DeployCheckEdgeSources(ModelSet *set);
extern void DeployCheckLocks(int tables, int indexes);
extern void DeployCheckOwners(ApiSchema *schema);

#endif							/* DMS_DEPLOYCHECK_H */
