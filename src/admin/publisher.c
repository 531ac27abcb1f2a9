/*
 * publisher.c
 *		Giving changes of the store to Redis.
 *
 * The publisher is a consumer of changes, "redis".  It reads them in passes, as
 * dms.read_changes() does, but in another order: first what Redis must forget, then what
 * it may know.  An identity that was given up and is taken by another document again
 * has its new value last.
 *
 * What Redis must forget becomes an empty value, which means "ask the database".  It is
 * not deleted: a client that has read the old value, and is about to store it, does that
 * only if there is no value, so an empty one stops it.
 *
 * All values of a step are from one snapshot.  They may be outdated when they arrive;
 * then the change that outdated them is in a later pass.  Redis has a single writer, so
 * later values arrive later.
 *
 * A step only gives commands to a connection.  Its place is stored in a later
 * transaction, after the server has confirmed them.  If that does not happen, the same
 * changes are given once more.
 */
#include "postgres.h"

#include "admin/publisher.h"
#include "base/faults.h"
#include "base/ids.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/changes.h"
#include "document/descriptoruris.h"
#include "document/document.h"
#include "document/documentcache.h"
#include "document/reconstitute.h"
#include "document/redissettings.h"
#include "document/referentialids.h"
#include "document/storedpage.h"
#include "engine/attempt.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/storerow.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "verbs/changecursor.h"
#include "verbs/write.h"

/*
 * Commands and bytes that are given in a step, and rows that are read; it ends with the
 * chunk that exceeds them.  There may be many rows without a command.
 */
#define COMMANDS_AT_ONCE 1000
#define BYTES_AT_ONCE (1024 * 1024)
#define ROWS_AT_ONCE 5000

/* Changes that are read together. */
#define CHANGES_AT_ONCE 500
#define CHANGES_WITH_DOCUMENTS 50

/* Larger values are not kept in Redis. */
#define LARGEST_VALUE (1024 * 1024)

/* Room for the longest key: a name, and a number or a uuid. */
#define KEY_SIZE 48

#define UUID_DIGITS (2 * UUID_LEN)
#define HASH_DIGITS 64

/* A step. */
typedef struct Publisher
{
	const RedisLibrary *library;
	RedisConnection *connection;
	ChangeCursor cursor;
	char	   *key;			/* the prefix of all keys, and room behind it */
	int			prefix;			/* its length */
	int			kinds;
	int			ttl;
	const char *channel;
	uint64		last_command;	/* after which the step ends */
	int			rows;			/* that were read */
	int64		changes;
} Publisher;

/* A resource that has changes. */
typedef struct ChangedType
{
	int32		id;
	char	   *project;
	char	   *resource;
} ChangedType;

/* A row of the journal. */
typedef struct Change
{
	int64		document_id;
	int64		etag;
} Change;

static const Oid chunk_types[] = {INT4OID, INT8OID, INT8OID, INT8OID, INT8OID};

#define AFTER_SQL " WHERE ResourceTypeId OPERATOR(pg_catalog.=) $1" \
	" AND ROW (ChangeVersion, DocumentId, Etag) OPERATOR(pg_catalog.>) ROW ($2, $3, $4)" \
	" ORDER BY ChangeVersion, DocumentId, Etag LIMIT $5"

static Statement read_tracked =
{
	.sql = "SELECT ChangeVersion, DocumentId, Etag, DocumentUuid, OldReferentialId, OldAliasId,"
	" Kind OPERATOR(pg_catalog.=) 'D'::pg_catalog.\"char\" FROM " TRACKED_CHANGES_SQL("t") AFTER_SQL,
	.nargs = lengthof(chunk_types),
	.argtypes = chunk_types,
	.ordered = true,
};

static Statement read_place =
{
	.sql = "SELECT Cursor FROM dms.ChangeConsumer WHERE Name::pg_catalog.text OPERATOR(pg_catalog.=) 'redis'"
};

static Statement read_hash =
{
	.sql = "SELECT EffectiveSchemaHash::pg_catalog.text FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1"
};

static const Oid place_types[] = {TEXTOID, INT8OID, TIMESTAMPTZOID};
static Statement store_place =
{
	.sql = "INSERT INTO dms.ChangeConsumer AS c (Name, Cursor, UpdatedAt, Documents)"
	" VALUES ('redis', $1, COALESCE($3, '-infinity'), $2)"
	" ON CONFLICT (Name) DO UPDATE SET Cursor = EXCLUDED.Cursor,"
	" Documents = c.Documents OPERATOR(pg_catalog.+) EXCLUDED.Documents,"
	" UpdatedAt = COALESCE($3, c.UpdatedAt)",
	.nargs = lengthof(place_types),
	.argtypes = place_types,
};

