/*
 * safefunction.h
 *		May a function run with rights that are lent to a caller?
 */
#ifndef DMS_SAFEFUNCTION_H
#define DMS_SAFEFUNCTION_H

#include "postgres.h"

/* A place that a function would run from. */
typedef struct FunctionPlace
{
	Oid			table;			/* because of which; InvalidOid: none of all */
	Oid			runs_as;		/* the role that it runs as */
	bool		deferrable;		/* it may run at the end of the transaction */
} FunctionPlace;

extern void SafeFunctionInit(void);
extern bool SafeFunctionCheck(Oid function, const FunctionPlace *place);
extern uint64 SafeFunctionChanges(void);

#endif							/* DMS_SAFEFUNCTION_H */
