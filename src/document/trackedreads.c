/*
 * trackedreads.c
 *		Reading rows of dms.TrackedChange: pages of those between two numbers, for clients
 *		that keep a number, and those after a place, for the feed.
 */
#include "postgres.h"

#include "base/faults.h"
#include "catalog/pg_type.h"
#include "document/trackedreads.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/statement.h"

/* The resource, and what else a statement needs. */
static const Oid types[] = {INT4OID, INT8OID, INT8OID, INT8OID, INT8OID};

/* A statement with n parameters. */
#define READER(text, n) {.sql = (text),.nargs = (n),.argtypes = types}
/* The same for one that reads a few rows in the order of an index. */
#define ORDERED_READER(text) {.sql = (text),.nargs = lengthof(types),.argtypes = types,.ordered = true}

/* Run a statement on the rows of a resource. */
static uint64
Run(Statement *statement, int32 type_id, int64 first, int64 second, int64 third, int64 fourth)
{
	Datum		values[] = {Int32GetDatum(type_id), Int64GetDatum(first), Int64GetDatum(second),
		Int64GetDatum(third), Int64GetDatum(fourth)
	};

	return StatementRun(statement, values, NULL, true, 0);
}

/* --- between two numbers --------------------------------------------------- */

/*
 * Deleted documents, unless there is one with the identity or the id again.  One that
 * has taken over the identity after the window does not count: the client hears of it
 * later, if at all, for it may have given up the identity by then.
 */
#define DELETED_SQL " FROM dms.TrackedChange AS t WHERE t.ResourceTypeId OPERATOR(pg_catalog.=) $1" \
	" AND t.ChangeVersion OPERATOR(pg_catalog.>=) $2 AND t.ChangeVersion OPERATOR(pg_catalog.<=) $3" \
	" AND t.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'D' AND t.OldKey IS NOT NULL"
#define SUPPRESSED_SQL \
	" AND NOT EXISTS (SELECT FROM " REFERENTIAL_IDS_SQL("i") \
	" WHERE i.ReferentialId OPERATOR(pg_catalog.=) t.OldReferentialId" \
	" AND COALESCE((SELECT k.ChangeVersion FROM dms.TrackedChange AS k" \
	" WHERE k.DocumentId OPERATOR(pg_catalog.=) i.DocumentId AND k.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'K'" \
	" ORDER BY k.Etag DESC LIMIT 1), 0) OPERATOR(pg_catalog.<=) $3)" \
	" AND NOT " DOCUMENT_HAS_UUID_SQL("t.DocumentUuid")
#define DELETED_PAGE_SQL(suppressed) \
	"SELECT t.DocumentUuid, t.ChangeVersion, t.OldKey::pg_catalog.text, NULL::pg_catalog.text" DELETED_SQL suppressed \
	" ORDER BY t.ChangeVersion, t.DocumentId LIMIT $4 OFFSET $5"

/*
 * The first old key and the last new one, by etag: the numbers of transactions that
 * overlapped may be in the other order.  There and back again is no change.
 */
#define KEYS_SQL(order) \
	"SELECT DocumentUuid, Version, OldKey, NewKey FROM (SELECT t.DocumentId, t.DocumentUuid," \
	" pg_catalog.max(t.ChangeVersion) AS Version," \
	" (pg_catalog.array_agg(t.OldKey::pg_catalog.text ORDER BY t." order "))[1] AS OldKey," \
	" (pg_catalog.array_agg(t.NewKey::pg_catalog.text ORDER BY t." order " DESC))[1] AS NewKey" \
	" FROM dms.TrackedChange AS t WHERE t.ResourceTypeId OPERATOR(pg_catalog.=) $1" \
	" AND t.ChangeVersion OPERATOR(pg_catalog.>=) $2 AND t.ChangeVersion OPERATOR(pg_catalog.<=) $3" \
	" AND t.Kind::pg_catalog.text OPERATOR(pg_catalog.=) 'K' AND t.OldKey IS NOT NULL" \
	" GROUP BY t.DocumentId, t.DocumentUuid) AS k" \
	" WHERE OldKey OPERATOR(pg_catalog.<>) NewKey"
