/*
 * projection.c
 *		Reading identities from storage, through the references that they
 *		depend on, and hashing them.
 *
 * Column values are converted to the same texts that canonical bodies have, by
 * code that depends on no setting.  So an identity that is recomputed from
 * rows equals the one that was computed from the body.
 */
#include "postgres.h"

#include "base/lowercase.h"
#include "catalog/pg_type.h"
#include "document/flatten.h"
#include "document/identity.h"
#include "document/identityread.h"
#include "document/projection.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "model/keyquery.h"
#include "model/value.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_stored_identities);

/* Rows that dms_internal.stored_identities() fetches at a time. */
#define CURSOR_STEP 1000

/*
 * Append "SELECT j0.documentid, values FROM root AS j0 LEFT JOIN ...".  If a
 * row is missing in one of the tables, its values are NULL; an audit reports
 * that.
 */
void
ProjectionAppendSelect(StringInfo sql, const ProjectionModel *projection)
{
	appendStringInfoString(sql, "SELECT j0.documentid");
	for (int i = 0; i < projection->nvalues; i++)
		appendStringInfo(sql, ", j%d.%s", projection->values[i].join,
						 quote_identifier(projection->values[i].column));
	KeyQueryAppendFrom(sql, projection);
}

/* Returns the types of the columns of a projection. */
static const Oid *
ProjectionTypes(const ProjectionModel *projection)
{
	Oid		   *types = palloc(sizeof(Oid) * (1 + projection->nvalues));

	types[0] = INT8OID;
	for (int i = 0; i < projection->nvalues; i++)
		types[i + 1] = ValueTypeOid(projection->values[i].type);
	return types;
}

/* Make an identity from a row of a projection. */
static void
TakeRow(const ResourceModel *model, const Datum *values, const bool *nulls,
		StoredIdentity *identity)
{
	const ProjectionModel *projection = &model->projections[0];

	identity->document_id = DatumGetInt64(values[0]);
	identity->values = palloc0(sizeof(char *) * Max(projection->nvalues, 1));
	identity->complete = true;
	for (int i = 0; i < projection->nvalues; i++)
	{
		if (nulls[i + 1])
		{
			identity->complete = false;
			continue;
		}
		identity->values[i] = ValueFromDatum(values[i + 1], projection->values[i].type);
		if (projection->values[i].lower)
			identity->values[i] = LowercaseInvariant(identity->values[i], strlen(identity->values[i]));
	}
	if (identity->complete)
		IdentityHash(model, identity->values, &identity->primary, &identity->alias);
}

/* Returns the statement that reads the identities of given documents. */
static Statement *
ProjectionStatement(Resource *resource, int projection)
{
	static const Oid types[] = {INT8ARRAYOID};
	Statement  *statement = &resource->projections[projection];
	StringInfoData sql;

	if (statement->sql != NULL)
		return statement;
	initStringInfo(&sql);
	ProjectionAppendSelect(&sql, &resource->model->projections[projection]);
	appendStringInfoString(&sql, " WHERE j0.documentid OPERATOR(pg_catalog.=) ANY ($1)");
	statement->nargs = 1;
	statement->argtypes = types;
	statement->sql = MemoryContextStrdup(resource->context, sql.data);
	return statement;
}

/*
 * Read the ids of documents and the values of their identities, by one of the
 * resource's projections, in the active snapshot.  The ids are ascending;
 * documents without a root row are not among the rows.  can_change is false if
 * the identities are known not to change.
 */
void
ProjectionReadRows(Resource *resource, int projection, const int64 *ids, int n,
				   bool can_change, StoredRows *rows)
{
	Datum		values[1];

	if (IdentityReadRows(resource, projection, ids, n, can_change, rows))
		return;
	values[0] = DatumInt8Array(n, ids);
	StatementRead(ProjectionStatement(resource, projection), values, 0);
	StoredRowsTake(rows, ProjectionTypes(&resource->model->projections[projection]), 1);
	StoredRowsRequireIds(rows, ids, n);
}

