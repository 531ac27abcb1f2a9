/*
 * requestchanges.c
 *		Requests of those who follow the changes of a store: how far they can read, and
 *		which documents were deleted or have other keys.
 *
 * Documents themselves are read by pages of a range of changes (requestquery.c).
 */
#include "postgres.h"

#include "base/uuid.h"
#include "request/requestchanges.h"
#include "request/requestparameters.h"
#include "utils/builtins.h"
#include "verbs/changequery.h"

/* Answer with the numbers between which all changes are known. */
void
RequestAvailableChangesGet(RouteCall *call)
{
	int64		oldest;
	int64		newest = ChangeQueryNewest(&oldest);
	MemoryContext saved = MemoryContextSwitchTo(call->context);

	ResponseJson(call->response,
				 cstring_to_text(psprintf("{\"oldestChangeVersion\": " INT64_FORMAT ", \"newestChangeVersion\": " INT64_FORMAT "}",
										  oldest, newest)));
	MemoryContextSwitchTo(saved);
}

/* Append a key, which is JSON, as a member of an item. */
static void
AppendKey(StringInfo out, const char *name, const text *key)
{
	appendStringInfo(out, ", \"%s\": %.*s", name, (int) VARSIZE_ANY_EXHDR(key), VARDATA_ANY(key));
}

/* Append the id and the number of an item. */
static void
AppendItem(StringInfo out, const ChangedItem *item)
{
	ResponseListItem(out);
	appendStringInfo(out, "{\"id\": \"%s\", \"changeVersion\": " INT64_FORMAT, UuidText(&item->uuid), item->version);
}

/* Append a deleted document. */
static void
AppendDeleted(void *state, const ChangedItem *item)
{
	StringInfo	out = state;

	AppendItem(out, item);
	AppendKey(out, "keyValues", item->old_key);
	appendStringInfoChar(out, '}');
}

/* Append a document that has another key. */
static void
AppendKeyChange(void *state, const ChangedItem *item)
{
	StringInfo	out = state;

	AppendItem(out, item);
	AppendKey(out, "oldKeyValues", item->old_key);
	AppendKey(out, "newKeyValues", item->new_key);
	appendStringInfoChar(out, '}');
}

/* What a request lists: how it is read, counted and written. */
typedef struct ChangeList
{
	void		(*read) (Resource *resource, const ChangePage *page, ChangedSink sink, void *state);
	int64		(*count) (Resource *resource, const ChangePage *page);
	ChangedSink append;
} ChangeList;

/* Answer with a page of a list. */
static void
AnswerList(RouteCall *call, const ChangeList *list)
{
	Parameters	parameters;
	ChangePage	page;
	StringInfoData out;

	RequestParametersReadOnly(call->request, PARAMETERS_PAGING | PARAMETERS_CHANGES, &parameters);
	page.min_version = parameters.range.min;
	page.max_version = parameters.range.has_max ? parameters.range.max : PG_INT64_MAX;
	page.limit = parameters.limit;
	page.offset = parameters.offset;
	ResponseListBegin(&out, call->context);
	list->read(call->resource, &page, list->append, &out);
	if (parameters.total)
		ResponseHeader(call->response, "Total-Count", psprintf(INT64_FORMAT, list->count(call->resource, &page)));
	ResponseListEnd(call->response, &out);
}

/* List the documents that were deleted, and whose identities no document has again. */
void
RequestDeletesGet(RouteCall *call)
{
	static const ChangeList list = {ChangeQueryDeleted, ChangeQueryCountDeleted, AppendDeleted};

	AnswerList(call, &list);
}

/* List the documents of a resource whose keys have changed, each once. */
void
RequestKeyChangesGet(RouteCall *call)
{
	static const ChangeList list = {ChangeQueryKeys, ChangeQueryCountKeys, AppendKeyChange};

	AnswerList(call, &list);
}
