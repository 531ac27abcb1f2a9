/*
 * keyedtable.h
 *		The description of a table that is accessed by key.
 */
#ifndef DMS_KEYEDTABLE_H
#define DMS_KEYEDTABLE_H

#include "postgres.h"

#include "engine/statement.h"
#include "engine/storedrows.h"
#include "nodes/lockoptions.h"

/* What a statement on a keyed table does. */
typedef enum KeyedVerb
{
	KEYED_READ,
	KEYED_LOCK,
	KEYED_INSERT,
	KEYED_UPDATE,
	KEYED_DELETE
} KeyedVerb;

/* The form of a statement on a keyed table. */
typedef struct KeyedForm
{
	KeyedVerb	verb;
	bool		many;			/* parameters are arrays, one element per row */
	LockClauseStrength strength;	/* of KEYED_LOCK */
	LockWaitPolicy wait;		/* of KEYED_LOCK */
} KeyedForm;

/* A statement that was made from a description, kept with its plan. */
typedef struct KeyedStatement
{
	KeyedForm	form;
	Statement	statement;
	struct KeyedStatement *next;
} KeyedStatement;

/*
 * A table and some of its columns.  The first nkeys columns identify a row; a
 * search compares the first nsearch.  Scans and statements are both made from
 * this description, so they cannot disagree.
 */
typedef struct KeyedTable
{
	const char *schema;
	const char *name;
	const char *const *columns;
	const Oid  *types;			/* types that the columns must have */
	int			ncolumns;
	int			nkeys;
	int			nsearch;		/* 0 means 1 */
	int			nrequired;		/* leading columns that are never NULL; 0
								 * means all */
	int			nread;			/* trailing columns that an update leaves
								 * alone */
	bool		any_order;		/* if false, rows are ordered by the key */
	bool		placed;			/* rows are read over and over again: see
								 * rowplaces.c */
	MemoryContext context;		/* of the statements; NULL means
								 * TopMemoryContext */
	KeyedStatement *statements;
	struct KeyAccess *access;	/* see keyaccess.c; NULL at first */
} KeyedTable;

#define KEYED_TABLE_MAX_SEARCH 4

/* Initializes the columns of a description from arrays of names and types. */
#define KEYED_COLUMNS(names, oids) \
	.columns = (names), .types = (oids), .ncolumns = lengthof(names)

extern int	KeyedTableSearchColumns(const KeyedTable *table);
extern int	KeyedTableRequiredColumns(const KeyedTable *table);
extern int	KeyedTableChangedColumns(const KeyedTable *table);
extern Statement *KeyedTableStatement(KeyedTable *table, KeyedForm form);
extern void KeyedTableForget(KeyedTable *table);
extern uint64 KeyedTableRun(KeyedTable *table, KeyedVerb verb, const RowSet *rows);
extern void KeyedTableLock(KeyedTable *table, const int64 *ids, int n,
						   LockClauseStrength strength, LockWaitPolicy wait, StoredRows *rows);
extern bool KeyedTableLockOne(KeyedTable *table, int64 id, LockClauseStrength strength,
							  LockWaitPolicy wait, StoredRows *rows);

#endif							/* DMS_KEYEDTABLE_H */
