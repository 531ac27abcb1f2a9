/*
 * farends.h
 *		Pages of the documents that are related to one document.
 */
#ifndef DMS_FARENDS_H
#define DMS_FARENDS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "engine/coresql.h"
#include "engine/statement.h"
#include "utils/uuid.h"

/* A table whose rows have a near end, and type and uuid of a far end. */
typedef struct FarEndTable
{
	Statement	types;			/* the types of far ends, by name */
	Statement	page;			/* far ends of one type, by uuid */
} FarEndTable;

extern const Oid far_end_types_args[1];
extern const Oid far_end_page_args[5];

/*
 * The statements on such a table, by its columns.  There is an index on (near, type,
 * uuid): types are found by going from one to the next, and a page is a range of it.
 */
#define FAR_END_TABLE(table, near, type, uuid, created, joins) \
{ \
	.types = { \
		.sql = "WITH RECURSIVE found (id) AS (" \
		"(SELECT r." type " FROM " table " AS r WHERE r." near " OPERATOR(pg_catalog.=) $1" \
		" ORDER BY r." type " LIMIT 1)" \
		" UNION ALL" \
		" SELECT (SELECT r." type " FROM " table " AS r WHERE r." near " OPERATOR(pg_catalog.=) $1" \
		" AND r." type " OPERATOR(pg_catalog.>) f.id ORDER BY r." type " LIMIT 1)" \
		" FROM found AS f WHERE f.id IS NOT NULL)" \
		" SELECT t.ResourceTypeId, t.ResourceType::pg_catalog.text FROM found AS f" \
		RESOURCE_TYPE_JOIN_SQL("t", "f.id") \
		" ORDER BY (t.ResourceType OPERATOR(pg_catalog.||) ':') COLLATE pg_catalog.\"C\"", \
		.nargs = lengthof(far_end_types_args), .argtypes = far_end_types_args, .ordered = true \
	}, \
	.page = { \
		.sql = "SELECT r." uuid ", " created " FROM " table " AS r" joins \
		" WHERE r." near " OPERATOR(pg_catalog.=) $1 AND r." type " OPERATOR(pg_catalog.=) $2" \
		" AND r." uuid " OPERATOR(pg_catalog.>=) $3 AND r." uuid " OPERATOR(pg_catalog.<=) $4" \
		" ORDER BY r." uuid " LIMIT $5", \
		.nargs = lengthof(far_end_page_args), .argtypes = far_end_page_args, .ordered = true \
	} \
}

/* Which far ends to read.  They are in the order of their URNs. */
typedef struct FarEndQuery
{
	int64		near_id;
	const char *type;			/* their type; NULL: any */
	bool		type_is_prefix; /* or what it begins with */
	pg_uuid_t	lowest;			/* bounds of their uuids */
	pg_uuid_t	highest;
	const char *after_type;		/* of the one to continue after; NULL: none */
	pg_uuid_t	after;
	int64		limit;
} FarEndQuery;

/*
 * Takes far ends, one after the other.  Returns false if the caller must not see one: it
 * does not count then, because a page that ends early would be taken for the last one.
 */
typedef bool (*FarEndSink) (void *state, const char *type, const pg_uuid_t *uuid, TimestampTz created);

extern void FarEndQueryInit(FarEndQuery *query, int64 near_id, int64 limit);
extern void FarEndsRead(const FarEndTable *table, const FarEndQuery *query, FarEndSink sink, void *state);

#endif							/* DMS_FARENDS_H */
