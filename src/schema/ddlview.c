/*
 * ddlview.c
 *		Describing the view of an abstract resource over its subclasses.
 *
 * The view has the identities of the documents of all subclasses.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "schema/ddlview.h"
#include "utils/builtins.h"

/* Returns the column of a subclass that is a column of the view. */
static int
ColumnOfSubclass(const ResourceModel *abstract, const ResourceModel *subclass, int column)
{
	for (int i = 0; i < subclass->nidentity; i++)
		if (abstract->identity[i].column == column)
			return subclass->identity[i].column;
	elog(ERROR, "column %d of the view of \"%s\" is no part of the identity of \"%s\"", column,
		 abstract->resource, subclass->resource);
}

/* Describe the view of an abstract resource. */
DdlView *
DdlViewOf(const ModelEntry *entry)
{
	const TableModel *table = &entry->model->tables[0];
	DdlView    *view = palloc0(sizeof(DdlView));
	ListCell   *cell;

	view->entry = entry;
	view->schema = table->schema;
	view->name = table->name;
	view->comment = psprintf("%s: identities of the documents of its subclasses", entry->place);
	view->ncolumns = table->ncolumns;
	view->branches = palloc0(sizeof(DdlBranch) * Max(list_length(entry->subclasses), 1));
	foreach(cell, entry->subclasses)
	{
		DdlBranch  *branch = &view->branches[view->nbranches++];

		branch->subclass = lfirst(cell);
		branch->table = &branch->subclass->model->tables[0];
		branch->columns = palloc0(sizeof(int) * Max(view->ncolumns, 1));
		for (int i = 1; i < view->ncolumns; i++)
			branch->columns[i] = ColumnOfSubclass(entry->model, branch->subclass->model, i);
	}
	return view;
}

/* Add one branch to the text of a view. */
static void
AppendBranch(StringInfo body, const DdlView *view, const DdlBranch *branch)
{
	const TableModel *columns = &view->entry->model->tables[0];
	const ResourceModel *model = branch->subclass->model;

	appendStringInfoString(body, "SELECT documentid");
	for (int i = 1; i < view->ncolumns; i++)
		appendStringInfo(body, ", %s AS %s",
						 quote_identifier(branch->table->columns[branch->columns[i]].name),
						 quote_identifier(columns->columns[i].name));
	appendStringInfo(body, ", %s::varchar(%d) AS discriminator\n\tFROM %s",
					 quote_literal_cstr(psprintf("%s:%s", model->project, model->resource)), MODEL_MAX_DISCRIMINATOR,
					 quote_qualified_identifier(branch->table->schema, branch->table->name));
}

/* The qualified name of a view, quoted as necessary. */
char *
DdlViewName(const DdlView *view)
{
	return quote_qualified_identifier(view->schema, view->name);
}

/*
 * The statement that creates a view, or replaces one that has the same columns.  It
 * runs with the rights of its caller, as reads of tables do.
 */
char *
DdlViewSql(const DdlView *view, bool replace)
{
	StringInfoData body;

	initStringInfo(&body);
	appendStringInfo(&body, "CREATE %sVIEW %s WITH (security_invoker = true) AS\n\t", replace ? "OR REPLACE " : "",
					 DdlViewName(view));
	for (int i = 0; i < view->nbranches; i++)
	{
		if (i > 0)
			appendStringInfoString(&body, "\n\tUNION ALL ");
		AppendBranch(&body, view, &view->branches[i]);
	}
	return body.data;
}

/* The statement that comments on a view. */
char *
DdlViewCommentSql(const DdlView *view)
{
	return psprintf("COMMENT ON VIEW %s IS %s", DdlViewName(view), quote_literal_cstr(view->comment));
}
