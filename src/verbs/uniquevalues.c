/*
 * uniquevalues.c
 *		dms.claim_unique_key(), dms.release_unique_key(), dms.find_unique_key(): values
 *		that only one document of a type may have.
 *
 * A caller who may see a document may see the values that it has claimed.  So a value is read
 * with the rights of the owner, and its document with those of the caller.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/uuid.h"
#include "cascade/identitylocks.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "fmgr.h"
#include "graph/nodes.h"
#include "graph/uniquekeys.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "model/value.h"
#include "schema/declaredkeys.h"
#include "utils/builtins.h"
#include "verbs/ends.h"
#include "verbs/read.h"
#include "verbs/readrights.h"
#include "verbs/uniquevalues.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_claim_unique_key);
PG_FUNCTION_INFO_V1(dms_release_unique_key);
PG_FUNCTION_INFO_V1(dms_find_unique_key);

/* The number of times that a value may be released again before we give up. */
#define MAX_ATTEMPTS 100

/* Take the key from the first three arguments, which must not be NULL. */
static void
KeyOfArguments(FunctionCallInfo fcinfo, UniqueKey *key)
{
	static const char *const names[] = {"resource_type", "key", "value"};

	ReportRequireArguments(fcinfo, lengthof(names), names);
	key->type = text_to_cstring(PG_GETARG_TEXT_PP(0));
	key->key = text_to_cstring(PG_GETARG_TEXT_PP(1));
	key->value = text_to_cstring(PG_GETARG_TEXT_PP(2));
}

/* Refuse a key that cannot be stored.  Records separate its parts by "#". */
static void
CheckKey(const UniqueKey *key)
{
	if (key->key[0] == '\0' || pg_mbstrlen(key->key) > UNIQUE_KEY_MAX || strchr(key->key, '#') != NULL)
		ReportError(PROBLEM_ARGUMENT, NULL, "key must have 1 to %d characters, and no \"#\"", UNIQUE_KEY_MAX);
	if (strlen(key->value) > UNIQUE_VALUE_MAX)
		ReportError(PROBLEM_ARGUMENT, NULL, "value must have at most %d bytes", UNIQUE_VALUE_MAX);
}

/* Find the resource of a type, in the active snapshot; NULL if there is none. */
static Resource *
FindResource(const char *type)
{
	int32		id;
	char	   *project;
	char	   *resource;

	if (!ResourceTypeFind(type, &id) || !ResourceTypeNames(id, &project, &resource))
		return NULL;
	return ModelCacheTry(project, resource);
}

/* Returns the column of the root table that has the values of a declared key; -1 if the key is none. */
static int
DeclaredColumn(Resource *resource, const char *key)
{
	const ResourceOptions *options = ResourceOptionsOf(resource);

	for (int i = 0; i < options->nunique; i++)
		if (strcmp(DeclaredKeyName(resource->model->tables[0].columns[options->unique_columns[i]].path), key) == 0)
			return options->unique_columns[i];
	return -1;
}

/* Refuse a type that no resource has, and a key that its options declare: documents have its values. */
static void
CheckType(const UniqueKey *key)
{
	Resource   *resource;

	SnapshotBegin();
	resource = FindResource(key->type);
	SnapshotEnd();
	if (resource == NULL)
		ReportError(PROBLEM_ARGUMENT, NULL, "there is no resource type \"%s\"", key->type);
	if (DeclaredColumn(resource, key->key) >= 0)
		ReportError(PROBLEM_ARGUMENT, "Write the document to change its value.",
					"\"%s\" is a property that is unique among documents of %s", key->key, key->type);
}

