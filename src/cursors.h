/*
 * cursors.h
 *		Keeping the caller's cursors from being replaced.
 */
#ifndef DMS_CURSORS_H
#define DMS_CURSORS_H

#include "postgres.h"

extern void CursorsPin(void);
extern void CursorsUnpin(void);

#endif							/* DMS_CURSORS_H */
