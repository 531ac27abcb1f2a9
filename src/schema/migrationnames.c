/*
 * migrationnames.c
 *		Names that tables, keys and indexes take from each other when the schema
 *		changes.
 *
 * A name that the new schema wants may be that of another object, which gets a new
 * name itself, or is dropped.  Two tables may even swap their names.  So an object
 * whose name is wanted by another one gives it up before any name is taken: it has a
 * name of its own meanwhile.  Indexes share their names with the tables of a
 * schema, so all names of a schema are looked at together.
 */
#include "postgres.h"

#include "schema/migrationnames.h"
#include "schema/naming.h"
#include "utils/hsearch.h"

/* Room for "schema.name". */
#define NAME_LENGTH (2 * NAMEDATALEN + 1)

/* Returns a set of names. */
static HTAB *
NewNames(const char *what)
{
	HASHCTL		control = {.keysize = NAME_LENGTH,.entrysize = NAME_LENGTH,.hcxt = CurrentMemoryContext};

	return hash_create(what, 1024, &control, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

/* Look for a name in a set, or add it. */
static bool
FindName(HTAB *names, const char *schema, const char *name, HASHACTION action)
{
	bool		found;

	(void) hash_search(names, psprintf("%s.%s", schema, name), action, &found);
	return found;
}

/* Collect the names of a table that is wanted, and of its keys and indexes. */
static void
CollectWanted(HTAB *names, const DdlTable *table)
{
	(void) FindName(names, table->schema, table->name, HASH_ENTER);
	for (int i = 0; i < table->nkeys; i++)
		(void) FindName(names, table->schema, table->keys[i].name, HASH_ENTER);
	for (int i = 0; i < table->nindexes; i++)
		(void) FindName(names, table->schema, table->indexes[i].name, HASH_ENTER);
}

/* Collect the names of a table that is there, and of its keys and indexes. */
static void
CollectThere(HTAB *names, const CatalogTable *table)
{
	ListCell   *cell;

	(void) FindName(names, table->schema, table->name, HASH_ENTER);
	foreach(cell, table->keys)
		(void) FindName(names, table->schema, ((CatalogKey *) lfirst(cell))->name, HASH_ENTER);
	foreach(cell, table->indexes)
		(void) FindName(names, table->schema, ((CatalogIndex *) lfirst(cell))->name, HASH_ENTER);
}

/* Collect all names, before anything is planned. */
void
MigrationNamesCollect(MigrationPlan *plan)
{
	ListCell   *cell;

	plan->names_wanted = NewNames("dms names that are wanted");
	plan->names_there = NewNames("dms names that are there");
	foreach(cell, plan->ddl->described)
		CollectWanted(plan->names_wanted, lfirst(cell));
	foreach(cell, plan->catalog->tables)
		CollectThere(plan->names_there, lfirst(cell));
}

/* Returns true if a table, key or index of the new schema has this name. */
bool
MigrationNameIsWanted(const MigrationPlan *plan, const char *schema, const char *name)
{
	return FindName(plan->names_wanted, schema, name, HASH_FIND);
}

/* Returns true if something had this name before the change. */
bool
MigrationNameIsThere(const MigrationPlan *plan, const char *schema, const char *name)
{
	return FindName(plan->names_there, schema, name, HASH_FIND);
}

/* Returns a name for an object that gives up its name. */
char *
MigrationNameMeanwhile(MigrationPlan *plan, const char *name)
{
	return NamePhysical(psprintf("%s_meanwhile_%d", name, ++plan->names_given));
}
