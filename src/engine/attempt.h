/*
 * attempt.h
 *		Work in a subtransaction.
 */
#ifndef DMS_ATTEMPT_H
#define DMS_ATTEMPT_H

#include "postgres.h"

/* Returns true to keep what it did. */
typedef bool (*AttemptFunction) (void *arg);

extern bool Attempt(AttemptFunction function, void *arg);
extern ErrorData *AttemptCatch(AttemptFunction function, void *arg, bool *stays);

#endif							/* DMS_ATTEMPT_H */
