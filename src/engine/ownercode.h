/*
 * ownercode.h
 *		Checking the user-defined code that our statements would run with lent
 *		rights.
 */
#ifndef DMS_OWNERCODE_H
#define DMS_OWNERCODE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

/* A relation that a statement uses, and the mode in which it locks it. */
typedef struct OwnerLock
{
	Oid			relation;
	LOCKMODE	mode;
} OwnerLock;

/* The result of checking a statement; all zero if it was not checked. */
typedef struct OwnerCode
{
	uint64		checked;		/* state of the catalogs that it is valid for */
	bool		runs;			/* writes, and runs user-defined functions */
	OwnerLock  *locks;
	int			nlocks;
} OwnerCode;

/* Returns the rewritten queries of a statement. */
typedef List *(*OwnerQueries) (void *arg);

extern void OwnerCodeInit(void);
extern bool OwnerCodeApplies(void);
extern void OwnerCodeCheck(OwnerCode *code, OwnerQueries queries, void *arg);
extern void OwnerCodeCheckTable(Oid table);
extern void OwnerCodeCheckChange(Oid table);
extern void OwnerCodeCheckTruncate(Oid table);
extern void OwnerCodeCheckTarget(Oid table);
extern void OwnerCodeForget(OwnerCode *code);

#endif							/* DMS_OWNERCODE_H */