/* Find and lock the document that is to have a value, which must be of the type of the key. */
static int64
LockHolder(const UniqueKey *key, const pg_uuid_t *uuid)
{
	GraphNode	node;
	IdentityClaim claim = {.mode = LockTupleKeyShare};
	const char *type;

	EndsFindTarget(uuid, &node);
	SnapshotBegin();
	type = NodeType(&node);
	SnapshotEnd();
	if (strcmp(type, key->type) != 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "document %s is of type \"%s\", and not \"%s\"",
					UuidText(uuid), type, key->type);
	claim.document_id = node.document_id;
	claim.rank = node.resource->model->rank;
	IdentityLocksClaim(&claim, 1);
	if (claim.gone)
		EndsRaiseNoTarget(uuid);
	return node.document_id;
}

/* Refuse a value that another document has. */
static void
pg_attribute_noreturn()
RefuseTaken(const UniqueKey *key)
{
	Problem    *problem = ProblemNew(PROBLEM_VALUE_TAKEN);

	ProblemAt(problem, key->key, "Another document of %s has this value.", key->type);
	ProblemRaise(problem, "value of \"%s\" is taken by another document of %s", key->key, key->type);
}

/*
 * Claim a value for a document, or reserve it if that is NULL.  Returns true if it was
 * free, and false if the document has it, or if it is reserved already.
 */
static bool
ClaimValue(const UniqueKey *key, const pg_uuid_t *uuid)
{
	int64		document_id = uuid != NULL ? LockHolder(key, uuid) : 0;

	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		UniqueKeyRow row;
		bool		found;

		CHECK_FOR_INTERRUPTS();
		if (UniqueKeysTake(key, document_id))
			return true;
		SnapshotBegin();
		found = UniqueKeysRead(key, &row);
		SnapshotEnd();

		/*
		 * It was released since; what has been reserved meanwhile can be
		 * taken over.
		 */
		if (!found || (row.document_id == 0 && document_id != 0))
			continue;
		if (row.document_id != document_id)
			RefuseTaken(key);
		return false;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access: the value was claimed and released %d times while it was being claimed",
					MAX_ATTEMPTS)));
	return false;
}

/* Claim a value. */
Datum
dms_claim_unique_key(PG_FUNCTION_ARGS)
{
	Session		session;
	UniqueKey	key;
	bool		claimed;

	KeyOfArguments(fcinfo, &key);
	CheckKey(&key);
	WriteBegin(&session, "dms.claim_unique_key()");
	CheckType(&key);
	claimed = ClaimValue(&key, PG_ARGISNULL(3) ? NULL : PG_GETARG_UUID_P(3));
	SessionEnd(&session);
	PG_RETURN_BOOL(claimed);
}

/* Let a value go. */
Datum
dms_release_unique_key(PG_FUNCTION_ARGS)
{
	Session		session;
	UniqueKey	key;
	bool		released;

	KeyOfArguments(fcinfo, &key);
	WriteBegin(&session, "dms.release_unique_key()");
	released = UniqueKeysRelease(&key);
	SessionEnd(&session);
	PG_RETURN_BOOL(released);
}

/* Convert a value to the type of its column; returns false if it is none of that type. */
static bool
TakeValue(const char *value, ValueType type, Datum *datum)
{
	char	   *canonical = unconstify(char *, value);

	if (type == VALUE_INT4 || type == VALUE_INT8)
	{
		char	   *end;
		long long	number;

		errno = 0;
		number = strtoll(value, &end, 10);
		if (errno != 0 || *value == '\0' || *end != '\0' || (type == VALUE_INT4 && number != (int32) number))
			return false;
		*datum = type == VALUE_INT4 ? Int32GetDatum((int32) number) : Int64GetDatum(number);
		return true;
	}
	if (type != VALUE_TEXT && ValueParseText(value, strlen(value), type, &canonical) != NULL)
		return false;
	*datum = ValueToDatum(canonical, strlen(canonical), type);
	return true;
}

/* Read the value of a declared key; returns false if no document has it. */
static bool
ReadDeclared(const Resource *resource, int column, const char *value, UniqueKeyRow *row)
{
	const TableModel *root = &resource->model->tables[0];
	Datum		wanted;

	return TakeValue(value, root->columns[column].value.type, &wanted) &&
		UniqueKeysReadDeclared(root, column, wanted, row);
}

