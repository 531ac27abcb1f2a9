/*
 * grants.c
 *		dms.grant_access(), and grants on objects that a deploy creates.
 *
 * Which level has what is written in SQL in the install script.  Which role has
 * which level follows from the grants: there is no list that could differ from
 * them, and a role that is dropped or renamed takes its grants along.
 *
 * Grants on the store are statements that run as its owner.  Grants on the
 * extension are given in the name of the owner of its functions, usually a
 * superuser, but no statement runs as that role: rights are set in the catalogs,
 * by OID, on the extension's schema and on its member functions only.  Since the
 * grantor is the owner, a dump does not depend on who called grant_access(), and
 * can be restored by any role that may create the extension.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/report.h"
#include "base/words.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storedrows.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "schema/grants.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(dms_grant_access);

static const Oid ddl_types[] = {NAMEOID, TEXTOID};

static Statement read_ddl =
{
	.sql = "SELECT statement FROM dms_internal.access_ddl($1, $2) AS statement",
	.nargs = 2,
	.argtypes = ddl_types,
};

static Statement read_grants =
{
	.sql = "SELECT role, level FROM dms.access_grants()",
};

static Statement read_levels =
{
	.sql = "SELECT level, functions FROM dms.access_levels()",
};

/* A catalog whose objects have an owner and rights. */
typedef struct Catalog
{
	Oid			relation;
	int			cache;			/* by OID */
	AttrNumber	owner;
	AttrNumber	acl;
	ObjectType	type;
} Catalog;

static const Catalog schemas = {
	NamespaceRelationId, NAMESPACEOID, Anum_pg_namespace_nspowner, Anum_pg_namespace_nspacl, OBJECT_SCHEMA
};
static const Catalog routines = {
	ProcedureRelationId, PROCOID, Anum_pg_proc_proowner, Anum_pg_proc_proacl, OBJECT_FUNCTION
};

/* A routine of the extension. */
typedef struct Member
{
	Oid			routine;
	NameData	name;
} Member;

/* Grant a role what its level needs of the store.  Runs as the owner of the store. */
static void
GrantOnStore(const char *role, const char *level)
{
	Datum		values[2];
	uint64		n;
	char	  **statements;

	values[0] = DirectFunctionCall1(namein, CStringGetDatum(role));
	values[1] = CStringGetTextDatum(level);
	SnapshotBegin();
	n = StatementRun(&read_ddl, values, NULL, true, 0);
	SnapshotEnd();
	statements = ResultNames(1);
	for (uint64 i = 0; i < n; i++)
		StatementExecute(statements[i]);
}

/* The access control list of an object; the default if it has none. */
static Acl *
ObjectRights(const Catalog *catalog, HeapTuple tuple, Oid owner)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(catalog->cache, tuple, catalog->acl, &isnull);

	return isnull ? acldefault(catalog->type, owner) : DatumGetAclPCopy(value);
}

/* Replace the access control list of an object. */
static void
ReplaceRights(const Catalog *catalog, Relation relation, HeapTuple tuple, Oid object, Oid owner,
			  const Acl *before, Acl *after)
{
	int			column = catalog->acl;
	Datum		value = PointerGetDatum(after);
	bool		isnull = false;
	Oid		   *old_members;
	Oid		   *new_members;
	int			nold = aclmembers(before, &old_members);
	int			nnew = aclmembers(after, &new_members);
	HeapTuple	changed = heap_modify_tuple_by_cols(tuple, RelationGetDescr(relation), 1, &column, &value, &isnull);

	CatalogTupleUpdate(relation, &changed->t_self, changed);
	updateAclDependencies(catalog->relation, object, 0, owner, nold, old_members, nnew, new_members);
	CommandCounterIncrement();
}

/*
 * Give a role a right on one object, or take it away, in the name of the
 * object's owner.  This is GRANT and REVOKE without names.
 */
static void
SetRight(const Catalog *catalog, Oid object, Oid role, AclMode right, bool given)
{
	Relation	relation = table_open(catalog->relation, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCache1(catalog->cache, ObjectIdGetDatum(object));
	AclItem		item;
	Acl		   *before;
	Acl		   *after;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for object %u of catalog %u", object, catalog->relation);
	item.ai_grantee = role;
	item.ai_grantor = DatumGetObjectId(SysCacheGetAttr(catalog->cache, tuple, catalog->owner, &isnull));
	ACLITEM_SET_PRIVS_GOPTIONS(item, right, ACL_NO_RIGHTS);
	before = ObjectRights(catalog, tuple, item.ai_grantor);
	after = aclupdate(before, &item, given ? ACL_MODECHG_ADD : ACL_MODECHG_DEL, item.ai_grantor, DROP_RESTRICT);
	if (!aclequal(before, after))
		ReplaceRights(catalog, relation, tuple, object, item.ai_grantor, before, after);
	ReleaseSysCache(tuple);
	table_close(relation, RowExclusiveLock);
}

/*
 * Returns the schema of the extension's helpers.  It must be a member of the
 * extension, or it is another one with that name.
 */
static Oid
HelperSchema(Oid extension)
{
	Oid			schema = get_namespace_oid("dms_internal", false);

	if (getExtensionOfObject(NamespaceRelationId, schema) != extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("schema \"dms_internal\" is not a member of the extension")));
	return schema;
}

