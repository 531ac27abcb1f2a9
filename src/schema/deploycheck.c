/*
 * deploycheck.c
 *		Checks of a deploy that have to do with the store and the server, not
 *		with the schema alone.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/twophase.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "schema/deploycheck.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/syscache.h"

/* Entries of the lock table that creating a relation takes, measured. */
#define LOCKS_PER_RELATION 2.1

/*
 * Report two places of references whose ids are equal: edges of one would be
 * taken for edges of the other.
 */
void
DeployCheckEdgeSources(ModelSet *set)
{
	ListCell   *cell;
	HASHCTL		control = {0};
	HTAB	   *seen;
	typedef struct
	{
		int64		id;
		const char *key;
	} SeenSource;

	control.keysize = sizeof(int64);
	control.entrysize = sizeof(SeenSource);
	control.hcxt = CurrentMemoryContext;
	seen = hash_create("dms edge sources", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	foreach(cell, set->entries)
	{
		ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		for (int i = 0; model->kind != RESOURCE_ABSTRACT && i < model->nreferences; i++)
		{
			ReferenceModel *r = &model->references[i];
			bool		found;
			SeenSource *source = hash_search(seen, &r->edge_source_id, HASH_ENTER, &found);

			if (found)
				ProblemAt(set->problems, r->edge_source_key,
						  "the edge sources %s and %s have the same id.", source->key, r->edge_source_key);
			source->key = r->edge_source_key;
		}
	}
}

/*
 * Refuse a deploy whose locks do not fit into the shared lock table, before
 * the first statement and with the setting to change.
 */
void
DeployCheckLocks(int tables, int indexes)
{
	int			need = (int) ((tables + indexes) * LOCKS_PER_RELATION);
	int64		slots = MaxBackends + max_prepared_xacts;
	int64		capacity = max_locks_per_xact * slots;
	Problem    *problem;

	if (need <= capacity)
		return;
	problem = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	ProblemNote(problem, "The deploy creates %d tables and %d indexes and needs about %d locks; there is room for about " INT64_FORMAT ".",
				tables, indexes, need, capacity);
	problem->hint = psprintf("Set max_locks_per_transaction to " INT64_FORMAT " or more and restart the server.",
							 need / slots + 1);
	ProblemRaise(problem, "the server's lock table is too small for this schema");
}

/*
 * Refuse a schema whose owner, who could replace the tables that we create in it,
 * does not have our rights.
 */
static void
RefuseSchemaOfOther(ApiSchema *schema, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACENAME, CStringGetDatum(name));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return;
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);
	if (StoreTrusts(GetUserId(), owner))
		return;
	ProblemNote(schema->problems, "The database schema \"%s\" exists and belongs to the role \"%s\".",
				name, GetUserNameFromId(owner, true));
	schema->problems->hint = psprintf("ALTER SCHEMA %s OWNER TO %s, or deploy as the role that owns it.",
									  quote_identifier(name), quote_identifier(GetUserNameFromId(GetUserId(), false)));
}

/*
 * Refuse a trigger function that exists and belongs to another role: CREATE
 * OR REPLACE keeps its owner.
 */
static void
RefuseFunctionOfOther(ApiSchema *schema, const char *name)
{
	Oid			function = LookupFuncName(list_make2(makeString("dms"), makeString(unconstify(char *, name))),
										  0, NULL, true);
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return;
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	if (owner != GetUserId())
		ProblemNote(schema->problems, "The function dms.%s() exists and belongs to the role \"%s\".",
					name, GetUserNameFromId(owner, true));
}

/*
 * Refuse schemas and functions of other roles.  The owner of a schema can
 * replace its tables, whose triggers would run as the owner of the store, and
 * so would functions of others.  Must be called when all objects exist,
 * because others may create them while we work.
 */
void
DeployCheckOwners(ApiSchema *schema)
{
	ListCell   *cell;

	RefuseSchemaOfOther(schema, "dms");
	foreach(cell, schema->projects)
		RefuseSchemaOfOther(schema, ((ApiProject *) lfirst(cell))->schema_name);
	RefuseFunctionOfOther(schema, "document_before_delete");
	RefuseFunctionOfOther(schema, "document_after_delete");
	RefuseFunctionOfOther(schema, "document_after_truncate");
	RefuseFunctionOfOther(schema, "change_tracking");
	RefuseFunctionOfOther(schema, "document_history");
	RefuseFunctionOfOther(schema, "documentversion_final");
	ApiSchemaRefuse(schema);
}
