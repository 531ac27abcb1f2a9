/*
 * uniquevalues.c
 *		dms.claim_unique_key(), dms.release_unique_key(), dms.find_unique_key(): values
 *		that only one document of a type may have.
 *
 * Who may see a document may see the values that it has claimed.  So a value is read
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
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "verbs/read.h"
#include "verbs/relate.h"
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

/* Refuse a type that no resource has. */
static void
CheckType(const char *type)
{
	int32		id;
	bool		found;

	SnapshotBegin();
	found = ResourceTypeFind(type, &id);
	SnapshotEnd();
	if (!found)
		ReportError(PROBLEM_ARGUMENT, NULL, "there is no resource type \"%s\"", type);
}

/* Find and lock the document that is to have a value, which must be of the type of the key. */
static int64
LockHolder(const UniqueKey *key, const pg_uuid_t *uuid)
{
	GraphNode		node;
	IdentityClaim claim = {.mode = LockTupleKeyShare};
	const char *type;

	RelateFindTarget(uuid, &node);
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
		RelateRaiseNoTarget(uuid);
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
		if (found && row.document_id != document_id)
			RefuseTaken(key);
		if (found)
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
	CheckType(key.type);
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
	found = UniqueKeysRead(key, row);
	SessionEnd(&session);
	return found;
}

/*
 * Returns the URN of a document if the caller may see it, in the memory context given;
 * NULL otherwise.  To be called after ReadBegin().
 */
char *
UniqueValueHolder(int64 document_id, MemoryContext context)
{
	int			n;
	NodeName   *name = NodesName(&document_id, 1, &n);
	ReadResult	result;
	MemoryContext saved;
	char	   *urn;

	if (n == 0 || !ReadDocument(&name->uuid, CurrentMemoryContext, &result))
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
