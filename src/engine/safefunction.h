/*
 * safefunction.h
 *		Deciding whether a function may run with lent rights.
 */
#ifndef DMS_SAFEFUNCTION_H
#define DMS_SAFEFUNCTION_H

#include "postgres.h"

/* The circumstances under which a function would run. */
typedef struct FunctionPlace
{
	Oid			table;			/* the table whose use runs it, or InvalidOid */
	Oid			runs_as;		/* the role that it would run as */
	bool		deferrable;		/* may run at the end of the transaction */
} FunctionPlace;

extern void SafeFunctionInit(void);
extern bool SafeFunctionCheck(Oid function, const FunctionPlace *place);
extern uint64 SafeFunctionChanges(void);

#endif							/* DMS_SAFEFUNCTION_H */
