/*
 * precondition.h
 *		Conditions under which a write may happen.
 */
#ifndef DMS_PRECONDITION_H
#define DMS_PRECONDITION_H

#include "postgres.h"

#include "document/document.h"

/* Etags that a caller named; "any" is every one. */
typedef struct EtagList
{
	bool		given;
	bool		any;
	int64	   *etags;
	int			n;
} EtagList;

typedef struct Precondition
{
	EtagList	match;			/* the document must have one of these */
	EtagList	none_match;		/* it must have none of these */
} Precondition;

extern void PreconditionSetMatch(Precondition *precondition, int64 etag);
extern void PreconditionCheck(const Precondition *precondition,
							  const DocumentHeader *header);
extern void PreconditionCheckAbsent(const Precondition *precondition);
extern void PreconditionRaiseGone(const Precondition *precondition,
								  const pg_uuid_t *uuid) pg_attribute_noreturn();
extern bool PreconditionListHas(const EtagList *list, int64 etag);

#endif							/* DMS_PRECONDITION_H */
