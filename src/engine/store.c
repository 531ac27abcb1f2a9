/*
 * store.c
 *		The core tables, their owner, and the gate.
 *
 * Our statements find tables by name, and some of them run with the rights of
 * the store's owner, which is the owner of dms.Document.  But a name can change
 * its meaning.  The attack: the owner of the schema renames it, or drops a table,
 * and puts a table of another role, or a view, in its place; verbs would then run
 * with the rights of a role that never deployed a store.  So before the rights of
 * the store's owner are used, we check that the schema "dms" is that of the
 * extension, that the core tables are ordinary tables that belong to one role,
 * and that the schema belongs to a role that has the rights of that role.  The
 * result is kept until one of the catalogs changes.
 *
 * The gate is the table lock on dms.Store.  Writers take it in RowExclusiveLock
 * mode, and a deploy in ShareRowExclusiveLock mode.  So a deploy waits for
 * running writers, and later writers see its result.  The latter mode also
 * conflicts with VACUUM, ANALYZE and the concurrent forms of CREATE INDEX and
 * REINDEX, so the gate must be a table that none of them works on for long.
 * dms.Store has one row.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/faults.h"
#include "base/report.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* The extension, and the schema that its functions and our statements name. */
#define EXTENSION_NAME "dms"
#define SCHEMA_NAME "dms"

/* The relations that dms_internal.core_ddl() creates and our statements name. */
static const char *const table_names[STORE_TABLES] = {
	[STORE_DOCUMENT] = "document",
	[STORE_REFERENCE_EDGE] = "referenceedge",
	[STORE_RESOURCE_MODEL] = "resourcemodel",
	[STORE_RESOURCE_TYPE] = "resourcetype",
	[STORE_STORE] = "store",
	[STORE_REFERENTIAL_IDENTITY] = "referentialidentity",
	[STORE_DESCRIPTOR] = "descriptor",
	[STORE_EDGE_SOURCE] = "edgesource",
	[STORE_IDENTITY_LOCK] = "identitylock",
	[STORE_EFFECTIVE_SCHEMA] = "effectiveschema",
	[STORE_SCHEMA_COMPONENT] = "schemacomponent",
	[STORE_IDEMPOTENCY_KEYS] = "idempotencykeys",
	[STORE_DOCUMENT_VERSION] = "documentversion",
	[STORE_PARENT_CHILD] = "parentchild",
	[STORE_COLLECTION_MEMBER] = "collectionmember",
	[STORE_UNIQUE_KEY_VALUE] = "uniquekeyvalue",
	[STORE_DOCUMENT_ACCOUNT] = "documentaccount",
	[STORE_DOCUMENT_CHANGE] = "documentchange",
	[STORE_TRACKED_CHANGE] = "trackedchange",
	[STORE_DOCUMENT_CACHE] = "documentcache",
	[STORE_CHANGE_CONSUMER] = "changeconsumer",
	[STORE_PROJECTION_FAILURE] = "projectionfailure",
	[STORE_CACHE_REBUILD] = "cacherebuild",
	[STORE_VERSION_DIFF] = "versiondiff",
	[STORE_JOB] = "job",
	[STORE_DEAD_JOB] = "deadjob",
	[STORE_DOCUMENT_SEQUENCE] = "document_documentid_seq",
	[STORE_JOB_SEQUENCE] = "job_jobid_seq",
};

static Oid	schema_oid = InvalidOid;	/* InvalidOid: must be looked up */
static Oid	table_oids[STORE_TABLES];
static bool tables_known = false;
static Oid	owner = InvalidOid; /* InvalidOid: must be checked */
static uint64 changes = 0;
static bool lock_nowait = false;

/*
 * Relation cache callback.  If a core table changed, all must be looked up again.
 */
static void
StoreInvalidate(Datum arg pg_attribute_unused(), Oid relid)
{
	for (int i = 0; i < STORE_TABLES; i++)
		if (relid == InvalidOid || relid == table_oids[i])
		{
			tables_known = false;
			owner = InvalidOid;
			changes++;
		}
}

/*
 * Catalog cache callback for schemas, roles and databases: names may have a
 * different meaning now, and roles may have different rights.
 */
static void
StoreForget(Datum arg pg_attribute_unused(), int cacheid pg_attribute_unused(),
			uint32 hashvalue pg_attribute_unused())
{
	schema_oid = InvalidOid;
	tables_known = false;
	owner = InvalidOid;
	changes++;
}

