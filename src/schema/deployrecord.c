/*
 * deployrecord.c
 *		The rows of dms.EffectiveSchema, dms.SchemaComponent and dms.EdgeSource:
 *		what was deployed, and the places of references.
 *
 * This module has all statements that write these tables.
 */
#include "postgres.h"

#include "base/grow.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "schema/deployrecord.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

/*
 * The hash of the deployed schema; NULL before the first deploy.  Another
 * deploy may have committed after our snapshot was taken, while we waited for
 * the lock, so look with a new one.
 */
char *
DeployRecordHash(void)
{
	if (!StoreExists())
		return NULL;
	PushActiveSnapshot(GetLatestSnapshot());
	StatementExecuteWithArgs("SELECT EffectiveSchemaHash FROM dms.EffectiveSchema"
							 " ORDER BY EffectiveSchemaId DESC LIMIT 1", 0, NULL, NULL, true);
	PopActiveSnapshot();
	return ResultRows() > 0 ? ResultText(0, 1) : NULL;
}

/* Record the deploy and its projects. */
void
DeployRecordSchema(const ApiSchema *schema, const char *hash)
{
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[3];
	ListCell   *cell;

	values[0] = CStringGetTextDatum(hash);
	values[1] = CStringGetTextDatum(schema->format_version);
	values[2] = CStringGetTextDatum(MAPPING_VERSION);
	(void) StatementExecuteWithArgs("INSERT INTO dms.EffectiveSchema (EffectiveSchemaHash, ApiSchemaFormatVersion, MappingVersion)"
									" VALUES ($1, $2, $3)", 3, types, values, false);
	foreach(cell, schema->projects)
	{
		ApiProject *project = lfirst(cell);
		Oid			component_types[] = {TEXTOID, TEXTOID, TEXTOID, BOOLOID};
		Datum		component[4];

		component[0] = CStringGetTextDatum(project->endpoint);
		component[1] = CStringGetTextDatum(project->name);
		component[2] = CStringGetTextDatum(project->version);
		component[3] = BoolGetDatum(project->extension);
		(void) StatementExecuteWithArgs("INSERT INTO dms.SchemaComponent (EffectiveSchemaId, ProjectEndpointName, ProjectName,"
										" ProjectVersion, IsExtensionProject) SELECT pg_catalog.max(EffectiveSchemaId), $1, $2, $3, $4"
										" FROM dms.EffectiveSchema", 4, component_types, component, false);
	}
}

/* Record the places of references. */
void
DeployRecordEdgeSources(const ModelSet *set)
{
	Oid			types[] = {INT8OID, TEXTOID};
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;
		const char **keys = palloc(sizeof(char *) * Max(model->nreferences, 1));
		Datum	   *ids = palloc(sizeof(Datum) * Max(model->nreferences, 1));
		Datum		values[2];

		if (model->kind == RESOURCE_ABSTRACT || model->nreferences == 0)
			continue;
		for (int i = 0; i < model->nreferences; i++)
		{
			keys[i] = model->references[i].edge_source_key;
			ids[i] = Int64GetDatum(model->references[i].edge_source_id);
		}
		values[0] = DatumArray(model->nreferences, ids, NULL, INT8OID);
		values[1] = DatumTextArray(model->nreferences, keys);
		types[0] = INT8ARRAYOID;
		types[1] = TEXTARRAYOID;
		(void) StatementExecuteWithArgs("INSERT INTO dms.EdgeSource (EdgeSourceId, EdgeSourceKey)"
										" SELECT * FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2))"
										" ON CONFLICT (EdgeSourceId) DO NOTHING", 2, types, values, false);
	}
}

/* Forget the places of references that a schema does not have.  There are no edges of them. */
void
DeployRecordForgetEdgeSources(const ModelSet *set)
{
	Oid			types[] = {INT8ARRAYOID};
	Datum		values[1];
	int64	   *ids = NULL;
	int			n = 0;
	ListCell   *cell;

	foreach(cell, set->entries)
	{
		const ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		for (int i = 0; model->kind != RESOURCE_ABSTRACT && i < model->nreferences; i++)
			APPEND(ids, n, model->references[i].edge_source_id);
	}
	values[0] = DatumInt8Array(n, ids);
	StatementExecuteWithArgs("DELETE FROM dms.EdgeSource AS s WHERE NOT EXISTS"
							 " (SELECT FROM pg_catalog.unnest($1) AS kept (id) WHERE kept.id OPERATOR(pg_catalog.=) s.EdgeSourceId)",
							 lengthof(types), types, values, false);
}
