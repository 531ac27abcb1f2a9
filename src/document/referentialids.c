/*
 * referentialids.c
 *		The rows of dms.ReferentialIdentity: looking up, claiming and forgetting
 *		ReferentialIds.
 *
 * The primary key of the table is where transactions that want the same
 * identity meet: an insertion of an id that another transaction has inserted
 * waits for it, and then finds the id taken or free.  Row locks on
 * dms.IdentityLock cannot do that, because the identity of a new document has
 * no row to lock yet.
 *
 * A row here can become invisible to a lookup at any time, unless the identity
 * is locked: a change of identity deletes it and inserts another one.  So a
 * caller that relies on a lookup locks the identity, and looks again (see
 * locks.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/referentialids.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/rowwrite.h"
#include "utils/builtins.h"

static const char *const id_columns[] = {"referentialid", "documentid"};
static const Oid id_types[] = {UUIDOID, INT8OID};
static KeyedTable documents_of_ids =
{
	.schema = "dms",.name = "referentialidentity", KEYED_COLUMNS(id_columns, id_types),.nkeys = 1,
	.placed = true
};

static const char *const claim_columns[] = {"referentialid", "documentid", "projectname", "resourcename"};
static const Oid claim_types[] = {UUIDOID, INT8OID, TEXTOID, TEXTOID};
static KeyedTable claimed_ids =
{
	.schema = "dms",.name = "referentialidentity", KEYED_COLUMNS(claim_columns, claim_types),.nkeys = 1
};

static const char *const document_columns[] = {"documentid", "projectname", "resourcename", "referentialid"};
static const Oid document_types[] = {INT8OID, TEXTOID, TEXTOID, UUIDOID};
static KeyedTable ids_of_documents =
{
	.schema = "dms",.name = "referentialidentity",
	KEYED_COLUMNS(document_columns, document_types),.nkeys = 3
};

/*
 * Look up the documents of all ids at once, in the active snapshot.  An id
 * that no document has gets 0.
 */
void
ReferentialIdsLookUp(IdSet *set)
{
	Datum	   *ids = palloc(sizeof(Datum) * Max(set->n, 1));
	StoredRows	rows;

	for (int i = 0; i < set->n; i++)
	{
		ids[i] = UUIDPGetDatum(&set->entries[i].id);
		set->entries[i].document_id = 0;
	}
	KeyScanReadKeys(&documents_of_ids, ids, set->n, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);
		IdEntry    *entry = IdSetEntry(set, DatumGetUUIDP(values[0]));

		if (entry == NULL)
			ResultRefuse("a row that it was not asked for");
		entry->document_id = DatumGetInt64(values[1]);
	}
}

/*
 * Returns true if a stored name equals a string.  The owner of the store may
 * have changed the column to char(n), which is padded, so blanks at the end do
 * not count.
 */
static bool
IsName(Datum value, const char *string)
{
	const text *stored = DatumGetTextPP(value);
	Size		length = VARSIZE_ANY_EXHDR(stored);
	Size		expected = strlen(string);

	while (length > 0 && VARDATA_ANY(stored)[length - 1] == ' ')
		length--;
	while (expected > 0 && string[expected - 1] == ' ')
		expected--;
	return length == expected && memcmp(VARDATA_ANY(stored), string, length) == 0;
}

/* Returns true if a row is an identity under this resource name. */
bool
ReferentialIdHasName(const Datum *values, const char *project, const char *resource)
{
	return IsName(values[REFERENTIAL_ID_RESOURCE], resource) &&
		IsName(values[REFERENTIAL_ID_PROJECT], project);
}

/*
 * Read the ReferentialId of a document under a resource name, in the active
 * snapshot.  Returns false if it has none.
 */
bool
ReferentialIdRead(int64 document_id, const char *project, const char *resource, pg_uuid_t *id)
{
	StoredRows	rows;

	KeyScanReadIds(&ids_of_documents, &document_id, 1, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		if (!ReferentialIdHasName(values, project, resource))
			continue;
		*id = *DatumGetUUIDP(values[REFERENTIAL_ID_ID]);
		return true;
	}
	return false;
}

