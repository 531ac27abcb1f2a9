/*
 * descriptoruris.c
 *		The URIs of descriptors, by their ids.
 *
 * Documents refer to few different descriptors, over and over again.  So a session
 * keeps the URIs of those that it has read (dms.descriptor_cache), if the identity
 * of their type cannot change.  Such a URI is never outdated: ids are not used
 * again, the spelling of a stored URI stays, and a descriptor that is referred to
 * cannot be deleted.  What bypasses the verbs is another matter: a change of the
 * table (TRUNCATE too) and dms.repair() make all sessions forget, an UPDATE of Uri
 * by plain SQL does not.
 *
 * The table is opened even if all URIs are kept, because the caller must have the
 * right to read them.  If statements must read it, nothing is kept.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "document/descriptoruris.h"
#include "engine/keyaccess.h"
#include "engine/keyscan.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#define TABLE_SCHEMA "dms"
#define TABLE_NAME "descriptor"
#define URI_COLUMN "uri"

/* A URI that is kept. */
typedef struct KeptUri
{
	int64		document_id;
	struct varlena *uri;
} KeptUri;

static const char *const uri_columns[] = {"documentid", URI_COLUMN};
static const Oid uri_types[] = {INT8OID, TEXTOID};
static KeyedTable descriptors =
{
	.schema = TABLE_SCHEMA,.name = TABLE_NAME, KEYED_COLUMNS(uri_columns, uri_types),.nkeys = 1
};

static int	cache_size = 512;

/* The URIs that are kept, and the numbers of changes under which they were read. */
static HTAB *kept = NULL;
static MemoryContext kept_context = NULL;
static uint64 kept_changes = 0;
static uint64 kept_generation = 0;

/* Define the settings of this module. */
void
DescriptorUrisInit(void)
{
	DefineCustomIntVariable("dms.descriptor_cache",
							"Memory for the URIs of descriptors that a session keeps.",
							"0 means that they are read from the table each time.",
							&cache_size, 512, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

/* Returns true if sessions may keep what they know of descriptors. */
bool
DescriptorUrisKept(void)
{
	return cache_size > 0;
}

/* Returns true if a column of a table has the URIs of descriptors. */
bool
DescriptorUrisAre(const char *schema, const char *table, const char *column)
{
	return strcmp(schema, TABLE_SCHEMA) == 0 && strcmp(table, TABLE_NAME) == 0 &&
		strcmp(column, URI_COLUMN) == 0;
}

/* Drop all URIs. */
static void
DropKept(void)
{
	MemoryContext context = kept_context;

	kept = NULL;
	kept_context = NULL;
	if (context != NULL)
		MemoryContextDelete(context);
}

/* Drop the URIs that may be outdated.  Called after locking the table. */
static void
DropOutdated(void)
{
	uint64		generation = StoreRowGeneration();
	uint64		changes = KeyAccessChanges();

	if (kept_changes != changes || kept_generation != generation)
		DropKept();
	kept_changes = changes;
	kept_generation = generation;
}

/* Make the table of URIs. */
static void
MakeKept(void)
{
	HASHCTL		control = {.keysize = sizeof(int64),.entrysize = sizeof(KeptUri)};

	DropKept();
	kept_context = AllocSetContextCreate(TopMemoryContext, "dms descriptors", ALLOCSET_SMALL_SIZES);
	control.hcxt = kept_context;
	kept = hash_create("dms descriptors", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * Take the URIs from those that are kept; returns false if one is missing.  They
 * are copied: code that runs before the caller is done may drop those that are kept.
 */
static bool
TakeKept(const int64 *ids, int n, StoredRows *rows)
{
	Assert(rows->capacity >= n && rows->ncolumns == lengthof(uri_columns));
	for (int i = 0; i < n; i++)
	{
		const KeptUri *found = kept == NULL ? NULL : hash_search(kept, &ids[i], HASH_FIND, NULL);
		struct varlena *uri;

		if (found == NULL)
			return false;
		uri = palloc(VARSIZE_ANY(found->uri));
		memcpy(uri, found->uri, VARSIZE_ANY(found->uri));
		StoredRowValues(rows, i)[0] = Int64GetDatum(ids[i]);
		StoredRowValues(rows, i)[1] = PointerGetDatum(uri);
		memset(StoredRowNulls(rows, i), false, lengthof(uri_columns));
	}
	rows->nrows = n;
	return true;
}

/* Keep a URI, unless it is kept or there is no space. */
static void
Keep(int64 document_id, Datum datum)
{
	struct varlena *uri;
	KeptUri    *entry;

	if (kept == NULL)
		MakeKept();
	if (MemoryContextMemAllocated(kept_context, true) >= (Size) cache_size * 1024 ||
		hash_search(kept, &document_id, HASH_FIND, NULL) != NULL)
		return;
	uri = PG_DETOAST_DATUM_PACKED(datum);
	uri = memcpy(MemoryContextAlloc(kept_context, VARSIZE_ANY(uri)), uri, VARSIZE_ANY(uri));
	entry = hash_search(kept, &document_id, HASH_ENTER, NULL);
	entry->uri = uri;
}

/*
 * Open the table and take the URIs from those that are kept.  Sets *able if it can
 * be read without a statement; returns true if the rows are complete.
 */
static bool
TryKept(const int64 *ids, int n, StoredRows *rows, bool *able)
{
	KeyScan		scan;
	bool		complete;

	*able = KeyScanOpen(&scan, &descriptors, AccessShareLock, ACL_SELECT);
	if (!*able)
		return false;
	DropOutdated();
	complete = TakeKept(ids, n, rows);
	KeyScanClose(&scan);
	return complete;
}

/*
 * Read URIs without a statement: rows of id and URI, in the order of the ids, which
 * are ascending.  Returns false, and reads nothing, if that cannot be done.  The
 * caller has initialized rows.  can_change says that the URIs must not be kept.
 */
bool
DescriptorUrisTry(const int64 *ids, int n, bool can_change, StoredRows *rows)
{
	bool		able;

	if (cache_size == 0)
		DropKept();
	if (can_change || cache_size == 0)
		return KeyScanTryIds(&descriptors, ids, n, rows);
	if (TryKept(ids, n, rows, &able))
		return true;
	if (!able || !KeyScanTryIds(&descriptors, ids, n, rows))
		return false;
	DropOutdated();
	for (int i = 0; i < rows->nrows; i++)
		Keep(DatumGetInt64(StoredRowValues(rows, i)[0]), StoredRowValues(rows, i)[1]);
	return true;
}

/* Read URIs: rows of id and URI, in the order of the ids, which are ascending. */
void
DescriptorUrisRead(const int64 *ids, int n, bool can_change, StoredRows *rows)
{
	StoredRowsInit(rows, lengthof(uri_columns), n);
	if (!DescriptorUrisTry(ids, n, can_change, rows))
		KeyScanReadIds(&descriptors, ids, n, rows);
}

/* Make all sessions forget the URIs that they keep, when this transaction commits. */
void
DescriptorUrisForget(void)
{
	CacheInvalidateRelcacheByRelid(StoreTable(STORE_DESCRIPTOR));
}
