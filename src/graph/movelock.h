/*
 * movelock.h
 *		The lock of transactions that move a document with its children.
 */
#ifndef DMS_MOVELOCK_H
#define DMS_MOVELOCK_H

extern void MoveLockTake(void);

#endif							/* DMS_MOVELOCK_H */
