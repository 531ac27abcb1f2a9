/*
 * workerstatus.c
 *		dms.worker_status(): what background workers do and did.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/report.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "engine/workershare.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(dms_worker_status);

static const char *const state_names[] = {
	[WORKER_NEW] = "new",
	[WORKER_NO_STORE] = "no store",
	[WORKER_NOTHING] = "nothing to do",
	[WORKER_IDLE] = "idle",
	[WORKER_WORKING] = "working",
	[WORKER_MORE] = "waiting",
	[WORKER_FAILED] = "failed",
};

/* Copy the slots, so that catalogs are not read under the lock. */
static int
CopySlots(WorkerShare *share, WorkerSlot *slots)
{
	int			n = 0;

	LWLockAcquire(share->lock, LW_SHARED);
	for (int i = 0; i < WORKER_SLOTS; i++)
		if (share->slots[i].database != InvalidOid)
			memcpy(&slots[n++], &share->slots[i], sizeof(WorkerSlot));
	LWLockRelease(share->lock);
	return n;
}

/* Set a column to a time; 0 is NULL. */
static void
SetTime(Datum *value, bool *null, TimestampTz time)
{
	*value = TimestampTzGetDatum(time);
	*null = time == 0;
}

/* Add the row of a database. */
static void
PutSlot(ReturnSetInfo *rsinfo, const WorkerSlot *slot, const char *name)
{
	Datum		values[7] = {0};
	bool		nulls[7] = {false};
	bool		failed = slot->failures > 0;

	values[0] = DirectFunctionCall1(namein, CStringGetDatum(name));
	values[1] = Int32GetDatum(slot->pid);
	nulls[1] = slot->pid == 0;
	values[2] = CStringGetTextDatum(state_names[slot->state]);
	SetTime(&values[3], &nulls[3], slot->last_visit);
	SetTime(&values[4], &nulls[4], slot->next_visit);
	values[5] = Int32GetDatum(slot->failures);
	nulls[6] = !failed || slot->sqlstate == 0;
	if (!nulls[6])
		values[6] = CStringGetTextDatum(psprintf("%s: %s", unpack_sql_state(slot->sqlstate), slot->message));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return a row for each database; those of others only for roles that may see them. */
Datum
dms_worker_status(PG_FUNCTION_ARGS)
{
	WorkerShare *share = WorkerShareGet();
	WorkerSlot *slots;
	bool		sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	int			n;

	if (share == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there are no background workers"),
				 errhint("Add dms to shared_preload_libraries, and restart the server.")));
	InitMaterializedSRF(fcinfo, 0);
	slots = palloc(sizeof(WorkerSlot) * WORKER_SLOTS);
	n = CopySlots(share, slots);
	for (int i = 0; i < n; i++)
	{
		char	   *name = get_database_name(slots[i].database);

		if (name != NULL && (sees_all || slots[i].database == MyDatabaseId))
			PutSlot((ReturnSetInfo *) fcinfo->resultinfo, &slots[i], name);
	}
	PG_RETURN_NULL();
}
