/*
 * grants.h
 *		Levels of access for roles.
 */
#ifndef DMS_GRANTS_H
#define DMS_GRANTS_H

extern void GrantsReapply(void);

#endif							/* DMS_GRANTS_H */
