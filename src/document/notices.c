/*
 * notices.c
 *		Telling sessions that listen about jobs and documents, by NOTIFY.
 *
 * This is off by default: a transaction that notifies takes a lock that all such
 * transactions share, and holds it until it has committed.  So they commit one after
 * the other, in all databases of the server.
 *
 * The first documents that a transaction changes have a notification each.  Notifications of
 * a large transaction would fill the queue that all listeners share, so beyond that they
 * are counted, and each resource has one notification, which is sent before the commit.
 * What a subtransaction has counted is forgotten if that is rolled back, as PostgreSQL
 * forgets what it has sent.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/uuid.h"
#include "commands/async.h"
#include "document/notices.h"
#include "engine/snapshot.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/memutils.h"

#define CHANNEL_JOBS "dms_jobs"
#define CHANNEL_DOCUMENTS "dms_documents"

/* How many documents of a transaction have a notification each. */
#define MAX_TOLD 1000

/* These are bits. */
typedef enum NotifyAbout
{
	NOTIFY_OFF = 0,
	NOTIFY_JOBS = 1,
	NOTIFY_DOCUMENTS = 2,
	NOTIFY_ALL = NOTIFY_JOBS | NOTIFY_DOCUMENTS
} NotifyAbout;

static const struct config_enum_entry notify_options[] = {
	{"off", NOTIFY_OFF, false},
	{"jobs", NOTIFY_JOBS, false},
	{"documents", NOTIFY_DOCUMENTS, false},
	{"all", NOTIFY_ALL, false},
	{NULL, 0, false}
};

/* How many documents of a resource a subtransaction has changed without a notification each. */
typedef struct Count
{
	struct Count *next;
	int			level;			/* of the subtransaction */
	int32		type_id;
	int64		n;
	char	   *resource;		/* its names, in JSON */
} Count;

static int	notify_about = NOTIFY_OFF;
static int	ntold = 0;			/* in this transaction */
static Count *counts = NULL;	/* in this transaction, and in its memory */
static bool registered = false;

/* Define the setting of this module. */
void
NoticesInit(void)
{
	DefineCustomEnumVariable("dms.notify",
							 "What sessions that listen are told about.",
							 "Transactions that notify commit one after the other.",
							 &notify_about, NOTIFY_OFF, notify_options, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* Tell those who listen that there is a job in a queue. */
void
NoticesTellJob(const char *queue)
{
	if (notify_about & NOTIFY_JOBS)
		Async_Notify(CHANNEL_JOBS, queue);
}

/* Returns true if listeners are notified about documents. */
bool
NoticesAreOfDocuments(void)
{
	return (notify_about & NOTIFY_DOCUMENTS) != 0;
}

/* --- large transactions ----------------------------------------------------- */

/* Send the notifications of documents that were only counted. */
static void
TellCounts(void)
{
	for (const Count *count = counts; count != NULL; count = count->next)
		Async_Notify(CHANNEL_DOCUMENTS, psprintf("{\"resource\": %s, \"count\": " INT64_FORMAT "}",
												 count->resource, count->n));
}

/* Find what the innermost subtransactions, of this level, have counted of a resource; NULL if nothing. */
static Count *
FindCount(int level, int32 type_id)
{
	for (Count *count = counts; count != NULL && count->level == level; count = count->next)
		if (count->type_id == type_id)
			return count;
	return NULL;
}

/* Take the first count out of the list, and free it. */
static void
Forget(void)
{
	Count	   *count = counts;

	counts = count->next;
	pfree(count->resource);
	pfree(count);
}

/* Let what was counted at a level be counted at the one above. */
static void
GiveToParent(int level)
{
	Count	   *given = counts;
	Count	  **end = &given;

	while (*end != NULL && (*end)->level >= level)
		end = &(*end)->next;
	counts = *end;
	*end = NULL;
	while (given != NULL)
	{
		Count	   *count = given;
		Count	   *found = FindCount(level - 1, count->type_id);

		given = count->next;
		count->level = level - 1;
		count->next = counts;
		counts = count;
		if (found == NULL)
			continue;
		found->n += count->n;
		Forget();
	}
}

/* Callback: the transaction ends. */
static void
TransactionEnds(XactEvent event, void *arg pg_attribute_unused())
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			TellCounts();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			ntold = 0;
			counts = NULL;
			break;
		default:
			break;
	}
}