/* Add a routine, unless it is in none of the two schemas or has another owner. */
static void
AddMember(Member *members, int *n, Oid routine, const Oid *schema, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(routine));
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if ((form->pronamespace == schema[0] || form->pronamespace == schema[1]) && form->proowner == owner)
	{
		members[*n].routine = routine;
		members[(*n)++].name = form->proname;
	}
	ReleaseSysCache(tuple);
}

/*
 * The routines that are members of the extension.  Members that do not belong to
 * the owner of the calling function are left out: the owner of the extension may
 * have added them.
 */
static Member *
ReadMembers(Oid function, int *n)
{
	Relation	depends = table_open(DependRelationId, AccessShareLock);
	Oid			extension = getExtensionOfObject(ProcedureRelationId, function);
	Oid			schema[2] = {StoreSchema(), HelperSchema(extension)};
	Oid			owner;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	int			capacity = 64;
	Member	   *members = palloc(sizeof(Member) * capacity);
	ScanKeyData keys[2];
	SysScanDesc scan;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	*n = 0;
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(depends, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid != ProcedureRelationId || form->deptype != DEPENDENCY_EXTENSION)
			continue;
		if (*n == capacity)
			members = repalloc(members, sizeof(Member) * (capacity *= 2));
		AddMember(members, n, form->objid, schema, owner);
	}
	systable_endscan(scan);
	table_close(depends, AccessShareLock);
	return members;
}

/* Grant or revoke EXECUTE on the member routines of this name. */
static void
SetRoutines(const Member *members, int n, const char *name, Oid role, bool given)
{
	bool		found = false;

	for (int i = 0; i < n; i++)
		if (strcmp(NameStr(members[i].name), name) == 0)
		{
			SetRight(&routines, members[i].routine, role, ACL_EXECUTE, given);
			found = true;
		}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("the extension has no function \"%s\"", name)));
}

/*
 * Give a role the functions of its level, and revoke those of higher levels.  The
 * levels are listed in ascending order; the first is for PUBLIC.
 */
static void
GrantOnExtension(Oid role, const char *level, Oid function)
{
	static const Oid types[] = {TEXTOID, TEXTARRAYOID};
	int			nmembers;
	Member	   *members = ReadMembers(function, &nmembers);
	StoredRows	levels;
	bool		given = strcmp(level, "none") != 0;

	SetRight(&schemas, StoreSchema(), role, ACL_USAGE, given);
	SnapshotBegin();
	StatementRun(&read_levels, NULL, NULL, true, 0);
	SnapshotEnd();
	StoredRowsTake(&levels, types, lengthof(types));
	for (int i = 1; i < levels.nrows; i++)
	{
		const Datum *values = StoredRowValues(&levels, i);
		Datum	   *names;
		int			n;

		deconstruct_array(DatumGetArrayTypeP(values[1]), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &n);
		for (int j = 0; j < n; j++)
			SetRoutines(members, nmembers, TextDatumGetCString(names[j]), role, given);
		if (strcmp(TextDatumGetCString(values[0]), level) == 0)
			given = false;
	}
}

/*
 * Grant roles what their levels need of the tables that a deploy created.
 * Must be called within an SPI connection, with the rights of the owner of
 * the store.
 */
void
GrantsReapply(void)
{
	uint64		n;
	char	  **roles;
	char	  **levels;

	SnapshotBegin();
	n = StatementRun(&read_grants, NULL, NULL, true, 0);
	SnapshotEnd();
	roles = ResultNames(1);
	levels = ResultNames(2);
	for (uint64 i = 0; i < n; i++)
		if (get_role_oid(roles[i], false) != StoreOwner())
			GrantOnStore(roles[i], levels[i]);
}

/* Refuse an unknown level. */
static void
CheckLevel(const char *level)
{
	static const char *const levels[] = {"reader", "writer", "admin", "none"};

	if (WordFind(levels, lengthof(levels), level) >= 0)
		return;
	ReportError(PROBLEM_ARGUMENT, "The levels are reader, writer, admin and none.",
				"there is no level \"%s\"", level);
}

/*
 * Give a role a level of access, no more and no less.
 *
 * The owner of the store has its tables, but not the functions if another
 * role created the extension, as when a dump was restored.  The lock makes
 * deploys, which grant all levels what they create, and other calls wait.
 */
Datum
dms_grant_access(PG_FUNCTION_ARGS)
{
	const char *role = NameStr(*PG_GETARG_NAME(0));
	const char *level = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Oid			role_oid;
	bool		deployed;
	bool		is_owner;
	Session		session;

	PreventCommandIfReadOnly("dms.grant_access()");
	CheckLevel(level);
	StoreDeployLock();
	deployed = StoreExists();
	if (deployed)
		StoreRowRequireVersion();
	role_oid = get_role_oid(role, false);
	is_owner = role_oid == (deployed ? StoreOwner() : GetUserId());
	if (is_owner && strcmp(level, "admin") != 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "role \"%s\" is the owner, whose level is admin", role);
	SessionBegin(&session, deployed ? RIGHTS_OF_OWNER : RIGHTS_OF_CALLER);
	if (!is_owner)
		GrantOnStore(role, level);
	GrantOnExtension(role_oid, level, fcinfo->flinfo->fn_oid);
	SessionEnd(&session);
	PG_RETURN_VOID();
}