/* --- keys and values ------------------------------------------------------ */

/* Write the digits of a uuid; returns the end. */
static char *
PutUuid(char *at, const pg_uuid_t *uuid)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < UUID_LEN; i++)
	{
		*at++ = digits[uuid->data[i] >> 4];
		*at++ = digits[uuid->data[i] & 15];
	}
	return at;
}

/* Write the name of a kind after the prefix of keys; returns the end. */
static char *
PutKind(Publisher *publisher, const char *name)
{
	return stpcpy(publisher->key + publisher->prefix, name);
}

/* Write the key of a kind that has uuids; returns its length. */
static Size
UuidKey(Publisher *publisher, const char *name, const pg_uuid_t *uuid)
{
	return PutUuid(PutKind(publisher, name), uuid) - publisher->key;
}

/* Write the key of a URI; returns its length. */
static Size
UriKey(Publisher *publisher, int64 document_id)
{
	char	   *at = PutKind(publisher, "uri:");

	return at + pg_lltoa(document_id, at) - publisher->key;
}

/* Give a value. */
static void
Set(Publisher *publisher, Size key_length, const char *value, Size length, int ttl)
{
	publisher->library->set(publisher->connection, publisher->key, key_length, value, length, ttl);
}

/* Give an id as a value. */
static void
SetId(Publisher *publisher, Size key_length, int64 document_id)
{
	char		value[24];

	Set(publisher, key_length, value, pg_lltoa(document_id, value), publisher->ttl);
}

/* Tell subscribers that what they know of a key is outdated. */
static void
Tell(Publisher *publisher, Size key_length)
{
	if (*publisher->channel != '\0')
		publisher->library->publish(publisher->connection, publisher->channel, publisher->key, key_length);
}

/* Let Redis forget a value. */
static void
Forget(Publisher *publisher, Size key_length, int ttl)
{
	if (FAULT_SKIP("redis_tombstone"))
		return;
	Set(publisher, key_length, "", 0, ttl);
	Tell(publisher, key_length);
}

/* Give a text as a value, in UTF-8; one that is too long is forgotten. */
static void
SetText(Publisher *publisher, Size key_length, const char *value, Size length, int ttl)
{
	char	   *utf8 = pg_server_to_any(value, (int) length, PG_UTF8);

	if (utf8 != value)
		length = strlen(utf8);
	if (length > LARGEST_VALUE)
		Forget(publisher, key_length, ttl);
	else
		Set(publisher, key_length, utf8, length, ttl);
}

/*
 * Make the prefix of all keys.  The parts come from tables of the owner, so the hash is
 * looked at: nothing but digits gets into a key.
 */
static void
MakePrefix(Publisher *publisher)
{
	char	   *hash = NULL;

	if (StatementRun(&read_hash, NULL, NULL, true, 1) == 1)
		hash = ResultText(0, 1);
	if (hash == NULL || strspn(hash, "0123456789abcdef") != HASH_DIGITS || hash[HASH_DIGITS] != '\0')
		ResultRefuse("a schema hash that is not one");
	publisher->key = palloc(UUID_DIGITS + HASH_DIGITS + 16 + KEY_SIZE);
	publisher->prefix = sprintf(publisher->key, "dms:%s:%s:", UuidText(StoreRowInstance()), hash);
}

/* --- what Redis must forget ----------------------------------------------- */

/* A row of dms.TrackedChange. */
typedef struct Outdated
{
	int64		version;
	Change		change;
	pg_uuid_t	uuid;
	bool		has_primary;
	bool		has_alias;
	pg_uuid_t	primary;
	pg_uuid_t	alias;
	bool		deleted;
} Outdated;

static const Oid outdated_types[] = {INT8OID, INT8OID, INT8OID, UUIDOID, UUIDOID, UUIDOID, BOOLOID};