/* Define the settings of this module, and register its callbacks. */
void
StoreInit(void)
{
	DefineCustomBoolVariable("dms.lock_nowait",
							 "Fail at once instead of waiting for a lock.",
							 "Every wait of a write for a row or table lock becomes the error lock_not_available (55P03).",
							 &lock_nowait, false, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	CacheRegisterRelcacheCallback(StoreInvalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, StoreForget, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, StoreForget, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMMEMROLE, StoreForget, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, StoreForget, (Datum) 0);
}

/* Raise an error that says why the store must not be used, and what to do about it. */
static void
pg_attribute_noreturn()
RefuseStore(const char *message, const char *hint)
{
	ReportError(PROBLEM_STORE_UNSAFE, hint, "%s", message);
}

/*
 * Look up the extension, and in *schema the schema of its functions.  Both are
 * InvalidOid if this database does not have it.
 */
static Oid
FindExtension(Oid *schema)
{
	Relation	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			extension = InvalidOid;

	*schema = InvalidOid;
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(EXTENSION_NAME));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		extension = ((Form_pg_extension) GETSTRUCT(tuple))->oid;
		*schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return extension;
}

/* Returns the extension that this library belongs to, or InvalidOid. */
Oid
StoreExtension(void)
{
	Oid			schema;

	return FindExtension(&schema);
}

/*
 * Returns the schema of the extension.  Its owner may have renamed it, and another
 * schema may have its name now.  Since our statements name "dms", that is an error.
 */
Oid
StoreSchema(void)
{
	uint64		before = changes;
	Oid			found;
	char	   *name;

	if (OidIsValid(schema_oid))
		return schema_oid;
	if (!OidIsValid(FindExtension(&found)) || (name = get_namespace_name(found)) == NULL)
		RefuseStore("the extension \"" EXTENSION_NAME "\" is not in this database",
					"CREATE EXTENSION " EXTENSION_NAME);
	if (strcmp(name, SCHEMA_NAME) != 0)
		RefuseStore(psprintf("the schema of the extension is called \"%s\", and must be called \"%s\"",
							 name, SCHEMA_NAME),
					psprintf("ALTER SCHEMA %s RENAME TO %s", quote_identifier(name), SCHEMA_NAME));
	if (changes == before)
		schema_oid = found;
	return found;
}

/* Look up the core tables; returns false if there is no store. */
static bool
FindTables(void)
{
	uint64		before = changes;
	Oid			schema;
	int			n = 0;

	if (tables_known)
		return true;
	schema = StoreSchema();
	for (int i = 0; i < STORE_TABLES; i++)
	{
		table_oids[i] = get_relname_relid(table_names[i], schema);
		n += OidIsValid(table_oids[i]);
	}
	tables_known = n == STORE_TABLES && changes == before;
	return n > 0;
}

/* Returns true if there is a store in this database. */
bool
StoreExists(void)
{
	return FindTables();
}

/* Raise an error: a core table is missing, while others exist. */
static void
pg_attribute_noreturn()
RefuseMissing(StoreTableId id)
{
	RefuseStore(psprintf("\"%s.%s\" of the store is missing", SCHEMA_NAME, table_names[id]),
				"Restore it, or drop the tables of the store and deploy again.");
}

/* Returns a core table; raises an error that says what to do if there is no store. */
Oid
StoreTable(StoreTableId id)
{
	if (!FindTables())
		ReportError(PROBLEM_NOT_DEPLOYED,
					"Call dms.deploy_schema() with the ApiSchema of your API first.",
					"no schema is deployed in this database");
	if (!OidIsValid(table_oids[id]))
		RefuseMissing(id);
	return table_oids[id];
}

/*
 * Returns true if a core table has no pages, so that no snapshot sees a row in it.
 */
bool
StoreTableIsEmpty(StoreTableId id)
{
	Relation	relation = table_open(StoreTable(id), AccessShareLock);
	bool		empty = relation->rd_rel->relkind == RELKIND_RELATION && RelationGetNumberOfBlocks(relation) == 0;

	table_close(relation, NoLock);
	return empty;
}

/*
 * Returns true if code and objects of a role may be used with the rights of the
 * owner: the owner itself, superusers, and roles that have the rights of the owner
 * could use these rights anyway.  The owner of the database is not trusted as such.
 */
bool
StoreTrusts(Oid owner_role, Oid role)
{
	if (role == ROLE_PG_DATABASE_OWNER)
	{
		HeapTuple	database = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));

		if (!HeapTupleIsValid(database))
			elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
		role = ((Form_pg_database) GETSTRUCT(database))->datdba;
		ReleaseSysCache(database);
	}
	return role == owner_role || superuser_arg(role) || has_privs_of_role(role, owner_role);
}

