/*
 * records.c
 *		dms.get_record(), dms.query_records(): documents and relations as records with
 *		two keys, as a store of one table would have them.
 *
 * Nothing is stored for them.  A key is taken apart, what it names is read by the
 * index behind it, and the record is written as JSON:
 *
 *		PK					SK
 *		Resource#{urn}		Resource#{urn}
 *		Parent#{urn}		Child#{urn}
 *		Collection#{urn}	Member#{urn}
 *		UniqueKeyValue#{type}#{key}#{value}		UniqueKeyValue#{type}#{key}
 *
 * The index InvertedIndex exchanges both keys, and ResourcesByAccountIndex has the
 * URN of an account and those of its documents.  Unique values are read with the rights
 * of the owner, a part of them at a time, and their documents with those of the caller.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/grow.h"
#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/document.h"
#include "engine/session.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "graph/accounts.h"
#include "graph/members.h"
#include "graph/nodes.h"
#include "graph/parents.h"
#include "graph/recordkeys.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
#include "verbs/read.h"
#include "verbs/records.h"
#include "verbs/related.h"
#include "verbs/uniquevalues.h"

PG_FUNCTION_INFO_V1(dms_get_record);
PG_FUNCTION_INFO_V1(dms_query_records);

#define INVERTED_INDEX "InvertedIndex"
#define ACCOUNT_INDEX "ResourcesByAccountIndex"

/* The kind of keys and records of unique values. */
#define UNIQUE_VALUE "UniqueKeyValue"

/* A relation as a record: the kinds of its keys, and the names of its members. */
typedef struct RelationKind
{
	const char *near_key;
	const char *far_key;
	const char *type;
	const char *near_urn;
	const char *far_urn;
	bool		near_account;	/* the account is that of the near end, if any */
} RelationKind;

static const RelationKind parent_child = {
	"Parent", "Child", "ParentChildRelationship", "parentUrn", "childUrn", false
};
static const RelationKind collection_member = {
	"Collection", "Member", "CollectionMemberRelationship", "collectionUrn", "memberUrn", true
};

/* Add a member of a record; the value is a string. */
static void
AddText(StringInfo out, const char *name, const char *value)
{
	appendStringInfoString(out, out->len == 0 ? "{" : ", ");
	escape_json(out, name);
	appendStringInfoString(out, ": ");
	escape_json(out, value);
}

/* Add a member of a record that is a time: ISO 8601, UTC, with milliseconds. */
static void
AddTime(StringInfo out, const char *name, TimestampTz time)
{
	if (TIMESTAMP_NOT_FINITE(time))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	AddText(out, name, DateTimeMillisText(time));
}

/* Add the two keys of a record. */
static void
AddKeys(StringInfo out, const char *pk, const char *sk)
{
	AddText(out, "PK", pk);
	AddText(out, "SK", sk);
}

/* The account of the last record: those of a page mostly have the same one. */
typedef struct LastAccount
{
	MemoryContext context;		/* outlives the records */
	int64		document_id;	/* 0: none yet */
	char	   *urn;
} LastAccount;

/* Returns the URN of a document's account; NULL if it has none. */
static char *
AccountUrn(int64 document_id, LastAccount *last)
{
	int64		account;
	int			n;
	NodeName   *name;

	if (StoreTableIsEmpty(STORE_DOCUMENT_ACCOUNT))
		return NULL;
	account = AccountsRead(document_id);
	if (account == 0)
		return NULL;
	if (account != last->document_id)
	{
		name = NodesName(&account, 1, &n);
		last->document_id = account;
		last->urn = n == 0 ? NULL : MemoryContextStrdup(last->context, NodeUrn(name->type, &name->uuid));
	}
	return last->urn;
}

/* Add the account of one document or, if it has none, of another one; 0 is none. */
static void
AddAccount(StringInfo out, int64 document_id, int64 other_id, LastAccount *last)
{
	char	   *urn = AccountUrn(document_id, last);

	if (urn == NULL && other_id != 0)
		urn = AccountUrn(other_id, last);
	if (urn != NULL)
		AddText(out, "_accountUrn", urn);
}

