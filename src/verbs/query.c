/*
 * query.c
 *		From filters to the ids of the documents that match.
 *
 * A query has conditions that must all hold; each is a term, or several of
 * which one must hold.  A term compares a column of the root, or the identity
 * of what a reference of the root points to.  What is known in full, as
 * descriptors always are, is looked up by its ReferentialId, all in one
 * statement; what is known in part is found through the columns of the target
 * and of what the target refers to.
 *
 * Names are quoted, values are parameters.  Plans are kept by the text of
 * their statement.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/lowercase.h"
#include "base/referentialid.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "document/resolve.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "miscadmin.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "verbs/query.h"

#define EQUALS " OPERATOR(pg_catalog.=) "

/* More identities than this are not spelled out one by one. */
#define MAX_COMBINATIONS 1000

/* Some of the query's ReferentialIds. */
typedef struct IdRange
{
	int			first;
	int			n;
} IdRange;

/* A comparison with a column of the root, or with what a reference names. */
typedef struct Term
{
	const FilterPath *root;		/* NULL for references */
	const ReferenceModel *reference;
	const FilterPath **members; /* as reference->members; NULL: not given */
	bool		complete;		/* the whole identity is given */
	IdRange		ids;			/* of a descriptor, or of the whole identity */
	IdRange    *member_ids;		/* of descriptors among the members */
} Term;

/* One of the terms must hold. */
typedef struct Condition
{
	Term	   *terms;
	int			nterms;
} Condition;

struct DocumentQuery
{
	Resource   *resource;
	Condition  *conditions;
	int			nconditions;
	pg_uuid_t  *ids;			/* to be looked up */
	int			nids;
	IdSet	   *found;
	StringInfoData where;
	bool		impossible;		/* no document can match */
	Datum	   *values;			/* parameters */
	Oid		   *types;
	int			nargs;
};

/* --- which terms there are ------------------------------------------------ */

static void
AddId(DocumentQuery *query, const pg_uuid_t *id)
{
	APPEND(query->ids, query->nids, *id);
}

/*
 * The ReferentialIds of descriptors, by their URIs.  No identity contains a
 * value that reads like the border of two: it would hash like another one.
 */
static IdRange
DescriptorIds(DocumentQuery *query, const char *project, const char *resource,
			  const FilterPath *uris)
{
	IdRange		range = {query->nids, 0};

	for (int i = 0; i < uris->nvalues; i++)
	{
		const char *path = "$.descriptor";
		const char *uri = LowerInvariant(uris->values[i], strlen(uris->values[i]));
		pg_uuid_t	id;

		if (ReferentialIdValueIsAmbiguous(uri))
			continue;
		ReferentialId(project, resource, 1, &path, &uri, &id);
		AddId(query, &id);
	}
	range.n = query->nids - range.first;
	return range;
}

/* The value of a member in one of the combinations of values. */
static const char *
CombinedValue(const MemberModel *member, const FilterPath *given, int *combination)
{
	const char *value = given->values[*combination % given->nvalues];

	*combination /= given->nvalues;
	return member->lower ? LowerInvariant(value, strlen(value)) : value;
}

/* Is a member the same body path as one before it?  Then it has its value. */
static int
FirstOfName(const ReferenceModel *reference, int member)
{
	for (int i = 0; i < member; i++)
		if (strcmp(reference->members[i].name, reference->members[member].name) == 0)
			return i;
	return member;
}

/* The ReferentialIds of all identities that the values of the members give. */
static IdRange
ReferenceIds(DocumentQuery *query, const Term *term, int combinations)
{
	const ReferenceModel *reference = term->reference;
	const char **paths = palloc(sizeof(char *) * reference->nmembers);
	const char **values = palloc(sizeof(char *) * reference->nmembers);
	IdRange		range = {query->nids, 0};

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
		AddId(query, &id);
	}
	range.n = query->nids - range.first;
	return range;
}

