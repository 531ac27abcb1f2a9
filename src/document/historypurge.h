/*
 * historypurge.h
 *		Deleting versions that the options of their resources do not retain.
 */
#ifndef DMS_HISTORYPURGE_H
#define DMS_HISTORYPURGE_H

#include "postgres.h"

extern bool HistoryPurgeIsWanted(void);
extern int64 HistoryPurge(int64 max_rows);

#endif							/* DMS_HISTORYPURGE_H */
