/*
 * progress.h
 *		Telling pg_stat_activity how far a long call is.
 */
#ifndef DMS_PROGRESS_H
#define DMS_PROGRESS_H

#include "postgres.h"

extern void ProgressReport(const char *format,...) pg_attribute_printf(1, 2);
extern void ProgressEnd(void);

#endif							/* DMS_PROGRESS_H */
