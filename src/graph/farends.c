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

/* Read far ends of one type, up to a limit; returns how many there were. */
static int64
ReadType(const FarEndTable *table, const FarEndQuery *query, int32 type_id, const char *type,
		 int64 limit, FarEndSink sink, void *state)
{
	static const Oid result_types[] = {UUIDOID, TIMESTAMPTZOID};
	pg_uuid_t	lowest = query->lowest;
	pg_uuid_t	after = query->after;
	Datum		values[] = {
		Int64GetDatum(query->near_id), Int32GetDatum(type_id), UUIDPGetDatum(&lowest),
		UUIDPGetDatum(&query->highest), Int64GetDatum(limit)
	};
	pg_uuid_t  *uuids;
	TimestampTz *times;
	int64		n;

	if (query->after_type != NULL && strcmp(type, query->after_type) == 0)
	{
		if (!NextUuid(&after))
			return 0;
		if (memcmp(&after, &lowest, UUID_LEN) > 0)
			lowest = after;
	}
	n = (int64) StatementRead(unconstify(Statement *, &table->page), values, 0);
	ResultExpect(result_types);

	/* Copied, because what the caller does with a far end may run statements. */
	uuids = palloc(sizeof(pg_uuid_t) * Max(n, 1));
	times = palloc(sizeof(TimestampTz) * Max(n, 1));
	for (int64 i = 0; i < n; i++)
	{
		uuids[i] = ResultUuid(i, 1);
		times[i] = ResultTime(i, 2);
	}
	ResultFree();
	for (int64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sink(state, type, &uuids[i], times[i]);
	}
	pfree(uuids);
	pfree(times);
	return n;
}

/* Read far ends, in the active snapshot; the sink gets each. */
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
	}
	ResultFree();
	for (int i = 0; i < n && left > 0; i++)
		if (IsAskedFor(query, types[i]))
			left -= ReadType(table, query, ids[i], types[i], left, sink, state);
}
