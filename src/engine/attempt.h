/*
 * attempt.h
 *		Running a function in a subtransaction.
 */
#ifndef DMS_ATTEMPT_H
#define DMS_ATTEMPT_H

#include "postgres.h"

/* The function to run; returns true if its changes are to be kept. */
typedef bool (*AttemptFunction) (void *arg);

extern bool Attempt(AttemptFunction function, void *arg);
extern ErrorData *AttemptCatch(AttemptFunction function, void *arg, bool *stays);

#endif							/* DMS_ATTEMPT_H */