/* How many identities the members give; 0: too many, or some is not given. */
static int
CountCombinations(const Term *term)
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

/* Say which ReferentialIds a term needs. */
static void
PrepareTerm(DocumentQuery *query, Term *term)
{
	const ResourceModel *model = query->resource->model;
	const ReferenceModel *reference = term->reference;
	int			combinations;

	if (reference == NULL)
	{
		int			column = term->root->path->column;

		if (column >= 0 && model->tables[0].columns[column].role == COLUMN_DESCRIPTOR)
		{
			reference = &model->references[model->tables[0].columns[column].reference];
			term->ids = DescriptorIds(query, reference->project, reference->resource, term->root);
		}
		return;
	}
	combinations = CountCombinations(term);
	term->complete = combinations > 0;
	if (term->complete)
	{
		term->ids = ReferenceIds(query, term, combinations);
		return;
	}
	term->member_ids = palloc0(sizeof(IdRange) * reference->nmembers);
	for (int i = 0; i < reference->nmembers; i++)
		if (term->members[i] != NULL && reference->members[i].descriptor_resource != NULL)
			term->member_ids[i] = DescriptorIds(query, reference->members[i].descriptor_project,
												reference->members[i].descriptor_resource,
												term->members[i]);
}

/* A value of a reference is given, wherever its target's identity has it. */
static void
GiveMember(Term *term, const FilterPath *given)
{
	const MemberModel *members = term->reference->members;

	for (int i = 0; i < term->reference->nmembers; i++)
		if (strcmp(members[i].name, members[given->path->member].name) == 0)
			term->members[i] = given;
}

static void
StartTerm(const ResourceModel *model, Term *term, const FilterPath *given)
{
	memset(term, 0, sizeof(Term));
	if (given->path->reference < 0)
	{
		term->root = given;
		return;
	}
	term->reference = &model->references[given->path->reference];
	term->members = palloc0(sizeof(FilterPath *) * term->reference->nmembers);
	GiveMember(term, given);
}

/* Several fields may give values of one reference: together, it may be whole. */
static bool
JoinTerm(DocumentQuery *query, const FilterPath *given)
{
	const ResourceModel *model = query->resource->model;

	for (int i = 0; i < query->nconditions; i++)
	{
		Term	   *term = &query->conditions[i].terms[0];

		if (query->conditions[i].nterms != 1 || given->path->reference < 0 ||
			term->reference != &model->references[given->path->reference] ||
			term->members[given->path->member] != NULL)
			continue;
		GiveMember(term, given);
		return true;
	}
	return false;
}

static void
AddCondition(DocumentQuery *query, const Filter *filter)
{
	const ResourceModel *model = query->resource->model;
	Condition  *condition = &query->conditions[query->nconditions];

	if (filter->field->npaths == 1 && JoinTerm(query, &filter->paths[0]))
		return;
	condition->nterms = filter->field->npaths;
	condition->terms = palloc(sizeof(Term) * Max(condition->nterms, 1));
	for (int i = 0; i < condition->nterms; i++)
		StartTerm(model, &condition->terms[i], &filter->paths[i]);
	query->nconditions++;
}

/* --- what they are in SQL ------------------------------------------------- */

/* Add a parameter and return its number. */
static int
AddArg(DocumentQuery *query, Datum value, Oid type)
{
	GROW(query->values, query->nargs);
	query->values[query->nargs] = value;
	APPEND(query->types, query->nargs, type);
	return query->nargs;
}

/* "alias.column = any of the values"; a single one gets the better plans. */
static bool
AppendComparison(DocumentQuery *query, const char *alias, const char *column,
				 Datum *values, int n, Oid type, Oid array_type)
{
	if (n == 0)
		return false;
	appendStringInfo(&query->where, "%s.%s" EQUALS, alias, quote_identifier(column));
	if (n == 1)
		appendStringInfo(&query->where, "$%d", AddArg(query, values[0], type));
	else
		appendStringInfo(&query->where, "ANY ($%d)",
						 AddArg(query, ArrayDatum(n, values, NULL, type), array_type));
	return true;
}