/* Callback: a subtransaction ends. */
static void
SubtransactionEnds(SubXactEvent event, SubTransactionId subxact pg_attribute_unused(),
				   SubTransactionId parent pg_attribute_unused(), void *arg pg_attribute_unused())
{
	int			level = GetCurrentTransactionNestLevel();

	if (event == SUBXACT_EVENT_ABORT_SUB)
		while (counts != NULL && counts->level >= level)
			Forget();
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		GiveToParent(level);
}

/* Be called at the end of transactions from now on. */
static void
Register(void)
{
	if (registered)
		return;
	RegisterXactCallback(TransactionEnds, NULL);
	RegisterSubXactCallback(SubtransactionEnds, NULL);
	registered = true;
}

/* Returns the name of a resource as a JSON string. */
static char *
ResourceJson(const Resource *resource)
{
	StringInfoData out;

	initStringInfo(&out);
	escape_json(&out, psprintf("%s.%s", resource->model->project, resource->model->resource));
	return out.data;
}

/* Count documents of a resource.  Those of inner subtransactions come first in the list. */
static void
CountMore(const Resource *resource, int n)
{
	int			level = GetCurrentTransactionNestLevel();
	Count	   *count = FindCount(level, resource->type_id);
	MemoryContext saved;

	if (count != NULL)
	{
		count->n += n;
		return;
	}
	saved = MemoryContextSwitchTo(TopTransactionContext);
	count = palloc(sizeof(Count));
	count->next = counts;
	count->level = level;
	count->type_id = resource->type_id;
	count->n = n;
	count->resource = ResourceJson(resource);
	MemoryContextSwitchTo(saved);
	counts = count;
}

/* Returns true if this many documents have a notification each; otherwise they are counted. */
static bool
TellsEach(const Resource *resource, int n)
{
	Register();
	if (n <= MAX_TOLD - ntold)
	{
		ntold += n;
		return true;
	}
	CountMore(resource, n);
	return false;
}

/* --- documents -------------------------------------------------------------- */

/* Tell those who listen about one version. */
static void
Tell(const pg_uuid_t *uuid, int64 version, const char *kind)
{
	Async_Notify(CHANNEL_DOCUMENTS, psprintf("{\"documentId\": \"%s\", \"version\": " INT64_FORMAT ", \"kind\": \"%s\"}",
											 UuidText(uuid), version, kind));
}

/* Tell those who listen that a document has a new version. */
void
NoticesTellDocument(const Resource *resource, const pg_uuid_t *uuid, int64 version, const char *kind)
{
	if (NoticesAreOfDocuments() && TellsEach(resource, 1))
		Tell(uuid, version, kind);
}

/*
 * Tell those who listen that documents of a resource, whose ids are ascending, have the
 * versions that they have now; or the next ones, because they are about to be deleted.
 */
void
NoticesTellDocuments(const Resource *resource, const int64 *ids, int n, const char *kind, bool next)
{
	StoredRows	rows;

	if (n == 0 || !NoticesAreOfDocuments() || !TellsEach(resource, n))
		return;
	SnapshotBegin();
	DocumentHeadersRead(ids, n, &rows);
	SnapshotEnd();
	for (int i = 0; i < rows.nrows; i++)
	{
		DocumentHeader header;

		DocumentHeaderFromRow(StoredRowValues(&rows, i), &header);
		Tell(&header.uuid, header.etag + (next ? 1 : 0), kind);
	}
}
