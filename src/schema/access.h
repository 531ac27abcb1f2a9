/*
 * access.h
 *		Levels of access for roles.
 */
#ifndef DMS_ACCESS_H
#define DMS_ACCESS_H

extern void AccessReapply(void);

#endif							/* DMS_ACCESS_H */
