/*
 * publish.c
 *		dms.publish_documents(), dms.unpublish_documents() and
 *		dms.republish_documents(): change data capture of dms.DocumentCache.
 *
 * Rows of dms.DocumentCache are inserted, updated and deleted as documents are, so a
 * publication of this one table is a stream of documents.  Its key is the id of the
 * document that clients know: the replica identity is a unique index on it, which
 * exists while the table is published.  TRUNCATE is not published, because it would
 * not say which documents are gone.
 *
 * A publication belongs to the owner of the store.  One that was made by hand
 * is neither taken for ours nor dropped: it may be of other tables, too.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/ids.h"
#include "base/report.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "document/documentcache.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "verbs/write.h"

PG_FUNCTION_INFO_V1(dms_publish_documents);
PG_FUNCTION_INFO_V1(dms_unpublish_documents);
PG_FUNCTION_INFO_V1(dms_republish_documents);

/* Documents that are locked and written together. */
#define DOCUMENTS_AT_ONCE 500

/* What there is of a name. */
typedef enum PublicationState
{
	PUBLICATION_NONE,
	PUBLICATION_FOREIGN,		/* of another owner, or not of all documents
								 * alone */
	PUBLICATION_OTHERWISE,		/* of other operations than ours */
	PUBLICATION_COMPLETE
} PublicationState;

static const Oid uuids_types[] = {UUIDARRAYOID};

#define FIND_SQL \
	"SELECT d.DocumentId, d.DocumentUuid, d.ProjectName::pg_catalog.text, d.ResourceName::pg_catalog.text" \
	" FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentUuid OPERATOR(pg_catalog.=) ANY ($1)" \
	" ORDER BY d.ProjectName, d.ResourceName, d.DocumentId"

static Statement keep_documents =
{
	.sql = FIND_SQL " FOR KEY SHARE OF d",.nargs = lengthof(uuids_types),.argtypes = uuids_types,
};
#ifdef DMS_FAULTS
static Statement find_documents =
{
	.sql = FIND_SQL,.nargs = lengthof(uuids_types),.argtypes = uuids_types,
};
#endif

/* --- publications ----------------------------------------------------------- */

/* Find out what a publication is. */
static PublicationState
StateOf(const char *name)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(name)};
	PublicationState state = PUBLICATION_NONE;

	SnapshotBeginLatest();
	if (StatementExecuteWithArgs("SELECT p.pubowner OPERATOR(pg_catalog.=) (SELECT c.relowner FROM pg_catalog.pg_class AS c"
								 " WHERE c.oid OPERATOR(pg_catalog.=) 'dms.documentcache'::pg_catalog.regclass)"
								 " AND NOT p.puballtables"
								 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_publication_namespace AS n"
								 "  WHERE n.pnpubid OPERATOR(pg_catalog.=) p.oid)"
								 " AND COALESCE((SELECT pg_catalog.bool_and(r.prrelid OPERATOR(pg_catalog.=) 'dms.documentcache'::pg_catalog.regclass"
								 "  AND r.prqual IS NULL AND r.prattrs IS NULL)"
								 "  FROM pg_catalog.pg_publication_rel AS r WHERE r.prpubid OPERATOR(pg_catalog.=) p.oid), false),"
								 " p.pubinsert AND p.pubupdate AND p.pubdelete AND NOT p.pubtruncate"
								 " FROM pg_catalog.pg_publication AS p WHERE p.pubname::pg_catalog.text OPERATOR(pg_catalog.=) $1",
								 lengthof(types), types, values, true) == 1)
		state = !ResultBool(0, 1) ? PUBLICATION_FOREIGN : ResultBool(0, 2) ? PUBLICATION_COMPLETE : PUBLICATION_OTHERWISE;
	SnapshotEnd();
	return state;
}

/* Returns true if any publication names the table. */
static bool
IsInPublication(void)
{
	bool		found;

	SnapshotBeginLatest();
	found = StatementExecuteWithArgs("SELECT FROM pg_catalog.pg_publication_rel AS r"
									 " WHERE r.prrelid OPERATOR(pg_catalog.=) 'dms.documentcache'::pg_catalog.regclass",
									 0, NULL, NULL, true) > 0;
	SnapshotEnd();
	return found;
}

/* Refuse a publication that is not ours. */
static void
RefuseForeign(const char *name, PublicationState state)
{
	if (state == PUBLICATION_FOREIGN)
		ReportError(PROBLEM_ARGUMENT, "Choose another name.",
					"publication \"%s\" is not one of dms.publish_documents()", name);
}

/*
 * Refuse an owner who may not create publications.  The function runs with the owner's rights,
 * so the message says whose they are.
 */
