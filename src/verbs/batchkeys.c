/*
 * batchkeys.c
 *		Natural keys of the documents of one call.
 *
 * Documents may swap their keys, so these may collide until all documents are
 * written.  The constraints on them are deferrable and initially immediate, which
 * makes PostgreSQL check them at the end of a statement, and not for each row.  So
 * one statement writes all keys of a table.
 *
 * SET CONSTRAINTS would do the same for several statements.  But it would also
 * change the mode that the caller has chosen for the rest of the transaction, and
 * there is no way to find out which one that was.
 */
#include "postgres.h"

#include "document/rows.h"
#include "model/resourceoptions.h"
#include "verbs/batchkeys.h"
#include "verbs/writeguard.h"

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

/* Root rows to write, and one of their documents. */
typedef struct RootWrite
{
	Resource   *resource;
	const RowSet *roots;
	const FlatDocument *flat;
} RootWrite;

/* Write root rows, for WriteGuarded(). */
static void
WriteRoots(void *arg)
{
	RootWrite  *write = arg;

	RowsUpdateRoots(write->resource, write->roots);
}

/* Returns a document whose model says where a value is. */
static const FlatDocument *
RootsDocument(void *arg)
{
	return ((RootWrite *) arg)->flat;
}

/*
 * Write the keys of a resource.  A single one cannot collide with another of the
 * call.  It is left to the write of its document, which knows what is violated.
 */
static void
WriteKeys(Batch *batch, Resource *resource)
{
	RowSet		roots = {.rows = palloc(sizeof(Row) * batch->n)};
	BatchItem **keyed = palloc(sizeof(BatchItem *) * batch->n);

	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = batch->by_id[i];

		if (!item->key || item->write.resource != resource)
			continue;
		keyed[roots.nrows] = item;
		roots.rows[roots.nrows++] = item->write.flat->tables[0].rows[0];
	}
	if (roots.nrows < 2)
		return;
	if (ResourceOptionsOf(resource)->nunique > 0)
	{
		RootWrite	write = {resource, &roots, keyed[0]->write.flat};

		WriteGuarded(WriteRoots, RootsDocument, &write);
	}
	else
		RowsUpdateRoots(resource, &roots);
	for (int i = 0; i < roots.nrows; i++)
		keyed[i]->key_written = true;
}

/* Write the natural keys that change and may swap. */
void
BatchKeysWrite(Batch *batch)
{
	ListCell   *cell;

	batch->position = -1;
	foreach(cell, KeyedResources(batch))
	{
		WriteKeys(batch, lfirst(cell));
	}
}
