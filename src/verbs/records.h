/*
 * records.h
 *		Documents and relations as records with two keys.
 */
#ifndef DMS_RECORDS_H
#define DMS_RECORDS_H

#include "postgres.h"

#include "lib/stringinfo.h"

/* Takes records, one after the other. */
typedef void (*RecordSink) (void *state, const char *json);

/* Which records are asked for. */
typedef struct RecordQuery
{
	const char *pk;
	const char *sk_prefix;
	const char *index;			/* NULL: the records' own order */
	const char *after;			/* the sort key to continue after; NULL: none */
	int64		limit;
} RecordQuery;

extern void RecordsQuery(const RecordQuery *query, RecordSink sink, void *state);

#endif							/* DMS_RECORDS_H */
