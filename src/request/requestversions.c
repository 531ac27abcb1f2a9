/*
 * requestversions.c
 *		Requests about versions of documents: lists of them, their texts, what changed
 *		from one to another, and restoring.
 *
 * A document that was deleted still has versions.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/report.h"
#include "catalog/pg_type.h"
#include "document/history.h"
#include "engine/session.h"
#include "request/requestanswer.h"
#include "request/requestparameters.h"
#include "request/requestversions.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "verbs/diffs.h"
#include "verbs/restore.h"
#include "verbs/versions.h"

static const RouteFunction as_of_function = {"get_document", 2, {UUIDOID, TIMESTAMPTZOID}};

/* Returns the number of a version, which is a part of the path. */
static int64
NumberOf(const RouteCall *call)
{
	const char *given = call->request->segments[4];
	int64		number;

	if (!RequestParameterNumber(given, PG_INT64_MAX, &number))
		ReportError(PROBLEM_ARGUMENT, NULL, "\"%s\" is not the number of a version.", given);
	return number;
}

/* Find the document of the path, which may be deleted; returns false if it never was there. */
static bool
Find(const RouteCall *call, VersionedDocument *document)
{
	return VersionsFind(&call->uuid, document) && document->resource != NULL &&
		ModelCacheSame(document->resource, call->resource);
}

/* Append a version to a list. */
static void
AppendVersion(void *state, const ListedVersion *version, const pg_uuid_t *uuid)
{
	StringInfo	out = state;

	ResponseListItem(out);
	appendStringInfo(out, "{\"version\": " INT64_FORMAT ", \"versionId\": \"%s\", \"kind\": \"%s\", \"createdAt\": \"%s\", \"createdBy\": ",
					 version->number, VersionsId(uuid, version->number), version->kind, DateTimeInstantText(version->created_at));
	escape_json(out, version->created_by);
	appendStringInfoString(out, ", \"resourceVersion\": ");
	escape_json(out, version->resource_version);
	appendStringInfoChar(out, '}');
}

/* A list of versions of a document. */
typedef struct VersionList
{
	StringInfoData out;
	const pg_uuid_t *uuid;
} VersionList;

/* Take a version, for VersionsList(). */
static void
TakeVersion(void *state, const ListedVersion *version)
{
	VersionList *list = state;

	AppendVersion(&list->out, version, list->uuid);
}

/* List the versions of a document, newest first. */
void
RequestVersionsGet(RouteCall *call)
{
	Parameters	parameters;
	VersionedDocument document;
	VersionList list = {.uuid = &call->uuid};

	RequestParametersReadOnly(call->request, PARAMETER_LIMIT | PARAMETER_BEFORE, &parameters);
	if (!Find(call, &document))
		return;
	ResponseListBegin(&list.out, call->context);
	VersionsList(&document, parameters.before, parameters.limit, TakeVersion, &list);
	ResponseListEnd(call->response, &list.out);
}

/* Read a version of a document. */
void
RequestVersionGet(RouteCall *call)
{
	int64		number = NumberOf(call);
	VersionedDocument document;
	text	   *body = NULL;

	if (Find(call, &document))
		body = VersionsText(&document, number, call->context);
	if (body != NULL)
		RequestAnswerText(call, number, body);
}

/* Compare a version of a document with the one before, or with the one of a parameter. */
void
RequestVersionDiff(RouteCall *call)
{
	int64		number = NumberOf(call);
	Parameters	parameters;
	VersionedDocument document;
	Jsonb	   *diff = NULL;
	MemoryContext saved;
	char	   *json;

	RequestParametersReadOnly(call->request, PARAMETER_FROM, &parameters);
	if ((parameters.given & PARAMETER_FROM) == 0)
		parameters.from = Max(number - 1, 0);
	if (Find(call, &document))
		diff = DiffsOfVersions(&document, parameters.from, number);
	if (diff == NULL)
		return;
	json = JsonbToCString(NULL, &diff->root, VARSIZE(diff));
	saved = MemoryContextSwitchTo(call->context);
	ResponseJson(call->response, cstring_to_text(json));
	MemoryContextSwitchTo(saved);
}

/* Append what changed with a version to a list, for DiffsLog(). */
static void
AppendChange(void *state, const LoggedChange *change)
{
	StringInfo	out = state;
	bool		done = change->state == DIFF_DONE;

	ResponseListItem(out);
	appendStringInfo(out, "{\"version\": " INT64_FORMAT ", \"oldVersion\": ", change->version.number);
	if (done)
		appendStringInfo(out, INT64_FORMAT, change->old_number);
	else
		appendStringInfoString(out, "null");
	appendStringInfo(out, ", \"kind\": \"%s\", \"createdAt\": \"%s\", \"createdBy\": ",
					 change->version.kind, DateTimeInstantText(change->version.created_at));
	escape_json(out, change->version.created_by);
	appendStringInfo(out, ", \"diffState\": \"%s\", \"diff\": ", DiffStateName(change->state));
	if (done)
	{
		Jsonb	   *diff = DatumGetJsonbP(change->diff);

		(void) JsonbToCString(out, &diff->root, VARSIZE(diff));
	}
	else
		appendStringInfoString(out, "null");
	appendStringInfoChar(out, '}');
}

/* List what changed with each version of a document, newest first. */
void
RequestChangesGet(RouteCall *call)
{
	Parameters	parameters;
	VersionedDocument document;
	StringInfoData out;

	RequestParametersReadOnly(call->request, PARAMETER_LIMIT | PARAMETER_BEFORE, &parameters);
	if (!Find(call, &document))
		return;
	ResponseListBegin(&out, call->context);
	DiffsLog(&document, parameters.before, parameters.limit, AppendChange, &out);
	ResponseListEnd(call->response, &out);
}

/* Refuse a time if the resource keeps no versions. */
static void
CheckHistory(Resource *resource)
{
	Session		owner;
	bool		kept;

	SessionBegin(&owner, RIGHTS_OF_OWNER);
	kept = HistoryIsKept(resource);
	SessionEnd(&owner);
	if (!kept)
		ReportError(PROBLEM_ARGUMENT, NULL, "%s.%s has no history.", resource->model->project, resource->model->resource);
}

/* Read a document as it was at a time. */
void
RequestVersionAsOf(RouteCall *call, TimestampTz time)
{
	VersionedDocument document;
	text	   *body = NULL;
	int64		number = 0;

	RouteRequire(call->request, &as_of_function);
	CheckHistory(call->resource);
	if (Find(call, &document))
		body = VersionsTextAsOf(&document, time, call->context, &number);
	if (body != NULL)
		RequestAnswerText(call, number, body);
}

/* Give a document the content of a version, as a new version. */
void
RequestVersionRestore(RouteCall *call)
{
	WriteResult result;
	Write		write;

	RequestStartWrite(call, &write, &result);
	RestoreDocument(&write, call->caller, &call->uuid, NumberOf(call));
	RequestAnswerWritten(call, &result, result.outcome == WRITE_INSERTED ? 201 : 200);
}
