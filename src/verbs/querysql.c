/*
 * querysql.c
 *		From the conditions of a query to statements.
 *
 * The document that a reference points to is known by its id if its whole
 * identity was given.  Otherwise it is found through the columns of its table, and
 * of the tables that it refers to.
 *
 * Names are quoted, values are parameters.
 */
#include "postgres.h"

#include "base/grow.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "engine/datums.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rls.h"
#include "verbs/querysql.h"

#define EQUALS " OPERATOR(pg_catalog.=) "

/* Add a parameter and return its number. */
static int
AddArg(QuerySql *sql, Datum value, Oid type)
{
	GROW(sql->values, sql->nargs);
	sql->values[sql->nargs] = value;
	APPEND(sql->types, sql->nargs, type);
	return sql->nargs;
}

/*
 * Append "alias.column = any of the values"; a single one gets the better plans.
 * Returns false if there are no values, as the following functions do.
 */
static bool
AppendComparison(QuerySql *sql, const char *alias, const char *column,
				 Datum *values, int n, Oid type, Oid array_type)
{
	if (n == 0)
		return false;
	appendStringInfo(&sql->where, "%s.%s" EQUALS, alias, quote_identifier(column));
	if (n == 1)
		appendStringInfo(&sql->where, "$%d", AddArg(sql, values[0], type));
	else
		appendStringInfo(&sql->where, "ANY ($%d)",
						 AddArg(sql, DatumArray(n, values, NULL, type), array_type));
	return true;
}

/* Append that the column refers to a document that has one of the ReferentialIds. */
static bool
AppendIds(QuerySql *sql, const char *alias, const char *column, const IdRange *range)
{
	Datum	   *ids = palloc(sizeof(Datum) * Max(range->n, 1));
	int			n = 0;

	for (int i = 0; i < range->n; i++)
	{
		int64		id = IdSetFind(sql->terms->found, &sql->terms->ids[range->first + i]);

		CHECK_FOR_INTERRUPTS();
		if (id != 0)
			ids[n++] = Int64GetDatum(id);
	}
	return AppendComparison(sql, alias, column, ids, n, INT8OID, INT8ARRAYOID);
}

/* Append that the column has one of the values. */
static bool
AppendValues(QuerySql *sql, const char *alias, const char *column,
			 const FilterPath *given, ValueType type)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(given->nvalues, 1));

	if (type == VALUE_INT4)
		type = VALUE_INT8;
	for (int i = 0; i < given->nvalues; i++)
	{
		CHECK_FOR_INTERRUPTS();
		values[i] = ValueToDatum(given->values[i], strlen(given->values[i]), type);
	}
	return AppendComparison(sql, alias, column, values, given->nvalues,
							ValueTypeOid(type), ValueArrayTypeOid(type));
}

/* Append that the document has one of the ids. */
static bool
AppendUuids(QuerySql *sql, const FilterPath *given)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(given->nvalues, 1));

	if (given->nvalues == 0)
		return false;
	for (int i = 0; i < given->nvalues; i++)
	{
		CHECK_FOR_INTERRUPTS();
		values[i] = DirectFunctionCall1(uuid_in, CStringGetDatum(given->values[i]));
	}
	appendStringInfoString(&sql->where,
						   "r.documentid" EQUALS "ANY (" DOCUMENT_IDS_SQL);
	AppendComparison(sql, "d", "documentuuid", values, given->nvalues, UUIDOID, UUIDARRAYOID);
	appendStringInfoChar(&sql->where, ')');
	return true;
}

/*
 * Returns the join whose table has the column of a given member; for a descriptor
 * that is the table which refers to it.
 */
static int
JoinOfMember(const ProjectionModel *projection, const ReferenceModel *reference, int member)
{
	int			join = projection->values[member].join;

	return reference->members[member].descriptor_resource ? projection->joins[join].from : join;
}

/* Returns true if a join, or one that starts from it, has a given value. */
static bool
JoinIsNeeded(const QueryTerm *term, const ProjectionModel *projection, int join)
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

/* Append a given value of an identity, as a condition on the join that has it. */
static bool
AppendMember(QuerySql *sql, const QueryTerm *term, const ProjectionModel *projection,
			 int member, const char *alias)
{
	const ProjectedModel *value = &projection->values[member];

	if (term->reference->members[member].descriptor_resource)
		return AppendIds(sql, alias, projection->joins[value->join].from_column,
						 &term->member_ids[member]);
	return AppendValues(sql, alias, value->column, term->members[member], value->type);
}

/*
 * Append "(SELECT documentid FROM the table of the join WHERE ...)", with the
 * values that are given for this table and for those that are joined to it.
 */
static bool
AppendSubselect(QuerySql *sql, const QueryTerm *term, const ProjectionModel *projection, int join)
{
	const JoinModel *j = &projection->joins[join];
	char	   *alias = psprintf("j%d", join);
	const char *separator = "";

	check_stack_depth();
	appendStringInfo(&sql->where, "(SELECT %s.documentid FROM %s AS %s WHERE ", alias,
					 quote_qualified_identifier(j->schema, j->table), alias);
	for (int i = 0; i < term->reference->nmembers; i++)
	{
		if (term->members[i] == NULL || JoinOfMember(projection, term->reference, i) != join)
			continue;
		appendStringInfoString(&sql->where, separator);
		if (!AppendMember(sql, term, projection, i, alias))
			return false;
		separator = " AND ";
	}
	for (int i = 0; i < projection->njoins; i++)
	{
		if (projection->joins[i].from != join || !JoinIsNeeded(term, projection, i))
			continue;
		appendStringInfo(&sql->where, "%s%s.%s" EQUALS "ANY ", separator, alias,
						 quote_identifier(projection->joins[i].from_column));
		if (!AppendSubselect(sql, term, projection, i))
			return false;
		separator = " AND ";
	}
	appendStringInfoChar(&sql->where, ')');
	return true;
}

