/*
 * auditscope.c
 *		Which resources an audit looks at: dms_internal.audit_scope().
 *
 * The audit itself is written in SQL, in the install script, and shares
 * nothing with the code that writes edges and with the code that repairs them.
 */
#include "postgres.h"

#include "admin/auditscope.h"
#include "base/report.h"
#include "base/uuid.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "funcapi.h"
#include "document/document.h"
#include "model/modelcache.h"
#include "model/resourcemodels.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(dms_audit_scope);

/* Returns a text argument as a string; NULL for NULL. */
static char *
TextArgument(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
}

/*
 * Find the resources of the function's first two arguments, which are names of
 * a project and a resource, or NULL for all.  It is an error if there are none.
 */
AuditScope
AuditScopeOfArguments(FunctionCallInfo fcinfo)
{
	AuditScope	scope;
	const char *project = TextArgument(fcinfo, 0);
	const char *resource = TextArgument(fcinfo, 1);

	scope.n = (int) ResourceModelsInScope(project, resource);
	if (scope.n == 0 && (project != NULL || resource != NULL))
		ReportError(PROBLEM_UNKNOWN_RESOURCE,
					"dms.resources() lists the resources of the deployed schema.",
					"there is no resource \"%s\" in project \"%s\"",
					resource == NULL ? "*" : resource, project == NULL ? "*" : project);
	scope.projects = ResultNames(1);
	scope.resources = ResultNames(2);
	ResultFree();
	return scope;
}

/*
 * Restrict the scope to the resource of a document, if it is in the scope;
 * returns the document's id.
 */
static int64
NarrowScope(AuditScope *scope, const pg_uuid_t *uuid)
{
	Resource   *resource;
	int64		document_id;
	int			n = 0;

	if (!DocumentFind(uuid, &document_id, &resource))
		ReportError(PROBLEM_NO_DOCUMENT, NULL, "there is no document %s",
					UuidText(uuid));
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
	Session		session;
	AuditScope	scope;
	Datum		values[3];
	bool		nulls[3] = {false, false, PG_ARGISNULL(2)};

	InitMaterializedSRF(fcinfo, 0);
	(void) StoreTable(STORE_DOCUMENT);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	scope = AuditScopeOfArguments(fcinfo);
	if (!PG_ARGISNULL(2))
		values[2] = Int64GetDatum(NarrowScope(&scope, PG_GETARG_UUID_P(2)));
	for (int i = 0; i < scope.n; i++)
	{
		values[0] = CStringGetTextDatum(scope.projects[i]);
		values[1] = CStringGetTextDatum(scope.resources[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
