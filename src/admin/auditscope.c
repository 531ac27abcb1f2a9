/*
 * auditscope.c
 *		Which resources an audit looks at: dms.audit_scope().
 *
 * The audit itself is written in SQL, in the install script, and shares
 * nothing with the code that writes edges and with the code that repairs them.
 */
#include "postgres.h"

#include "admin/auditscope.h"
#include "base/report.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "funcapi.h"
#include "model/modelcache.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(dms_audit_scope);

/* Callers have a search_path of their own: operators need no schema. */
static const Oid scope_types[] = {TEXTOID, TEXTOID};

/* An abstract resource means all that share its member table. */
static Statement read_scope = {
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

static Statement find_document = {
	.sql = "SELECT DocumentId, ProjectName, ResourceName FROM dms.Document WHERE DocumentUuid = $1",
	.nargs = 1,
	.argtypes = document_types,
};

/*
 * Find the resources of the function's first two arguments, which are names of
 * a project and a resource, or NULL for all.  It is an error if there are none.
 */
AuditScope
AuditScopeOfArguments(FunctionCallInfo fcinfo)
{
	AuditScope	scope;
	Datum		values[2] = {fcinfo->args[0].value, fcinfo->args[1].value};
	char		nulls[2] = {PG_ARGISNULL(0) ? 'n' : ' ', PG_ARGISNULL(1) ? 'n' : ' '};

	scope.n = (int) StatementRun(&read_scope, values, nulls, true, 0);
	if (scope.n == 0 && !(PG_ARGISNULL(0) && PG_ARGISNULL(1)))
		ReportError(PROBLEM_UNKNOWN_RESOURCE,
					"dms.resources() lists the resources of the deployed schema.",
					"there is no resource \"%s\" in project \"%s\"",
					PG_ARGISNULL(1) ? "*" : TextDatumGetCString(values[1]),
					PG_ARGISNULL(0) ? "*" : TextDatumGetCString(values[0]));
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

/*
 * Restrict the scope to the resource of a document, if it is in the scope;
 * returns the document's id.
 */
static int64
NarrowScope(AuditScope *scope, const pg_uuid_t *uuid)
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

/* Returns the resources to audit, and the document if only one is meant. */
Datum
dms_audit_scope(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	StoreSession session;
	AuditScope	scope;
	Datum		values[3];
	bool		nulls[3] = {false, false, PG_ARGISNULL(2)};

	InitMaterializedSRF(fcinfo, 0);
	(void) StoreTable(STORE_DOCUMENT);
	StoreBegin(&session, RIGHTS_OF_CALLER);
	scope = AuditScopeOfArguments(fcinfo);
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
