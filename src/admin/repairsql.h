/*
 * repairsql.h
 *		The statements that repair the store.
 */
#ifndef DMS_REPAIRSQL_H
#define DMS_REPAIRSQL_H

#include "postgres.h"

extern char *RepairSql(const char *function, int nargs, const char *const *args);

#endif							/* DMS_REPAIRSQL_H */