/* The column refers to any of the documents that have these ReferentialIds. */
static bool
AppendIds(DocumentQuery *query, const char *alias, const char *column, const IdRange *range)
{
	Datum	   *ids = palloc(sizeof(Datum) * Max(range->n, 1));
	int			n = 0;

	for (int i = 0; i < range->n; i++)
	{
		int64		id = IdSetFind(query->found, &query->ids[range->first + i]);

		if (id != 0)
			ids[n++] = Int64GetDatum(id);
	}
	return AppendComparison(query, alias, column, ids, n, INT8OID, INT8ARRAYOID);
}

/* The column has any of the values. */
static bool
AppendValues(DocumentQuery *query, const char *alias, const char *column,
			 const FilterPath *given, ValueType type)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(given->nvalues, 1));

	if (type == VALUE_INT4)
		type = VALUE_INT8;
	for (int i = 0; i < given->nvalues; i++)
		values[i] = ValueToDatum(given->values[i], strlen(given->values[i]), type);
	return AppendComparison(query, alias, column, values, given->nvalues,
							ValueTypeOid(type), ValueArrayTypeOid(type));
}

/* The document has any of the ids. */
static bool
AppendUuids(DocumentQuery *query, const FilterPath *given)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(given->nvalues, 1));

	if (given->nvalues == 0)
		return false;
	for (int i = 0; i < given->nvalues; i++)
		values[i] = DirectFunctionCall1(uuid_in, CStringGetDatum(given->values[i]));
	appendStringInfoString(&query->where,
						   "r.documentid" EQUALS "ANY (" DOCUMENT_IDS_SQL);
	AppendComparison(query, "d", "documentuuid", values, given->nvalues, UUIDOID, UUIDARRAYOID);
	appendStringInfoChar(&query->where, ')');
	return true;
}

/* The join of which a given member is a column; its descriptor's, if it is one. */
static int
JoinOfMember(const ProjectionModel *projection, const ReferenceModel *reference, int member)
{
	int			join = projection->values[member].join;

	return reference->members[member].descriptor_resource ? projection->joins[join].from : join;
}

/* Does a join, or one behind it, hold a given value? */
static bool
JoinIsNeeded(const Term *term, const ProjectionModel *projection, int join)
{
	for (int i = 0; i < term->reference->nmembers; i++)
	{
		int			at;

		if (term->members[i] == NULL)
			continue;
		for (at = JoinOfMember(projection, term->reference, i); at >= 0; at = projection->joins[at].from)
			if (at == join)
				return true;
	}
	return false;
}

/* One given value of an identity, as a condition on the join that has it. */
static bool
AppendMember(DocumentQuery *query, const Term *term, const ProjectionModel *projection,
			 int member, const char *alias)
{
	const ProjectedModel *value = &projection->values[member];

	if (term->reference->members[member].descriptor_resource)
		return AppendIds(query, alias, projection->joins[value->join].from_column,
						 &term->member_ids[member]);
	return AppendValues(query, alias, value->column, term->members[member], value->type);
}

/* "(SELECT documentid FROM the table of the join WHERE what is given)" */
static bool
AppendSubselect(DocumentQuery *query, const Term *term, const ProjectionModel *projection, int join)
{
	const JoinModel *j = &projection->joins[join];
	char	   *alias = psprintf("j%d", join);
	const char *separator = "";

	check_stack_depth();
	appendStringInfo(&query->where, "(SELECT %s.documentid FROM %s AS %s WHERE ", alias,
					 quote_qualified_identifier(j->schema, j->table), alias);
	for (int i = 0; i < term->reference->nmembers; i++)
	{
		if (term->members[i] == NULL || JoinOfMember(projection, term->reference, i) != join)
			continue;
		appendStringInfoString(&query->where, separator);
		if (!AppendMember(query, term, projection, i, alias))
			return false;
		separator = " AND ";
	}
	for (int i = 0; i < projection->njoins; i++)
	{
		if (projection->joins[i].from != join || !JoinIsNeeded(term, projection, i))
			continue;
		appendStringInfo(&query->where, "%s%s.%s" EQUALS "ANY ", separator, alias,
						 quote_identifier(projection->joins[i].from_column));
		if (!AppendSubselect(query, term, projection, i))
			return false;
		separator = " AND ";
	}
	appendStringInfoChar(&query->where, ')');
	return true;
}