/* Take a row from the last result, whose types were checked. */
static void
TakeOutdated(uint64 row, Outdated *outdated)
{
	bool		isnull;
	Datum		value;

	outdated->version = ResultInt64(row, 1);
	outdated->change.document_id = ResultInt64(row, 2);
	outdated->change.etag = ResultInt64(row, 3);
	outdated->uuid = ResultUuid(row, 4);
	value = ResultDatum(row, 5, &isnull);
	outdated->has_primary = !isnull;
	if (!isnull)
		outdated->primary = *DatumGetUUIDP(value);
	value = ResultDatum(row, 6, &isnull);
	outdated->has_alias = !isnull;
	if (!isnull)
		outdated->alias = *DatumGetUUIDP(value);
	outdated->deleted = ResultBool(row, 7);
}

/* Let Redis forget what a delete or a change of a key has outdated. */
static void
ForgetAll(Publisher *publisher, const Outdated *outdated)
{
	int			kinds = publisher->kinds;

	if ((kinds & REDIS_REFID) && outdated->has_primary)
		Forget(publisher, UuidKey(publisher, "refid:", &outdated->primary), publisher->ttl);
	if ((kinds & REDIS_REFID) && outdated->has_alias)
		Forget(publisher, UuidKey(publisher, "refid:", &outdated->alias), publisher->ttl);
	if ((kinds & REDIS_UUID) && outdated->deleted)
		Forget(publisher, UuidKey(publisher, "uuid:", &outdated->uuid), publisher->ttl);
	if ((kinds & REDIS_URI) && outdated->deleted)
		Forget(publisher, UriKey(publisher, outdated->change.document_id), publisher->ttl * REDIS_URI_TTL_FACTOR);
	if ((kinds & REDIS_DOC) && outdated->deleted)
		Forget(publisher, UuidKey(publisher, "doc:", &outdated->uuid), publisher->ttl);
	publisher->changes++;
}

/* --- what Redis may know -------------------------------------------------- */

/* Order changes by document and etag. */
static int
CompareChanges(const void *a, const void *b)
{
	const Change *left = a;
	const Change *right = b;

	if (left->document_id != right->document_id)
		return left->document_id < right->document_id ? -1 : 1;
	return left->etag < right->etag ? -1 : left->etag > right->etag;
}

/*
 * Find the documents that still have the etags of changes; returns their number.  A table
 * without its key may have a document more than once.
 */
static int
FindCurrent(Change *changes, int n, DocumentHeader *current)
{
	int64	   *ids = palloc(sizeof(int64) * Max(n, 1));
	int			nids = 0;
	int			found = 0;
	StoredRows	rows;

	qsort(changes, n, sizeof(Change), CompareChanges);
	for (int i = 0; i < n; i++)
		if (nids == 0 || ids[nids - 1] != changes[i].document_id)
			ids[nids++] = changes[i].document_id;
	DocumentHeadersRead(ids, nids, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		DocumentHeader header;
		Change		change;

		DocumentHeaderFromRow(StoredRowValues(&rows, i), &header);
		change.document_id = header.document_id;
		change.etag = header.etag;
		if ((found == 0 || current[found - 1].document_id < header.document_id) &&
			bsearch(&change, changes, n, sizeof(Change), CompareChanges) != NULL)
			current[found++] = header;
	}
	return found;
}

/* Give the ids of identities. */
static void
SetIdentities(Publisher *publisher, const int64 *ids, int n)
{
	StoredRows	rows;

	ReferentialIdsOfDocuments(ids, n, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		SetId(publisher, UuidKey(publisher, "refid:", DatumGetUUIDP(values[REFERENTIAL_ID_ID])),
			  DatumGetInt64(values[REFERENTIAL_ID_DOCUMENT]));
	}
}

/* Give the URIs of descriptors. */
static void
SetUris(Publisher *publisher, const int64 *ids, int n)
{
	StoredRows	rows;

	DescriptorUrisRead(ids, n, true, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		text	   *uri = DatumGetTextPP(StoredRowValues(&rows, i)[1]);
		Size		key_length = UriKey(publisher, DatumGetInt64(StoredRowValues(&rows, i)[0]));

		SetText(publisher, key_length, VARDATA_ANY(uri), VARSIZE_ANY_EXHDR(uri), publisher->ttl * REDIS_URI_TTL_FACTOR);
	}
}

/* Give the text of a document, with its etag; one that is missing or too long is forgotten. */
static void
SetDocument(Publisher *publisher, const DocumentHeader *header, text *body)
{
	Size		key_length = UuidKey(publisher, "doc:", &header->uuid);
	StringInfoData value;

	if (body == NULL || VARSIZE_ANY_EXHDR(body) > LARGEST_VALUE)
	{
		Forget(publisher, key_length, publisher->ttl);
		return;
	}
	initStringInfo(&value);
	appendStringInfo(&value, "{\"etag\": " INT64_FORMAT ", \"document\": ", header->etag);
	appendBinaryStringInfo(&value, VARDATA_ANY(body), VARSIZE_ANY_EXHDR(body));
	appendStringInfoChar(&value, '}');
	SetText(publisher, key_length, value.data, value.len, publisher->ttl);
	Tell(publisher, key_length);
	pfree(value.data);
}

