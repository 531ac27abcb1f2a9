/*
 * querysql.c
 *		From the conditions of a query to statements.
 *
 * The document that a reference points to is known by its id if its whole
 * identity was given.  Otherwise it is found through the columns of its table, and
 * of the tables that it refers to.
 *
 * Documents that match one of several terms are found in several branches, one per
 * term.
 *
 * Names are quoted, values are parameters.
 */
#include "postgres.h"

#include "base/grow.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "document/document.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "verbs/querysql.h"

#define EQUALS " OPERATOR(pg_catalog.=) "

/* More branches than this are not spelled out; conditions then have OR. */
#define MAX_BRANCHES 8

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
	appendStringInfo(&sql->term, "%s.%s" EQUALS, alias, quote_identifier(column));
	if (n == 1)
		appendStringInfo(&sql->term, "$%d", AddArg(sql, values[0], type));
	else
		appendStringInfo(&sql->term, "ANY ($%d)",
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
	appendStringInfoString(&sql->term,
						   "r.documentid" EQUALS "ANY (" DOCUMENT_IDS_SQL);
	AppendComparison(sql, "d", "documentuuid", values, given->nvalues, UUIDOID, UUIDARRAYOID);
	appendStringInfoChar(&sql->term, ')');
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
	appendStringInfo(&sql->term, "(SELECT %s.documentid FROM %s AS %s WHERE ", alias,
					 quote_qualified_identifier(j->schema, j->table), alias);
	for (int i = 0; i < term->reference->nmembers; i++)
	{
		if (term->members[i] == NULL || JoinOfMember(projection, term->reference, i) != join)
			continue;
		appendStringInfoString(&sql->term, separator);
		if (!AppendMember(sql, term, projection, i, alias))
			return false;
		separator = " AND ";
	}
	for (int i = 0; i < projection->njoins; i++)
	{
		if (projection->joins[i].from != join || !JoinIsNeeded(term, projection, i))
			continue;
		appendStringInfo(&sql->term, "%s%s.%s" EQUALS "ANY ", separator, alias,
						 quote_identifier(projection->joins[i].from_column));
		if (!AppendSubselect(sql, term, projection, i))
			return false;
		separator = " AND ";
	}
	appendStringInfoChar(&sql->term, ')');
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
	appendStringInfo(&sql->term, "r.%s" EQUALS "ANY ", quote_identifier(column->name));
	return AppendSubselect(sql, term, &model->projections[term->reference->projection], 0);
}

/*
 * Append a term, and that the document lacks what the term before it compares.
 * Returns false if it cannot hold.
 */
static bool
AppendWholeTerm(QuerySql *sql, const QueryTerm *term)
{
	const TableModel *root = &sql->terms->model->tables[0];

	if (!AppendTerm(sql, term))
		return false;
	if (term->absent >= 0)
		appendStringInfo(&sql->term, " AND r.%s IS NULL",
						 quote_identifier(root->columns[term->absent].name));
	return true;
}

/* Write those terms of a condition that can hold; returns their number. */
static int
WriteTerms(QuerySql *sql, const QueryCondition *condition, char **texts)
{
	int			n = 0;

	for (int i = 0; i < condition->nterms; i++)
	{
		int			nargs = sql->nargs;

		resetStringInfo(&sql->term);
		if (AppendWholeTerm(sql, &condition->terms[i]))
			texts[n++] = pstrdup(sql->term.data);
		else
			sql->nargs = nargs;
	}
	return n;
}

/* Returns a branch with one more condition. */
static char *
Narrow(const char *branch, const char *condition)
{
	return psprintf("%s%s (%s)", branch, *branch == '\0' ? " WHERE" : " AND", condition);
}

/* Returns the texts with OR between them. */
static char *
JoinByOr(char **texts, int n)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < n; i++)
		appendStringInfo(&out, i == 0 ? "(%s)" : " OR (%s)", texts[i]);
	return out.data;
}

/*
 * Add a condition to the branches.  Its terms are about different columns, and
 * PostgreSQL would read the whole table to find where one or the other matches.
 * So each gets branches of its own, which use the index of its column.
 */
static void
AddCondition(QuerySql *sql, const QueryCondition *condition)
{
	char	  **texts = palloc(sizeof(char *) * Max(condition->nterms, 1));
	int			n = WriteTerms(sql, condition, texts);
	char	  **branches;

	if (n > 1 && sql->nbranches * n > MAX_BRANCHES)
	{
		texts[0] = JoinByOr(texts, n);
		n = 1;
	}
	sql->impossible |= n == 0;
	sql->overlap |= n > 1 && !condition->exclusive;
	branches = palloc(sizeof(char *) * Max(sql->nbranches * n, 1));
	for (int i = 0; i < sql->nbranches; i++)
		for (int j = 0; j < n; j++)
			branches[i * n + j] = Narrow(sql->branches[i], texts[j]);
	sql->branches = branches;
	sql->nbranches *= n;
}