/* A term in SQL; false, and nothing of use written, when it cannot hold. */
static bool
AppendTerm(DocumentQuery *query, const Term *term)
{
	const ResourceModel *model = query->resource->model;
	const TableModel *root = &model->tables[0];
	const ColumnModel *column;

	if (term->reference == NULL)
	{
		if (term->root->path->column < 0)
			return AppendUuids(query, term->root);
		column = &root->columns[term->root->path->column];
		if (column->role == COLUMN_DESCRIPTOR)
			return AppendIds(query, "r", column->name, &term->ids);
		return AppendValues(query, "r", column->name, term->root, column->value.type);
	}
	column = &root->columns[term->reference->column];
	if (term->complete)
		return AppendIds(query, "r", column->name, &term->ids);
	appendStringInfo(&query->where, "r.%s" EQUALS "ANY ", quote_identifier(column->name));
	return AppendSubselect(query, term, &model->projections[term->reference->projection], 0);
}

/* A condition: those of its terms that can hold. */
static void
AppendCondition(DocumentQuery *query, const Condition *condition)
{
	int			possible = 0;

	appendStringInfoString(&query->where, query->where.len > 0 ? " AND (" : " WHERE (");
	for (int i = 0; i < condition->nterms; i++)
	{
		int			start = query->where.len;
		int			nargs = query->nargs;

		appendStringInfoString(&query->where, possible > 0 ? " OR " : "");
		if (AppendTerm(query, &condition->terms[i]))
			possible++;
		else
		{
			query->where.len = start;
			query->where.data[start] = '\0';
			query->nargs = nargs;
		}
	}
	appendStringInfoChar(&query->where, ')');
	query->impossible |= possible == 0;
}

/* The documents of all descriptor resources are in one table. */
static void
AppendDiscriminator(DocumentQuery *query)
{
	const ResourceModel *model = query->resource->model;
	char	   *name = psprintf("%s:%s", model->project, model->resource);

	if (model->kind != RESOURCE_DESCRIPTOR)
		return;
	appendStringInfo(&query->where, " WHERE r.discriminator" EQUALS "$%d",
					 AddArg(query, CStringGetTextDatum(name), TEXTOID));
}

/* Make a query of filters; identities are looked up in the active snapshot. */
DocumentQuery *
QueryMake(Resource *resource, const Filter *filters, int n)
{
	DocumentQuery *query = palloc0(sizeof(DocumentQuery));

	query->resource = resource;
	query->conditions = palloc0(sizeof(Condition) * Max(n, 1));
	initStringInfo(&query->where);
	for (int i = 0; i < n; i++)
		AddCondition(query, &filters[i]);
	for (int i = 0; i < query->nconditions; i++)
		for (int j = 0; j < query->conditions[i].nterms; j++)
			PrepareTerm(query, &query->conditions[i].terms[j]);
	query->found = IdSetMake(query->ids, query->nids);
	if (query->nids > 0)
		IdSetLookUp(query->found);
	AppendDiscriminator(query);
	for (int i = 0; i < query->nconditions; i++)
		AppendCondition(query, &query->conditions[i]);
	return query;
}

/* --- running it ----------------------------------------------------------- */

