/*
 * batchkeys.c
 *		Natural keys of the documents of one call.
 *
 * Documents may swap their keys, so these may collide until all documents are
 * written.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "base/report.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "engine/statement.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "verbs/batchkeys.h"

/* Returns the resources of documents whose keys change, each once. */
static List *
KeyedResources(const Batch *batch)
{
	List	   *resources = NIL;

	for (int i = 0; i < batch->n; i++)
		if (batch->items[i].key)
			resources = list_append_unique_ptr(resources, batch->items[i].write.resource);
	return resources;
}

/*
 * Refuse to set a constraint of a table by its name if another table has one of
 * the same name: the statement would set both, and checks that are deferred for
 * the other one would run as the owner of the store.
 */
static void
RequireOnlyConstraint(const TableModel *table, const char *name)
{
	Oid			schema = get_namespace_oid(table->schema, false);
	Oid			own = get_relname_relid(table->name, schema);
	Relation	constraints = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_constraint_conname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum(name));
	ScanKeyInit(&keys[1], Anum_pg_constraint_connamespace, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(schema));
	scan = systable_beginscan(constraints, ConstraintNameNspIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			other = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;

		if (OidIsValid(other) && other != own)
			ReportError(PROBLEM_STORE_UNSAFE, "Rename the other constraint.",
						"constraint \"%s\" of table \"%s.%s\" has the name of one of \"%s\"", name,
						table->schema, table->name, get_rel_name(other));
	}
	systable_endscan(scan);
	table_close(constraints, AccessShareLock);
}

/* Set the natural keys of all documents whose keys change DEFERRED or IMMEDIATE. */
static void
SetNaturalKeys(const Batch *batch, const char *mode)
{
	ListCell   *cell;

	foreach(cell, KeyedResources(batch))
	{
		const TableModel *root = &((Resource *) lfirst(cell))->model->tables[0];

		for (int i = 0; i < root->nuniques; i++)
			if (root->uniques[i].natural_key)
			{
				RequireOnlyConstraint(root, root->uniques[i].name);
				StatementExecute(psprintf("SET CONSTRAINTS %s %s",
										  quote_qualified_identifier(root->schema, root->uniques[i].name), mode));
			}
	}
}

/* Let natural keys collide for now. */
void
BatchKeysDefer(const Batch *batch)
{
	SetNaturalKeys(batch, "DEFERRED");
}

/* Refuse natural keys that collide. */
void
BatchKeysCheck(const Batch *batch)
{
	SetNaturalKeys(batch, "IMMEDIATE");
}
