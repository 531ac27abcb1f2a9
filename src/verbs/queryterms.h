/*
 * queryterms.h
 *		The conditions that the filters of a query make.
 */
#ifndef DMS_QUERYTERMS_H
#define DMS_QUERYTERMS_H

#include "postgres.h"

#include "document/references.h"
#include "verbs/filter.h"

/* Some of the query's ReferentialIds. */
typedef struct IdRange
{
	int			first;
	int			n;
} IdRange;

/* A comparison with a column of the root, or with the target of a reference. */
typedef struct QueryTerm
{
	const FilterPath *root;		/* NULL for references */
	int			absent;			/* column of the root that must be null too;
								 * or -1 */
	const ReferenceModel *reference;
	const FilterPath **members; /* as reference->members; NULL: not given */
	bool		complete;		/* the whole identity is given */
	IdRange		ids;			/* of a descriptor, or of the whole identity */
	IdRange    *member_ids;		/* of descriptors among the members */
} QueryTerm;

/* One of the terms must hold. */
typedef struct QueryCondition
{
	QueryTerm  *terms;
	int			nterms;
	bool		exclusive;		/* never more than one holds */
} QueryCondition;

/* All of the conditions must hold. */
typedef struct QueryTerms
{
	const ResourceModel *model;
	QueryCondition *conditions;
	int			nconditions;
	pg_uuid_t  *ids;			/* to be looked up */
	int			nids;
	IdSet	   *found;			/* their documents */
} QueryTerms;

extern QueryTerms *QueryTermsMake(const ResourceModel *model, const Filter *filters, int n);

#endif							/* DMS_QUERYTERMS_H */
