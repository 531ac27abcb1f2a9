/*
 * nowait.h
 *		Failing instead of waiting for locks.
 */
#ifndef DMS_NOWAIT_H
#define DMS_NOWAIT_H

#include "postgres.h"

extern int	NowaitBegin(void);
extern void NowaitEnd(int level);

#endif							/* DMS_NOWAIT_H */