/* Returns the condition on the type of a descriptor: those of all types are in one table. */
static char *
FirstBranch(QuerySql *sql)
{
	const ResourceModel *model = sql->terms->model;
	char	   *name = psprintf("%s:%s", model->project, model->resource);

	if (model->kind != RESOURCE_DESCRIPTOR)
		return "";
	return psprintf(" WHERE r.discriminator" EQUALS "$%d",
					AddArg(sql, CStringGetTextDatum(name), TEXTOID));
}

/*
 * Require in all branches that the row of the document is visible, if a policy on
 * dms.Document can hide it.  Otherwise pages would have fewer documents than they
 * can, and counts more than there are to be read.
 */
static void
AddVisible(QuerySql *sql)
{
	if (check_enable_rls(StoreTable(STORE_DOCUMENT), InvalidOid, true) != RLS_ENABLED)
		return;
	for (int i = 0; i < sql->nbranches; i++)
		sql->branches[i] = Narrow(sql->branches[i],
								  "EXISTS (" DOCUMENT_IDS_SQL "d.documentid" EQUALS "r.documentid)");
}

/*
 * Returns true if each document of the resource has a row of its root that the caller
 * may see: a policy may hide rows, and so may a view in the place of the table.
 */
static bool
ShowsAllRows(const TableModel *root)
{
	Oid			table = get_relname_relid(root->name, get_namespace_oid(root->schema, true));

	return OidIsValid(table) && get_rel_relkind(table) == RELKIND_RELATION &&
		check_enable_rls(table, InvalidOid, true) != RLS_ENABLED;
}

/*
 * Join the last changes of the documents in a range.  The journal has a row for each
 * etag of a document, of which that of its present etag is current.  Without other
 * conditions the root is not needed: pages are then read along the journal, without this
 * statement (changepage.c).
 */
static void
AddChanges(QuerySql *sql, int32 type_id, const ChangeRange *range)
{
	StringInfoData out;

	if (range == NULL || (range->min <= 0 && !range->has_max))
		return;
	sql->by_change = range->has_max;
	sql->without_root = sql->by_change && sql->nbranches == 1 && *sql->branches[0] == '\0' &&
		ShowsAllRows(&sql->terms->model->tables[0]);
	initStringInfo(&out);
	if (sql->without_root)
		appendStringInfoString(&out, DOCUMENTS_SQL("r") " JOIN " CHANGES_SQL("c") " ON c.documentid" EQUALS "r.documentid"
							   " AND c.etag" EQUALS "r.etag");
	else
		appendStringInfoString(&out, " JOIN " CHANGES_SQL("c") " ON c.documentid" EQUALS "r.documentid");
	appendStringInfo(&out, " AND c.resourcetypeid" EQUALS "$%d", AddArg(sql, Int32GetDatum(type_id), INT4OID));
	if (range->min > 0)
		appendStringInfo(&out, " AND c.changeversion OPERATOR(pg_catalog.>=) $%d", AddArg(sql, Int64GetDatum(range->min), INT8OID));
	if (range->has_max)
		appendStringInfo(&out, " AND c.changeversion OPERATOR(pg_catalog.<=) $%d", AddArg(sql, Int64GetDatum(range->max), INT8OID));
	if (!sql->without_root)
		appendStringInfoString(&out, DOCUMENT_JOIN_CURRENT_SQL("e", "c"));
	sql->changes = out.data;
}

/* Write the conditions in SQL. */
QuerySql *
QuerySqlMake(const QueryTerms *terms, int32 type_id, const ChangeRange *range)
{
	QuerySql   *sql = palloc0(sizeof(QuerySql));

	sql->terms = terms;
	initStringInfo(&sql->term);
	APPEND(sql->branches, sql->nbranches, FirstBranch(sql));
	for (int i = 0; i < terms->nconditions; i++)
		AddCondition(sql, &terms->conditions[i]);
	AddVisible(sql);
	AddChanges(sql, type_id, range);
	sql->nwhere = sql->nargs;
	return sql;
}

/* Append "SELECT columns FROM the root WHERE ..." of a branch. */
static void
AppendBranch(const QuerySql *sql, StringInfo out, const char *columns, const char *branch)
{
	const TableModel *root = &sql->terms->model->tables[0];

	if (sql->without_root)
		appendStringInfo(out, "SELECT %s FROM %s", columns, sql->changes);
	else
		appendStringInfo(out, "SELECT %s FROM %s AS r%s%s", columns,
						 quote_qualified_identifier(root->schema, root->name), sql->changes ? sql->changes : "", branch);
}

