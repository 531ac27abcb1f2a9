/*
 * projector.h
 *		Bringing dms.DocumentCache up to date.
 */
#ifndef DMS_PROJECTOR_H
#define DMS_PROJECTOR_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* What a step did. */
typedef struct ProjectorResult
{
	int64		projected;		/* documents */
	bool		on;				/* the cache is */
	bool		more;			/* there is more to do */
	bool		busy;			/* another session projects */
	int			pause;			/* milliseconds to rest, because of the rate */
	TimestampTz next;			/* when a document is to be tried again; 0:
								 * never */
} ProjectorResult;

extern void ProjectorInit(void);
extern void ProjectorStep(ProjectorResult *result);
extern void ProjectorStart(void);
extern int64 ProjectorRebuild(void);
extern void ProjectorStop(void);
extern int64 ProjectorReadsFrom(void);

#endif							/* DMS_PROJECTOR_H */
