/*
 * changetracking.h
 *		The upkeep of the journal of changes.
 */
#ifndef DMS_CHANGETRACKING_H
#define DMS_CHANGETRACKING_H

#include "postgres.h"

extern void ChangeTrackingInit(void);
extern int64 ChangeTrackingPurge(int64 max_rows);

#endif							/* DMS_CHANGETRACKING_H */