/* Returns the columns that a page needs of a branch: the id, and what it is in the order of. */
static const char *
PageColumns(const QuerySql *sql)
{
	return sql->by_change ? "r.documentid, c.changeversion" : "r.documentid";
}

/* Append " ORDER BY ... LIMIT ... OFFSET ...", for a branch or for all of them (u). */
static void
AppendPaging(QuerySql *sql, StringInfo out, bool merged, int64 limit, int64 offset)
{
	appendStringInfoString(out, " ORDER BY ");
	if (sql->by_change)
		appendStringInfo(out, "%s.changeversion, ", merged ? "u" : "c");
	appendStringInfo(out, "%s.documentid LIMIT $%d", merged ? "u" : "r",
					 AddArg(sql, Int64GetDatum(limit), INT8OID));
	if (offset > 0)
		appendStringInfo(out, " OFFSET $%d", AddArg(sql, Int64GetDatum(offset), INT8OID));
}

/* Returns the condition on ids greater than "after", to be appended to a branch. */
static char *
After(QuerySql *sql, int64 after)
{
	if (after <= 0)
		return "";
	return psprintf("%s r.documentid OPERATOR(pg_catalog.>) $%d",
					*sql->branches[0] == '\0' ? " WHERE" : " AND",
					AddArg(sql, Int64GetDatum(after), INT8OID));
}

/*
 * Append the page of a query of several branches.  Each branch returns no more
 * than the page can need, so that it costs what a query of its own would.
 */
static void
AppendMerged(QuerySql *sql, StringInfo out, const char *after, int64 limit, int64 offset)
{
	int64		most;

	if (pg_add_s64_overflow(limit, offset, &most))
		most = PG_INT64_MAX;
	appendStringInfoString(out, "SELECT u.documentid FROM (");
	for (int i = 0; i < sql->nbranches; i++)
	{
		appendStringInfoString(out, i == 0 ? "(" : sql->overlap ? " UNION (" : " UNION ALL (");
		AppendBranch(sql, out, PageColumns(sql), sql->branches[i]);
		appendStringInfoString(out, after);
		AppendPaging(sql, out, false, most, 0);
		appendStringInfoChar(out, ')');
	}
	appendStringInfoString(out, ") AS u");
	AppendPaging(sql, out, true, limit, offset);
}

/*
 * Make the statement that returns the ids of the documents that match in one
 * branch, ascending and greater than "after", or in the order of their changes: skip offset rows, return at most
 * limit.
 */
char *
QuerySqlBranch(QuerySql *sql, int branch, int64 after, int64 limit, int64 offset)
{
	StringInfoData out;

	Assert(branch < sql->nbranches);
	sql->nargs = sql->nwhere;
	initStringInfo(&out);
	AppendBranch(sql, &out, PageColumns(sql), sql->branches[branch]);
	appendStringInfoString(&out, After(sql, after));
	AppendPaging(sql, &out, false, limit, offset);
	return out.data;
}

/* Like QuerySqlBranch(), for the documents that match in any branch. */
char *
QuerySqlPage(QuerySql *sql, int64 after, int64 limit, int64 offset)
{
	StringInfoData out;

	Assert(sql->nbranches > 0);
	if (sql->nbranches == 1)
		return QuerySqlBranch(sql, 0, after, limit, offset);
	sql->nargs = sql->nwhere;
	initStringInfo(&out);
	AppendMerged(sql, &out, After(sql, after), limit, offset);
	return out.data;
}

/* Append all branches, each in parentheses. */
static void
AppendBranches(const QuerySql *sql, StringInfo out, const char *columns, const char *separator)
{
	for (int i = 0; i < sql->nbranches; i++)
	{
		appendStringInfo(out, "%s(", i == 0 ? "" : separator);
		AppendBranch(sql, out, columns, sql->branches[i]);
		appendStringInfoChar(out, ')');
	}
}

/*
 * Make the statement that counts the matching documents.  Branches are counted one
 * by one unless a document may match in several.
 */
char *
QuerySqlCount(QuerySql *sql)
{
	StringInfoData out;

	Assert(sql->nbranches > 0);
	sql->nargs = sql->nwhere;
	initStringInfo(&out);
	if (sql->nbranches == 1)
		AppendBranch(sql, &out, "pg_catalog.count(*)", sql->branches[0]);
	else if (sql->overlap)
	{
		appendStringInfoString(&out, "SELECT pg_catalog.count(*) FROM (");
		AppendBranches(sql, &out, "r.documentid", " UNION ");
		appendStringInfoString(&out, ") AS u");
	}
	else
	{
		appendStringInfoString(&out, "SELECT ");
		AppendBranches(sql, &out, "pg_catalog.count(*)", " OPERATOR(pg_catalog.+) ");
	}
	return out.data;
}
