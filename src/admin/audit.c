/*
 * audit.c
 *		What an audit looks at, and mending edges: dms.audit_scope() and
 *		dms.rebuild_edges().
 *
 * The audit itself is written in SQL, in the install script, and shares
 * nothing with what writes edges and with what mends them.
 */
#include "postgres.h"

#include "access/xact.h"
#include "admin/audit.h"
#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/verify.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(dms_audit_scope);
PG_FUNCTION_INFO_V1(dms_rebuild_edges);

/* Say how far we are after so many resources, or so much time. */
#define PROGRESS_STEP 100
#define PROGRESS_MILLISECONDS 10000

/* The resources that a pair of names stands for. */
typedef struct Scope
{
	int			n;
	char	  **projects;
	char	  **resources;
} Scope;

/* Both functions have a search_path of their own: operators need no schema. */
static const Oid scope_types[] = {TEXTOID, TEXTOID};

/* An abstract resource stands for those that share its member table. */
static Statement read_scope =
{
	.sql = "SELECT m.ProjectName, m.ResourceName FROM dms.ResourceModel AS m"
	" WHERE m.Kind <> 'abstract' AND EXISTS (SELECT FROM dms.ResourceModel AS n"
	" WHERE ($1 IS NULL OR lower($1) IN (lower(n.ProjectName), lower(n.ProjectEndpointName)))"
	" AND ($2 IS NULL OR lower($2) IN (lower(n.ResourceName), lower(n.EndpointName)))"
	" AND ((n.ProjectName, n.ResourceName) = (m.ProjectName, m.ResourceName)"
	"  OR (n.Kind = 'abstract' AND (n.MemberSchema, n.MemberTable) = (m.MemberSchema, m.MemberTable))))"
	" ORDER BY m.LoadOrder, m.ProjectName, m.ResourceName",
	.nargs = 2,
	.argtypes = scope_types,
};

static const Oid document_types[] = {UUIDOID};

static Statement find_document =
{
	.sql = "SELECT DocumentId, ProjectName, ResourceName FROM dms.Document WHERE DocumentUuid = $1",
	.nargs = 1,
	.argtypes = document_types,
};

static Statement delete_orphans =
{
	.sql = "DELETE FROM dms.ReferenceEdge AS e WHERE NOT EXISTS"
	" (SELECT FROM dms.Document AS d WHERE d.DocumentId = e.ParentDocumentId)",
};

/* An argument as text; NULL when it is not given. */
static const char *
OptionalText(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

/* The resources of these names; no resource at all is an error. */
static Scope
ReadScope(const char *project, const char *resource)
{
	Scope		scope;
	Datum		values[2];
	char		nulls[2] = {project ? ' ' : 'n', resource ? ' ' : 'n'};

	values[0] = project ? CStringGetTextDatum(project) : (Datum) 0;
	values[1] = resource ? CStringGetTextDatum(resource) : (Datum) 0;
	scope.n = (int) StatementRun(&read_scope, values, nulls, true, 0);
	if (scope.n == 0 && (project || resource))
		ReportError(PROBLEM_UNKNOWN_RESOURCE,
					"dms.resources() lists the resources of the deployed schema.",
					"there is no resource \"%s\" in project \"%s\"",
					resource ? resource : "*", project ? project : "*");
	scope.projects = palloc(sizeof(char *) * Max(scope.n, 1));
	scope.resources = palloc(sizeof(char *) * Max(scope.n, 1));
	for (int i = 0; i < scope.n; i++)
	{
		scope.projects[i] = ResultName(i, 1);
		scope.resources[i] = ResultName(i, 2);
	}
	SPI_freetuptable(SPI_tuptable);
	return scope;
}

/* Look at one document only: its resource is all that is left of the scope. */
static int64
NarrowScope(Scope *scope, const pg_uuid_t *uuid)
{
	Datum		values[1] = {UUIDPGetDatum(uuid)};
	Resource   *resource;
	int64		document_id;
	int			n = 0;

	if (StatementRun(&find_document, values, NULL, true, 1) == 0)
		ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document %s",
					UuidText(uuid));
	document_id = ResultInt64(0, 1);
	resource = ModelCacheFind(ResultName(0, 2), ResultName(0, 3));
	for (int i = 0; i < scope->n; i++)
		if (strcmp(scope->projects[i], resource->model->project) == 0 &&
			strcmp(scope->resources[i], resource->model->resource) == 0)
		{
			scope->projects[n] = scope->projects[i];
			scope->resources[n++] = scope->resources[i];
		}
	scope->n = n;
	return document_id;
}

