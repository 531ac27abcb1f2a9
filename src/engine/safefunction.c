/*
 * safefunction.c
 *		Deciding whether a function may run with lent rights.
 *
 * Functions in SQL and in procedural languages look up names at run time, by the
 * search path of the session, in which the caller's temporary tables and types
 * are always found.  So a function that runs as another role than the caller must
 * set a search_path of its own, with pg_temp as its last schema, and without
 * schemas in which other roles can create objects.  Since the owner of a function
 * can replace it, the owner must be a role that has the rights that the function
 * runs with.
 *
 * At the end of the transaction no rights are lent any more.  A function that is
 * deferred until then would run as the caller, who must not run code of others any
 * more than they may run the caller's, and nothing would undo what it does to the
 * caller's session: it is refused.
 *
 * Built-in functions and functions in C are trusted: only superusers can create
 * them.
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

/* Register for changes of functions. */
void
SafeFunctionInit(void)
{
	CacheRegisterSyscacheCallback(PROCOID, FunctionChanged, (Datum) 0);
}

/* A number that changes whenever a checked function may have changed. */
uint64
SafeFunctionChanges(void)
{
	return changes;
}

/* Count changes of this function from now on. */
static void
NoteFunction(Oid function)
{
	uint32		hashvalue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function));
	HASHCTL		control = {.keysize = sizeof(uint32),.entrysize = sizeof(uint32)};

	if (checked_functions == NULL)
		checked_functions = hash_create("dms checked functions", 32, &control, HASH_ELEM | HASH_BLOBS);
	(void) hash_search(checked_functions, &hashvalue, HASH_ENTER, NULL);
}

/* Report that a function must not run, why, and what to do about it. */
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

/* The search_path that a function sets, or NULL. */
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

/* Returns true if a role that is not trusted may create objects in a schema. */
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
 * Returns what makes a schema unsafe in the search path of a function that runs
 * as the role, or NULL.  A schema that does not exist is safe; if it is created,
 * the function is checked again.
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
 * Returns what makes the search path of a function that runs as the role unsafe,
 * or NULL.  If a path does not name pg_temp, it is searched first.
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

/* Refuse a function whose owner does not have the rights that it runs with. */
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

/* Refuse a function that could find the caller's objects by their names. */
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
 * Refuse a function that would run at the end of the transaction.  It would run as
 * the caller; and with rights of its own it would still run in the caller's
 * session when nothing undoes what it changes there.
 */
static void
CheckDeferred(Oid function, const FunctionPlace *place)
{
	if (place->deferrable)
		Refuse(function, place,
			   "would run at the end of the transaction, when the caller's rights are in force",
			   "Use it where nothing is deferrable.");
}

/* Refuse those of PostgreSQL's own functions that run a text as SQL. */
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
 * Refuse a function that must not run from this place.  Returns false if it is a
 * built-in function.
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