static void
CheckMayCreate(void)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(StoreOwner())};
	char	   *owner;
	char	   *database;

	(void) StatementExecuteWithArgs("SELECT pg_catalog.has_database_privilege($1, pg_catalog.current_database()::pg_catalog.text, 'CREATE'),"
									" pg_catalog.pg_get_userbyid($1)::pg_catalog.text, pg_catalog.current_database()::pg_catalog.text",
									lengthof(types), types, values, true);
	if (ResultBool(0, 1))
		return;
	owner = ResultText(0, 2);
	database = ResultText(0, 3);
	ReportError(PROBLEM_NOT_PERMITTED,
				psprintf("GRANT CREATE ON DATABASE %s TO %s.", quote_identifier(database), quote_identifier(owner)),
				"the owner of the store, \"%s\", may not create publications in database \"%s\"", owner, database);
}

/* Returns what there is of a name, if documents may be published under it. */
static PublicationState
CheckPublication(const char *name)
{
	PublicationState state = StateOf(name);

	RefuseForeign(name, state);
	if (state == PUBLICATION_NONE)
		CheckMayCreate();
	return state;
}

/*
 * Make the id that clients know the key of rows in the stream.  Rows that were left by
 * documents that are gone are deleted, because these may have been restored since.
 */
static void
SetIdentity(void)
{
	DocumentCacheSweep(PG_INT64_MIN, PG_INT64_MAX);
	StatementExecute("CREATE UNIQUE INDEX documentcache_uuid_ix ON dms.DocumentCache (DocumentUuid)");
	StatementExecute("ALTER TABLE dms.DocumentCache REPLICA IDENTITY USING INDEX documentcache_uuid_ix");
}

/* The contrary. */
static void
ResetIdentity(void)
{
	StatementExecute("ALTER TABLE dms.DocumentCache REPLICA IDENTITY DEFAULT");
	StatementExecute("DROP INDEX dms.documentcache_uuid_ix");
}

/*
 * Close the gate, connect with the rights of the owner, and lock the table in the mode
 * that is needed in the end: no writer is in the middle of something then.
 */
static void
Begin(Session *session)
{
	StoreDeployLock();
	StoreGate(ShareRowExclusiveLock);
	SessionBegin(session, RIGHTS_OF_OWNER);
	StatementExecute("LOCK TABLE dms.DocumentCache IN ACCESS EXCLUSIVE MODE");
}

/* Say that nothing will be in the stream for now. */
static void
NoteMode(void)
{
	if (StoreRowCache()->mode == CACHE_OFF)
		ereport(NOTICE,
				(errmsg("the cache of documents is off, so documents are published when it is switched on"),
				 errhint("Call dms.set_cache_mode('eventual').")));
}

/* Publish, unless that was done.  The gate is closed. */
static void
Publish(const char *name, PublicationState state)
{
	if (!DocumentCacheIsPublished())
		SetIdentity();
	if (state == PUBLICATION_NONE)
	{
		StatementExecute(psprintf("CREATE PUBLICATION %s FOR TABLE dms.DocumentCache WITH (publish = 'insert, update, delete')",
								  quote_identifier(name)));
		StatementExecute(psprintf("COMMENT ON PUBLICATION %s IS 'the documents of dms, as dms.publish_documents() publishes them'",
								  quote_identifier(name)));
	}
	else if (state == PUBLICATION_OTHERWISE)
		StatementExecute(psprintf("ALTER PUBLICATION %s SET (publish = 'insert, update, delete')", quote_identifier(name)));
}

/* Publish documents for change data capture.  If they are published already, nobody waits. */
Datum
dms_publish_documents(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"publication"};
	Session		session;
	const char *name;
	bool		complete;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	name = NameStr(*PG_GETARG_NAME(0));
	PreventCommandIfReadOnly("dms.publish_documents()");
	(void) StoreTable(STORE_STORE);
	SessionBegin(&session, RIGHTS_OF_OWNER);
	complete = CheckPublication(name) == PUBLICATION_COMPLETE && DocumentCacheIsPublished();
	SessionEnd(&session);
	if (!complete)
	{
		Begin(&session);
		Publish(name, CheckPublication(name));
		SessionEnd(&session);
	}
	NoteMode();
	PG_RETURN_VOID();
}

/* End a publication of documents, and with the last one what it needed. */
Datum
dms_unpublish_documents(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"publication"};
	Session		session;
	const char *name;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	name = NameStr(*PG_GETARG_NAME(0));
	PreventCommandIfReadOnly("dms.unpublish_documents()");
	(void) StoreTable(STORE_STORE);
	Begin(&session);
	RefuseForeign(name, StateOf(name));
	StatementExecute(psprintf("DROP PUBLICATION %s", quote_identifier(name)));
	if (DocumentCacheIsPublished() && !IsInPublication())
		ResetIdentity();
	SessionEnd(&session);
	PG_RETURN_VOID();
}