/* The resources to audit; the document, if there is to be one only. */
Datum
dms_audit_scope(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	StoreSession session;
	Scope		scope;
	Datum		values[3];
	bool		nulls[3] = {false, false, PG_ARGISNULL(2)};

	InitMaterializedSRF(fcinfo, 0);
	(void) StoreTable(STORE_DOCUMENT);
	StoreBegin(&session, RIGHTS_OF_CALLER);
	scope = ReadScope(OptionalText(fcinfo, 0), OptionalText(fcinfo, 1));
	if (!PG_ARGISNULL(2))
		values[2] = Int64GetDatum(NarrowScope(&scope, PG_GETARG_UUID_P(2)));
	for (int i = 0; i < scope.n; i++)
	{
		values[0] = CStringGetTextDatum(scope.projects[i]);
		values[1] = CStringGetTextDatum(scope.resources[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	StoreEnd(&session);
	PG_RETURN_NULL();
}

/* The documents of a resource, by its root table. */
static void
AppendDocuments(StringInfo sql, const ResourceModel *model)
{
	appendStringInfo(sql, "SELECT documentid FROM %s",
					 quote_qualified_identifier(model->tables[0].schema, model->tables[0].name));
	if (model->kind == RESOURCE_DESCRIPTOR)
		appendStringInfo(sql, " WHERE discriminator = %s",
						 quote_literal_cstr(psprintf("%s:%s", model->project, model->resource)));
}

/* Mend the edges of all documents of a resource; how many were wrong? */
int64
AuditMendEdges(const ResourceModel *model)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "WITH wanted AS (");
	VerifyAppendReferences(&sql, model, NULL);
	appendStringInfoString(&sql, "), stored AS (SELECT e.ParentDocumentId AS parent, e.ChildDocumentId AS child,"
						   " e.EdgeSourceId AS source, e.IsIdentityComponent AS component FROM (");
	AppendDocuments(&sql, model);
	appendStringInfoString(&sql, ") AS r JOIN dms.ReferenceEdge AS e ON e.ParentDocumentId = r.documentid),"
						   " wrong AS MATERIALIZED (SELECT COALESCE(w.parent, s.parent) AS parent,"
						   " COALESCE(w.child, s.child) AS child, COALESCE(w.source, s.source) AS source,"
						   " w.component AS wanted, s.component AS stored FROM wanted AS w FULL JOIN stored AS s"
						   " ON (s.parent, s.source, s.child) = (w.parent, w.source, w.child)"
						   " WHERE w.component IS DISTINCT FROM s.component),"
						   " surplus AS (DELETE FROM dms.ReferenceEdge AS e USING wrong AS x WHERE x.wanted IS NULL"
						   " AND (e.ParentDocumentId, e.EdgeSourceId, e.ChildDocumentId) = (x.parent, x.source, x.child)),"
						   " flag AS (UPDATE dms.ReferenceEdge AS e SET IsIdentityComponent = x.wanted FROM wrong AS x"
						   " WHERE x.wanted IS NOT NULL AND x.stored IS NOT NULL"
						   " AND (e.ParentDocumentId, e.EdgeSourceId, e.ChildDocumentId) = (x.parent, x.source, x.child)),"
						   " missing AS (INSERT INTO dms.ReferenceEdge"
						   " (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)"
						   " SELECT parent, child, source, wanted FROM wrong WHERE stored IS NULL)"
						   " SELECT count(*) FROM wrong");
	ExecuteWithArgs(sql.data, 0, NULL, NULL, false);
	pfree(sql.data);
	return ResultInt64(0, 1);
}

/* Mend the edges of a scope, telling now and then how far we are. */
static int64
MendScope(const Scope *scope)
{
	TimestampTz told = GetCurrentTimestamp();
	int64		mended = 0;

	for (int i = 0; i < scope->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mended += AuditMendEdges(ModelCacheFind(scope->projects[i], scope->resources[i])->model);
		SPI_freetuptable(SPI_tuptable);
		if ((i + 1) % PROGRESS_STEP != 0 &&
			!TimestampDifferenceExceeds(told, GetCurrentTimestamp(), PROGRESS_MILLISECONDS))
			continue;
		told = GetCurrentTimestamp();
		ereport(NOTICE, (errmsg("rebuilt the edges of %d of %d resources", i + 1, scope->n)));
	}
	return mended;
}

/*
 * Make the edges what the reference columns say.  Writers wait at the gate, so
 * that what is read after it stays true; an older snapshot would not do.
 */
Datum
dms_rebuild_edges(PG_FUNCTION_ARGS)
{
	const char *project = OptionalText(fcinfo, 0);
	const char *resource = OptionalText(fcinfo, 1);
	StoreSession session;
	Scope		scope;
	int64		mended;

	PreventCommandIfReadOnly("dms.rebuild_edges()");
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"edges cannot be rebuilt under a snapshot that was taken before the writers were stopped");
	if (!FAULT_SKIP("rebuild_gate"))
		StoreGate(ShareRowExclusiveLock);
	StoreBegin(&session, RIGHTS_OF_OWNER);
	SnapshotBegin();
	scope = ReadScope(project, resource);
	SnapshotEnd();
	mended = MendScope(&scope);
	if (project == NULL && resource == NULL)
		mended += StatementRun(&delete_orphans, NULL, NULL, false, 0);
	StoreEnd(&session);
	PG_RETURN_INT64(mended);
}