/* Returns the name of a role for messages; its number if it was dropped. */
static char *
RoleName(Oid role)
{
	char	   *name = GetUserNameFromId(role, true);

	return name ? name : psprintf("%u", role);
}

/*
 * Refuse a schema whose owner does not have the rights of the store's owner,
 * because the owner of a schema can replace the tables in it.
 */
void
StoreCheckSchema(Oid schema, Oid owner_role)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	Form_pg_namespace form;
	char	   *name;
	Oid			schema_owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for schema %u", schema);
	form = (Form_pg_namespace) GETSTRUCT(tuple);
	name = pstrdup(NameStr(form->nspname));
	schema_owner = form->nspowner;
	ReleaseSysCache(tuple);
	if (!StoreTrusts(owner_role, schema_owner))
		RefuseStore(psprintf("schema \"%s\" belongs to role \"%s\", which does not have the rights of the store's owner",
							 name, RoleName(schema_owner)),
					psprintf("ALTER SCHEMA %s OWNER TO %s", quote_identifier(name),
							 quote_identifier(RoleName(owner_role))));
	pfree(name);
}

/* Returns the qualified name of a relation for messages. */
static char *
RelationName(const FormData_pg_class *form)
{
	return psprintf("%s.%s", get_namespace_name(form->relnamespace), NameStr(form->relname));
}

/* Raise an error: a table of the store, or its sequence, belongs to another role. */
static void
pg_attribute_noreturn()
RefuseOwner(const FormData_pg_class *form, Oid owner_role)
{
	bool		is_sequence = form->relkind == RELKIND_SEQUENCE;
	const char *owner_name = RoleName(owner_role);

	RefuseStore(psprintf("%s \"%s\" belongs to role \"%s\", and not to the store's owner \"%s\"",
						 is_sequence ? "sequence" : "table", RelationName(form),
						 RoleName(form->relowner), owner_name),
				psprintf("If it is the store's own: ALTER %s %s OWNER TO %s", is_sequence ? "SEQUENCE" : "TABLE",
						 quote_qualified_identifier(get_namespace_name(form->relnamespace), NameStr(form->relname)),
						 quote_identifier(owner_name)));
}

/* Returns true if a relation is of this kind, permanent, and without descendants. */
static bool
IsOrdinary(const FormData_pg_class *form, char kind)
{
	return form->relkind == kind && form->relpersistence == RELPERSISTENCE_PERMANENT &&
		!form->relispartition &&
		(!form->relhassubclass || find_inheritance_children(form->oid, NoLock) == NIL);
}

/*
 * Refuse a relation that does not belong to the store's owner, or is not of the
 * expected kind.  Views and foreign tables run code.  Partitions and tables that
 * inherit from this one may belong to other roles, who would then see rows of the
 * store or add rows to it.  Tables that this one inherits from do not matter.
 */
void
StoreCheckRelation(Oid relation, char kind, Oid owner_role)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (form->relowner != owner_role)
		RefuseOwner(form, owner_role);
	if (!IsOrdinary(form, kind))
		RefuseStore(psprintf("\"%s\" is not an ordinary %s", RelationName(form),
							 kind == RELKIND_SEQUENCE ? "sequence" : "table"),
					"The tables of the store are plain tables, without partitions and without tables that inherit from them.");
	ReleaseSysCache(tuple);
}

/* Returns true if a table is missing, and the upgrade that is under way may create it. */
static bool
IsYetToCome(StoreTableId id)
{
	Oid			user;
	int			context;

	GetUserIdAndSecContext(&user, &context);
	return (context & SECURITY_STORE_UPGRADE) != 0 && FindTables() && !OidIsValid(table_oids[id]);
}

/* Returns the owner of dms.Document, after checking that all else fits that owner. */
static Oid
CheckOwner(void)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(StoreTable(STORE_DOCUMENT)));
	Oid			found;

	if (!HeapTupleIsValid(tuple))
		RefuseMissing(STORE_DOCUMENT);
	found = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	for (int i = 0; i < STORE_TABLES; i++)
		if (!IsYetToCome(i))
			StoreCheckRelation(StoreTable(i), i >= STORE_DOCUMENT_SEQUENCE ? RELKIND_SEQUENCE : RELKIND_RELATION,
							   found);
	StoreCheckSchema(StoreSchema(), found);
	return found;
}

/*
 * Returns the role that owns the store: the one that deployed it.  Code that uses
 * the rights of the owner must get the owner from here, because this function
 * checks that they are used on the right tables.
 */
