/*
 * notices.h
 *		Telling sessions that listen about changes and jobs.
 */
#ifndef DMS_NOTICES_H
#define DMS_NOTICES_H

#include "postgres.h"

extern void NoticesInit(void);
extern void NoticesTellJob(const char *queue);

#endif							/* DMS_NOTICES_H */
