/*
 * keyaccess.c
 *		Keeping between calls what direct access has found out about tables.
 *
 * To access a table directly, keyscan.c resolves its name, finds its columns and
 * an index, and checks the privileges of the current user.  Together that costs
 * more than reading a row by key.  None of it changes while no catalog entry that
 * it was derived from changes, so it is kept with the description of the table:
 *
 * - the meaning of a name: pg_class, pg_namespace;
 * - columns and indexes: the relation cache entries of the table and its index;
 * - privileges: pg_class and pg_namespace, and for memberships pg_authid,
 *   pg_auth_members and pg_database.
 *
 * PostgreSQL sends an invalidation message for each such change.  Any of them
 * increases a number, and what was found out under another number is found out
 * anew.  Messages are processed when a lock is taken, so the number must be
 * compared after locking the table, and again after locking the index.
 *
 * What depends on more than catalogs is not kept: row-level security, hooks,
 * settings, and indexes that only some snapshots may use.
 */
#include "postgres.h"

#include "engine/keyaccess.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* Tables and indexes that something is known about. */
static HTAB *watched = NULL;

/* Increased by each change that may matter. */
static uint64 changes = 1;

/* Relation cache callback: a table or index that is in use may have changed. */
static void
RelationChanged(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid == InvalidOid || hash_search(watched, &relid, HASH_FIND, NULL) != NULL)
		changes++;
}

/* Catalog cache callback: names may mean something else, and roles may have other rights. */
static void
NamesOrRightsChanged(Datum arg pg_attribute_unused(), int cacheid pg_attribute_unused(),
					 uint32 hashvalue pg_attribute_unused())
{
	changes++;
}

/* Register the callbacks of this module. */
void
KeyAccessInit(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Oid),.hcxt = TopMemoryContext};

	watched = hash_create("dms relations in use", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(RelationChanged, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, NamesOrRightsChanged, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, NamesOrRightsChanged, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, NamesOrRightsChanged, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, NamesOrRightsChanged, (Datum) 0);
}

/* Returns a number that grows when something that was found out may have changed. */
uint64
KeyAccessChanges(void)
{
	return changes;
}

/*
 * Notice changes of a table or index from now on.  Must be called before finding
 * out about it, and after locking it.
 */
void
KeyAccessWatch(Oid relation)
{
	(void) hash_search(watched, &relation, HASH_ENTER, NULL);
}

/* Returns true if what is known about a table still holds. */
bool
KeyAccessHolds(const KeyedTable *table)
{
	return table->access != NULL && table->access->changes == changes;
}

/* Returns true if the current user is known to have privileges on a table. */
bool
KeyAccessAllows(const KeyedTable *table, AclMode rights)
{
	const KeyAccess *access = table->access;
	Oid			role = GetUserId();

	for (int i = 0; i < access->nroles; i++)
		if (access->roles[i].role == role && (access->roles[i].rights & rights) == rights)
			return true;
	return false;
}

/* Returns what is known about a table, making space for it. */
static KeyAccess *
AccessOf(KeyedTable *table)
{
	MemoryContext context = table->context != NULL ? table->context : TopMemoryContext;
	KeyAccess  *access;

	if (table->access != NULL)
		return table->access;
	access = MemoryContextAllocZero(context, sizeof(KeyAccess));
	access->columns = MemoryContextAlloc(context, sizeof(AttrNumber) * table->ncolumns);
	table->access = access;
	return access;
}

/*
 * Keep the table that a description means, and the numbers of its columns, which
 * were found out since the number of changes was this.
 */
void
KeyAccessKeep(KeyedTable *table, Relation relation, const AttrNumber *columns, uint64 since)
{
	KeyAccess  *access = AccessOf(table);

	if (since != changes || access->changes == changes)
		return;
	access->changes = 0;
	access->relation = RelationGetRelid(relation);
	access->index = InvalidOid;
	access->single = false;
	access->nroles = 0;
	memcpy(access->columns, columns, sizeof(AttrNumber) * table->ncolumns);
	access->changes = changes;
}

/* Keep that the current user has privileges on a table. */
void
KeyAccessKeepRole(KeyedTable *table, AclMode rights)
{
	KeyAccess  *access = table->access;
	Oid			role = GetUserId();
	int			i = 0;

	while (i < access->nroles && access->roles[i].role != role)
		i++;
	if (i == access->nroles)
	{
		i = access->nroles < KEY_ACCESS_ROLES ? access->nroles++ : 0;
		access->roles[i] = (KeyAccessRole)
		{
			.role = role
		};
	}
	access->roles[i].rights |= rights;
}

/* Keep the index to scan, which was found out since the number of changes was this. */
void
KeyAccessKeepIndex(KeyedTable *table, Relation index, uint64 since)
{
	const FormData_pg_index *form = index->rd_index;

	if (since != changes || !KeyAccessHolds(table))
		return;
	table->access->index = RelationGetRelid(index);
	table->access->single = form->indisunique && form->indimmediate && form->indnkeyatts == 1;
}