/* --- sending documents again ------------------------------------------------ */

/* Compares two ids of documents. */
static int
CompareUuids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(pg_uuid_t));
}

/* Read ids from an array: ascending, each once. */
static pg_uuid_t *
ReadUuids(ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	pg_uuid_t  *uuids;
	int			count;

	deconstruct_array(array, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR, &elements, &nulls, &count);
	uuids = palloc(sizeof(pg_uuid_t) * Max(count, 1));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ReportError(PROBLEM_ARGUMENT, NULL, "document_uuids must not contain null");
		uuids[i] = *DatumGetUUIDP(elements[i]);
	}
	qsort(uuids, count, sizeof(pg_uuid_t), CompareUuids);
	*n = 0;
	for (int i = 0; i < count; i++)
		if (i == 0 || CompareUuids(&uuids[i], &uuids[*n - 1]) != 0)
			uuids[(*n)++] = uuids[i];
	return uuids;
}

/* A document that is to be sent again. */
typedef struct Found
{
	int64		id;
	pg_uuid_t	uuid;
	const char *project;
	const char *resource;
} Found;

/*
 * Find documents, ordered by resource, and lock them against deletes: no row may be
 * written for a document that is gone.
 */
static Found *
FindDocuments(const pg_uuid_t *uuids, int n, int *nfound)
{
	Datum	   *elements = palloc(sizeof(Datum) * n);
	Datum		values[1];
	Found	   *found;
	uint64		rows;

	for (int i = 0; i < n; i++)
		elements[i] = UUIDPGetDatum(&uuids[i]);
	values[0] = DatumArray(n, elements, NULL, UUIDOID);
	SnapshotBeginLatest();
#ifdef DMS_FAULTS
	if (FAULT_SKIP("republish_lock"))
		rows = StatementRun(&find_documents, values, NULL, false, 0);
	else
#endif
		rows = StatementRun(&keep_documents, values, NULL, false, 0);
	SnapshotEnd();
	found = palloc(sizeof(Found) * Max(rows, 1));
	for (uint64 i = 0; i < rows; i++)
	{
		found[i].id = ResultInt64(i, 1);
		found[i].uuid = ResultUuid(i, 2);
		found[i].project = ResultName(i, 3);
		found[i].resource = ResultName(i, 4);
	}
	*nfound = (int) rows;
	return found;
}

/* Write the rows of documents again, resource by resource. */
static void
WriteAgain(const Found *found, int nfound)
{
	int64	   *ids = palloc(sizeof(int64) * Max(nfound, 1));
	int			n = 0;

	for (int i = 0; i < nfound; i++)
	{
		ids[n++] = found[i].id;
		if (i + 1 < nfound && strcmp(found[i].project, found[i + 1].project) == 0 &&
			strcmp(found[i].resource, found[i + 1].resource) == 0)
			continue;
		DocumentCacheRepublish(ModelCacheFind(found[i].project, found[i].resource), ids, IdsSort(ids, n));
		n = 0;
	}
}

/* Add those that were not found to the result. */
static void
PutMissing(ReturnSetInfo *rsinfo, pg_uuid_t *uuids, int n, const Found *found, int nfound)
{
	bool	   *exists = palloc0(sizeof(bool) * n);

	for (int i = 0; i < nfound; i++)
	{
		const pg_uuid_t *asked = bsearch(&found[i].uuid, uuids, n, sizeof(pg_uuid_t), CompareUuids);

		if (asked == NULL)
			ResultRefuse("a row that it was not asked for");
		exists[asked - uuids] = true;
	}
	for (int i = 0; i < n; i++)
	{
		Datum		value = UUIDPGetDatum(&uuids[i]);
		bool		isnull = false;

		if (!exists[i])
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
}

/* Write the rows of some documents again, so that consumers get them again; returns those that do not exist. */
Datum
dms_republish_documents(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuids"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	pg_uuid_t  *uuids;
	int			n;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	uuids = ReadUuids(PG_GETARG_ARRAYTYPE_P(0), &n);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	WriteBegin(&session, "dms.republish_documents()");
	if (StoreRowCache()->mode == CACHE_OFF)
		ReportError(PROBLEM_CACHE_MODE, "dms.set_cache_mode() switches it on.", "the cache is off");
	for (int first = 0; first < n; first += DOCUMENTS_AT_ONCE)
	{
		int			some = Min(n - first, DOCUMENTS_AT_ONCE);
		Found	   *found;
		int			nfound;

		CHECK_FOR_INTERRUPTS();
		SessionBeginPart();
		found = FindDocuments(uuids + first, some, &nfound);
		WriteAgain(found, nfound);
		PutMissing(rsinfo, uuids + first, some, found, nfound);
		SessionEndPart();
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
