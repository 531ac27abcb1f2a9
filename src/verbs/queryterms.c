/*
 * queryterms.c
 *		From filters to conditions on the rows of a resource.
 *
 * A query has conditions that must all hold; each is a term, or several of which
 * one must hold.  A term compares a column of the root, or the identity of the
 * document that a reference of the root points to.  An identity that is known in
 * full, as those of descriptors always are, is looked up by its ReferentialId, all
 * of them in one statement.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/lowercase.h"
#include "base/referentialid.h"
#include "miscadmin.h"
#include "verbs/queryterms.h"

/* More identities than this are not spelled out one by one. */
#define MAX_COMBINATIONS 1000

/* Add a ReferentialId to look up. */
static void
AddId(QueryTerms *terms, const pg_uuid_t *id)
{
	APPEND(terms->ids, terms->nids, *id);
}

/*
 * Compute the ReferentialIds of descriptors, by their URIs.  No identity contains
 * a value that reads like the border of two: it would hash like another one.
 */
static IdRange
DescriptorIds(QueryTerms *terms, const char *project, const char *resource,
			  const FilterPath *uris)
{
	IdRange		range = {terms->nids, 0};

	for (int i = 0; i < uris->nvalues; i++)
	{
		const char *path = "$.descriptor";
		const char *uri = LowercaseInvariant(uris->values[i], strlen(uris->values[i]));
		pg_uuid_t	id;

		if (ReferentialIdValueIsAmbiguous(uri))
			continue;
		ReferentialId(project, resource, 1, &path, &uri, &id);
		AddId(terms, &id);
	}
	range.n = terms->nids - range.first;
	return range;
}

/* Returns the value of a member in one of the combinations of values. */
static const char *
CombinedValue(const MemberModel *member, const FilterPath *given, int *combination)
{
	const char *value = given->values[*combination % given->nvalues];

	*combination /= given->nvalues;
	return member->lower ? LowercaseInvariant(value, strlen(value)) : value;
}

/*
 * Returns the first member that has the same place in the body as this one, and
 * so has its value: the member itself if there is none before it.
 */
static int
FirstOfName(const ReferenceModel *reference, int member)
{
	for (int i = 0; i < member; i++)
		if (strcmp(reference->members[i].name, reference->members[member].name) == 0)
			return i;
	return member;
}

/* Compute the ReferentialIds of all identities that the values of the members give. */
static IdRange
ReferenceIds(QueryTerms *terms, const QueryTerm *term, int combinations)
{
	const ReferenceModel *reference = term->reference;
	const char **paths = palloc(sizeof(char *) * reference->nmembers);
	const char **values = palloc(sizeof(char *) * reference->nmembers);
	IdRange		range = {terms->nids, 0};

	for (int i = 0; i < combinations; i++)
	{
		int			rest = i;
		bool		ambiguous = false;
		pg_uuid_t	id;

		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < reference->nmembers; j++)
		{
			int			first = FirstOfName(reference, j);

			paths[j] = reference->members[j].identity_path;
			values[j] = first < j ? values[first] :
				CombinedValue(&reference->members[j], term->members[j], &rest);
			ambiguous |= ReferentialIdValueIsAmbiguous(values[j]);
		}
		if (ambiguous)
			continue;
		ReferentialId(reference->project, reference->resource, reference->nmembers,
					  paths, values, &id);
		AddId(terms, &id);
	}
	range.n = terms->nids - range.first;
	return range;
}

/* Count the identities that the members give; 0: too many, or one is not given. */
static int
CountCombinations(const QueryTerm *term)
{
	int			n = 1;

	for (int i = 0; i < term->reference->nmembers; i++)
	{
		if (term->members[i] == NULL || term->members[i]->nvalues == 0)
			return 0;
		if (FirstOfName(term->reference, i) < i)
			continue;
		if (term->members[i]->nvalues > MAX_COMBINATIONS / n)
			return 0;
		n *= term->members[i]->nvalues;
	}
	return n;
}

/* Compute the ReferentialIds that a term needs. */
static void
PrepareTerm(QueryTerms *terms, QueryTerm *term)
{
	const ResourceModel *model = terms->model;
	const ReferenceModel *reference = term->reference;
	int			combinations;

	if (reference == NULL)
	{
		int			column = term->root->path->column;

		if (column >= 0 && model->tables[0].columns[column].role == COLUMN_DESCRIPTOR)
		{
			reference = &model->references[model->tables[0].columns[column].reference];
			term->ids = DescriptorIds(terms, reference->project, reference->resource, term->root);
		}
		return;
	}
	combinations = CountCombinations(term);
	term->complete = combinations > 0;
	if (term->complete)
	{
		term->ids = ReferenceIds(terms, term, combinations);
		return;
	}
	term->member_ids = palloc0(sizeof(IdRange) * reference->nmembers);
	for (int i = 0; i < reference->nmembers; i++)
		if (term->members[i] != NULL && reference->members[i].descriptor_resource != NULL)
			term->member_ids[i] = DescriptorIds(terms, reference->members[i].descriptor_project,
												reference->members[i].descriptor_resource,
												term->members[i]);
}

/* Give a term the values of a reference, wherever its target's identity has them. */
static void
GiveMember(QueryTerm *term, const FilterPath *given)
{
	const MemberModel *members = term->reference->members;

	for (int i = 0; i < term->reference->nmembers; i++)
		if (strcmp(members[i].name, members[given->path->member].name) == 0)
			term->members[i] = given;
}

