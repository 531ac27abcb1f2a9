/*
 * rebuildedges.c
 *		dms.rebuild_edges(): repairing dms.ReferenceEdge from reference columns.
 */
#include "postgres.h"

#include "access/xact.h"
#include "admin/auditscope.h"
#include "admin/rebuildedges.h"
#include "admin/repairsql.h"
#include "base/faults.h"
#include "base/report.h"
#include "document/edges.h"
#include "document/verify.h"
#include "engine/progress.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_rebuild_edges);

/* A notice reports progress after this many resources: what a call says does not depend on the clock. */
#define PROGRESS_STEP 100

/* Returns a query of the documents of a resource, by its root table. */
char *
RebuildEdgesDocuments(const ResourceModel *model)
{
	char	   *sql = psprintf("SELECT documentid FROM %s",
							   quote_qualified_identifier(model->tables[0].schema, model->tables[0].name));

	if (model->kind != RESOURCE_DESCRIPTOR)
		return sql;
	return psprintf("%s WHERE discriminator = %s", sql,
					quote_literal_cstr(psprintf("%s:%s", model->project, model->resource)));
}

/*
 * Repair the edges of all documents of a resource; returns how many were wrong.
 * Runs with the rights of the store's owner.
 */
int64
RebuildEdgesOf(const ResourceModel *model)
{
	StringInfoData wanted;
	const char *queries[2];
	char	   *sql;

	initStringInfo(&wanted);
	VerifyAppendReferences(&wanted, model, NULL);
	queries[0] = wanted.data;
	queries[1] = RebuildEdgesDocuments(model);
	sql = RepairSql("repair_edges_statement", 2, queries);
	StatementExecuteWithArgs(sql, 0, NULL, NULL, false);
	pfree(wanted.data);
	pfree(sql);
	return ResultInt64(0, 1);
}

/* Rebuild the edges of a scope, with a notice after each PROGRESS_STEP resources. */
static int64
RebuildScope(const AuditScope *scope)
{
	int64		repaired = 0;

	for (int i = 0; i < scope->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ProgressReport("rebuilding the edges of %s.%s, %d of %d resources", scope->projects[i], scope->resources[i],
					   i + 1, scope->n);
		repaired += RebuildEdgesOf(ModelCacheFind(scope->projects[i], scope->resources[i])->model);
		ResultFree();
		if ((i + 1) % PROGRESS_STEP == 0)
			ereport(NOTICE, (errmsg("rebuilt the edges of %d of %d resources", i + 1, scope->n)));
	}
	ProgressEnd();
	return repaired;
}

/*
 * Make the edges what the reference columns say.  Writers wait at the gate, so
 * that what is read after it stays true; an older snapshot would not do.
 */
Datum
dms_rebuild_edges(PG_FUNCTION_ARGS)
{
	Session		session;
	AuditScope	scope;
	int64		repaired;

	PreventCommandIfReadOnly("dms.rebuild_edges()");
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"edges cannot be rebuilt under a snapshot that was taken before the writers were stopped");
	if (!FAULT_SKIP("rebuild_gate"))
		StoreGate(ShareRowExclusiveLock);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	SnapshotBegin();
	scope = AuditScopeOfArguments(fcinfo);
	SnapshotEnd();
	repaired = RebuildScope(&scope);
	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		repaired += EdgesDeleteOrphans();
	SessionEnd(&session);
	PG_RETURN_INT64(repaired);
}
