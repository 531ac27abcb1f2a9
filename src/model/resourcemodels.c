/*
 * resourcemodels.c
 *		The rows of dms.ResourceModel.
 *
 * This module has all statements on the table.  Where a function says so, the
 * rows that it finds are the result of SPI.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "engine/coresql.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "model/modelstore.h"
#include "model/resourcemodels.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

static const Oid text_types[] = {TEXTOID, TEXTOID, TEXTOID};

static const char *const model_columns[] = {"projectname", "resourcename", "model"};
static const Oid model_types[] = {TEXTOID, TEXTOID, JSONOID};
static KeyedTable models = {
	.schema = "dms",.name = "resourcemodel", KEYED_COLUMNS(model_columns, model_types),
	.nkeys = 2,.nsearch = 2
};

/* Names are ASCII; the collation keeps them independent of locales. */
#define FOLDED(name) "pg_catalog.lower(" name " COLLATE pg_catalog.\"C\")"

static Statement find_by_any_name = {
	.sql = "SELECT Model, ProjectName, ResourceName FROM dms.ResourceModel"
	" WHERE (" FOLDED("ProjectName") " OPERATOR(pg_catalog.=) " FOLDED("$1")
	" OR " FOLDED("ProjectEndpointName") " OPERATOR(pg_catalog.=) " FOLDED("$1") ")"
	" AND (" FOLDED("ResourceName") " OPERATOR(pg_catalog.=) " FOLDED("$2")
	" OR " FOLDED("EndpointName") " OPERATOR(pg_catalog.=) " FOLDED("$2") ")",
	.nargs = 2,
	.argtypes = text_types,
};

static Statement find_by_endpoint = {
	.sql = "SELECT Model, ProjectName, ResourceName FROM dms.ResourceModel"
	" WHERE " FOLDED("ProjectEndpointName") " OPERATOR(pg_catalog.=) " FOLDED("$1")
	" AND " FOLDED("EndpointName") " OPERATOR(pg_catalog.=) " FOLDED("$2"),
	.nargs = 2,
	.argtypes = text_types,
};

static Statement find_with = {
	.sql = "SELECT Model FROM dms.ResourceModel"
	" WHERE pg_catalog.strpos(Model::pg_catalog.text, $1) OPERATOR(pg_catalog.>) 0"
	" ORDER BY LoadOrder, ProjectName COLLATE pg_catalog.\"C\", ResourceName COLLATE pg_catalog.\"C\"",
	.nargs = 1,
	.argtypes = text_types,
};

/*
 * An abstract resource means all that share its member table.  Callers of an
 * audit have a search_path of their own: operators need no schema.
 */
static Statement find_in_scope = {
	.sql = "SELECT m.ProjectName, m.ResourceName FROM dms.ResourceModel AS m"
	" WHERE m.Kind <> 'abstract' AND EXISTS (SELECT FROM dms.ResourceModel AS n"
	" WHERE ($1 IS NULL OR lower($1) IN (lower(n.ProjectName), lower(n.ProjectEndpointName)))"
	" AND ($2 IS NULL OR lower($2) IN (lower(n.ResourceName), lower(n.EndpointName)))"
	" AND ((n.ProjectName, n.ResourceName) = (m.ProjectName, m.ResourceName)"
	"  OR (n.Kind = 'abstract' AND (n.MemberSchema, n.MemberTable) = (m.MemberSchema, m.MemberTable))))"
	" ORDER BY m.LoadOrder, m.ProjectName, m.ResourceName",
	.nargs = 2,
	.argtypes = text_types,
};

/* The planner may hash: there are thousands of sources, and all are read. */
static Statement find_edge_sources = {
	.sql = "SELECT s.EdgeSourceId, m.ProjectName::pg_catalog.text, m.ResourceName::pg_catalog.text, m.IdentityRank"
	" FROM (SELECT ProjectName, ResourceName, IdentityRank,"
	" pg_catalog.concat(ProjectName, '.', ResourceName) AS Name FROM dms.ResourceModel"
	" WHERE Kind::pg_catalog.text OPERATOR(pg_catalog.<>) 'abstract' OFFSET 0) AS m"
	" LEFT JOIN (SELECT EdgeSourceId, pg_catalog.split_part(EdgeSourceKey, ':', 1) AS Name"
	" FROM " EDGE_SOURCES_SQL("e") " OFFSET 0) AS s ON s.Name OPERATOR(pg_catalog.=) m.Name"
	" ORDER BY m.ProjectName COLLATE pg_catalog.\"C\", m.ResourceName COLLATE pg_catalog.\"C\"",
	.adaptive = true,
};