#define KEYS_PAGE_SQL(order) KEYS_SQL(order) " ORDER BY Version, DocumentId LIMIT $4 OFFSET $5"

static Statement pages[] = {
	[TRACKED_DELETES] = ORDERED_READER(DELETED_PAGE_SQL(SUPPRESSED_SQL)),
	[TRACKED_KEYS] = READER(KEYS_PAGE_SQL("Etag"), lengthof(types)),
};

static Statement counts[] = {
	[TRACKED_DELETES] = READER("SELECT pg_catalog.count(*)" DELETED_SQL SUPPRESSED_SQL, 3),
	[TRACKED_KEYS] = READER("SELECT pg_catalog.count(*) FROM (" KEYS_SQL("Etag") ") AS c", 3),
};

#ifdef DMS_FAULTS
static Statement all_deleted = ORDERED_READER(DELETED_PAGE_SQL(""));
static Statement keys_by_number = READER(KEYS_PAGE_SQL("ChangeVersion"), lengthof(types));
#endif

/* Returns the statement that reads a page. */
static Statement *
PageStatement(TrackedKind kind)
{
#ifdef DMS_FAULTS
	if (kind == TRACKED_DELETES && FAULT_SKIP("suppress_by_identity"))
		return &all_deleted;
	if (kind == TRACKED_KEYS && FAULT_SKIP("collapse_by_etag"))
		return &keys_by_number;
#endif
	return &pages[kind];
}

/*
 * Read the documents of a resource that were deleted, and whose identity no document has
 * again, or those whose keys have changed, each once.  Result: uuid, number, old and new
 * key.
 */
uint64
TrackedReadsPage(TrackedKind kind, int32 type_id, const ChangePage *page)
{
	return Run(PageStatement(kind), type_id, page->min_version, page->max_version, page->limit, page->offset);
}

/* Count them, whatever the page. */
int64
TrackedReadsCount(TrackedKind kind, int32 type_id, const ChangePage *page)
{
	(void) Run(&counts[kind], type_id, page->min_version, page->max_version, 0, 0);
	return ResultInt64(0, 1);
}

/* --- after a place --------------------------------------------------------- */

#define AFTER_SQL "ResourceTypeId OPERATOR(pg_catalog.=) $1" \
	" AND ROW (ChangeVersion, DocumentId, Etag) OPERATOR(pg_catalog.>) ROW ($2, $3, $4)"
#define IN_ORDER_SQL " ORDER BY ChangeVersion, DocumentId, Etag LIMIT $5"

#define TRACKED_SQL "SELECT ChangeVersion, DocumentId, Etag, DocumentUuid, OldKey::pg_catalog.text, NewKey::pg_catalog.text" \
	" FROM dms.TrackedChange AS t WHERE " AFTER_SQL " AND Kind::pg_catalog.text OPERATOR(pg_catalog.=) "

static Statement after[] = {
	[TRACKED_DELETES] = ORDERED_READER(TRACKED_SQL "'D' AND NOT " DOCUMENT_HAS_UUID_SQL("t.DocumentUuid") IN_ORDER_SQL),
	[TRACKED_KEYS] = ORDERED_READER(TRACKED_SQL "'K'" IN_ORDER_SQL),
};

#ifdef DMS_FAULTS
static Statement after_all_deletes = ORDERED_READER(TRACKED_SQL "'D'" IN_ORDER_SQL);
#endif

/* Returns the statement that reads the rows after a place. */
static Statement *
AfterStatement(TrackedKind kind)
{
#ifdef DMS_FAULTS
	if (kind == TRACKED_DELETES && FAULT_SKIP("suppress_by_uuid"))
		return &after_all_deletes;
#endif
	return &after[kind];
}

/*
 * Read rows of a resource after a place, in the order of number, document and etag.
 * Deletes of documents that exist again are left out.  Result: number, document, etag,
 * uuid, old and new key.
 */
uint64
TrackedReadsAfter(TrackedKind kind, int32 type_id, int64 version, int64 document_id, int64 etag, int64 limit)
{
	return Run(AfterStatement(kind), type_id, version, document_id, etag, limit);
}