/* Documents whose texts are made from their tables. */
typedef struct Texts
{
	Publisher  *publisher;
	Resource   *resource;
	const DocumentHeader *headers;
	const int64 *ids;
	int			n;
	text	  **bodies;
} Texts;

/* Make texts, for AttemptCatch().  One that is too long is not kept. */
static bool
MakeTexts(void *arg)
{
	Texts	   *texts = arg;
	StoredPage *page = StoredPageRead(texts->resource, texts->ids, texts->n);

	for (int i = 0, place = 0; place < page->tables[0].nrows && i < texts->n; i++)
	{
		DocumentHeader header;
		StringInfoData out;

		StoredPageHeader(page, place, &header);
		if (header.document_id != texts->ids[i])
			continue;
		initStringInfo(&out);
		texts->bodies[i] = ReconstituteValue(page, place++, &out);
		if (VARSIZE_ANY_EXHDR(texts->bodies[i]) > LARGEST_VALUE)
		{
			pfree(out.data);
			texts->bodies[i] = NULL;
		}
	}
	return true;
}

/* Give the texts of documents.  Those that cannot be made are forgotten. */
static void
SetDocuments(Publisher *publisher, const ChangedType *type, const DocumentHeader *headers, const int64 *ids, int n)
{
	Texts		texts = {.publisher = publisher,.headers = headers,.ids = ids,.n = n};
	bool		stays;

	texts.bodies = palloc0(sizeof(text *) * Max(n, 1));
	texts.resource = ModelCacheTry(type->project, type->resource);
	if (texts.resource != NULL && n > 0)
	{
		ErrorData  *error = AttemptCatch(MakeTexts, &texts, &stays);

		if (error != NULL && ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
			ReThrowError(error);
		if (error != NULL)
			memset(texts.bodies, 0, sizeof(text *) * n);
	}
	for (int i = 0; i < n; i++)
		SetDocument(publisher, &headers[i], texts.bodies[i]);
}

/* Give all that Redis may know of documents that still have the etags of changes. */
static void
SetAll(Publisher *publisher, const ChangedType *type, Change *changes, int nchanges)
{
	DocumentHeader *current = palloc(sizeof(DocumentHeader) * Max(nchanges, 1));
	int			n = FindCurrent(changes, nchanges, current);
	int64	   *ids = palloc(sizeof(int64) * Max(n, 1));

	for (int i = 0; i < n; i++)
		ids[i] = current[i].document_id;
	if (publisher->kinds & REDIS_REFID)
		SetIdentities(publisher, ids, n);
	for (int i = 0; i < n && (publisher->kinds & REDIS_UUID); i++)
		SetId(publisher, UuidKey(publisher, "uuid:", &current[i].uuid), ids[i]);
	if (publisher->kinds & REDIS_URI)
		SetUris(publisher, ids, n);
	if (publisher->kinds & REDIS_DOC)
		SetDocuments(publisher, type, current, ids, n);
	publisher->changes += n;
}

/* --- a pass --------------------------------------------------------------- */

/* Move the place past a change. */
static void
MovePast(ChangePlace *place, int64 version, const Change *change)
{
	place->version = version;
	place->document_id = change->document_id;
	place->etag = change->etag;
}

/* Read the next deletes and changed keys of a type after the place.  Returns how many there are. */
static int
ReadTracked(Publisher *publisher, int32 type_id, int chunk)
{
	const ChangePlace *place = &publisher->cursor.place;
	Datum		values[] = {Int32GetDatum(type_id), Int64GetDatum(place->version), Int64GetDatum(place->document_id),
	Int64GetDatum(place->etag), Int64GetDatum(chunk)};
	int			n = (int) StatementRun(&read_tracked, values, NULL, true, 0);

	publisher->rows += n;
	return n;
}

/* Give one chunk of deletes and changed keys.  Returns false if it was the last one of a type. */
static bool
PublishTracked(Publisher *publisher, const ChangedType *type)
{
	int			n = ReadTracked(publisher, type->id, CHANGES_AT_ONCE);

	ResultExpect(outdated_types);
	for (int i = 0; i < n; i++)
	{
		Outdated	outdated;

		TakeOutdated(i, &outdated);
		if (ChangeCursorHas(&publisher->cursor, outdated.version))
			ForgetAll(publisher, &outdated);
		MovePast(&publisher->cursor.place, outdated.version, &outdated.change);
	}
	return n == CHANGES_AT_ONCE;
}

/* Give one chunk of documents.  Returns false if it was the last one of a type. */
static bool
PublishDocuments(Publisher *publisher, const ChangedType *type)
{
	int			chunk = publisher->kinds & REDIS_DOC ? CHANGES_WITH_DOCUMENTS : CHANGES_AT_ONCE;
	const ChangePlace *place = &publisher->cursor.place;
	NotedChange after = {place->version, place->document_id, place->etag};
	int			n;
	NotedChange *noted = ChangesRead(type->id, &after, PG_INT64_MAX, chunk, &n);
	Change	   *changes = palloc(sizeof(Change) * Max(n, 1));
	int			nchanges = 0;

	publisher->rows += n;
	for (int i = 0; i < n; i++)
	{
		Change		change = {noted[i].document_id, noted[i].etag};

		if (ChangeCursorHas(&publisher->cursor, noted[i].version))
			changes[nchanges++] = change;
		MovePast(&publisher->cursor.place, noted[i].version, &change);
	}
	if (nchanges > 0)
		SetAll(publisher, type, changes, nchanges);
	return n == chunk;
}

/* Returns true if the step has given enough. */
static bool
IsFull(const Publisher *publisher)
{
	return publisher->connection->asked >= publisher->last_command || publisher->connection->unsent >= BYTES_AT_ONCE ||
		publisher->rows >= ROWS_AT_ONCE;
}

/* Give the changes of a type after the place; returns false if the step ends before the last one. */
static bool
PublishType(Publisher *publisher, const ChangedType *type)
{
	bool		more = true;

	while (more)
	{
		if (IsFull(publisher))
			return false;
		CHECK_FOR_INTERRUPTS();
		SessionBeginPart();
		more = publisher->cursor.place.phase == PHASE_KEYS ? PublishTracked(publisher, type) :
			PublishDocuments(publisher, type);
		SessionEndPart();
	}
	return true;
}

/* Returns the types that have changes of the pass, and the one of the place. */
static ChangedType *
TypesOf(const ChangeCursor *cursor, int *n)
{
	const ChangePlace *place = &cursor->place;
	uint64		rows = ResourceTypesChanged(place->phase == PHASE_DOCUMENTS, ChangeCursorLowest(cursor),
											place->started ? place->type_id : 0);
	ChangedType *types = palloc(sizeof(ChangedType) * Max(rows, 1));

	for (uint64 i = 0; i < rows; i++)
	{
		types[i].id = ResultInt32(i, 1);
		types[i].project = ResultName(i, 2);
		types[i].resource = ResultName(i, 3);
	}
	*n = (int) rows;
	return types;
}

/* Begin with a type, before its first change. */
static void
BeginType(ChangeCursor *cursor, const ChangedType *type)
{
	ChangePlace *place = &cursor->place;

	place->type_id = type->id;
	place->version = ChangeCursorLowest(cursor);
	place->document_id = PG_INT64_MAX;
	place->etag = PG_INT64_MAX;
	place->started = true;
}

/* Give the changes of a phase, from the place on; returns false if the step ends before the last one. */
static bool
PublishPhase(Publisher *publisher)
{
	ChangePlace *place = &publisher->cursor.place;
	bool		resumed = place->started;
	int			first = 0;
	int			n;
	ChangedType *types = TypesOf(&publisher->cursor, &n);

	for (int i = 0; resumed && i < n; i++)
		if (types[i].id == place->type_id)
			first = i;
	for (int i = first; i < n; i++)
	{
		if (!resumed)
			BeginType(&publisher->cursor, &types[i]);
		resumed = false;
		if (!PublishType(publisher, &types[i]))
			return false;
	}
	return true;
}

/*
 * Go on with a pass, or begin one.  Returns false if there is nothing new.  A pass begins
 * anew if models have changed, because it would miss what has moved.
 */
static bool
BeginPass(ChangeCursor *cursor)
{
	if (cursor->in_pass && cursor->generation == StoreRowRaised())
		return true;
	ChangeCursorTake(&cursor->target);
	if (ChangeCursorCovers(&cursor->consumed, &cursor->target))
		return false;
	cursor->generation = StoreRowRaised();
	cursor->in_pass = true;
	memset(&cursor->place, 0, sizeof(ChangePlace));
	cursor->place.phase = PHASE_KEYS;
	return true;
}

/* Give the next changes of the pass; returns false if the step ends before the last one. */
static bool
PublishPass(Publisher *publisher)
{
	ChangeCursor *cursor = &publisher->cursor;

	MakePrefix(publisher);
	for (; cursor->place.phase <= PHASE_DOCUMENTS; cursor->place.phase++)
	{
		if (!PublishPhase(publisher))
			return false;
		cursor->place.started = false;
	}
	cursor->consumed = cursor->target;
	cursor->in_pass = false;
	return true;
}

/* --- steps ---------------------------------------------------------------- */

/* Reading a cursor, for AttemptCatch(). */
typedef struct CursorText
{
	const char *place;
	ChangeCursor *cursor;
} CursorText;

/* Read a cursor. */
static bool
ReadCursor(void *arg)
{
	CursorText *given = arg;

	ChangeCursorRead(given->place, given->cursor);
	return true;
}

/*
 * Find the place: the given one, or the stored one.  If that is of no use, because the
 * database was copied for example, begin now.  Returns false in that case.
 */
static bool
FindPlace(const PublisherPlace *ahead, ChangeCursor *cursor)
{
	CursorText	given = {.place = ahead != NULL ? ahead->cursor : NULL,.cursor = cursor};
	ErrorData  *error = NULL;
	bool		stays;

	if (given.place == NULL && StatementRun(&read_place, NULL, NULL, true, 0) > 0)
		given.place = ResultText(0, 1);
	if (given.place != NULL)
		error = AttemptCatch(ReadCursor, &given, &stays);
	if (given.place != NULL && error == NULL && !cursor->start)
		return true;
	if (error != NULL && ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	memset(cursor, 0, sizeof(ChangeCursor));
	ChangeCursorTake(&cursor->consumed);
	return false;
}

/* Returns the text of the cursor. */
static char *
CursorToText(const ChangeCursor *cursor)
{
	char	   *prefix = ChangeCursorPrefix(cursor);

	return cursor->in_pass ? ChangeCursorText(prefix, &cursor->place) : prefix;
}

/* Read some changes, and give them to the connection. */
static void
Read(Publisher *publisher, const PublisherPlace *ahead, MemoryContext context, PublisherResult *result)
{
	ChangeCursor *cursor = &publisher->cursor;
	TimestampTz began = GetCurrentTimestamp();

	result->lost = !FindPlace(ahead, cursor);
	result->moved = result->lost;
	if (!result->lost && BeginPass(cursor))
	{
		result->more = !PublishPass(publisher);
		result->moved = true;
		result->place.began = result->more ? 0 : began;
	}
	if (result->moved)
		result->place.cursor = MemoryContextStrdup(context, CursorToText(cursor));
	result->place.changes = publisher->changes;
}

/*
 * Give some changes to a connection, behind a place that was read before, or behind the
 * stored one if that is NULL.  The place behind them is in the result.
 */
void
PublisherRead(const RedisLibrary *library, RedisConnection *connection, const PublisherPlace *ahead,
			  PublisherResult *result)
{
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	Publisher	publisher = {.library = library,.connection = connection};

	memset(result, 0, sizeof(PublisherResult));
	publisher.kinds = RedisSettingsKinds();
	publisher.ttl = RedisSettingsTtl();
	publisher.channel = RedisSettingsChannel();
	publisher.last_command = connection->asked + COMMANDS_AT_ONCE;
	WriteBegin(&session, "publishing to Redis");
	result->tracked = ChangesAreTracked();
	if (result->tracked)
	{
		SnapshotBeginLatest();
		Read(&publisher, ahead, context, result);
		SnapshotEnd();
	}
	SessionEnd(&session);
}

/* Store a place up to which Redis has confirmed everything. */
void
PublisherStore(const PublisherPlace *place)
{
	Datum		values[] = {CStringGetTextDatum(place->cursor), Int64GetDatum(place->changes),
	TimestampTzGetDatum(place->began)};
	char		nulls[] = {' ', ' ', place->began == 0 ? 'n' : ' '};
	Session		session;

	WriteBegin(&session, "publishing to Redis");
	(void) StatementRun(&store_place, values, nulls, false, 0);
	SessionEnd(&session);
}
