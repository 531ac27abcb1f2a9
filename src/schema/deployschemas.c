/*
 * deployschemas.c
 *		Refusing schemas of the database that hold other things than the store.
 *
 * All levels of access get USAGE on the schemas of resources.  If a project took a
 * schema that the owner of the store uses for something else, that would be open to all
 * of them, too: functions are, by default, to whoever may use their schema.  Once a
 * schema belongs to the store, the owner may put into it what is for its users.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_namespace.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "schema/deployschemas.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* Things of a schema that a message names. */
#define NAMED_THINGS 3

/* Returns true if a list has a name. */
static bool
HasName(List *names, const char *name)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* Make a set of relations by their OIDs: those that the DDL creates, and that are there. */
static HTAB *
WantedRelations(const DdlPlan *ddl)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Oid),.hcxt = CurrentMemoryContext};
	HTAB	   *wanted = hash_create("dms wanted relations", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	ListCell   *cell;

	foreach(cell, ddl->described)
	{
		const DdlTable *table = lfirst(cell);
		Oid			relation = get_relname_relid(table->name, get_namespace_oid(table->schema, true));

		if (OidIsValid(relation))
			hash_search(wanted, &relation, HASH_ENTER, NULL);
	}
	foreach(cell, ddl->views)
	{
		const DdlView *view = lfirst(cell);
		Oid			relation = get_relname_relid(view->name, get_namespace_oid(view->schema, true));

		if (OidIsValid(relation))
			hash_search(wanted, &relation, HASH_ENTER, NULL);
	}
	return wanted;
}

/*
 * Describe what a schema holds beside these relations; NULL if there is nothing.
 * Everything that has a name in a schema depends on it; default privileges depend on it
 * in another way.
 */
static char *
OtherThings(Oid schema, HTAB *wanted)
{
	Relation	depends = table_open(DependRelationId, AccessShareLock);
	StringInfoData things;
	int			n = 0;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	initStringInfo(&things);
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(NamespaceRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(schema));
	scan = systable_beginscan(depends, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress thing = {form->classid, form->objid, form->objsubid};
		char	   *description;

		CHECK_FOR_INTERRUPTS();
		if (form->deptype != DEPENDENCY_NORMAL ||
			(form->classid == RelationRelationId && hash_search(wanted, &form->objid, HASH_FIND, NULL) != NULL))
			continue;
		description = n < NAMED_THINGS ? getObjectDescription(&thing, true) : NULL;
		if (description != NULL)
			appendStringInfo(&things, "%s%s", things.len > 0 ? ", " : "", description);
		n++;
	}
	systable_endscan(scan);
	table_close(depends, AccessShareLock);
	if (n > NAMED_THINGS)
		appendStringInfo(&things, ", and %d more", n - NAMED_THINGS);
	return n > 0 ? things.data : NULL;
}

/*
 * Refuse a schema that comes to the store with other things than its tables.  The set
 * of models before is NULL if there is no store.
 */
void
DeploySchemasCheck(ApiSchema *schema, const ModelSet *before, const ModelSet *after, const DdlPlan *ddl)
{
	List	   *ours = before == NULL ? NIL : ModelSetSchemas(before);
	HTAB	   *wanted = WantedRelations(ddl);
	ListCell   *cell;

	foreach(cell, ModelSetSchemas(after))
	{
		const char *name = lfirst(cell);
		Oid			there = get_namespace_oid(name, true);
		char	   *things = OidIsValid(there) && !HasName(ours, name) ? OtherThings(there, wanted) : NULL;

		if (things == NULL)
			continue;
		ProblemNote(schema->problems, "The database schema \"%s\" holds other things than the store: %s.", name, things);
		schema->problems->hint = "Move them to another schema: all who may read the store may use its schemas.";
	}
	hash_destroy(wanted);
	ApiSchemaRefuse(schema);
}