/* Read the rows of documents in the active snapshot; ids ascend, and so do the documents of rows. */
void
ReferentialIdsOfDocuments(const int64 *ids, int n, StoredRows *rows)
{
	KeyScanReadIds(&ids_of_documents, ids, n, rows);
}

/* Callback: returns true for each row. */
static bool
ChooseAll(const Datum *values pg_attribute_unused(), void *arg pg_attribute_unused())
{
	return true;
}

/*
 * Delete all ReferentialIds of a document, before it or another document
 * claims new ones.  The caller holds the update lock on the identity.
 */
void
ReferentialIdsForget(int64 document_id)
{
	KeyWriteDelete(&ids_of_documents, &document_id, 1, ChooseAll, NULL);
}

/* Fill in a row. */
static void
SetRow(Datum *values, int64 document_id, const char *project, const char *resource,
	   const pg_uuid_t *id)
{
	values[REFERENTIAL_ID_DOCUMENT] = Int64GetDatum(document_id);
	values[REFERENTIAL_ID_PROJECT] = CStringGetTextDatum(project);
	values[REFERENTIAL_ID_RESOURCE] = CStringGetTextDatum(resource);
	values[REFERENTIAL_ID_ID] = UUIDPGetDatum(id);
}

/* Insert the alias of a body, if its resource has a superclass. */
static void
ClaimAlias(const FlatDocument *flat, int64 document_id)
{
	const ResourceModel *model = flat->model;
	Datum		values[REFERENTIAL_ID_COLUMNS];
	Row			row = {.values = values};
	RowSet		set = {.rows = &row,.nrows = 1};

	if (model->superclass_resource == NULL)
		return;
	SetRow(values, document_id, model->superclass_project, model->superclass_resource, &flat->alias);
	(void) RowWriteRun(&ids_of_documents, KEYED_INSERT, &set);
}

/*
 * Insert the ReferentialIds of a body for a new document without a statement, if
 * its primary one is free.  Returns false if nothing was inserted, and a statement
 * must decide.
 */
bool
ReferentialIdsTryClaim(const FlatDocument *flat, int64 document_id)
{
	Datum		values[] = {
		UUIDPGetDatum(&flat->primary), Int64GetDatum(document_id),
		CStringGetTextDatum(flat->model->project), CStringGetTextDatum(flat->model->resource)
	};
	Row			row = {.values = values};

	if (!RowWriteClaim(&claimed_ids, &row))
		return false;
	ClaimAlias(flat, document_id);
	return true;
}

/*
 * Insert the ReferentialIds of a body for a document that has none.  Waits for
 * a transaction that has inserted or deleted the same id; if another document
 * then has it, this is a unique violation.
 */
void
ReferentialIdsClaim(const FlatDocument *flat, int64 document_id)
{
	const ResourceModel *model = flat->model;
	Datum		values[2][REFERENTIAL_ID_COLUMNS];
	Row			rows[2] = {{.values = values[0]}, {.values = values[1]}};
	RowSet		set = {.rows = rows,.nrows = 1};

	SetRow(values[0], document_id, model->project, model->resource, &flat->primary);
	if (model->superclass_resource != NULL)
	{
		SetRow(values[1], document_id, model->superclass_project, model->superclass_resource,
			   &flat->alias);
		set.nrows = 2;
	}
	(void) RowWriteRun(&ids_of_documents, KEYED_INSERT, &set);
}

/*
 * Delete those rows of documents that a callback chooses; the ids are
 * ascending.  The caller keeps other transactions from changing these
 * identities, by update locks or by closing the gate.
 */
void
ReferentialIdsDelete(const int64 *ids, int n, RowChoice choose, void *arg)
{
	KeyWriteDelete(&ids_of_documents, ids, n, choose, arg);
}

/* Insert n rows, which a callback fills in. */
void
ReferentialIdsInsert(int n, RowSource source, void *arg)
{
	KeyWriteInsert(&ids_of_documents, n, source, arg);
}