/* Make the term of the first values that are given for it. */
static void
StartTerm(const ResourceModel *model, QueryTerm *term, const FilterPath *given)
{
	memset(term, 0, sizeof(QueryTerm));
	term->absent = -1;
	if (given->path->reference < 0)
	{
		term->root = given;
		return;
	}
	term->reference = &model->references[given->path->reference];
	term->members = palloc0(sizeof(FilterPath *) * term->reference->nmembers);
	GiveMember(term, given);
}

/* Returns true if a term is about this reference and has no such value yet. */
static bool
CanJoin(const QueryTerms *terms, const QueryTerm *term, const FilterPath *given)
{
	return given->path->reference >= 0 &&
		term->reference == &terms->model->references[given->path->reference] &&
		term->members[given->path->member] == NULL;
}

/*
 * Add values to a term for the same reference, if there is one.  The values of
 * several fields may make up the whole identity of its target.
 */
static bool
JoinTerm(QueryTerms *terms, const FilterPath *given)
{
	for (int i = 0; i < terms->nconditions; i++)
	{
		QueryCondition *condition = &terms->conditions[i];

		if (condition->nterms != 1 || !CanJoin(terms, &condition->terms[0], given))
			continue;
		GiveMember(&condition->terms[0], given);
		return true;
	}
	return false;
}

/*
 * Add values to the two terms of a condition on the same two references.  That is
 * the same as two conditions, because the first term of both needs documents
 * without the second reference.
 */
static bool
JoinTied(QueryTerms *terms, const Filter *filter)
{
	for (int i = 0; i < terms->nconditions; i++)
	{
		QueryCondition *condition = &terms->conditions[i];

		if (!condition->exclusive || !CanJoin(terms, &condition->terms[0], &filter->paths[0]) ||
			!CanJoin(terms, &condition->terms[1], &filter->equals[0]))
			continue;
		GiveMember(&condition->terms[0], &filter->paths[0]);
		GiveMember(&condition->terms[1], &filter->equals[0]);
		return true;
	}
	return false;
}

/* Add an empty condition with room for n terms. */
static QueryCondition *
NewCondition(QueryTerms *terms, int n)
{
	QueryCondition *condition = &terms->conditions[terms->nconditions++];

	condition->terms = palloc(sizeof(QueryTerm) * Max(n, 1));
	return condition;
}

/* Add a term to a condition. */
static void
AddTerm(QueryTerms *terms, QueryCondition *condition, const FilterPath *given)
{
	StartTerm(terms->model, &condition->terms[condition->nterms++], given);
}

/* Add the condition of a value that documents have at one path. */
static void
AddSingle(QueryTerms *terms, const FilterPath *given)
{
	if (!JoinTerm(terms, given))
		AddTerm(terms, NewCondition(terms, 1), given);
}

/*
 * Add the condition of a field with an equal path, where no document has different
 * values.  Other filters may need the reference of the field anyway.  An equal
 * path that all documents have decides alone.  Otherwise the reference of the field
 * decides for documents without the equal path: so no document matches twice.
 */
static void
AddTied(QueryTerms *terms, const Filter *filter)
{
	const FilterPath *equal = &filter->equals[0];
	QueryCondition *condition;

	if (JoinTerm(terms, &filter->paths[0]))
		return;
	if (equal->path->required)
	{
		AddSingle(terms, equal);
		return;
	}
	if (JoinTied(terms, filter))
		return;
	condition = NewCondition(terms, 2);
	condition->exclusive = true;
	AddTerm(terms, condition, &filter->paths[0]);
	AddTerm(terms, condition, equal);
	condition->terms[0].absent = equal->path->column;
}

/* Add the condition of a field that has several paths. */
static void
AddAny(QueryTerms *terms, const Filter *filter)
{
	const QueryModel *field = filter->field;
	QueryCondition *condition = NewCondition(terms, field->npaths + field->nequals);

	for (int i = 0; i < field->npaths; i++)
		AddTerm(terms, condition, &filter->paths[i]);
	for (int i = 0; i < field->nequals; i++)
		AddTerm(terms, condition, &filter->equals[i]);
}

/* Add the conditions of all filters; those of a single path are joined first. */
static void
AddConditions(QueryTerms *terms, const Filter *filters, int n)
{
	for (int i = 0; i < n; i++)
		if (filters[i].field->npaths == 1 && filters[i].field->nequals == 0)
			AddSingle(terms, &filters[i].paths[0]);
	for (int i = 0; i < n; i++)
	{
		if (filters[i].field->tied)
			AddTied(terms, &filters[i]);
		else if (filters[i].field->npaths != 1 || filters[i].field->nequals > 0)
			AddAny(terms, &filters[i]);
	}
}

/* Make the conditions of filters; identities are looked up in the active snapshot. */
QueryTerms *
QueryTermsMake(const ResourceModel *model, const Filter *filters, int n)
{
	QueryTerms *terms = palloc0(sizeof(QueryTerms));

	terms->model = model;
	terms->conditions = palloc0(sizeof(QueryCondition) * Max(n, 1));
	AddConditions(terms, filters, n);
	for (int i = 0; i < terms->nconditions; i++)
		for (int j = 0; j < terms->conditions[i].nterms; j++)
			PrepareTerm(terms, &terms->conditions[i].terms[j]);
	terms->found = IdSetMake(terms->ids, terms->nids);
	if (terms->nids > 0)
		ReferentialIdsLookUp(terms->found);
	return terms;
}
