/*
 * etag.c
 *		The one place where etags grow.
 *
 * Whoever wants to know of every change of every document can learn it here.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "etag.h"
#include "faults.h"
#include "plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

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
	bool		isnull;

	values[0] = Int64GetDatum(header->document_id);
	values[1] = Int64GetDatum(header->etag);
	nulls[1] = judge && !FAULT_SKIP("etag_judge") ? ' ' : 'n';
	values[2] = CStringGetTextDatum(version);
	if (StatementRun(&bump, values, nulls, false, 0) == 0)
		return false;
	header->etag = DatumGetInt64(ResultDatum(0, 1, &isnull));
	header->last_modified = DatumGetTimestampTz(ResultDatum(0, 2, &isnull));
	return true;
}

/*
 * Documents whose representation changed because others did.  The ids are
 * ascending, and so are the locks on their rows.
 */
void
EtagBumpAll(const int64 *ids, int n)
{
	Datum		values[2] = {Int8ArrayDatum(n, ids), TimestampTzGetDatum(GetCurrentTimestamp())};

	if (n > 0)
		StatementRun(&bump_all, values, NULL, false, 0);
}