Oid
StoreOwner(void)
{
	uint64		before = changes;
	Oid			found;

	if (OidIsValid(owner))
		return owner;
	found = CheckOwner();
	if (changes == before)
		owner = found;
	return found;
}

/*
 * Lock a core table until the end of the transaction.  If it was replaced while
 * we waited, the new table must be locked instead.
 */
static void
LockTable(StoreTableId id, LOCKMODE mode, bool nowait)
{
	Oid			table = StoreTable(id);

	for (;;)
	{
		Oid			now;

		if (!nowait)
			LockRelationOid(table, mode);
		else if (!ConditionalLockRelationOid(table, mode))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not obtain lock on relation \"%s.%s\"",
							SCHEMA_NAME, table_names[id])));
		now = StoreTable(id);
		if (now == table || FAULT_SKIP("gate_again"))
			return;
		UnlockRelationOid(table, mode);
		table = now;
	}
}

/* Returns the file of a table as a snapshot sees it; InvalidOid if it sees no table. */
static Oid
FileOf(Oid table, Snapshot snapshot)
{
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			file = InvalidOid;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(classes, ClassOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return file;
}

/*
 * Refuse a fixed snapshot that is older than a rewrite of a table whose rows
 * writers look for by key.  To such a snapshot all rows of the table are gone:
 * names would be free that are taken, and documents would have no references.
 * CLUSTER and VACUUM FULL keep what old snapshots see, but cannot be distinguished.
 *
 * dms.IdentityLock is not among these tables, because identitylocks.c notices
 * the missing rows itself.
 */
static void
RefuseRewritten(void)
{
	static const struct
	{
		StoreTableId id;
		const char *name;
	}			tables[] =
	{
		{STORE_DOCUMENT, "dms.Document"},
		{STORE_REFERENTIAL_IDENTITY, "dms.ReferentialIdentity"},
		{STORE_REFERENCE_EDGE, "dms.ReferenceEdge"},
		{STORE_DESCRIPTOR, "dms.Descriptor"},
	};
	Snapshot	snapshot;

	CommandCounterIncrement();
	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	for (int i = 0; i < (int) lengthof(tables); i++)
	{
		Oid			table = StoreTable(tables[i].id);
		Oid			seen = FileOf(table, snapshot);

		if (OidIsValid(seen) && seen != FileOf(table, NULL) && !FAULT_SKIP("rewritten_tables"))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to a concurrent rewrite of %s", tables[i].name)));
	}
	UnregisterSnapshot(snapshot);
}

/*
 * Pass or close the gate.  Taking the lock also processes invalidations of other
 * sessions, so a model that is looked up afterwards is current.  The tables are
 * looked at again only if something has changed since this transaction did.
 */
void
StoreGate(LOCKMODE mode)
{
	static LocalTransactionId looked = InvalidLocalTransactionId;
	static uint64 looked_changes = 0;

	LockTable(STORE_STORE, mode, lock_nowait);
	if (!IsolationUsesXactSnapshot() || (looked == COMPAT_LXID(MyProc) && looked_changes == changes))
		return;
	RefuseRewritten();
	looked = COMPAT_LXID(MyProc);
	looked_changes = changes;
}

/* Lock the stored models for a read: models that are looked up afterwards are current. */
void
StoreLockModels(void)
{
	LockTable(STORE_RESOURCE_MODEL, AccessShareLock, false);
}

/*
 * Let no reader look up models until the end of the transaction, and wait for those
 * who have: they go on with the tables that their models describe.
 */
void
StoreCloseModels(void)
{
	LockTable(STORE_RESOURCE_MODEL, AccessExclusiveLock, lock_nowait);
}

/*
 * Wait for other deploys, and make later ones wait until the end of the
 * transaction.  The lock is on the schema, in a mode that does not block CREATE
 * TABLE.  Unlike an advisory lock, it cannot be held by arbitrary roles.
 */
void
StoreDeployLock(void)
{
	Oid			schema = StoreSchema();

	for (;;)
	{
		Oid			now;

		LockDatabaseObject(NamespaceRelationId, schema, 0, ShareUpdateExclusiveLock);
		now = StoreSchema();
		if (now == schema)
			return;
		UnlockDatabaseObject(NamespaceRelationId, schema, 0, ShareUpdateExclusiveLock);
		schema = now;
	}
}

/*
 * Returns a number that changes whenever the result of StoreTable(), StoreOwner()
 * or StoreTrusts() may.
 */
uint64
StoreChanges(void)
{
	return changes;
}

/* Returns true if a write must fail instead of waiting for a lock. */
bool
StoreLockNowait(void)
{
	return lock_nowait;
}
