/*
 * declaredkeys.c
 *		Unique keys that the options of a resource declare: constraints on its root
 *		table, and the view dms.DeclaredKeyValue, which has all their values.
 *
 * The constraints are deferrable, as natural keys are, because documents may swap
 * their values within one statement.  The name of a constraint follows from the
 * model, so that a violation leads back to a place in the document.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "model/keyquery.h"
#include "model/modelcache.h"
#include "model/resourcetypes.h"
#include "model/uniqueoptions.h"
#include "nodes/makefuncs.h"
#include "schema/declaredkeys.h"
#include "schema/naming.h"
#include "utils/builtins.h"

/* As many values as a refusal lists. */
#define LISTED_VALUES 10

/* Returns the name of the constraint on a column of the root table. */
char *
DeclaredKeyConstraint(const ResourceModel *model, int column)
{
	return NamePhysical(psprintf("%s_%s_UK", model->tables[0].title, model->tables[0].columns[column].name));
}

/* Returns the name of the key with a path, as unique values have it. */
const char *
DeclaredKeyName(const char *path)
{
	return strncmp(path, "$.", 2) == 0 ? path + 2 : path;
}

/* Returns the root table of a resource, as SQL. */
static const char *
RootName(const ResourceModel *model)
{
	return quote_qualified_identifier(model->tables[0].schema, model->tables[0].name);
}

/* Returns true if the root table has a constraint of this name. */
static bool
HasConstraint(const ResourceModel *model, const char *name)
{
	const TableModel *root = &model->tables[0];
	Oid			table = RangeVarGetRelid(makeRangeVar(root->schema, root->name, -1), NoLock, true);

	return OidIsValid(table) && OidIsValid(get_relation_constraint_oid(table, name, true));
}

/* Returns the statements that create the constraints of options, as far as they are missing. */
List *
DeclaredKeysMissing(const ResourceModel *model, Jsonb *options)
{
	List	   *statements = NIL;
	ListCell   *cell;

	foreach(cell, UniqueOptionsPaths(options))
	{
		int			column = UniqueOptionsColumn(model, lfirst(cell));
		const char *name = column < 0 ? NULL : DeclaredKeyConstraint(model, column);

		if (name != NULL && !HasConstraint(model, name))
			statements = lappend(statements,
								 psprintf("ALTER TABLE %s ADD CONSTRAINT %s UNIQUE (%s) DEFERRABLE INITIALLY IMMEDIATE",
										  RootName(model), quote_identifier(name),
										  quote_identifier(model->tables[0].columns[column].name)));
	}
	return statements;
}

/* Returns true if options declare the column of a path. */
static bool
Declares(const ResourceModel *model, Jsonb *options, int column)
{
	ListCell   *cell;

	foreach(cell, options == NULL ? NIL : UniqueOptionsPaths(options))
	{
		if (UniqueOptionsColumn(model, lfirst(cell)) == column)
			return true;
	}
	return false;
}

/* Returns the statements that drop the constraints of options that others do not have; NULL has none. */
List *
DeclaredKeysSurplus(const ResourceModel *model, Jsonb *before, Jsonb *after)
{
	List	   *statements = NIL;
	ListCell   *cell;

	foreach(cell, UniqueOptionsPaths(before))
	{
		int			column = UniqueOptionsColumn(model, lfirst(cell));
		const char *name = column < 0 ? NULL : DeclaredKeyConstraint(model, column);

		if (name != NULL && !Declares(model, after, column) && HasConstraint(model, name))
			statements = lappend(statements, psprintf("ALTER TABLE %s DROP CONSTRAINT %s", RootName(model),
													  quote_identifier(name)));
	}
	return statements;
}

/* Note the values that several documents have in a column. */
static void
CheckColumn(const ResourceModel *model, int column, Problem *problem)
{
	const ColumnModel *key = &model->tables[0].columns[column];
	const char *name = quote_identifier(key->name);
	uint64		n;

	n = StatementExecuteWithArgs(psprintf("SELECT r.%s::pg_catalog.text, pg_catalog.count(*) FROM %s AS r WHERE r.%s IS NOT NULL"
										  " GROUP BY r.%s HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 ORDER BY r.%s LIMIT %d",
										  name, RootName(model), name, name, name, LISTED_VALUES),
								 0, NULL, NULL, false);
	for (uint64 i = 0; i < n; i++)
		ProblemAt(problem, key->path, INT64_FORMAT " documents have the value \"%s\".", ResultInt64(i, 2), ResultText(i, 1));
	ResultFree();
}

