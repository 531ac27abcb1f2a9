/*
 * safefunction.c
 *		May a function run with rights that are lent to a caller?
 *
 * A function in SQL or in a procedural language looks names up when it runs, by
 * the search path of whoever caused it to run.  Whatever that path is, the
 * temporary tables, views and types of the session are found by it.  So a
 * function that runs as another role must bring a search_path of its own, in
 * which pg_temp is last, and the schemas before it must be closed to others.
 * And whoever owns a function decides what it does, so the owner must be a role
 * that has the rights that the function runs with anyway.
 *
 * At the end of the transaction no rights are lent any more.  A function that is
 * deferred until then would run as the caller, who must not run code of others any
 * more than they may run the caller's, and nothing would undo what it does to the
 * caller's session: it is refused.
 *
 * PostgreSQL's own functions, and those in C, are as good as the server itself:
 * only superusers can make them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "report.h"
#include "safefunction.h"
#include "store.h"
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

/* Functions that were looked at, by the hash values that tell of changes. */
static HTAB *looked_at = NULL;
static uint64 changes = 0;

/* A function changed: of interest if it was looked at. */
static void
FunctionChanged(Datum arg pg_attribute_unused(), int cacheid pg_attribute_unused(),
				uint32 hashvalue)
{
	if (hashvalue == 0 ||
		(looked_at != NULL && hash_search(looked_at, &hashvalue, HASH_FIND, NULL) != NULL))
		changes++;
}

/* Listen to changes of functions. */
void
SafeFunctionInit(void)
{
	CacheRegisterSyscacheCallback(PROCOID, FunctionChanged, (Datum) 0);
}

/* Changes whenever a function that was looked at may have changed. */
uint64
SafeFunctionChanges(void)
{
	return changes;
}

/* Note that a function is looked at. */
static void
NoteFunction(Oid function)
{
	uint32		hashvalue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function));
	HASHCTL		control = {.keysize = sizeof(uint32),.entrysize = sizeof(uint32)};

	if (looked_at == NULL)
		looked_at = hash_create("dms functions looked at", 32, &control, HASH_ELEM | HASH_BLOBS);
	(void) hash_search(looked_at, &hashvalue, HASH_ENTER, NULL);
}

/* Raise that a function must not run, why not, and what to do. */
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

/* The search_path that a function sets; NULL if it sets none. */
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
 * What is wrong with a schema in a search path; NULL if nothing is.  One that is
 * not there finds nothing, and is looked at again when there is one.
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
 * What is wrong with the search path of a function that runs as a role; NULL if
 * nothing is.  A path that does not name pg_temp has it in front.
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

/* Refuse a function of another role. */
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

/* Refuse a function that would look names up by the path of the caller. */
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

/* An aggregate runs the functions that it is made of. */
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
 * Refuse a function that must not run from a place.  Returns false if it is one
 * of PostgreSQL's own.
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
