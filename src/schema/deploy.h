/*
 * deploy.h
 *		Deploying a schema: the SQL functions around models and DDL.
 */
#ifndef DMS_DEPLOY_H
#define DMS_DEPLOY_H

#include "postgres.h"

/* Version of the rules from ApiSchema to tables; part of every hash. */
#define MAPPING_VERSION "1"

#endif							/* DMS_DEPLOY_H */