/* Make identities from rows that were read by the projection of the resource itself. */
StoredIdentity *
ProjectionIdentities(Resource *resource, const StoredRows *rows)
{
	StoredIdentity *identities = palloc_extended(sizeof(StoredIdentity) * Max(rows->nrows, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < rows->nrows; i++)
		TakeRow(resource->model, StoredRowValues(rows, i), StoredRowNulls(rows, i), &identities[i]);
	return identities;
}

/* Read the identities of documents of the resource itself, in no order. */
StoredIdentity *
ProjectionRead(Resource *resource, const int64 *ids, int n, int *found)
{
	StoredIdentity *identities;
	StoredRows	rows;

	ProjectionReadRows(resource, 0, ids, n, true, &rows);
	*found = rows.nrows;
	identities = ProjectionIdentities(resource, &rows);
	StoredRowsFreeResult(&rows);
	return identities;
}

/*
 * Open a cursor over the documents of a resource: those of an array, or all if
 * there is none.
 */
static Portal
OpenDocuments(Resource *resource, ArrayType *ids)
{
	const ResourceModel *model = resource->model;
	StringInfoData sql;
	Oid			types[2] = {TEXTOID, INT8ARRAYOID};
	Datum		values[2];

	initStringInfo(&sql);
	ProjectionAppendSelect(&sql, &model->projections[0]);
	appendStringInfoString(&sql, " WHERE ");
	appendStringInfoString(&sql, model->kind == RESOURCE_DESCRIPTOR ?
						   "j0.discriminator::pg_catalog.text OPERATOR(pg_catalog.=) $1" : "$1 IS NOT NULL");
	appendStringInfoString(&sql, ids ? " AND j0.documentid OPERATOR(pg_catalog.=) ANY ($2)" : "");
	values[0] = CStringGetTextDatum(psprintf("%s:%s", model->project, model->resource));
	values[1] = PointerGetDatum(ids);
	return StatementOpen(sql.data, ids ? 2 : 1, types, values);
}

/* Return one row of dms_internal.stored_identities(). */
static void
PutIdentity(ReturnSetInfo *rsinfo, const ResourceModel *model,
			StoredIdentity *identity)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = Int64GetDatum(identity->document_id);
	values[1] = UUIDPGetDatum(&identity->primary);
	values[2] = UUIDPGetDatum(&identity->alias);
	values[3] = DatumTextArray(model->nidentity, (const char *const *) identity->values);
	nulls[1] = !identity->complete;
	nulls[2] = !identity->complete || model->superclass_resource == NULL;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return the last result of SPI as rows of dms_internal.stored_identities(). */
static void
PutIdentities(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	StoredRows	rows;

	StoredRowsTake(&rows, ProjectionTypes(&model->projections[0]), 1);
	for (int i = 0; i < rows.nrows; i++)
	{
		StoredIdentity identity;

		CHECK_FOR_INTERRUPTS();
		TakeRow(model, StoredRowValues(&rows, i), StoredRowNulls(&rows, i), &identity);
		PutIdentity(rsinfo, model, &identity);
	}
}

/*
 * Return the identities of documents of a resource, computed from their rows.
 */
Datum
dms_stored_identities(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	Resource   *resource;
	Portal		cursor;
	MemoryContext row_context;
	MemoryContext saved;

	InitMaterializedSRF(fcinfo, 0);
	(void) StoreTable(STORE_DOCUMENT);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							  text_to_cstring(PG_GETARG_TEXT_PP(1)));
	cursor = OpenDocuments(resource, PG_NARGS() > 2 ? PG_GETARG_ARRAYTYPE_P(2) : NULL);
	row_context = AllocSetContextCreate(CurrentMemoryContext, "dms stored identity",
										ALLOCSET_DEFAULT_SIZES);
	while (StatementFetch(cursor, CURSOR_STEP) > 0)
	{
		saved = MemoryContextSwitchTo(row_context);
		PutIdentities(rsinfo, resource->model);
		MemoryContextSwitchTo(saved);
		MemoryContextReset(row_context);
		ResultFree();
	}
	StatementClose(cursor);
	SessionEnd(&session);
	PG_RETURN_NULL();
}
