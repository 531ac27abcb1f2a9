/*
 * renames.h
 *		What a change of the schema calls by another name.
 */
#ifndef DMS_RENAMES_H
#define DMS_RENAMES_H

#include "postgres.h"

#include "base/report.h"
#include "nodes/pg_list.h"
#include "utils/jsonb.h"

/* The name of a resource or table, or of a column. */
typedef struct RenamedName
{
	const char *text;			/* as given */
	const char *schema;
	const char *table;
	const char *column;			/* NULL: a resource or table */
} RenamedName;

typedef struct Rename
{
	RenamedName from;
	RenamedName to;
	bool		from_used;
	bool		to_used;
} Rename;

extern List *RenamesRead(Jsonb *object);
extern Rename *RenamesFind(List *renames, const char *schema, const char *table, const char *column, bool from);
extern void RenamesRefuseUnused(List *renames);

#endif							/* DMS_RENAMES_H */
