/*
 * store.c
 *		Where the core tables are, who owns them, and the gate in front of them.
 *
 * The gate is the table lock on dms.ReferenceEdge: writers pass it in
 * RowExclusive, a deploy closes it with ShareRowExclusive, so that a deploy
 * waits for the writers in flight and later writers see its result.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "report.h"
#include "storage/lmgr.h"
#include "store.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(dms_require_store);

static const char *const table_names[STORE_TABLES] = {
	[STORE_DOCUMENT] = "document",
	[STORE_REFERENCE_EDGE] = "referenceedge",
	[STORE_RESOURCE_MODEL] = "resourcemodel",
};

static Oid	table_oids[STORE_TABLES];
static bool tables_known = false;
static Oid	owner = InvalidOid;
static uint64 generation = 1;
static bool lock_nowait = false;

/*
 * Something about a relation changed.  Any core table: find them anew.  The
 * stored models, or everything: models that were loaded may be old.
 */
static void
StoreInvalidate(Datum arg pg_attribute_unused(), Oid relid)
{
	for (int i = 0; i < STORE_TABLES; i++)
		if (relid == InvalidOid || relid == table_oids[i])
			tables_known = false;
	if (relid == InvalidOid || relid == table_oids[STORE_RESOURCE_MODEL])
		generation++;
}

void
StoreInit(void)
{
	DefineCustomBoolVariable("dms.lock_nowait",
							 "Fail at once instead of waiting for a lock.",
							 "Every wait of a write for a row or table lock becomes the error lock_not_available (55P03).",
							 &lock_nowait, false, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	CacheRegisterRelcacheCallback(StoreInvalidate, (Datum) 0);
}

/* Look the core tables up; false when there is no store. */
static bool
FindTables(void)
{
	Oid			schema;

	if (tables_known)
		return true;
	schema = get_namespace_oid("dms", true);
	if (!OidIsValid(schema))
		return false;
	for (int i = 0; i < STORE_TABLES; i++)
	{
		Oid			found = get_relname_relid(table_names[i], schema);

		if (i == STORE_RESOURCE_MODEL && found != table_oids[i])
			generation++;
		table_oids[i] = found;
		if (!OidIsValid(found))
			return false;
	}
	tables_known = true;
	owner = InvalidOid;
	return true;
}

/* Is there a store in this database? */
bool
StoreExists(void)
{
	return FindTables();
}

/* A core table; without a store this is an error that says what to do. */
Oid
StoreTable(StoreTableId id)
{
	if (!FindTables())
		ReportError(PROBLEM_NOT_DEPLOYED,
					"Call dms.deploy_schema() with the ApiSchema of your API first.",
					"no schema is deployed in this database");
	return table_oids[id];
}

/* The role that owns the store: the one that deployed it. */
Oid
StoreOwner(void)
{
	Oid			document = StoreTable(STORE_DOCUMENT);
	HeapTuple	tuple;

	if (OidIsValid(owner))
		return owner;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(document));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", document);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Pass or close the gate.  Taking the lock also takes in what other sessions
 * changed, so a model that is looked up afterwards is current.
 */
void
StoreGate(LOCKMODE mode)
{
	Oid			edges = StoreTable(STORE_REFERENCE_EDGE);

	if (!lock_nowait)
		LockRelationOid(edges, mode);
	else if (!ConditionalLockRelationOid(edges, mode))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on relation \"%s\"",
						"dms.ReferenceEdge")));
}

/*
 * Close the gate to other writers, having passed it.  We give our place back
 * first: two that both held theirs would wait for each other.
 */
void
StoreGateClose(void)
{
	UnlockRelationOid(StoreTable(STORE_REFERENCE_EDGE), RowExclusiveLock);
	StoreGate(ShareRowExclusiveLock);
}

/* Changes whenever loaded models may have become old. */
uint64
StoreGeneration(void)
{
	return generation;
}

bool
StoreLockNowait(void)
{
	return lock_nowait;
}

/* For functions in SQL: an error that says what to do where there is no store. */
Datum
dms_require_store(PG_FUNCTION_ARGS)
{
	(void) StoreTable(STORE_DOCUMENT);
	PG_RETURN_VOID();
}