/* Add the properties of a document, without those that the record has under its own names. */
static void
AddProperties(StringInfo out, text *body)
{
	static const char *const own[] = {
		"id", "_etag", "_lastModifiedDate", "PK", "SK", "urn", "_recordType", "_resourceType", "_id", "_schemaVersion",
		"_createdAt", "_updatedAt", "_accountUrn"
	};
	Datum		properties = DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(body)));
	char	   *json;

	for (int i = 0; i < (int) lengthof(own); i++)
		properties = DirectFunctionCall2(jsonb_delete, properties, CStringGetTextDatum(own[i]));
	json = JsonbToCString(NULL, &DatumGetJsonbP(properties)->root, VARSIZE(DatumGetPointer(properties)));
	if (strcmp(json, "{}") != 0)
		appendStringInfo(out, ", %.*s", (int) strlen(json) - 2, json + 1);
}

/* Write the record of a document; returns NULL if the caller must not see the document. */
static char *
ResourceRecord(const pg_uuid_t *uuid, LastAccount *last)
{
	ReadResult	result;
	GraphNode	node;
	NodeName   *name;
	int			n;
	char	   *urn;
	char	   *key;
	StringInfoData out;
	TimestampTz updated;
	int64		version;

	if (!NodeFind(uuid, &node) || !ReadDocument(uuid, CurrentMemoryContext, &result))
		return NULL;
	name = NodesName(&node.document_id, 1, &n);
	if (n == 0)
		return NULL;
	urn = NodeUrn(name->type, uuid);
	key = psprintf("Resource#%s", urn);
	initStringInfo(&out);
	AddKeys(&out, key, key);
	AddText(&out, "_recordType", "Resource");
	AddText(&out, "_resourceType", name->type);
	AddText(&out, "_id", UuidText(uuid));
	AddText(&out, "urn", urn);
	if (!DocumentReadVersion(node.document_id, &updated, &version))
		return NULL;
	appendStringInfo(&out, ", \"_schemaVersion\": " INT64_FORMAT, version);
	AddTime(&out, "_createdAt", name->created);
	AddTime(&out, "_updatedAt", updated);
	AddAccount(&out, node.document_id, 0, last);
	AddProperties(&out, result.body);
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* An end of a relation. */
typedef struct RecordEnd
{
	int64		document_id;
	char	   *urn;
} RecordEnd;

/* Find an end of a relation by its uuid; returns false if it is not visible. */
static bool
FindEnd(const char *type, const pg_uuid_t *uuid, RecordEnd *end)
{
	GraphNode	node;

	if (!NodeFind(uuid, &node))
		return false;
	end->document_id = node.document_id;
	end->urn = NodeUrn(type, uuid);
	return true;
}

/* Write the record of a relation. */
static char *
RelationRecord(const RelationKind *kind, const RecordEnd *near_end, const RecordEnd *far_end, TimestampTz created,
			   LastAccount *last)
{
	StringInfoData out;

	initStringInfo(&out);
	AddKeys(&out, psprintf("%s#%s", kind->near_key, near_end->urn), psprintf("%s#%s", kind->far_key, far_end->urn));
	AddText(&out, "_recordType", kind->type);
	AddText(&out, kind->near_urn, near_end->urn);
	AddText(&out, kind->far_urn, far_end->urn);
	AddTime(&out, "_createdAt", created);
	if (kind->near_account)
		AddAccount(&out, near_end->document_id, far_end->document_id, last);
	else
		AddAccount(&out, far_end->document_id, 0, last);
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* Find the document that the rest of a key names, in the active snapshot. */
static bool
FindNamed(const char *urn, RecordEnd *end)
{
	pg_uuid_t	uuid;
	GraphNode	node;

	if (!NodeOfUrn(urn, &uuid) || !NodeFind(&uuid, &node))
		return false;
	end->document_id = node.document_id;
	end->urn = NodeUrn(NodeType(&node), &uuid);
	return true;
}

/*
 * Begin the next of many records: a part of the session, whose memory is freed at its end.
 * A page may be as long as the caller wants, and any number of documents may be hidden.
 */
static void
BeginRecord(void)
{
	CHECK_FOR_INTERRUPTS();
	SessionBeginPart();
}

/* The records of far ends that are given. */
typedef struct FarRecords
{
	const RelationKind *kind;	/* of the relations; NULL: the documents
								 * themselves */
	const RecordEnd *near_end;
	LastAccount last;
	RecordSink	sink;
	void	   *state;
} FarRecords;

/* Write the record of a far end; returns NULL if the caller must not see it. */
static char *
FarRecord(FarRecords *records, const char *type, const pg_uuid_t *uuid, TimestampTz created)
{
	RecordEnd	far_end;

	if (records->kind == NULL)
		return ResourceRecord(uuid, &records->last);
	if (!FindEnd(type, uuid, &far_end))
		return NULL;
	return RelationRecord(records->kind, records->near_end, &far_end, created, &records->last);
}

/* Callback: give the record of a far end. */
static bool
GiveFarEnd(void *state, const char *type, const pg_uuid_t *uuid, TimestampTz created)
{
	FarRecords *records = state;
	char	   *record;

	BeginRecord();
	record = FarRecord(records, type, uuid, created);
	if (record != NULL)
		records->sink(records->state, record);
	SessionEndPart();
	return record != NULL;
}

/*
 * Give the records of the far ends that a query asks for by their keys, which are of a
 * kind.
 */
static void
GiveFarEnds(const FarEndTable *table, const char *kind, const RecordQuery *query, FarRecords *records)
{
	FarEndQuery range;

	FarEndQueryInit(&range, records->near_end->document_id, query->limit);
	if (query->after != NULL)
		RecordKeyAfter(query->after, kind, &range);
	if (!RecordKeyRange(query->sk_prefix, kind, &range))
		return;
	records->last.context = CurrentMemoryContext;
	FarEndsRead(table, &range, GiveFarEnd, records);
}

/* Give the records of the relations that a document has as the near end. */
static void
QueryRelations(const RelationKind *kind, const FarEndTable *table, const char *urn, const RecordQuery *query,
			   RecordSink sink, void *state)
{
	RecordEnd	near_end;
	FarRecords	records = {.kind = kind,.near_end = &near_end,.sink = sink,.state = state};

	if (FindNamed(urn, &near_end))
		GiveFarEnds(table, kind->far_key, query, &records);
}

/* Returns true if a key is asked for: it has the prefix, and follows the one to continue after. */
static bool
IsAskedFor(const RecordQuery *query, const char *key)
{
	return strncmp(key, query->sk_prefix, strlen(query->sk_prefix)) == 0 &&
		(query->after == NULL || strcmp(key, query->after) > 0);
}

/* Give the record of the relation of a child to its parent. */
static void
QueryParent(const char *urn, const RecordQuery *query, RecordSink sink, void *state)
{
	RecordEnd	child;
	RecordEnd	parent;
	TimestampTz since;
	NodeName   *name;
	LastAccount last = {.context = CurrentMemoryContext};
	int			n;

	if (!FindNamed(urn, &child))
		return;
	parent.document_id = ParentsReadSince(child.document_id, &since);
	if (parent.document_id == 0)
		return;
	name = NodesName(&parent.document_id, 1, &n);
	if (n == 0)
		return;
	parent.urn = NodeUrn(name->type, &name->uuid);
	if (query->limit > 0 && IsAskedFor(query, psprintf("%s#%s", parent_child.near_key, parent.urn)))
		sink(state, RelationRecord(&parent_child, &parent, &child, since, &last));
}

/* Give the records of the collections that a document is in, by their URNs. */
static void
QueryCollections(const char *urn, const RecordQuery *query, RecordSink sink, void *state)
{
	RecordEnd	member;
	RelatedList list = {0};
	pg_uuid_t	uuid;
	LastAccount last = {.context = CurrentMemoryContext};
	int64		left = query->limit;

	if (!FindNamed(urn, &member) || !NodeOfUrn(urn, &uuid))
		return;
	RelatedCollections(&uuid, &list);
	for (int i = 0; i < list.n && left > 0; i++)
	{
		RecordEnd	collection;
		TimestampTz added;
		bool		conveys;

		BeginRecord();
		if (FindEnd(list.documents[i].type, &list.documents[i].uuid, &collection) &&
			IsAskedFor(query, psprintf("%s#%s", collection_member.near_key, collection.urn)))
		{
			added = MembersAddedAt(collection.document_id, member.document_id, &conveys);
			sink(state, RelationRecord(&collection_member, &collection, &member, added, &last));
			left--;
		}
		SessionEndPart();
	}
}

/* Give the record of a document. */
static void
QueryResource(const char *urn, const RecordQuery *query, RecordSink sink, void *state)
{
	pg_uuid_t	uuid;
	LastAccount last = {.context = CurrentMemoryContext};
	char	   *record;

	if (query->limit < 1 || !NodeOfUrn(urn, &uuid))
		return;
	record = ResourceRecord(&uuid, &last);
	if (record != NULL && IsAskedFor(query, psprintf("Resource#%s", urn)))
		sink(state, record);
}

/* Give the records of the documents of an account, by their URNs. */
static void
QueryAccount(const char *urn, const RecordQuery *query, RecordSink sink, void *state)
{
	RecordEnd	account;
	FarRecords	records = {.near_end = &account,.sink = sink,.state = state};

	if (FindNamed(urn, &account))
		GiveFarEnds(AccountsDocuments(), "", query, &records);
}

/* Take the type, key and value from the rest of a key; returns false if parts are missing. */
static bool
SplitValue(const char *rest, UniqueKey *key)
{
	const char *name = strchr(rest, '#');
	const char *value = name != NULL ? strchr(name + 1, '#') : NULL;

	if (value == NULL)
		return false;
	key->type = pnstrdup(rest, name - rest);
	key->key = pnstrdup(name + 1, value - name - 1);
	key->value = value + 1;
	return true;
}

/* Returns the URN of the document that has a value, or of none; false if the caller must not see it. */
static bool
FindHolder(const UniqueKeyRow *row, char **holder)
{
	*holder = row->document_id == 0 ? NULL : UniqueValueHolder(row->document_id, CurrentMemoryContext);
	return *holder != NULL || row->document_id == 0;
}

/* Write the record of a unique value, whose row was read with the rights of the owner. */
static char *
ValueRecord(const UniqueKey *key, const UniqueKeyRow *row, const char *holder)
{
	StringInfoData out;

	initStringInfo(&out);
	AddKeys(&out, psprintf(UNIQUE_VALUE "#%s#%s#%s", key->type, key->key, key->value),
			psprintf(UNIQUE_VALUE "#%s#%s", key->type, key->key));
	AddText(&out, "_recordType", UNIQUE_VALUE);
	AddText(&out, "_resourceType", key->type);
	AddText(&out, "key", key->key);
	AddText(&out, "value", key->value);
	if (holder != NULL)
		AddText(&out, "associatedRecordUrn", holder);
	AddTime(&out, "_createdAt", row->created);
	AddTime(&out, "_updatedAt", row->updated);
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* Refuse a key that no record can have. */
static void
pg_attribute_noreturn()
RefuseKey(const char *key)
{
	ReportError(PROBLEM_ARGUMENT, "Keys begin with a kind and \"#\", such as \"Resource#urn:...\".",
				"not a key of records: \"%s\"", key);
}

/* Give the records whose partition key is the given one. */
static void
QueryOwn(const RecordQuery *query, RecordSink sink, void *state)
{
	const char *rest;

	if ((rest = RecordKeyRest(query->pk, "Resource")) != NULL)
		QueryResource(rest, query, sink, state);
	else if ((rest = RecordKeyRest(query->pk, parent_child.near_key)) != NULL)
		QueryRelations(&parent_child, ParentsChildren(), rest, query, sink, state);
	else if ((rest = RecordKeyRest(query->pk, collection_member.near_key)) != NULL)
		QueryRelations(&collection_member, MembersOfCollection(), rest, query, sink, state);
	else
		RefuseKey(query->pk);
}

/* Give the records whose sort key is the given one. */
static void
QueryInverted(const RecordQuery *query, RecordSink sink, void *state)
{
	const char *rest;

	if ((rest = RecordKeyRest(query->pk, "Resource")) != NULL)
		QueryResource(rest, query, sink, state);
	else if ((rest = RecordKeyRest(query->pk, parent_child.far_key)) != NULL)
		QueryParent(rest, query, sink, state);
	else if ((rest = RecordKeyRest(query->pk, collection_member.far_key)) != NULL)
		QueryCollections(rest, query, sink, state);
	else
		RefuseKey(query->pk);
}

/*
 * Give the record of a unique value.  The row is read with the rights of the owner; if
 * it has a document, the caller must be allowed to see that.
 */
static void
QueryValue(const char *rest, const RecordQuery *query, RecordSink sink, void *state)
{
	UniqueKey	key;
	UniqueKeyRow row;
	char	   *holder;
	Session		session;

	if (!SplitValue(rest, &key))
		RefuseKey(query->pk);
	if (query->limit < 1 || !IsAskedFor(query, psprintf(UNIQUE_VALUE "#%s#%s", key.type, key.key)) ||
		!UniqueValueRead(&key, &row))
		return;
	ReadBegin(&session);
	if (FindHolder(&row, &holder))
		sink(state, ValueRecord(&key, &row, holder));
	SessionEnd(&session);
}

/* Which values of a key are asked for. */
typedef struct ValueRange
{
	const char *prefix;			/* what they begin with */
	char	   *from;			/* the lowest */
} ValueRange;

/* Returns the next string in byte order. */
static char *
NextString(const char *string)
{
	return psprintf("%s\x01", string);
}

/*
 * Find out which values a query asks for, whose keys begin with a head.  Returns false
 * if there can be none.
 */
static bool
TakeValueRange(const RecordQuery *query, const char *head, ValueRange *range)
{
	size_t		length = strlen(head);

	range->prefix = "";
	if (strncmp(query->sk_prefix, head, Min(strlen(query->sk_prefix), length)) != 0)
		return false;
	if (strlen(query->sk_prefix) > length)
		range->prefix = query->sk_prefix + length;
	range->from = pstrdup(range->prefix);
	if (query->after == NULL)
		return true;
	if (strncmp(query->after, head, length) != 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "not a sort key to continue after: \"%s\"", query->after);
	if (strcmp(query->after + length, range->from) >= 0)
		range->from = NextString(query->after + length);
	return true;
}

/* Values that are read together, because the caller may see some of them only. */
#define VALUES_AT_ONCE 1000

/* Give the record of a value unless the caller must not see it; returns true if it was given. */
static bool
PutValue(const UniqueKey *key, const UniqueKeyRow *row, RecordSink sink, void *state)
{
	char	   *holder;

	if (!FindHolder(row, &holder) || (row->document_id == 0 && !UniqueValuesShowReserved()))
		return false;
	sink(state, ValueRecord(key, row, holder));
	return true;
}

/*
 * Give the records of values of a key that begin with a prefix.  Returns how many were
 * given.  *more is false after the last value.
 */
static int64
PutValues(UniqueKey *key, ValueRange *range, int64 limit, bool *more, RecordSink sink, void *state)
{
	UniqueKeyRow *rows;
	Session		session;
	int64		given = 0;
	int			n;

	key->value = range->from;
	n = UniqueValuesList(key, (int) Min(limit, VALUES_AT_ONCE), &rows);
	*more = n == Min(limit, VALUES_AT_ONCE);
	if (n > 0)
		range->from = NextString(rows[n - 1].value);
	ReadBegin(&session);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		key->value = rows[i].value;
		if (strncmp(key->value, range->prefix, strlen(range->prefix)) != 0)
		{
			*more = false;
			break;
		}
		given += PutValue(key, &rows[i], sink, state);
	}
	SessionEnd(&session);
	return given;
}

/* Give the records of the values of a key, byte by byte. */
static void
QueryValues(const char *rest, const RecordQuery *query, RecordSink sink, void *state)
{
	const char *name = strchr(rest, '#');
	MemoryContext context;
	MemoryContext saved;
	UniqueKey	key;
	ValueRange	range;
	int64		left = query->limit;
	bool		more;

	if (name == NULL || strchr(name + 1, '#') != NULL)
		RefuseKey(query->pk);
	key.type = pnstrdup(rest, name - rest);
	key.key = name + 1;
	more = TakeValueRange(query, psprintf("%s#", query->pk), &range);
	context = AllocSetContextCreate(CurrentMemoryContext, "dms values", ALLOCSET_DEFAULT_SIZES);
	while (more && left > 0)
	{
		char	   *from;

		saved = MemoryContextSwitchTo(context);
		left -= PutValues(&key, &range, left, &more, sink, state);
		MemoryContextSwitchTo(saved);
		from = pstrdup(range.from);
		MemoryContextReset(context);
		range.from = from;
	}
	MemoryContextDelete(context);
}

/*
 * Give the records that a query asks for, in the order of their sort keys.  To be
 * called without a session, because unique values need another one.
 */
void
RecordsQuery(const RecordQuery *query, RecordSink sink, void *state)
{
	const char *rest = RecordKeyRest(query->pk, UNIQUE_VALUE);
	bool		inverted = query->index != NULL && strcmp(query->index, INVERTED_INDEX) == 0;
	Session		session;

	if (rest != NULL && (query->index == NULL || inverted))
	{
		(inverted ? QueryValues : QueryValue) (rest, query, sink, state);
		return;
	}
	ReadBegin(&session);
	if (query->index == NULL)
		QueryOwn(query, sink, state);
	else if (inverted)
		QueryInverted(query, sink, state);
	else if (strcmp(query->index, ACCOUNT_INDEX) == 0)
		QueryAccount(query->pk, query, sink, state);
	else
		ReportError(PROBLEM_ARGUMENT, "Indexes are \"" INVERTED_INDEX "\" and \"" ACCOUNT_INDEX "\".",
					"there is no index \"%s\"", query->index);
	SessionEnd(&session);
}

/* Callback: add a record to the set that a function returns. */
static void
PutRecord(void *state, const char *json)
{
	ReturnSetInfo *rsinfo = state;
	Datum		values[] = {CStringGetTextDatum(json)};
	bool		nulls[] = {false};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return a page of records. */
Datum
dms_query_records(PG_FUNCTION_ARGS)
{
	RecordQuery query;

	if (PG_ARGISNULL(0))
		ReportError(PROBLEM_ARGUMENT, NULL, "pk must not be null");
	if (PG_ARGISNULL(3) || PG_GETARG_INT32(3) < 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "page_limit must not be null or negative");
	query.pk = text_to_cstring(PG_GETARG_TEXT_PP(0));
	query.sk_prefix = PG_ARGISNULL(1) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(1));
	query.index = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	query.limit = PG_GETARG_INT32(3);
	query.after = PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	RecordsQuery(&query, PutRecord, fcinfo->resultinfo);
	PG_RETURN_NULL();
}

/* A record that is looked for, and the context of the result. */
typedef struct RecordFound
{
	MemoryContext context;
	const char *sk;
	text	   *record;			/* NULL: none */
} RecordFound;

/* Callback: keep the record, unless only the beginning of its sort key is the given one. */
static void
KeepRecord(void *state, const char *json)
{
	static const char name[] = ", \"SK\": ";
	RecordFound *found = state;
	StringInfoData member;
	MemoryContext saved;

	/* The first place is that of the key: quotes in a value are escaped. */
	initStringInfo(&member);
	appendStringInfoString(&member, name);
	escape_json(&member, found->sk);
	if (strncmp(strstr(json, name), member.data, member.len) != 0)
		return;
	saved = MemoryContextSwitchTo(found->context);
	found->record = cstring_to_text(json);
	MemoryContextSwitchTo(saved);
}

/* Return the record with two keys; NULL if there is none. */
Datum
dms_get_record(PG_FUNCTION_ARGS)
{
	RecordQuery query = {.limit = 1};
	RecordFound found = {.context = CurrentMemoryContext};

	query.pk = text_to_cstring(PG_GETARG_TEXT_PP(0));
	query.sk_prefix = found.sk = text_to_cstring(PG_GETARG_TEXT_PP(1));
	RecordsQuery(&query, KeepRecord, &found);
	if (found.record == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(found.record);
}
