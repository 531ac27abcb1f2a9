/*
 * launcher.h
 *		The launcher of background workers, and its settings.
 */
#ifndef DMS_LAUNCHER_H
#define DMS_LAUNCHER_H

#include "postgres.h"

#include "datatype/timestamp.h"

extern void LauncherInit(void);
extern bool LauncherServes(const char *database);
extern TimestampTz LauncherVisitAfter(TimestampTz time, int naptimes);
extern int	LauncherLinger(void);

#endif							/* DMS_LAUNCHER_H */
