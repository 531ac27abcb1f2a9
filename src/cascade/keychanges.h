/*
 * keychanges.h
 *		Recording the keys that a change of identity changes.
 */
#ifndef DMS_KEYCHANGES_H
#define DMS_KEYCHANGES_H

#include "postgres.h"

#include "cascade/closure.h"

typedef struct KeyChanges KeyChanges;

extern KeyChanges *KeyChangesBegin(const ClosureType *types);
extern void KeyChangesEnd(KeyChanges *changes);
extern void KeyChangesRecomputed(KeyChanges *changes);

#endif							/* DMS_KEYCHANGES_H */
