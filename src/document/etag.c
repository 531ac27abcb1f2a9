/*
 * etag.c
 *		The one place where etags grow.
 *
 * Whoever wants to know of every change of every document can learn it here.
 */
#include "postgres.h"

#include "base/faults.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "document/etag.h"
#include "engine/keywrite.h"
#include "engine/plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

static const char *const etag_columns[] = {"documentid", "etag", "lastmodifiedat"};
static const Oid etag_types[] = {INT8OID, INT8OID, TIMESTAMPTZOID};
static const KeyScanTable etags = {"dms", "document", etag_columns, etag_types, 3};

static const Oid bump_types[] = {INT8OID, INT8OID, TEXTOID};
static const Oid bump_all_types[] = {INT8ARRAYOID, TIMESTAMPTZOID};

#define BUMP_SQL(now) \
	"UPDATE dms.Document SET Etag = Etag OPERATOR(pg_catalog.+) 1," \
	" LastModifiedAt = GREATEST(" now ", LastModifiedAt)"

static Statement bump = {
	.sql = BUMP_SQL("pg_catalog.clock_timestamp()") ", ResourceVersion = $3"
	" WHERE DocumentId OPERATOR(pg_catalog.=) $1"
	" AND ($2 IS NULL OR Etag OPERATOR(pg_catalog.=) $2)"
	" RETURNING Etag, LastModifiedAt",
	.nargs = 3,
	.argtypes = bump_types,
};

static Statement bump_all = {
	.sql = BUMP_SQL("$2") " WHERE DocumentId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 2,
	.argtypes = bump_all_types,
	.ordered = true,
};

/*
 * The last statement of a write of one document, and the judge of its etag:
 * false when it is not the one that the write was decided on.
 */
bool
EtagBump(DocumentHeader *header, const char *version, bool judge)
{
	Datum		values[3];
	char		nulls[] = "   ";

	values[0] = Int64GetDatum(header->document_id);
	values[1] = Int64GetDatum(header->etag);
	nulls[1] = judge && !FAULT_SKIP("etag_judge") ? ' ' : 'n';
	values[2] = CStringGetTextDatum(version);
	if (StatementRun(&bump, values, nulls, false, 0) == 0)
		return false;
	header->etag = ResultInt64(0, 1);
	header->last_modified = ResultTime(0, 2);
	return true;
}

/* The same to one of many documents, whose time is given. */
static bool
GrowEtag(Datum *values, void *arg)
{
	TimestampTz now = *(TimestampTz *) arg;
	int64		etag;

	if (pg_add_s64_overflow(DatumGetInt64(values[1]), 1, &etag))
		return false;
	values[1] = Int64GetDatum(etag);
	values[2] = TimestampTzGetDatum(Max(now, DatumGetTimestampTz(values[2])));
	return true;
}

static void
BumpAllBySql(Datum ids, TimestampTz now)
{
	Datum		values[2] = {ids, TimestampTzGetDatum(now)};

	StatementRun(&bump_all, values, NULL, false, 0);
}

static void
BumpOneBySql(const Datum *values, void *arg)
{
	int64		id = DatumGetInt64(values[0]);

	BumpAllBySql(Int8ArrayDatum(1, &id), *(TimestampTz *) arg);
}

/*
 * Documents whose representation changed because others did.  The ids are
 * ascending, and so are the locks on their rows.
 */
void
EtagBumpAll(const int64 *ids, int n)
{
	TimestampTz now = GetCurrentTimestamp();

	if (n > 0 && !KeyUpdate(&etags, ids, n, GrowEtag, BumpOneBySql, &now))
		BumpAllBySql(Int8ArrayDatum(n, ids), now);
}
