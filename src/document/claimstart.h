/*
 * claimstart.h
 *		Where a session begins to look for jobs that are due.
 */
#ifndef DMS_CLAIMSTART_H
#define DMS_CLAIMSTART_H

#include "postgres.h"

#include "datatype/timestamp.h"

extern TimestampTz ClaimStartOf(const char *queue, TimestampTz now);
extern void ClaimStartNote(const char *queue, TimestampTz first, TimestampTz last, TimestampTz began);

#endif							/* DMS_CLAIMSTART_H */
