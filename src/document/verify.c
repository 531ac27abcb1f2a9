/*
 * verify.c
 *		Comparing the edges of a document with its stored rows, after a write.
 *
 * The references to compare with dms.ReferenceEdge are read from the foreign
 * key columns, never from the memory of the write, so that an error on the way
 * from the body to the rows is found as well.
 */
#include "postgres.h"

#include <math.h>

#include "base/report.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "document/edges.h"
#include "document/verify.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/storerow.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

static char *verify_setting = NULL;
static double verify_fraction = 0;

/* Parse "off", "on", or the fraction of writes to verify. */
static bool
ParseFraction(const char *text, double *fraction)
{
	bool		on;
	char	   *end;

	*fraction = strtod(text, &end);
	if (end != text &&*end == '\0')
		return !isnan(*fraction) && *fraction >= 0 && *fraction <= 1;
	if (!parse_bool(text, &on))
		return false;
	*fraction = on ? 1 : 0;
	return true;
}

/* Check a value of dms.verify_edges. */
static bool
CheckSetting(char **value, void **extra, GucSource source)
{
	double		fraction;

	if (ParseFraction(*value, &fraction))
		return true;
	GUC_check_errdetail("The value is on, off, or a fraction of writes between 0 and 1.");
	return false;
}

/* Take over a value of dms.verify_edges. */
static void
AssignSetting(const char *value, void *extra)
{
	(void) ParseFraction(value, &verify_fraction);
}

/* Define the settings of this module. */
void
VerifyInit(void)
{
	DefineCustomStringVariable("dms.verify_edges",
							   "Compare the edges of a document with its stored rows after a write.",
							   "On, off, or the fraction of writes to verify, from 0 to 1.",
							   &verify_setting, "off", PGC_SUSET, 0,
							   CheckSetting, AssignSetting, NULL);
}

/*
 * Append a query for the references in one table, one row each; returns false
 * if it has none.
 */
static bool
AppendTableReferences(StringInfo sql, const ResourceModel *model, int table,
					  const char *condition)
{
	const TableModel *t = &model->tables[table];
	int			n = 0;

	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *reference = &model->references[i];

		if (reference->table != table)
			continue;
		if (n++ == 0)
			appendStringInfo(sql, "SELECT DISTINCT t.%s AS parent, v.child, v.source, v.component"
							 " FROM %s AS t CROSS JOIN LATERAL (VALUES ",
							 quote_identifier(t->columns[0].name),
							 quote_qualified_identifier(t->schema, t->name));
		appendStringInfo(sql, "%s(t.%s, '" INT64_FORMAT "'::pg_catalog.int8, %s)", n > 1 ? ", " : "",
						 quote_identifier(t->columns[reference->column].name),
						 reference->edge_source_id, reference->identity ? "true" : "false");
	}
	if (n == 0)
		return false;
	appendStringInfoString(sql, ") AS v (child, source, component) WHERE v.child IS NOT NULL");
	if (condition != NULL)
		appendStringInfo(sql, " AND t.%s %s", quote_identifier(t->columns[0].name), condition);
	return true;
}

/*
 * Append "SELECT parent, child, source, component ..." over all reference
 * columns of a resource, without duplicates.  A condition, if given, follows
 * the name of the parent's column.
 */
void
VerifyAppendReferences(StringInfo sql, const ResourceModel *model,
					   const char *condition)
{
	bool		any = false;

	for (int i = 0; i < model->ntables; i++)
	{
		StringInfoData part;

		initStringInfo(&part);
		if (AppendTableReferences(&part, model, i, condition))
			appendStringInfo(sql, "%s%s", any ? " UNION ALL " : "", part.data);
		any |= part.len > 0;
		pfree(part.data);
	}
	if (!any)
		appendStringInfoString(sql, "SELECT NULL::pg_catalog.int8 AS parent, NULL::pg_catalog.int8 AS child,"
							   " NULL::pg_catalog.int8 AS source, NULL::pg_catalog.bool AS component WHERE false");
}

/* Returns the statement that finds the differences. */
static Statement *
VerifyStatement(Resource *resource)
{
	static const Oid types[] = {INT8OID};
	StringInfoData sql;

	if (resource->verify.sql != NULL)
		return &resource->verify;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "WITH referred AS MATERIALIZED (");
	VerifyAppendReferences(&sql, resource->model, "OPERATOR(pg_catalog.=) $1");
	appendStringInfoString(&sql, "), stored AS MATERIALIZED (" EDGES_OF_PARENT_SQL "$1)"
						   " SELECT false, m.* FROM (SELECT child, source, component FROM referred"
						   " EXCEPT SELECT * FROM stored) AS m"
						   " UNION ALL SELECT true, s.* FROM (SELECT * FROM stored"
						   " EXCEPT SELECT child, source, component FROM referred) AS s");
	resource->verify.nargs = 1;
	resource->verify.argtypes = types;
	resource->verify.sql = MemoryContextStrdup(resource->context, sql.data);
	return &resource->verify;
}

/*
 * Returns the name of an edge source in the schema, or its number if it has
 * none.
 */
static const char *
SourceName(const ResourceModel *model, int64 source)
{
	for (int i = 0; i < model->nreferences; i++)
		if (model->references[i].edge_source_id == source)
			return model->references[i].edge_source_key;
	return psprintf("edge source " INT64_FORMAT, source);
}

/* Raise an error for the differences, which are the result of SPI. */
static void
RaiseDifference(const ResourceModel *model, int64 document_id)
{
	Problem    *problem = ProblemNew(PROBLEM_EDGES_DIFFER);

	problem->hint = "dms.audit() tells what else differs, and dms.rebuild_edges() mends it.";
	for (uint64 i = 0; i < ResultRows(); i++)
		ProblemAt(problem, SourceName(model, ResultInt64(i, 3)),
				  ResultBool(i, 1) ?
				  "there is an edge to document " INT64_FORMAT "%s that no column tells of." :
				  "the edge to document " INT64_FORMAT "%s is missing.",
				  ResultInt64(i, 2), ResultBool(i, 4) ? ", as part of the identity," : "");
	ProblemRaise(problem, "edges of document " INT64_FORMAT " differ from its stored references",
				 document_id);
}

/*
 * Verify the document that was just written, as often as the setting or the store
 * says, whichever is more often.  To be called within an SPI connection that has
 * the owner's rights.
 */
void
VerifyEdges(Resource *resource, int64 document_id)
{
	Datum		values[1] = {Int64GetDatum(document_id)};
	double		fraction = Max(verify_fraction, StoreRowLimits()->verify_edges);

	if (fraction <= 0 || (fraction < 1 && pg_prng_double(&pg_global_prng_state) >= fraction))
		return;
	SnapshotBegin();
	if (StatementRun(VerifyStatement(resource), values, NULL, true, 0) > 0)
		RaiseDifference(resource->model, document_id);
	SnapshotEnd();
	ResultFree();
}