/* The place of a kept statement: where its text is, or that used longest ago. */
static int
FindKept(const Resource *resource, const char *sql)
{
	int			oldest = 0;

	for (int i = 0; i < RESOURCE_QUERIES; i++)
	{
		const Statement *statement = &resource->queries[i];

		if (statement->sql != NULL && strcmp(statement->sql, sql) == 0)
			return i;
		if (resource->query_uses[i] < resource->query_uses[oldest])
			oldest = i;
	}
	return oldest;
}

/* Put a new statement in the place of another. */
static void
ReplaceKept(const DocumentQuery *query, Statement *statement, const char *sql)
{
	MemoryContext context = query->resource->context;
	Oid		   *types;

	StatementForget(statement);
	if (statement->sql != NULL)
	{
		pfree(unconstify(char *, statement->sql));
		pfree(unconstify(Oid *, statement->argtypes));
		statement->sql = NULL;
	}
	types = MemoryContextAlloc(context, sizeof(Oid) * Max(query->nargs, 1));
	memcpy(types, query->types, sizeof(Oid) * query->nargs);
	statement->argtypes = types;
	statement->nargs = query->nargs;
	statement->adaptive = query->nconditions > 0;
	statement->sql = MemoryContextStrdup(context, sql);
}

/* The statement of this text, its plan kept while it is among the last used. */
static Statement *
KeptStatement(const DocumentQuery *query, const char *sql)
{
	Resource   *resource = query->resource;
	int			place = FindKept(resource, sql);
	Statement  *statement = &resource->queries[place];

	if (statement->sql == NULL || strcmp(statement->sql, sql) != 0)
		ReplaceKept(query, statement, sql);
	resource->query_uses[place] = ++resource->nqueries;
	return statement;
}

/*
 * Run the query's statement.  Inside another statement of ours (a policy or a
 * trigger may call us) no kept plan may make room for a new one.
 */
static void
RunQuery(const DocumentQuery *query, const char *sql)
{
	if (StatementsRunning() > 0)
		ExecuteWithArgs(sql, query->nargs, query->types, query->values, true);
	else
		ReadRun(KeptStatement(query, sql), query->values, 0);
}

/* "FROM the root WHERE ..." */
static void
AppendFrom(StringInfo sql, const DocumentQuery *query)
{
	const TableModel *root = &query->resource->model->tables[0];

	appendStringInfo(sql, " FROM %s AS r%s", quote_qualified_identifier(root->schema, root->name),
					 query->where.data);
}

/*
 * The ids of the matching documents, ascending: behind that one, without so
 * many at the start, so many at most.
 */
int64 *
QueryPage(DocumentQuery *query, int64 after, int64 limit, int64 offset, int *n)
{
	int			nargs = query->nargs;
	StringInfoData sql;
	int64	   *ids;

	*n = 0;
	if (query->impossible || limit == 0)
		return NULL;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT r.documentid");
	AppendFrom(&sql, query);
	if (after > 0)
		appendStringInfo(&sql, "%s r.documentid OPERATOR(pg_catalog.>) $%d",
						 query->where.len > 0 ? " AND" : " WHERE",
						 AddArg(query, Int64GetDatum(after), INT8OID));
	appendStringInfo(&sql, " ORDER BY r.documentid LIMIT $%d",
					 AddArg(query, Int64GetDatum(limit), INT8OID));
	if (offset > 0)
		appendStringInfo(&sql, " OFFSET $%d", AddArg(query, Int64GetDatum(offset), INT8OID));
	RunQuery(query, sql.data);
	query->nargs = nargs;
	*n = (int) SPI_processed;
	ids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		ids[i] = ResultInt64(i, 1);
	SPI_freetuptable(SPI_tuptable);
	return ids;
}

/* How many documents match. */
int64
QueryCount(DocumentQuery *query)
{
	StringInfoData sql;

	if (query->impossible)
		return 0;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT pg_catalog.count(*)");
	AppendFrom(&sql, query);
	RunQuery(query, sql.data);
	return ResultInt64(0, 1);
}
