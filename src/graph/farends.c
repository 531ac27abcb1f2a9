/*
 * farends.c
 *		Pages of the documents that are related to one document: children of a
 *		parent, members of a collection, documents of an account.
 *
 * They are in the order of their URNs: by the name of the type, and by uuid within a
 * type.  Rows have the number of the type, whose order is another one.  So the types
 * that occur are found first, and each is then a range of the index.  A page costs the
 * same whether there are a hundred far ends or a million.
 */
#include "postgres.h"

#include "base/urn.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "graph/farends.h"
#include "graph/nodes.h"
#include "miscadmin.h"

const Oid	far_end_types_args[1] = {INT8OID};
const Oid	far_end_page_args[5] = {INT8OID, INT4OID, UUIDOID, UUIDOID, INT8OID};

/* Ask for all far ends of a document, up to a limit. */
void
FarEndQueryInit(FarEndQuery *query, int64 near_id, int64 limit)
{
	memset(query, 0, sizeof(FarEndQuery));
	query->near_id = near_id;
	query->limit = limit;
	memset(&query->highest, 0xFF, UUID_LEN);
}

/* Set a uuid to the next one; returns false if there is none. */
static bool
NextUuid(pg_uuid_t *uuid)
{
	for (int i = UUID_LEN - 1; i >= 0; i--)
		if (++uuid->data[i] != 0)
			return true;
	return false;
}

/* Returns true if far ends of a type are asked for. */
static bool
IsAskedFor(const FarEndQuery *query, const char *type)
{
	if (query->after_type != NULL && UrnCompareTypes(type, query->after_type) < 0)
		return false;
	if (query->type == NULL)
		return true;
	return query->type_is_prefix ? strncmp(type, query->type, strlen(query->type)) == 0 :
		strcmp(type, query->type) == 0;
}

/* The far ends of one type, from a uuid on. */
typedef struct FarEndRange
{
	int32		type_id;
	const char *type;
	pg_uuid_t	lowest;
} FarEndRange;

/* Start a range where the query does; returns false if there is nothing in it. */
static bool
RangeInit(FarEndRange *range, const FarEndQuery *query, int32 type_id, const char *type)
{
	pg_uuid_t	after = query->after;

	range->type_id = type_id;
	range->type = type;
	range->lowest = query->lowest;
	if (query->after_type == NULL || strcmp(type, query->after_type) != 0)
		return true;
	if (!NextUuid(&after))
		return false;
	if (memcmp(&after, &range->lowest, UUID_LEN) > 0)
		range->lowest = after;
	return true;
}

/* Far ends of a part of a range.  They are copied, because a sink may run statements. */
typedef struct FarEnds
{
	pg_uuid_t  *uuids;
	TimestampTz *times;
	int64		n;
} FarEnds;

/* Read the first far ends of a range, up to a limit. */
static void
ReadFirst(const FarEndTable *table, const FarEndQuery *query, const FarEndRange *range, int64 limit, FarEnds *ends)
{
	static const Oid result_types[] = {UUIDOID, TIMESTAMPTZOID};
	Datum		values[] = {
		Int64GetDatum(query->near_id), Int32GetDatum(range->type_id), UUIDPGetDatum(&range->lowest),
		UUIDPGetDatum(&query->highest), Int64GetDatum(limit)
	};

	ends->n = (int64) StatementRead(unconstify(Statement *, &table->page), values, 0);
	ResultExpect(result_types);
	ends->uuids = palloc(sizeof(pg_uuid_t) * Max(ends->n, 1));
	ends->times = palloc(sizeof(TimestampTz) * Max(ends->n, 1));
	for (int64 i = 0; i < ends->n; i++)
	{
		ends->uuids[i] = ResultUuid(i, 1);
		ends->times[i] = ResultTime(i, 2);
	}
	ResultFree();
}

/*
 * Hand the first far ends of a range to the sink, until it has taken as many as are left.
 * Returns false at the end of the range.
 */
static bool
PutFirst(const FarEndTable *table, const FarEndQuery *query, FarEndRange *range, int64 limit, int64 *left,
		 FarEndSink sink, void *state)
{
	FarEnds		ends;
	bool		more;

	ReadFirst(table, query, range, limit, &ends);
	for (int64 i = 0; i < ends.n && *left > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (sink(state, range->type, &ends.uuids[i], ends.times[i]))
			(*left)--;
	}
	more = ends.n == limit;
	if (more)
	{
		range->lowest = ends.uuids[ends.n - 1];
		more = NextUuid(&range->lowest);
	}
	pfree(ends.uuids);
	pfree(ends.times);
	return more;
}

/* Far ends that are read together, so that not all rows are in memory. */
#define FAR_ENDS_AT_ONCE 1000

/* Hand far ends of one type to the sink, until it has taken as many as are left. */
static void
PutType(const FarEndTable *table, const FarEndQuery *query, FarEndRange *range, int64 *left, FarEndSink sink, void *state)
{
	int64		limit = Min(*left, FAR_ENDS_AT_ONCE);

	/* If some were not taken, most of the others may not be taken either. */
	while (*left > 0 && PutFirst(table, query, range, limit, left, sink, state))
		limit = FAR_ENDS_AT_ONCE;
}

/* Read far ends, in the active snapshot, until the sink has taken as many as are asked for. */
void
FarEndsRead(const FarEndTable *table, const FarEndQuery *query, FarEndSink sink, void *state)
{
	Datum		values[] = {Int64GetDatum(query->near_id)};
	int			n = (int) StatementRead(unconstify(Statement *, &table->types), values, 0);
	int32	   *ids = palloc(sizeof(int32) * Max(n, 1));
	char	  **types = palloc(sizeof(char *) * Max(n, 1));
	int64		left = query->limit;

	for (int i = 0; i < n; i++)
	{
		ids[i] = ResultInt32(i, 1);
		types[i] = ResultName(i, 2);
		NodeCheckType(types[i]);
	}
	ResultFree();
	for (int i = 0; i < n && left > 0; i++)
	{
		FarEndRange range;

		if (IsAskedFor(query, types[i]) && RangeInit(&range, query, ids[i], types[i]))
			PutType(table, query, &range, &left, sink, state);
	}
}
