/*
 * cascadeequality.c
 *		Checking from storage that values which must be equal still are.
 *
 * When an identity changes, a document that repeats a value of it in two
 * references could end up with two different values, and no body could name
 * both.  Only constraints that involve a reference whose target can change
 * need to be checked.
 */
#include "postgres.h"

#include "base/report.h"
#include "cascade/cascade.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "lib/stringinfo.h"
#include "model/modelcache.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define EQUALS " OPERATOR(pg_catalog.=) "

/* One side of a constraint: a column, or a value of a reference's target. */
typedef struct Side
{
	const TableModel *table;
	const ColumnModel *column;	/* of the table */
	const ReferenceModel *reference;	/* documents only */
	int			member;
} Side;

/*
 * Find the column or the reference member that holds the value at a path of
 * the document; returns false if there is none.
 */
static bool
FindSide(const ResourceModel *model, const char *path, Side *side)
{
	memset(side, 0, sizeof(Side));
	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *r = &model->references[i];
		size_t		length = strlen(r->path);

		if (r->descriptor || strncmp(path, r->path, length) != 0 || path[length] != '.')
			continue;
		for (int j = 0; j < r->nmembers; j++)
			if (strcmp(r->members[j].name, path + length + 1) == 0)
			{
				side->table = &model->tables[r->table];
				side->column = &side->table->columns[r->column];
				side->reference = r;
				side->member = j;
				return true;
			}
	}
	for (int i = 0; i < model->ntables; i++)
		for (int j = 0; j < model->tables[i].ncolumns; j++)
			if (model->tables[i].columns[j].path &&
				strcmp(model->tables[i].columns[j].path, path) == 0)
			{
				side->table = &model->tables[i];
				side->column = &side->table->columns[j];
				return true;
			}
	return false;
}

/*
 * Append the joins from the reference's column to the table that holds the
 * value.
 */
static void
AppendChain(StringInfo sql, const ProjectionModel *projection, int join,
			const char *alias, const char *column)
{
	const JoinModel *j = &projection->joins[join];

	if (join > 0)
		AppendChain(sql, projection, j->from, alias, column);
	appendStringInfo(sql, " JOIN %s AS %s%d ON %s%d.documentid" EQUALS,
					 quote_qualified_identifier(j->schema, j->table), alias, join, alias, join);
	if (join > 0)
		appendStringInfo(sql, "%s%d.%s", alias, j->from, quote_identifier(j->from_column));
	else
		appendStringInfo(sql, "%s.%s", alias, quote_identifier(column));
}

/* Append the joins of a side; returns the expression of its value. */
static char *
AppendSide(StringInfo sql, const ResourceModel *model, const Side *side,
		   const char *alias)
{
	if (side->reference)
	{
		const ProjectionModel *projection = &model->projections[side->reference->projection];
		const ProjectedModel *value = &projection->values[side->member];

		AppendChain(sql, projection, value->join, alias, side->column->name);
		return psprintf("%s%d.%s", alias, value->join, quote_identifier(value->column));
	}
	if (side->column->role == COLUMN_DESCRIPTOR)
	{
		appendStringInfo(sql, " JOIN dms.descriptor AS %s0 ON %s0.documentid" EQUALS "%s.%s",
						 alias, alias, alias, quote_identifier(side->column->name));
		return psprintf("%s0.uri", alias);
	}
	return psprintf("%s.%s", alias, quote_identifier(side->column->name));
}

/*
 * Make the query that counts the documents with two different values, and
 * returns the smallest of their ids.
 */
static char *
ViolationSql(const ResourceModel *model, const Side *source, const Side *target)
{
	StringInfoData sql;
	const char *source_key = quote_identifier(source->table->columns[0].name);
	const char *target_key = quote_identifier(target->table->columns[0].name);
	char	   *left;
	char	   *right;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pg_catalog.count(DISTINCT a.%s), pg_catalog.min(a.%s) FROM %s AS a",
					 source_key, source_key,
					 quote_qualified_identifier(source->table->schema, source->table->name));
	left = AppendSide(&sql, model, source, "a");
	appendStringInfo(&sql, " JOIN %s AS b ON b.%s" EQUALS "a.%s",
					 quote_qualified_identifier(target->table->schema, target->table->name),
					 target_key, source_key);
	right = AppendSide(&sql, model, target, "b");
	appendStringInfo(&sql, " WHERE a.%s" EQUALS "ANY ($1) AND %s OPERATOR(pg_catalog.<>) %s",
					 source_key, left, right);
	return sql.data;
}

/*
 * Returns the statement that checks a constraint, or NULL if no change of
 * identity can violate it.
 */
static Statement *
EqualityStatement(Resource *resource, int index)
{
	static const Oid types[] = {INT8ARRAYOID};
	const ResourceModel *model = resource->model;
	const EqualityModel *equality = &model->equalities[index];
	Statement  *statement = &resource->equalities[index];
	Side		source;
	Side		target;

	if (statement->sql != NULL)
		return statement;
	if (!FindSide(model, equality->source, &source) || !FindSide(model, equality->target, &target))
		elog(ERROR, "%s has no value at %s or %s", model->resource, equality->source, equality->target);
	if (!(source.reference && source.reference->can_change) &&
		!(target.reference && target.reference->can_change))
		return NULL;
	statement->nargs = 1;
	statement->argtypes = types;
	statement->sql = MemoryContextStrdup(resource->context, ViolationSql(model, &source, &target));
	return statement;
}

/* Check one constraint; violations are added to the problem. */
static void
CheckOne(Resource *resource, int index, Datum ids, Problem *problem)
{
	const ResourceModel *model = resource->model;
	const EqualityModel *equality = &model->equalities[index];
	Statement  *statement = EqualityStatement(resource, index);
	Datum		values[1] = {ids};
	int64		count;

	if (statement == NULL)
		return;
	StatementRun(statement, values, NULL, true, 0);
	count = ResultInt64(0, 1);
	if (count == 0)
		return;
	ProblemAt(problem, equality->source, "would differ from %s in " INT64_FORMAT " documents of %s.%s, among them document " INT64_FORMAT ".",
			  equality->target, count, model->project, model->resource,
			  ResultInt64(0, 2));
	ProblemAt(problem, equality->target, "would differ from %s in " INT64_FORMAT " documents of %s.%s.",
			  equality->source, count, model->project, model->resource);
}

/*
 * Check all constraints on documents of one resource; violations are added to
 * the problem.
 */
void
CascadeEqualityCheck(const char *project, const char *resource,
					 const int64 *ids, int n, Problem *problem)
{
	Resource   *found;
	Datum		array;

	if (n == 0)
		return;
	found = ModelCacheFind(project, resource);
	if (found->model->nequalities == 0)
		return;
	array = DatumInt8Array(n, ids);
	SnapshotBegin();
	for (int i = 0; i < found->model->nequalities; i++)
		CheckOne(found, i, array, problem);
	SnapshotEnd();
}
