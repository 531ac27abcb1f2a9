/*
 * closure.h
 *		A document and all documents whose identities depend on its
 *		identity.
 */
#ifndef DMS_CLOSURE_H
#define DMS_CLOSURE_H

#include "postgres.h"

#include "cascade/identitylocks.h"
#include "utils/hsearch.h"

/* The locked members of one resource type. */
typedef struct ClosureType
{
	char	   *project;
	char	   *resource;
	int			type;			/* its number, while the closure is made */
	int			rank;
	int64	   *ids;			/* ascending */
	int			n;
	struct ClosureType *next;	/* by rank */
} ClosureType;

/* The members by type, and the documents that refer to them. */
typedef struct Closure
{
	ClosureType *types;
	int64		size;
	HTAB	   *members;		/* all DocumentIds, locked */
	int64	   *parents;		/* documents that refer to members, some more
								 * than once */
	int			nparents;
} Closure;

extern void ClosureInit(void);
extern Closure *ClosureLock(const int64 *seeds, int nseeds, BusyIdentities *busy);
extern void ClosureAddParent(Closure *closure, int64 parent);
extern bool ClosureHas(const Closure *closure, int64 document_id);
extern int64 *ClosureIds(const Closure *closure, int *n);
extern int64 *ClosureOuterParents(const Closure *closure, int *n);
extern ClosureType *ClosureGroup(const int64 *ids, int n);

#endif							/* DMS_CLOSURE_H */
