/*
 * access.c
 *		dms.grant_access(), and grants on what a deploy creates.
 *
 * Which level has what, and the statements that give it, are written in SQL in
 * the install script.  Who has a level is told by the grants themselves: there
 * is no list that could differ from them, and a role that is dropped or renamed
 * takes its grants along.
 *
 * Statements on the store run as its owner.  Those on functions run as the owner
 * of the functions, who need not be the same: so a dump tells nothing of who
 * granted, and can be restored by anybody who may create the extension.
 */
#include "postgres.h"

#include "access.h"
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "plan.h"
#include "report.h"
#include "store.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(dms_grant_access);

static const Oid ddl_types[] = {NAMEOID, TEXTOID, BOOLOID};

static Statement read_ddl = {
	.sql = "SELECT statement FROM dms.access_ddl($1, $2) WHERE of_store = $3",
	.nargs = 3,
	.argtypes = ddl_types,
};

static Statement read_grants = {
	.sql = "SELECT role, level FROM dms.access_grants()",
};

/* A column of the last result, as texts that outlive it. */
static char **
ResultTexts(int column)
{
	char	  **texts = palloc(sizeof(char *) * Max(SPI_processed, 1));

	for (uint64 i = 0; i < SPI_processed; i++)
		texts[i] = ResultText(i, column);
	return texts;
}

/* The statements that give a role a level, on the store or on functions. */
static char **
ReadStatements(const char *role, const char *level, bool of_store, uint64 *n)
{
	Datum		values[3];

	values[0] = DirectFunctionCall1(namein, CStringGetDatum(role));
	values[1] = CStringGetTextDatum(level);
	values[2] = BoolGetDatum(of_store);
	SnapshotBegin();
	*n = StatementRun(&read_ddl, values, NULL, true, 0);
	SnapshotEnd();
	return ResultTexts(1);
}

/* Give a role what its level needs of the store; we are the store's owner. */
static void
GrantOnStore(const char *role, const char *level)
{
	uint64		n;
	char	  **statements = ReadStatements(role, level, true, &n);

	for (uint64 i = 0; i < n; i++)
		ExecuteSql(statements[i]);
}

/* Is this the schema dms, or something in it? */
static bool
IsOfExtension(const GrantStmt *grant, void *object)
{
	const ObjectWithArgs *routine = object;

	if (grant->objtype == OBJECT_SCHEMA)
		return strcmp(strVal(object), "dms") == 0;
	return grant->objtype == OBJECT_ROUTINE && list_length(routine->objname) == 2 &&
		strcmp(strVal(linitial(routine->objname)), "dms") == 0;
}

/*
 * Whoever owns the schema can rename it and put another in its place, so the
 * statements may come from somebody else's dms.access_ddl().  A superuser, who
 * owns the functions, runs none but grants on the schema and on what is in it.
 */
static void
RequireGrant(const char *statement)
{
	List	   *parsed = pg_parse_query(statement);
	const GrantStmt *grant = list_length(parsed) != 1 ? NULL :
	(const GrantStmt *) linitial_node(RawStmt, parsed)->stmt;
	bool		fits = grant != NULL && IsA(grant, GrantStmt) && grant->targtype == ACL_TARGET_OBJECT;
	ListCell   *cell;

	if (fits)
		foreach(cell, grant->objects)
			fits &= IsOfExtension(grant, lfirst(cell));
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is no grant on functions of the extension", statement)));
}

/*
 * Give a role what its level needs of the extension, as its functions' owner.
 */
static void
GrantOnFunctions(const char *role, const char *level, Oid function)
{
	uint64		n;
	char	  **statements = ReadStatements(role, level, false, &n);
	Oid			saved_user;
	int			saved_context;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	GetUserIdAndSecContext(&saved_user, &saved_context);
	SetUserIdAndSecContext(((Form_pg_proc) GETSTRUCT(tuple))->proowner,
						   saved_context | SECURITY_LOCAL_USERID_CHANGE);
	ReleaseSysCache(tuple);
	for (uint64 i = 0; i < n; i++)
	{
		RequireGrant(statements[i]);
		ExecuteSql(statements[i]);
	}
	SetUserIdAndSecContext(saved_user, saved_context);
}

/*
 * A deploy created tables: whoever has a level gets what it needs of them.
 * Must be called within an SPI connection of whoever owns the store.
 */
void
AccessReapply(void)
{
	uint64		n;
	char	  **roles;
	char	  **levels;

	SnapshotBegin();
	n = StatementRun(&read_grants, NULL, NULL, true, 0);
	SnapshotEnd();
	roles = ResultTexts(1);
	levels = ResultTexts(2);
	for (uint64 i = 0; i < n; i++)
		if (get_role_oid(roles[i], false) != StoreOwner())
			GrantOnStore(roles[i], levels[i]);
}

static void
CheckLevel(const char *level)
{
	static const char *const levels[] = {"reader", "writer", "admin", "none"};

	for (size_t i = 0; i < lengthof(levels); i++)
		if (strcmp(level, levels[i]) == 0)
			return;
	ReportError(PROBLEM_ARGUMENT, "The levels are reader, writer, admin and none.",
				"there is no level \"%s\"", level);
}

/*
 * Give a role a level of access, no more and no less.  The owner of the store
 * has the store, but not the functions where somebody else created the
 * extension, as when a dump was restored.
 */
Datum
dms_grant_access(PG_FUNCTION_ARGS)
{
	const char *role = NameStr(*PG_GETARG_NAME(0));
	const char *level = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool		deployed = StoreExists();
	bool		is_owner;
	StoreSession session;

	PreventCommandIfReadOnly("dms.grant_access()");
	CheckLevel(level);
	is_owner = get_role_oid(role, false) == (deployed ? StoreOwner() : GetUserId());
	if (is_owner && strcmp(level, "admin") != 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "role \"%s\" is the owner, whose level is admin", role);
	StoreBegin(&session, deployed ? RIGHTS_OF_OWNER : RIGHTS_OF_CALLER);
	if (!is_owner)
		GrantOnStore(role, level);
	GrantOnFunctions(role, level, fcinfo->flinfo->fn_oid);
	StoreEnd(&session);
	PG_RETURN_VOID();
}
