/*
 * faults.h
 *		Guards that a test build can switch off, and points where it can pause.
 *
 * A build with -DDMS_FAULTS has three more settings: dms.skip, a list of guards
 * that are left out; dms.pause, a list of points at which a session waits for an
 * advisory lock; and dms.delay, the longest time that a session sleeps at each
 * point.  They prove that a test of a guard fails without the guard.  In the
 * shipped build both macros are constants and nothing remains.
 */
#ifndef DMS_FAULTS_H
#define DMS_FAULTS_H

#ifdef DMS_FAULTS
extern bool FaultListed(const char *guard);
extern void FaultPauseAt(const char *point);
extern void FaultsInit(void);

#define FAULT_SKIP(guard) FaultListed(guard)
#define FAULT_PAUSE(point) FaultPauseAt(point)
#else
#define FAULT_SKIP(guard) false
#define FAULT_PAUSE(point) ((void) 0)
#endif

#endif							/* DMS_FAULTS_H */