/* Read a value that is declared or was claimed, in the active snapshot. */
static bool
ReadValue(const UniqueKey *key, UniqueKeyRow *row)
{
	Resource   *resource = FindResource(key->type);
	int			column = resource == NULL ? -1 : DeclaredColumn(resource, key->key);

	return column >= 0 ? ReadDeclared(resource, column, key->value, row) : UniqueKeysRead(key, row);
}

/*
 * Read the row of a value with the rights of the owner, in the snapshot of the caller's
 * statement.  Returns false if there is none.
 */
bool
UniqueValueRead(const UniqueKey *key, UniqueKeyRow *row)
{
	Session		session;
	bool		found;

	StoreLockModels();
	SessionBegin(&session, RIGHTS_OF_OWNER);
	found = ReadValue(key, row);
	SessionEnd(&session);
	return found;
}

/*
 * List values of a key in byte order, beginning with one value, with the rights of the
 * owner, in the snapshot of the caller's statement and in the current memory context.
 * Returns how many there are, up to a limit.
 */
int
UniqueValuesList(const UniqueKey *from, int limit, UniqueKeyRow **rows)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext saved;
	Session		session;
	Resource   *resource;
	UniqueKeyRow *found;
	int			column;
	int			n;

	StoreLockModels();
	SessionBegin(&session, RIGHTS_OF_OWNER);
	resource = FindResource(from->type);
	column = resource == NULL ? -1 : DeclaredColumn(resource, from->key);
	found = column >= 0 ? UniqueKeysListDeclared(&resource->model->tables[0], column, from->value, limit, &n) : UniqueKeysList(from, limit, &n);
	saved = MemoryContextSwitchTo(context);
	*rows = palloc_extended(sizeof(UniqueKeyRow) * Max(n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		(*rows)[i] = found[i];
		(*rows)[i].value = pstrdup(found[i].value);
	}
	MemoryContextSwitchTo(saved);
	SessionEnd(&session);
	return n;
}

/* Returns true if the caller may see values that are reserved, of which no document decides. */
bool
UniqueValuesShowReserved(void)
{
	Oid			table = StoreTable(STORE_UNIQUE_KEY_VALUE);

	return ReadRightsHave(table) && !ReadRightsHideRows(table);
}

/*
 * Returns the URN of a document if the caller may see it, in the memory context given;
 * NULL otherwise.  Who has no right to read documents, or those of its resource, gets no
 * error, which would tell that the value is taken.  To be called after ReadBegin().
 */
char *
UniqueValueHolder(int64 document_id, MemoryContext context)
{
	int			n;
	NodeName   *name;
	GraphNode	node;
	ReadResult	result;
	MemoryContext saved;
	char	   *urn;

	if (!ReadRightsHave(StoreTable(STORE_DOCUMENT)))
		return NULL;
	name = NodesName(&document_id, 1, &n);
	if (n == 0 || !NodeFind(&name->uuid, &node) || !ReadRightsOfTables(node.resource->model) ||
		!ReadDocument(&name->uuid, CurrentMemoryContext, &result))
		return NULL;
	saved = MemoryContextSwitchTo(context);
	urn = NodeUrn(name->type, &name->uuid);
	MemoryContextSwitchTo(saved);
	return urn;
}

/* Return the URN of the document that has a value; NULL if there is none. */
Datum
dms_find_unique_key(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	UniqueKey	key;
	UniqueKeyRow row;
	char	   *urn;

	KeyOfArguments(fcinfo, &key);
	if (!UniqueValueRead(&key, &row) || row.document_id == 0)
		PG_RETURN_NULL();
	ReadBegin(&session);
	urn = UniqueValueHolder(row.document_id, context);
	SessionEnd(&session);
	if (urn == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(urn));
}
