/*
 * cachemode.c
 *		dms.set_cache_mode(), dms.clear_cache(), dms.rebuild_cache(), the step of
 *		dms.project_documents(), and dms.wait_until_projected().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "admin/projector.h"
#include "base/faults.h"
#include "base/report.h"
#include "document/changes.h"
#include "document/documentcache.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "engine/workershare.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_set_cache_mode);
PG_FUNCTION_INFO_V1(dms_clear_cache);
PG_FUNCTION_INFO_V1(dms_rebuild_cache);
PG_FUNCTION_INFO_V1(dms_project_some);
PG_FUNCTION_INFO_V1(dms_wait_until_projected);

/* Milliseconds between looks how far the projector is. */
#define LOOK 20

/* Returns the mode of a name. */
static CacheMode
ModeOfName(const char *name)
{
	for (int i = 0; i < CACHE_MODES; i++)
		if (strcmp(name, StoreRowCacheModeName(i)) == 0)
			return i;
	ReportError(PROBLEM_ARGUMENT, NULL, "mode must be off, eventual, write_through or strict");
}

/* Close the gate, and connect with the rights of the owner. */
static void
Begin(Session *session, const char *function)
{
	PreventCommandIfReadOnly(function);
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"the cache cannot be switched under a snapshot that was taken before the writers were stopped");
	StoreDeployLock();
	if (!FAULT_SKIP("mode_gate"))
		StoreGate(ShareRowExclusiveLock);
	SessionBegin(session, RIGHTS_OF_OWNER);
}

/* Hint at what projects documents if nothing does so far. */
static void
NoteProjector(void)
{
	WorkerShareNote();
	if (WorkerShareGet() == NULL)
		ereport(NOTICE,
				(errmsg("there are no background workers"),
				 errhint("Call dms.project_documents() from time to time, or add dms to shared_preload_libraries.")));
}

/* Switch to another mode; the gate is closed. */
static void
Switch(CacheMode mode)
{
	StoreCache	set = *StoreRowCache();
	CacheMode	before = set.mode;

	if (mode != CACHE_OFF)
	{
		ChangesBegin();
		ChangesRequire();
	}
	set.mode = mode;
	StoreRowSetCache(&set);
	if (mode == CACHE_OFF)
		ProjectorStop();
	else if (before == CACHE_OFF || mode == CACHE_STRICT)
		ProjectorStart();
	ereport(NOTICE, (errmsg("the mode of the cache is \"%s\"", StoreRowCacheModeName(mode))));
	if (mode != CACHE_OFF)
		NoteProjector();
}

/* Set who writes dms.DocumentCache, with the gate closed.  Without a change, nobody waits. */
Datum
dms_set_cache_mode(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"mode"};
	Session		session;
	CacheMode	mode;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	mode = ModeOfName(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	(void) StoreTable(STORE_STORE);
	if (StoreRowCache()->mode == mode)
		PG_RETURN_VOID();
	Begin(&session, "dms.set_cache_mode()");
	if (StoreRowCache()->mode != mode)
		Switch(mode);
	SessionEnd(&session);
	PG_RETURN_VOID();
}

/* Delete all rows of the cache. */
Datum
dms_clear_cache(PG_FUNCTION_ARGS)
{
	Session		session;

	Begin(&session, "dms.clear_cache()");
	if (StoreRowCache()->mode != CACHE_OFF)
		ReportError(PROBLEM_CACHE_MODE, "Switch it off by dms.set_cache_mode() first.",
					"the cache is cleared only while it is off");
	if (DocumentCacheIsPublished())
		ReportError(PROBLEM_CACHE_MODE, "Call dms.unpublish_documents() first. Consumers need a new snapshot then.",
					"the cache is not cleared while it is published, because consumers would not know what is gone");
	DocumentCacheClear();
	SessionEnd(&session);
	PG_RETURN_VOID();
}

/* Let all rows be written again; returns an estimate of their number. */
Datum
dms_rebuild_cache(PG_FUNCTION_ARGS)
{
	Session		session;
	StoreCache	set;
	int64		expected;

	Begin(&session, "dms.rebuild_cache()");
	set = *StoreRowCache();
	if (set.mode == CACHE_OFF)
		ReportError(PROBLEM_CACHE_MODE, "dms.set_cache_mode() switches it on.", "the cache is off");
	set.valid_from = GetCurrentTimestamp();
	StoreRowSetCache(&set);
	expected = ProjectorRebuild();
	NoteProjector();
	SessionEnd(&session);
	PG_RETURN_INT64(expected);
}

/* A step of dms.project_documents(). */
Datum
dms_project_some(PG_FUNCTION_ARGS)
{
	TupleDesc	descriptor;
	ProjectorResult result;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	ProjectorStep(&result);
	values[0] = Int64GetDatum(result.projected);
	values[1] = BoolGetDatum(result.more);
	values[2] = BoolGetDatum(result.busy);
	values[3] = Int32GetDatum(result.pause);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls)));
}

/*
 * Returns true if a pass that began after a time has ended, and no rebuild is open.  The
 * reader needs no rights on the tables: these are the owner's.
 */
static bool
IsProjected(TimestampTz since)
{
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[] = {TimestampTzGetDatum(since)};
	Session		session;
	bool		done;

	SessionBegin(&session, RIGHTS_OF_OWNER);
	SnapshotBeginLatest();
	done = StatementExecuteWithArgs("SELECT FROM dms.ChangeConsumer WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'cache'"
									" AND UpdatedAt OPERATOR(pg_catalog.>=) $1"
									" AND NOT EXISTS (SELECT FROM dms.CacheRebuild WHERE FinishedAt IS NULL)",
									lengthof(types), types, values, true) > 0;
	SnapshotEnd();
	SessionEnd(&session);
	return done;
}

/* Wait until all that is committed now is in the cache; returns false if that takes too long. */
Datum
dms_wait_until_projected(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"timeout"};
	TimestampTz start = GetCurrentTimestamp();
	TimestampTz end;
	bool		done;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	end = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(start), PG_GETARG_DATUM(0)));
	(void) StoreTable(STORE_STORE);
	if (StoreRowCache()->mode == CACHE_OFF)
		ReportError(PROBLEM_CACHE_MODE, "dms.set_cache_mode() switches it on.", "the cache is off");
	WorkerShareRequest();
	while (!(done = IsProjected(start)) && GetCurrentTimestamp() < end)
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	PG_RETURN_BOOL(done);
}
