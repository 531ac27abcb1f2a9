/*
 * writefacts.h
 *		What writing rows of a table without statements needs to know about it.
 */
#ifndef DMS_WRITEFACTS_H
#define DMS_WRITEFACTS_H

#include "postgres.h"

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/nodes.h"
#include "utils/relcache.h"

/* Most columns of a foreign key that is checked without a query. */
#define FOREIGN_KEY_COLUMNS 8

/* An index that gets an entry for each new row. */
typedef struct WriteIndex
{
	Oid			index;
	IndexInfo  *info;
	AttrNumber	filter;			/* only rows where this column is NULL or is
								 * not have entries; 0: all rows */
	bool		filter_null;	/* where it is NULL */
	bool		btree;
	bool		arbiter;		/* valid, and violations are found at once */
} WriteIndex;

/* A foreign key of the table; columns are in the order of the target's index. */
typedef struct ForeignKey
{
	int			trigger;		/* number of the trigger that would check it */
	Oid			target;			/* the referenced table */
	Oid			index;			/* the referenced unique index */
	int			ncolumns;
	AttrNumber	columns[FOREIGN_KEY_COLUMNS];
	RegProcedure equals[FOREIGN_KEY_COLUMNS];
} ForeignKey;

/* What a column gets if an insertion does not give a value. */
typedef enum FillKind
{
	FILL_NULL,
	FILL_CONSTANT,
	FILL_NOW,					/* the start of the transaction */
	FILL_UNKNOWN				/* left to a statement */
} FillKind;

typedef struct ColumnFill
{
	FillKind	kind;
	Datum		value;			/* of FILL_CONSTANT */
} ColumnFill;

/* What is known about a table; it holds while the table is locked. */
typedef struct WriteFacts
{
	bool		inserts;		/* these can be done without statements */
	bool		updates;
	bool		deletes;
	WriteIndex *indexes;
	int			nindexes;
	bool		deferrable;		/* a unique key is */
	ExprState **checks;			/* check constraints */
	int			nchecks;
	ExprContext *evaluation;	/* of checks */
	Bitmapset  *watched;		/* columns whose update fires a trigger, if
								 * the update sets one of them */
	ForeignKey *insert_keys;	/* to check after an insertion, in this order */
	int			ninsert_keys;
	ForeignKey *update_keys;
	int			nupdate_keys;
	int		   *referenced;		/* triggers of foreign keys that point here */
	int			nreferenced;
	ColumnFill *fills;			/* by column */
	int			nunknown;		/* number of fills that are FILL_UNKNOWN */
} WriteFacts;

extern const WriteFacts *WriteFactsOf(Relation relation);
extern bool WriteFactsUpdate(const WriteFacts *facts, const AttrNumber *columns, int n);
extern bool WriteFactsAccept(const WriteFacts *facts, TupleTableSlot *row);

#endif							/* DMS_WRITEFACTS_H */
