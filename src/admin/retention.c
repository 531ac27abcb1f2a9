/*
 * retention.c
 *		dms.purge_history(), dms.erase_history() and the steps of
 *		dms.baseline_history(): where histories end and begin.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/report.h"
#include "document/history.h"
#include "document/historypurge.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "model/modelcache.h"
#include "utils/builtins.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_purge_history);
PG_FUNCTION_INFO_V1(dms_erase_history);
PG_FUNCTION_INFO_V1(dms_write_baseline);

/* Documents that are locked together, until the end of a transaction. */
#define DOCUMENTS_AT_ONCE 1000

/*
 * Refuse to delete versions under a fixed snapshot.  It would not see the diffs of these
 * versions that others have stored since, and leave them.
 */
static void
RefuseFixedSnapshot(void)
{
	if (IsolationUsesXactSnapshot() && !FAULT_SKIP("erase_snapshot"))
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"versions cannot be deleted under a snapshot that may be older than their diffs");
}

/* Delete versions that need not be retained; returns how many there were. */
Datum
dms_purge_history(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"max_rows"};
	Session		session;
	int64		deleted;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT32(0) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "max_rows must not be negative");
	RefuseFixedSnapshot();
	WriteBegin(&session, "dms.purge_history()");
	deleted = HistoryPurge(PG_GETARG_INT32(0));
	SessionEnd(&session);
	PG_RETURN_INT64(deleted);
}

/*
 * Delete all versions of a document but the current one, and all of one that was
 * deleted; returns how many there were.  The document is locked, because a version
 * that is current when we look must not be superseded before we have finished.
 */
Datum
dms_erase_history(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid"};
	Session		session;
	DocumentHeader header;
	Resource   *resource = NULL;
	int64		document_id;
	int64		deleted;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	RefuseFixedSnapshot();
	WriteBegin(&session, "dms.erase_history()");
	if (DocumentFindToWrite(PG_GETARG_UUID_P(0), &document_id, &resource))
		(void) DocumentLock(document_id, &header);
	FAULT_PAUSE("before_erase");
	deleted = HistoryErase(PG_GETARG_UUID_P(0));
	SessionEnd(&session);
	PG_RETURN_INT64(deleted);
}

/*
 * Write versions of some documents that have none with their etag, after an id.
 * Returns how many were written, and the last id; NULL if there were none left.
 */
Datum
dms_write_baseline(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"project", "resource", "after", "wait"};
	Session		session;
	Resource   *resource;
	TupleDesc	descriptor;
	Datum		values[2] = {0};
	bool		nulls[2] = {false, true};
	int64	   *ids;
	int			nlocked;
	int			n = 0;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	WriteBegin(&session, "dms.baseline_history()");
	resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ModelCacheRefuseAbstract(resource);
	if (!HistoryIsKept(resource))
		ReportError(PROBLEM_ARGUMENT, "Set it by dms.configure_resource().",
					"%s.%s does not have the option \"history\"", resource->model->project, resource->model->resource);
	ids = HistoryLockUnrecorded(resource->model, PG_GETARG_INT64(2), DOCUMENTS_AT_ONCE, PG_GETARG_BOOL(3), &nlocked);
	if (nlocked > 0)
	{
		nulls[1] = false;
		values[1] = Int64GetDatum(ids[nlocked - 1]);
		ids = HistoryUnrecorded(ids, nlocked, &n);
		FAULT_PAUSE("before_baseline");
		HistoryAppend(resource, ids, n, HISTORY_BASELINE);
	}
	SessionEnd(&session);
	values[0] = Int64GetDatum(n);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls)));
}
