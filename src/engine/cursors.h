/*
 * cursors.h
 *		Keeping the caller's cursors from functions of other roles.
 */
#ifndef DMS_CURSORS_H
#define DMS_CURSORS_H

#include "postgres.h"

extern void CursorsGuard(void);
extern void CursorsRelease(void);

#endif							/* DMS_CURSORS_H */
