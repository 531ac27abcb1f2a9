/*
 * documentkeys.c
 *		The keys of documents, as those who follow the store know them.
 *
 * A key is a text: {"schoolId":5,"sessionName":"S"}.  It is made from the values of the
 * identity, which are read without a plan, and is the same text that the statements of
 * keyquery.c make, which the trigger on dms.Document uses.
 */
#include "postgres.h"

#include "base/ids.h"
#include "catalog/pg_type.h"
#include "document/documentkeys.h"
#include "document/projection.h"
#include "document/referentialids.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "lib/stringinfo.h"
#include "model/jsonwrite.h"
#include "model/keyquery.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

static const char *const descriptor_columns[] = {"documentid", "namespace", "codevalue"};
static const Oid descriptor_types[] = {INT8OID, TEXTOID, TEXTOID};
static KeyedTable descriptor_keys =
{
	.schema = "dms",.name = "descriptor", KEYED_COLUMNS(descriptor_columns, descriptor_types),.nkeys = 1
};

/* Returns what precedes the values in the keys of a resource. */
static char **
MembersOf(Resource *resource)
{
	MemoryContext saved;

	if (resource->key_members != NULL)
		return resource->key_members;
	saved = MemoryContextSwitchTo(resource->context);
	resource->key_members = KeyQueryMembers(resource->model);
	MemoryContextSwitchTo(saved);
	return resource->key_members;
}

/* Read the ids of documents, and the values that their keys are made from, in the active snapshot. */
static void
ReadValues(Resource *resource, const int64 *ids, int n, StoredRows *rows)
{
	if (resource->model->kind == RESOURCE_DESCRIPTOR)
		KeyScanReadIds(&descriptor_keys, ids, n, rows);
	else
		ProjectionReadRows(resource, 0, ids, n, true, rows);
}

/* Write the key of a row; values that are missing are null. */
static void
WriteKey(Resource *resource, const Datum *values, const bool *nulls, StringInfo out)
{
	const ResourceModel *model = resource->model;
	bool		descriptor = model->kind == RESOURCE_DESCRIPTOR;
	int			nvalues = descriptor ? KEY_DESCRIPTOR_MEMBERS : model->projections[0].nvalues;
	char	  **members = MembersOf(resource);

	resetStringInfo(out);
	for (int i = 0; i < nvalues; i++)
	{
		if (members[i] == NULL)
			continue;
		appendStringInfoString(out, members[i]);
		if (nulls[i])
			appendStringInfoString(out, "null");
		else
			JsonWriteValue(out, values[i], descriptor ? VALUE_TEXT : model->projections[0].values[i].type);
	}
	appendStringInfoChar(out, '}');
}

/* Order keys by their documents. */
static int
CompareKeys(const void *a, const void *b)
{
	return IdsCompare(&((const DocumentKey *) a)->document_id, &((const DocumentKey *) b)->document_id);
}

/* Take an id of a document into its key, under the name that it has. */
static void
TakeId(const ResourceModel *model, const Datum *values, DocumentKey *key)
{
	const pg_uuid_t *id = DatumGetUUIDP(values[REFERENTIAL_ID_ID]);

	if (ReferentialIdHasName(values, model->project, model->resource))
	{
		key->has_primary = true;
		key->primary = *id;
	}
	else if (model->superclass_resource != NULL &&
			 ReferentialIdHasName(values, model->superclass_project, model->superclass_resource))
	{
		key->has_alias = true;
		key->alias = *id;
	}
}

/*
 * Read the ReferentialIds of documents, which ascend, in the active snapshot into their keys,
 * which do so, too.
 */
void
DocumentKeysReadIds(const ResourceModel *model, const int64 *ids, int n, DocumentKey *keys, int nkeys)
{
	StoredRows	rows;
	int			at = 0;

	ReferentialIdsOfDocuments(ids, n, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);
		int64		id = DatumGetInt64(values[REFERENTIAL_ID_DOCUMENT]);

		while (at < nkeys && keys[at].document_id < id)
			at++;
		if (at < nkeys && keys[at].document_id == id)
			TakeId(model, values, &keys[at]);
	}
}

/*
 * Make keys in a context, in ascending order of the documents, from rows of ids and values
 * that were read.
 */
DocumentKey *
DocumentKeysMake(Resource *resource, const StoredRows *rows, MemoryContext context)
{
	DocumentKey *keys = MemoryContextAllocExtended(context, sizeof(DocumentKey) * Max(rows->nrows, 1),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < rows->nrows; i++)
	{
		const Datum *values = StoredRowValues(rows, i);

		keys[i].document_id = DatumGetInt64(values[0]);
		WriteKey(resource, values + 1, StoredRowNulls(rows, i) + 1, &out);
		keys[i].key = MemoryContextAlloc(context, VARHDRSZ + out.len);
		SET_VARSIZE(keys[i].key, VARHDRSZ + out.len);
		memcpy(VARDATA(keys[i].key), out.data, out.len);
	}
	qsort(keys, rows->nrows, sizeof(DocumentKey), CompareKeys);
	return keys;
}

/*
 * Read the keys of documents of a resource in a new snapshot, and the ReferentialIds of
 * some of them.  The ids are ascending, and so are the documents of the keys.
 */
DocumentKey *
DocumentKeysRead(Resource *resource, const int64 *ids, int n, const int64 *some, int nsome, int *found)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms keys of documents",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	DocumentKey *keys;
	StoredRows	rows;

	SnapshotBegin();
	ReadValues(resource, ids, n, &rows);
	keys = DocumentKeysMake(resource, &rows, saved);
	*found = rows.nrows;
	StoredRowsFreeResult(&rows);
	if (nsome > 0)
		DocumentKeysReadIds(resource->model, some, nsome, keys, *found);
	SnapshotEnd();
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(context);
	return keys;
}

/* Returns the key of a document among some; NULL if it is not there. */
const DocumentKey *
DocumentKeyFind(const DocumentKey *keys, int n, int64 document_id)
{
	DocumentKey wanted = {.document_id = document_id};

	return bsearch(&wanted, keys, n, sizeof(DocumentKey), CompareKeys);
}

/* Returns true if two keys are the same. */
bool
DocumentKeyIsSame(const DocumentKey *left, const DocumentKey *right)
{
	Size		size = VARSIZE_ANY_EXHDR(left->key);

	return size == VARSIZE_ANY_EXHDR(right->key) &&
		memcmp(VARDATA_ANY(left->key), VARDATA_ANY(right->key), size) == 0;
}

/* Returns true if the ReferentialIds that belong to two keys are the same. */
bool
DocumentKeyHasSameIds(const DocumentKey *left, const DocumentKey *right)
{
	return left->has_primary == right->has_primary && left->has_alias == right->has_alias &&
		(!left->has_primary || memcmp(&left->primary, &right->primary, UUID_LEN) == 0) &&
		(!left->has_alias || memcmp(&left->alias, &right->alias, UUID_LEN) == 0);
}