static Statement find_projects = {
	.sql = "SELECT DISTINCT ProjectEndpointName, ProjectName FROM dms.ResourceModel",
};

/* Returns true if two names have the same letters and digits, in any case. */
static bool
NamesAreSimilar(const char *a, const char *b)
{
	for (;;)
	{
		while (*a != '\0' && !isalnum((unsigned char) *a))
			a++;
		while (*b != '\0' && !isalnum((unsigned char) *b))
			b++;
		if (*a == '\0' || *b == '\0')
			return *a == *b;
		if (pg_ascii_tolower((unsigned char) *a++) != pg_ascii_tolower((unsigned char) *b++))
			return false;
	}
}

/*
 * Returns true if there is a project of this name or endpoint name.  Otherwise
 * *similar is the endpoint name of one that may be meant, or NULL.
 */
bool
ResourceModelsHaveProject(const char *project, char **similar)
{
	uint64		n = StatementRun(&find_projects, NULL, NULL, true, 0);

	*similar = NULL;
	for (uint64 i = 0; i < n; i++)
	{
		char	   *endpoint = ResultName(i, 1);

		if (pg_strcasecmp(project, endpoint) == 0 || pg_strcasecmp(project, ResultName(i, 2)) == 0)
			return true;
		if (NamesAreSimilar(project, endpoint))
			*similar = endpoint;
	}
	return false;
}

/* Returns the model of a resource as JSON; NULL if there is none. */
char *
ResourceModelsRead(const char *project, const char *resource)
{
	Datum		keys[2] = {CStringGetTextDatum(project), CStringGetTextDatum(resource)};
	StoredRows	rows;

	KeyScanRead(&models, keys, &rows);
	return rows.nrows == 0 ? NULL : TextDatumGetCString(rows.values[2]);
}

/*
 * Find a model by the names of an endpoint, or by any names, in any case.
 * Result: model, project, resource.
 */
bool
ResourceModelsFind(const char *project, const char *resource, bool endpoint)
{
	Datum		values[2] = {CStringGetTextDatum(project), CStringGetTextDatum(resource)};

	return StatementRun(endpoint ? &find_by_endpoint : &find_by_any_name, values, NULL, true, 1) > 0;
}

/* Find the models whose JSON contains a text, in load order.  Result: model. */
uint64
ResourceModelsWith(const char *json_part)
{
	Datum		values[1] = {CStringGetTextDatum(json_part)};

	return StatementRun(&find_with, values, NULL, true, 0);
}

/*
 * Find the resources of a project and of a name; NULL means any.  Result:
 * project, resource.
 */
uint64
ResourceModelsInScope(const char *project, const char *resource)
{
	Datum		values[2] = {0};
	char		nulls[2] = {'n', 'n'};

	if (project != NULL)
	{
		values[0] = CStringGetTextDatum(project);
		nulls[0] = ' ';
	}
	if (resource != NULL)
	{
		values[1] = CStringGetTextDatum(resource);
		nulls[1] = ' ';
	}
	return StatementRun(&find_in_scope, values, nulls, true, 0);
}

/* Find the abstract resources.  Result: member table and view, quoted. */
uint64
ResourceModelsAbstract(void)
{
	return StatementExecuteWithArgs("SELECT format('%I.%I', MemberSchema, MemberTable),"
									" format('%I.%I', TableSchema, TableName)"
									" FROM dms.ResourceModel WHERE Kind = 'abstract'", 0, NULL, NULL, true);
}

/* Find the resource whose table has a foreign key.  Result: project, resource. */
uint64
ResourceModelsOfForeignKey(const char *name, const char *schema, const char *table)
{
	Oid			types[3] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[3] = {CStringGetTextDatum(name), CStringGetTextDatum(schema), CStringGetTextDatum(table)};

	return StatementExecuteWithArgs("SELECT m.ProjectName, m.ResourceName"
									" FROM dms.ResourceModel AS m,"
									" pg_catalog.json_array_elements(m.Model OPERATOR(pg_catalog.->) 'tables') AS t,"
									" pg_catalog.json_array_elements(t.value OPERATOR(pg_catalog.->) 'columns') AS c"
									" WHERE (c.value OPERATOR(pg_catalog.->>) 'foreign_key') OPERATOR(pg_catalog.=) $1"
									" AND (t.value OPERATOR(pg_catalog.->>) 'schema') OPERATOR(pg_catalog.=) $2"
									" AND (t.value OPERATOR(pg_catalog.->>) 'name') OPERATOR(pg_catalog.=) $3",
									3, types, values, true);
}