/* Note the values that several documents have in columns whose constraints are missing. */
void
DeclaredKeysCheckRows(const ResourceModel *model, Jsonb *options, Problem *problem)
{
	ListCell   *cell;

	foreach(cell, UniqueOptionsPaths(options))
	{
		int			column = UniqueOptionsColumn(model, lfirst(cell));

		CHECK_FOR_INTERRUPTS();
		if (column >= 0 && !HasConstraint(model, DeclaredKeyConstraint(model, column)))
			CheckColumn(model, column, problem);
	}
}

/* Start the statement that replaces the view. */
static void
StartView(StringInfo sql)
{
	initStringInfo(sql);
	appendStringInfoString(sql, "CREATE OR REPLACE VIEW dms.DeclaredKeyValue (ResourceType, Key, Value, DocumentId, CreatedAt, UpdatedAt)"
						   " WITH (security_invoker = true) AS SELECT u.ResourceType::pg_catalog.text, u.Key::pg_catalog.text, u.Value,"
						   " u.DocumentId, u.CreatedAt, u.UpdatedAt FROM dms.UniqueKeyValue AS u WHERE false");
}

/* Returns the statement that lets the view have no rows, and depend on no table of a resource. */
char *
DeclaredKeysNoView(void)
{
	StringInfoData sql;

	StartView(&sql);
	return sql.data;
}

/* Add the values of the unique keys of a resource to the view. */
static void
AppendKeys(StringInfo sql, const ResourceModel *model, Jsonb *options)
{
	ListCell   *cell;

	foreach(cell, UniqueOptionsPaths(options))
	{
		int			column = UniqueOptionsColumn(model, lfirst(cell));
		const char *name;

		if (column < 0)
			continue;
		name = quote_identifier(model->tables[0].columns[column].name);
		appendStringInfo(sql, " UNION ALL SELECT t.ResourceType::pg_catalog.text, %s::pg_catalog.text, %s,"
						 " d.DocumentId, d.CreatedAt, d.LastModifiedAt FROM %s AS r"
						 DOCUMENT_JOIN_SQL("d", "r.%s") RESOURCE_TYPE_JOIN_SQL("t", "(%d)")
						 " WHERE r.%s IS NOT NULL", quote_literal_cstr(DeclaredKeyName(lfirst(cell))),
						 KeyQueryText(psprintf("r.%s", name), model->tables[0].columns[column].value.type), RootName(model),
						 quote_identifier(model->tables[0].columns[0].name), ResourceTypeId(model->project, model->resource), name);
	}
}

/* The options of a resource as they are stored. */
static Jsonb *
StoredOptions(int32 type_id, char **project, char **resource)
{
	Jsonb	   *options;

	SnapshotBeginLatest();
	options = ResourceTypeOptions(type_id, NULL);
	if (!ResourceTypeNames(type_id, project, resource))
		options = NULL;
	SnapshotEnd();
	return options;
}

/*
 * Returns the statement that replaces the view, by the options of all resources; those
 * of one resource are given, unless that is NULL.
 */
char *
DeclaredKeysView(const ResourceModel *model, Jsonb *options)
{
	StringInfoData sql;
	int			n;
	int32	   *ids;
	int32		own = model == NULL ? 0 : ResourceTypeId(model->project, model->resource);

	StartView(&sql);
	if (model != NULL)
		AppendKeys(&sql, model, options);
	ids = ResourceTypesWithUniqueKeys(&n);
	for (int i = 0; i < n; i++)
	{
		char	   *project;
		char	   *name;
		Jsonb	   *stored;
		Resource   *resource;

		CHECK_FOR_INTERRUPTS();
		if (model != NULL && ids[i] == own)
			continue;
		stored = StoredOptions(ids[i], &project, &name);
		resource = stored == NULL ? NULL : ModelCacheTry(project, name);
		if (resource != NULL)
			AppendKeys(&sql, resource->model, stored);
	}
	return sql.data;
}
