/*
 * safefunction.c
 *		Deciding whether a function may run with lent rights.
 *
 * ownercode.c finds the functions that a statement could run as the store's owner
 * (triggers, defaults, expressions of indexes, ...), and asks this module about
 * each of them.  Three attacks are prevented:
 *
 * 1. Names.  Functions in SQL and in procedural languages look up names when they
 * run, by the search_path of the session.  The caller chooses that path, and
 * temporary tables come first in it.  So a caller could have a harmless trigger
 * of the owner use a table or function of the caller's, as the owner.  This is
 * the attack against SECURITY DEFINER functions, and the remedy is the same: the
 * function must set a search_path of its own, with pg_temp as its last schema,
 * and without schemas in which other roles can create objects.
 *
 * 2. Replacement.  The owner of a function can replace it at any time.  So the
 * owner must be a role that has the rights that the function would run with;
 * otherwise that role could get them.
 *
 * 3. Deferral.  A constraint trigger that is deferred runs when the transaction
 * ends.  No rights are lent then, so it would run as the caller: the owner of the
 * store would get the rights of every role that writes.  SECURITY DEFINER does
 * not help, since no restriction is in force then, either (see restrict.c).  So
 * functions that could be deferred are refused.
 *
 * Built-in functions and functions in C are trusted, because only superusers can
 * create them, with the exception of built-in functions that run a text as SQL.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "base/compat.h"
#include "base/report.h"
#include "catalog/namespace.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "engine/safefunction.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* Hash values, in the catalog cache, of the functions that were checked. */
static HTAB *checked_functions = NULL;

/* How often one of them may have changed. */
static uint64 changes = 0;

/* Catalog cache callback: count changes of functions that were checked. */
static void
FunctionChanged(Datum arg pg_attribute_unused(), int cacheid pg_attribute_unused(),
				uint32 hashvalue)
{
	if (hashvalue == 0 ||
		(checked_functions != NULL && hash_search(checked_functions, &hashvalue, HASH_FIND, NULL) != NULL))
		changes++;
}

/* Register the callback. */
void
SafeFunctionInit(void)
{
	CacheRegisterSyscacheCallback(PROCOID, FunctionChanged, (Datum) 0);
}

/* Returns a number that changes whenever a checked function may have changed. */
uint64
SafeFunctionChanges(void)
{
	return changes;
}

/* Count changes of this function from now on, so that results can be kept. */
static void
NoteFunction(Oid function)
{
	uint32		hashvalue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function));
	HASHCTL		control = {.keysize = sizeof(uint32),.entrysize = sizeof(uint32)};

	if (checked_functions == NULL)
		checked_functions = hash_create("dms checked functions", 32, &control, HASH_ELEM | HASH_BLOBS);
	(void) hash_search(checked_functions, &hashvalue, HASH_ENTER, NULL);
}

/* Raise an error that says why a function must not run, and what to do about it. */
static void
pg_attribute_noreturn()
Refuse(Oid function, const FunctionPlace *place, const char *why, const char *hint)
{
	char	   *signature = format_procedure_qualified(function);

	if (OidIsValid(place->table))
		ReportError(PROBLEM_STORE_UNSAFE, hint, "function %s behind table \"%s.%s\" %s", signature,
					get_namespace_name(get_rel_namespace(place->table)),
					get_rel_name(place->table), why);
	ReportError(PROBLEM_STORE_UNSAFE, hint, "function %s %s", signature, why);
}

/* Returns the search_path that a function sets, or NULL. */
static char *
FunctionPath(HeapTuple tuple)
{
	static const char prefix[] = "search_path=";
	bool		isnull;
	Datum		config = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &isnull);
	Datum	   *settings;
	int			n;

	if (isnull)
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(config), TEXTOID, -1, false, TYPALIGN_INT, &settings, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *setting = TextDatumGetCString(settings[i]);

		if (strncmp(setting, prefix, strlen(prefix)) == 0)
			return setting + strlen(prefix);
	}
	return NULL;
}

/* Returns true if roles that do not have the role's rights may create objects in a schema. */
static bool
OthersMayCreate(HeapTuple schema, Oid role)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(NAMESPACEOID, schema, Anum_pg_namespace_nspacl, &isnull);
	Acl		   *rights;

	if (isnull)
		return false;
	rights = DatumGetAclP(value);
	for (int i = 0; i < ACL_NUM(rights); i++)
	{
		AclItem    *item = &ACL_DAT(rights)[i];

		if ((ACLITEM_GET_PRIVS(*item) & ACL_CREATE) != 0 &&
			(item->ai_grantee == ACL_ID_PUBLIC || !StoreTrusts(role, item->ai_grantee)))
			return true;
	}
	return false;
}

/*
 * Returns the reason why a schema is not safe in the search path of a function
 * that runs as the role, or NULL.  A schema that does not exist is safe; when it
 * is created, the function is checked again (StoreChanges).
 */
static const char *
SchemaFault(const char *name, Oid role)
{
	bool		is_user = strcmp(name, "$user") == 0;
	Oid			schema = get_namespace_oid(is_user ? GetUserNameFromId(role, false) : name, true);
	HeapTuple	tuple;
	Oid			owner;
	const char *fault = NULL;

	if (strcmp(name, "pg_temp") == 0 || isAnyTempNamespace(schema))
		return "pg_temp must be the last schema of it";
	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	if (!StoreTrusts(role, owner))
		fault = psprintf("schema \"%s\" in it belongs to role \"%s\"", name, GetUserNameFromId(owner, true));
	else if (OthersMayCreate(tuple, role))
		fault = psprintf("other roles may create objects in schema \"%s\" of it", name);
	ReleaseSysCache(tuple);
	return fault;
}

