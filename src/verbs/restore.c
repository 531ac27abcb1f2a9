/*
 * restore.c
 *		dms.restore_document(): giving a document the content of an earlier version.
 *
 * The old text is written like any body: it is checked by the schema of today, and
 * its references are resolved by the names in it.  The result is a new version.
 *
 * A document that was deleted gets its id again, and its etags continue.  Its
 * identity is claimed as that of a new document.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/report.h"
#include "base/uuid.h"
#include "document/documentcache.h"
#include "document/history.h"
#include "document/references.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/store.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "verbs/restore.h"
#include "verbs/update.h"
#include "verbs/violations.h"
#include "verbs/writeguard.h"

PG_FUNCTION_INFO_V1(dms_restore_document);

/* The number of times that a document may come and go before we give up. */
#define MAX_ATTEMPTS 100

/* Returns the text of a version; raises an error if there is none. */
static text *
FindText(const pg_uuid_t *uuid, int64 version)
{
	text	   *found;

	SnapshotBegin();
	found = HistoryText(uuid, version);
	SnapshotEnd();
	if (found == NULL)
		ReportError(PROBLEM_NO_VERSION, "dms.list_versions() lists the versions of a document.",
					"there is no version " INT64_FORMAT " of document %s", version, UuidText(uuid));
	return found;
}

/*
 * Find the resource of a document that was deleted, and what it gets again.  Raises an
 * error if there is no record of it.
 */
static void
FindDeleted(Write *write, const pg_uuid_t *uuid, DocumentHeader *header)
{
	HistoryVersion newest;
	char	   *project;
	char	   *resource;

	SnapshotBegin();
	if (!HistoryNewest(uuid, &newest) || !newest.deleted ||
		!ResourceTypeNames(newest.type_id, &project, &resource))
		PreconditionRaiseGone(&write->precondition, uuid);
	SnapshotEnd();
	write->resource = ModelCacheFind(project, resource);
	memset(header, 0, sizeof(DocumentHeader));
	header->uuid = *uuid;
	header->etag = newest.number + 1;
	header->last_modified = newest.created_at;
	write->deleted = header;
}

/* Claim the identity, for WriteGuarded(). */
static void
ClaimAgain(void *arg)
{
	Write	   *write = arg;

	if (!WriteNew(write))
		write->document_id = WriteFindOwn(write);
}

/*
 * Write a document that was deleted.  Returns false if that was not possible because
 * other transactions came first: its identity was claimed, or it was restored.
 */
static bool
WriteDeleted(Write *write, text *document)
{
	WriteTakeBody(write, document);
	PreconditionCheckAbsent(&write->precondition);
	SnapshotBegin();
	(void) ReferencesResolve(write->flat);
	SnapshotEnd();
	ReferencesRefuseDescriptors(write->flat);
	ReferencesRefuse(write->flat);
	WriteLockChildren(write);
	write->result->outcome = WRITE_UNCHANGED;
	WriteGuarded(ClaimAgain, WriteDocument, write);
	return write->result->outcome == WRITE_INSERTED;
}

/* Refuse a document of another resource than the one that is expected, if any. */
static void
CheckResource(const Write *write, const pg_uuid_t *uuid, const Resource *expected, const Resource *found)
{
	if (expected != NULL && !ModelCacheSame(expected, found))
		PreconditionRaiseGone(&write->precondition, uuid);
}

/* Returns true if a document of this uuid exists now. */
static bool
Exists(const pg_uuid_t *uuid, Resource **resource)
{
	int64		document_id;

	*resource = NULL;
	return DocumentFindToWrite(uuid, &document_id, resource);
}

/*
 * Refuse a caller who may not read versions of the resource, because only administrators
 * may: what is restored can be read by others, too.
 */
static void
RefuseCaller(Oid caller, const pg_uuid_t *uuid)
{
	Resource   *resource;
	HistoryVersion newest;
	char	   *project;
	char	   *name;

	if (!Exists(uuid, &resource))
	{
		SnapshotBegin();
		if (HistoryNewest(uuid, &newest) && ResourceTypeNames(newest.type_id, &project, &name))
			resource = ModelCacheTry(project, name);
		SnapshotEnd();
	}
	if (resource != NULL && ResourceOptionsOf(resource)->history_admin &&
		pg_class_aclcheck(StoreTable(STORE_DOCUMENT_VERSION), caller, ACL_SELECT) != ACLCHECK_OK)
		ReportError(PROBLEM_NOT_PERMITTED, NULL, "permission denied for versions of %s.%s",
					resource->model->project, resource->model->resource);
}

/*
 * Restore a document that was deleted.  Returns false if it exists by now.  If another
 * document has its identity, that is an error; if that one is gone again, or deleted
 * under another number, we try again.
 */
static bool
RestoreDeleted(Write *write, const pg_uuid_t *uuid, const Resource *expected, text *document)
{
	DocumentHeader header;
	Resource   *resource;

	FindDeleted(write, uuid, &header);
	CheckResource(write, uuid, expected, write->resource);
	write->uuid = uuid;
	DocumentCacheForget(uuid);
	if (WriteDeleted(write, document))
		return true;
	if (!Exists(uuid, &resource) && write->document_id != 0)
		ViolationRaiseTaken(write->flat);
	write->deleted = NULL;
	write->document_id = 0;
	return false;
}

/*
 * Give a document the content of a version, as a new version.  To be called like
 * UpsertDocument(), but the resource need not be known.  The caller is the role that
 * has called the verb, whose rights to read versions count.
 */
void
RestoreDocument(Write *write, Oid caller, const pg_uuid_t *uuid, int64 version)
{
	Resource   *expected = write->resource;
	Resource   *resource;
	text	   *document;

	RefuseCaller(caller, uuid);
	document = FindText(uuid, version);
	FAULT_PAUSE("behind_version");
	write->restores = true;
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		CHECK_FOR_INTERRUPTS();
		write->resource = expected;
		if (Exists(uuid, &resource))
		{
			CheckResource(write, uuid, expected, resource);
			UpdateDocument(write, uuid, document);
			return;
		}
		if (RestoreDeleted(write, uuid, expected, document))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access: the document was deleted and restored %d times while it was being restored",
					MAX_ATTEMPTS)));
}

/* Give a document the content of an earlier version. */
Datum
dms_restore_document(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "version"};
	Session		session;
	WriteResult result;
	Write		write;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	WriteBegin(&session, "dms.restore_document()");
	WriteInit(&write, &result, fcinfo, 2);
	RestoreDocument(&write, session.saved_user, PG_GETARG_UUID_P(0), PG_GETARG_INT64(1));
	SessionEnd(&session);
	PG_RETURN_DATUM(WriteResultRow(fcinfo, &result));
}