/* Append a term.  Returns false, with useless text appended, if it cannot hold. */
static bool
AppendTerm(QuerySql *sql, const QueryTerm *term)
{
	const ResourceModel *model = sql->terms->model;
	const TableModel *root = &model->tables[0];
	const ColumnModel *column;

	if (term->reference == NULL)
	{
		if (term->root->path->column < 0)
			return AppendUuids(sql, term->root);
		column = &root->columns[term->root->path->column];
		if (column->role == COLUMN_DESCRIPTOR)
			return AppendIds(sql, "r", column->name, &term->ids);
		return AppendValues(sql, "r", column->name, term->root, column->value.type);
	}
	column = &root->columns[term->reference->column];
	if (term->complete)
		return AppendIds(sql, "r", column->name, &term->ids);
	appendStringInfo(&sql->where, "r.%s" EQUALS "ANY ", quote_identifier(column->name));
	return AppendSubselect(sql, term, &model->projections[term->reference->projection], 0);
}

/* Append a condition: those of its terms that can hold. */
static void
AppendCondition(QuerySql *sql, const QueryCondition *condition)
{
	int			possible = 0;

	appendStringInfoString(&sql->where, sql->where.len > 0 ? " AND (" : " WHERE (");
	for (int i = 0; i < condition->nterms; i++)
	{
		int			start = sql->where.len;
		int			nargs = sql->nargs;

		appendStringInfoString(&sql->where, possible > 0 ? " OR " : "");
		if (AppendTerm(sql, &condition->terms[i]))
			possible++;
		else
		{
			sql->where.len = start;
			sql->where.data[start] = '\0';
			sql->nargs = nargs;
		}
	}
	appendStringInfoChar(&sql->where, ')');
	sql->impossible |= possible == 0;
}

/* Append the type of a descriptor: those of all types are in one table. */
static void
AppendDiscriminator(QuerySql *sql)
{
	const ResourceModel *model = sql->terms->model;
	char	   *name = psprintf("%s:%s", model->project, model->resource);

	if (model->kind != RESOURCE_DESCRIPTOR)
		return;
	appendStringInfo(&sql->where, " WHERE r.discriminator" EQUALS "$%d",
					 AddArg(sql, CStringGetTextDatum(name), TEXTOID));
}

/*
 * Append that the row of the document is visible, if a policy on dms.Document can hide
 * it.  Otherwise pages would have fewer documents than they can, and counts more than
 * there are to be read.
 */
static void
AppendVisible(QuerySql *sql)
{
	if (check_enable_rls(StoreTable(STORE_DOCUMENT), InvalidOid, true) != RLS_ENABLED)
		return;
	appendStringInfo(&sql->where, "%s EXISTS (" DOCUMENT_IDS_SQL "d.documentid" EQUALS "r.documentid)",
					 sql->where.len > 0 ? " AND" : " WHERE");
}

/* Write the conditions in SQL. */
QuerySql *
QuerySqlMake(const QueryTerms *terms)
{
	QuerySql   *sql = palloc0(sizeof(QuerySql));

	sql->terms = terms;
	initStringInfo(&sql->where);
	AppendDiscriminator(sql);
	for (int i = 0; i < terms->nconditions; i++)
		AppendCondition(sql, &terms->conditions[i]);
	AppendVisible(sql);
	sql->nwhere = sql->nargs;
	return sql;
}

/* Start a statement: "SELECT columns FROM the root WHERE ..." */
static void
StartStatement(QuerySql *sql, StringInfo out, const char *columns)
{
	const TableModel *root = &sql->terms->model->tables[0];

	sql->nargs = sql->nwhere;
	initStringInfo(out);
	appendStringInfo(out, "SELECT %s FROM %s AS r%s", columns,
					 quote_qualified_identifier(root->schema, root->name), sql->where.data);
}

/*
 * Make the statement that returns the ids of the matching documents, ascending and
 * greater than "after": skip offset rows, return at most limit.
 */
char *
QuerySqlPage(QuerySql *sql, int64 after, int64 limit, int64 offset)
{
	StringInfoData out;

	StartStatement(sql, &out, "r.documentid");
	if (after > 0)
		appendStringInfo(&out, "%s r.documentid OPERATOR(pg_catalog.>) $%d",
						 sql->where.len > 0 ? " AND" : " WHERE",
						 AddArg(sql, Int64GetDatum(after), INT8OID));
	appendStringInfo(&out, " ORDER BY r.documentid LIMIT $%d",
					 AddArg(sql, Int64GetDatum(limit), INT8OID));
	if (offset > 0)
		appendStringInfo(&out, " OFFSET $%d", AddArg(sql, Int64GetDatum(offset), INT8OID));
	return out.data;
}

/* Make the statement that counts the matching documents. */
char *
QuerySqlCount(QuerySql *sql)
{
	StringInfoData out;

	StartStatement(sql, &out, "pg_catalog.count(*)");
	return out.data;
}