/*
 * Returns the reason why the search path of a function that runs as the role is
 * not safe, or NULL.  If a path does not name pg_temp, it is searched first.
 */
static const char *
PathFault(const char *path, Oid role)
{
	List	   *names;
	ListCell   *cell;

	if (!SplitIdentifierString(pstrdup(path), ',', &names))
		return "it cannot be read";
	if (names == NIL || strcmp(llast(names), "pg_temp") != 0)
		return "pg_temp must be the last schema of it";
	names = list_delete_last(names);
	foreach(cell, names)
	{
		const char *fault = SchemaFault(lfirst(cell), role);

		if (fault != NULL)
			return fault;
	}
	return NULL;
}

/* Refuse a function whose owner does not have the rights that it would run with. */
static void
CheckOwner(Oid function, const FunctionPlace *place, Oid owner)
{
	if (!StoreTrusts(place->runs_as, owner))
		Refuse(function, place,
			   psprintf("belongs to role \"%s\", which does not have the rights that it would run with",
						GetUserNameFromId(owner, true)),
			   psprintf("ALTER ROUTINE %s OWNER TO %s", format_procedure_qualified(function),
						quote_identifier(GetUserNameFromId(place->runs_as, false))));
}

/* Refuse a function whose names could find objects of the caller. */
static void
CheckPath(Oid function, const FunctionPlace *place, HeapTuple tuple)
{
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(tuple);
	char	   *path = FunctionPath(tuple);
	const char *fault = path == NULL ? NULL :
	PathFault(path, form->prosecdef ? form->proowner : place->runs_as);

	if (path == NULL || fault != NULL)
		Refuse(function, place,
			   path == NULL ? "has no search_path of its own" :
			   psprintf("has a search_path that is not safe: %s", fault),
			   psprintf("ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp -- and qualify the names in it that are your own",
						format_procedure_qualified(function)));
}

/*
 * Refuse a function that could run at the end of the transaction.  It would run as
 * the caller.  If it is SECURITY DEFINER, it could still change settings of the
 * caller's session, or create temporary objects there.
 */
static void
CheckDeferred(Oid function, const FunctionPlace *place)
{
	if (place->deferrable)
		Refuse(function, place,
			   "would run at the end of the transaction, when the caller's rights are in force",
			   "Use it where nothing is deferrable.");
}

/*
 * Refuse built-in functions that run a text as SQL.  They have no search_path of
 * their own, so the names in that text are the caller's to choose.
 */
static void
CheckBuiltin(Oid function, const FunctionPlace *place)
{
	static const Oid runners[] = {
		F_QUERY_TO_XML, F_QUERY_TO_XMLSCHEMA, F_QUERY_TO_XML_AND_XMLSCHEMA,
		F_TABLE_TO_XML, F_TABLE_TO_XMLSCHEMA, F_TABLE_TO_XML_AND_XMLSCHEMA,
		F_SCHEMA_TO_XML, F_SCHEMA_TO_XMLSCHEMA, F_SCHEMA_TO_XML_AND_XMLSCHEMA,
		F_DATABASE_TO_XML, F_DATABASE_TO_XMLSCHEMA, F_DATABASE_TO_XML_AND_XMLSCHEMA,
		F_CURSOR_TO_XML, F_CURSOR_TO_XMLSCHEMA,
		F_TS_STAT_TEXT, F_TS_STAT_TEXT_TEXT, F_TS_REWRITE_TSQUERY_TEXT
	};

	for (size_t i = 0; i < lengthof(runners); i++)
		if (runners[i] == function)
			Refuse(function, place, "reads what a text names, by the search_path of the caller",
				   "Use it in a function that has a search_path of its own.");
}

/* Check the functions that an aggregate consists of. */
static void
CheckAggregate(Oid aggregate, const FunctionPlace *place)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	(void) SafeFunctionCheck(form->aggtransfn, place);
	(void) SafeFunctionCheck(form->aggfinalfn, place);
	(void) SafeFunctionCheck(form->aggcombinefn, place);
	(void) SafeFunctionCheck(form->aggmtransfn, place);
	(void) SafeFunctionCheck(form->aggminvtransfn, place);
	(void) SafeFunctionCheck(form->aggmfinalfn, place);
	ReleaseSysCache(tuple);
}

/*
 * Raise an error if a function must not run under these circumstances.  Returns
 * true if it is user-defined, false if it is built-in.
 */
bool
SafeFunctionCheck(Oid function, const FunctionPlace *place)
{
	HeapTuple	tuple;
	Form_pg_proc form;

	if (function < FirstNormalObjectId)
	{
		CheckBuiltin(function, place);
		return false;
	}
	NoteFunction(function);
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prokind == PROKIND_AGGREGATE)
		CheckAggregate(function, place);
	else if (form->prolang != INTERNALlanguageId && form->prolang != ClanguageId)
	{
		CheckOwner(function, place, form->proowner);
		CheckPath(function, place, tuple);
		CheckDeferred(function, place);
	}
	ReleaseSysCache(tuple);
	return true;
}
