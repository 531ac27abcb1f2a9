/*
 * keychanges.h
 *		Recording the keys that a change of identity changes.
 */
#ifndef DMS_KEYCHANGES_H
#define DMS_KEYCHANGES_H

#include "postgres.h"

#include "cascade/closure.h"

typedef struct KeyChanges KeyChanges;

extern KeyChanges *KeyChangesBegin(const Closure *closure);
extern void KeyChangesEnd(KeyChanges *changes);

#endif							/* DMS_KEYCHANGES_H */