/*
 * Find the resources and their edge sources, sorted by resource.  Result: edge
 * source, which is NULL if the resource refers to nothing, project, resource,
 * rank.
 */
uint64
ResourceModelsEdgeSources(void)
{
	return StatementRun(&find_edge_sources, NULL, NULL, true, 0);
}

/* Find all models, in load order.  Result: model. */
uint64
ResourceModelsAll(void)
{
	return StatementExecuteWithArgs("SELECT Model FROM dms.ResourceModel"
									" ORDER BY LoadOrder, ProjectName COLLATE pg_catalog.\"C\", ResourceName COLLATE pg_catalog.\"C\"",
									0, NULL, NULL, true);
}

/* The JSON of a model.  Fails unless exactly the same model can be loaded from it. */
static char *
StorableModel(const ResourceModel *model)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "dms stored model",
												  ALLOCSET_DEFAULT_SIZES);
	char	   *json = ModelStoreToJson(model);
	MemoryContext saved = MemoryContextSwitchTo(scratch);

	if (!ModelStoreEqual(model, ModelStoreFromJson(json, strlen(json))))
		elog(ERROR, "model of \"%s.%s\" cannot be stored", model->project, model->resource);
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(scratch);
	return json;
}

/* Store a model, in the place of the one that has its name. */
void
ResourceModelsPut(const ResourceModel *model)
{
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
	TEXTOID, TEXTOID, TEXTOID, BOOLOID, INT4OID, INT4OID, TEXTOID};
	const char *texts[] = {model->project, model->resource, model->project_endpoint,
		model->endpoint, ModelStoreKindName(model->kind), model->tables[0].schema,
	model->tables[0].name, model->member_schema, model->member_table};
	Datum		values[lengthof(types)];
	char		nulls[lengthof(types)];

	memset(nulls, ' ', sizeof(nulls));
	for (size_t i = 0; i < lengthof(texts); i++)
	{
		if (texts[i] == NULL)
			nulls[i] = 'n';
		else
			values[i] = CStringGetTextDatum(texts[i]);
	}
	values[9] = BoolGetDatum(model->can_change);
	values[10] = Int32GetDatum(model->rank);
	values[11] = Int32GetDatum(model->load_order);
	values[12] = CStringGetTextDatum(StorableModel(model));
	StatementExecuteWithNulls("INSERT INTO dms.ResourceModel (ProjectName, ResourceName, ProjectEndpointName, EndpointName, Kind,"
							  " TableSchema, TableName, MemberSchema, MemberTable, CanChange, IdentityRank, LoadOrder, Model)"
							  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
							  " $10, $11, $12, $13::pg_catalog.json)"
							  " ON CONFLICT (ProjectName, ResourceName) DO UPDATE SET (ProjectEndpointName, EndpointName, Kind,"
							  " TableSchema, TableName, MemberSchema, MemberTable, CanChange, IdentityRank, LoadOrder, Model) ="
							  " ROW (EXCLUDED.ProjectEndpointName, EXCLUDED.EndpointName, EXCLUDED.Kind, EXCLUDED.TableSchema,"
							  " EXCLUDED.TableName, EXCLUDED.MemberSchema, EXCLUDED.MemberTable, EXCLUDED.CanChange,"
							  " EXCLUDED.IdentityRank, EXCLUDED.LoadOrder, EXCLUDED.Model)",
							  lengthof(types), types, values, nulls, false);
}

/* Delete the model of a resource that the schema does not have any more. */
void
ResourceModelsDelete(const char *project, const char *resource)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(project), CStringGetTextDatum(resource)};

	(void) StatementExecuteWithArgs("DELETE FROM dms.ResourceModel"
									" WHERE ProjectName OPERATOR(pg_catalog.=) $1 AND ResourceName OPERATOR(pg_catalog.=) $2",
									lengthof(types), types, values, false);
}

/* Replace the stored form of a model whose other columns stay the same. */
void
ResourceModelsReplace(const ResourceModel *model)
{
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(model->project), CStringGetTextDatum(model->resource),
	CStringGetTextDatum(StorableModel(model))};

	if (StatementExecuteWithArgs("UPDATE dms.ResourceModel SET Model = $3::pg_catalog.json"
								 " WHERE ProjectName OPERATOR(pg_catalog.=) $1 AND ResourceName OPERATOR(pg_catalog.=) $2",
								 lengthof(types), types, values, false) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model of \"%s.%s\" has the name of another", model->project, model->resource)));
}
