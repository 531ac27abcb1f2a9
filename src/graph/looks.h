/*
 * looks.h
 *		Looking at relations under locks.
 */
#ifndef DMS_LOOKS_H
#define DMS_LOOKS_H

#include "postgres.h"

/* Something to look up in the active snapshot, as a number. */
typedef int64 (*LookFunction) (void *arg);

extern int64 LookNow(LookFunction look, void *arg);

#endif							/* DMS_LOOKS_H */
