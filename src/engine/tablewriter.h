/*
 * tablewriter.h
 *		Writing rows and their index entries without an executor.
 */
#ifndef DMS_TABLEWRITER_H
#define DMS_TABLEWRITER_H

#include "postgres.h"

#include "engine/writefacts.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

/* The largest number of rows that a writer holds without a memory context of its own. */
#define FEW_ROWS 64

/* A table that is being written. */
typedef struct TableWriter
{
	Relation	relation;
	CmdType		operation;
	const WriteFacts *facts;
	TupleDesc	descriptor;
	const TupleTableSlotOps *ops;	/* of the slots */
	Relation   *indexes;		/* opened for the first entries */
	TupleTableSlot **slots;		/* new rows without index entries */
	List	  **rechecks;		/* of each, unique indexes to check again */
	int			capacity;
	int			nslots;			/* number of slots that exist */
	int			n;				/* number of slots that are in use */
	bool		doubtful;		/* there are indexes to check again */
	const int  *changed;		/* numbers of columns that an update replaces */
	int			nchanged;
	MemoryContext context;		/* of the slots */
	MemoryContext batch;		/* of index entries; NULL for few rows */
} TableWriter;

extern bool TableWriterBegin(TableWriter *writer, Relation relation, CmdType operation, int capacity,
							 const TupleTableSlotOps *ops);
extern TupleTableSlot *TableWriterAdd(TableWriter *writer);
extern void TableWriterInsert(TableWriter *writer);
extern bool TableWriterClaim(TableWriter *writer, Oid arbiter);
extern bool TableWriterUpdate(TableWriter *writer, TupleTableSlot *old, TupleTableSlot *row, bool *entries);
extern void TableWriterFill(TableWriter *writer);
extern void TableWriterCheck(TableWriter *writer, TupleTableSlot *old);
extern void TableWriterClear(TableWriter *writer);
extern void TableWriterEnd(TableWriter *writer);

#endif							/* DMS_TABLEWRITER_H */
