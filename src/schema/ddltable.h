/*
 * ddltable.h
 *		What a table of a model is like in the database: its columns, keys,
 *		indexes and comments.
 */
#ifndef DMS_DDLTABLE_H
#define DMS_DDLTABLE_H

#include "postgres.h"

#include "schema/modelset.h"

typedef struct DdlColumn
{
	const char *name;
	const char *type;			/* as SQL */
	bool		required;
	const char *comment;
} DdlColumn;

typedef enum DdlKeyKind
{
	KEY_PRIMARY,
	KEY_UNIQUE,
	KEY_FOREIGN
} DdlKeyKind;

/* A constraint.  Columns are numbers of columns of the table. */
typedef struct DdlKey
{
	DdlKeyKind	kind;
	const char *name;
	int		   *columns;
	int			ncolumns;
	bool		nulls_not_distinct; /* unique keys */
	const char *target_schema;	/* foreign keys: to the key of this table */
	const char *target_table;
	const char *target_columns; /* as SQL */
	bool		cascades;		/* rows are deleted with the target's */
} DdlKey;

/* An index that belongs to no key. */
typedef struct DdlIndex
{
	const char *name;
	int			column;
	bool		hash;
	bool		partial;		/* only rows that have a value */
} DdlIndex;

typedef struct DdlTable
{
	const ModelEntry *entry;
	int			number;			/* among the tables of the model; -1: its
								 * members */
	const char *schema;
	const char *name;
	const char *title;
	const char *comment;
	DdlColumn  *columns;
	int			ncolumns;
	DdlKey	   *keys;
	int			nkeys;
	DdlIndex   *indexes;
	int			nindexes;
} DdlTable;

extern const char *DdlTableColumnType(const ColumnModel *column);
extern DdlTable *DdlTableOf(const ModelSet *set, const ModelEntry *entry, int table);
extern DdlTable *DdlTableOfMembers(const ModelEntry *entry);
extern DdlIndex *DdlTableIndexes(const ResourceModel *model, int table, int *n);
extern char *DdlTableName(const DdlTable *table);
extern char *DdlTableKeySql(const DdlTable *table, const DdlKey *key);
extern char *DdlTableColumnSql(const DdlColumn *column);
extern char *DdlTableIndexSql(const char *table, const char *column, const DdlIndex *index, const char *name,
							  bool concurrently);

#endif							/* DMS_DDLTABLE_H */
