/*
 * storedpage.h
 *		The stored rows of some documents of one resource, and what they refer
 *		to.
 */
#ifndef DMS_STOREDPAGE_H
#define DMS_STOREDPAGE_H

#include "postgres.h"

#include "locks.h"
#include "modelcache.h"

/* Rows of one table, or of one projection. */
typedef struct StoredRows
{
	int			nrows;
	int			ncolumns;
	Datum	   *values;			/* row by row */
	bool	   *nulls;
	int			next;			/* the row that a reader comes to next */
} StoredRows;

/* A document that is referred to; row -1: not (or not visible) there. */
typedef struct StoredTarget
{
	int64		document_id;
	int			row;
} StoredTarget;

/* The documents of one type that are referred to, and their identities. */
typedef struct StoredTargets
{
	StoredTarget *targets;		/* by id, each once */
	int			n;
	int			capacity;
	StoredRows	rows;
} StoredTargets;

typedef struct StoredPage
{
	Resource   *resource;
	StoredRows *tables;			/* as model->tables, in order of their keys */
	StoredTargets *targets;		/* as model->projections */
	StoredTargets descriptors;
} StoredPage;

extern StoredPage *StoredPageRead(Resource *resource, const int64 *ids, int n);
extern void StoredPageHeader(const StoredPage *page, int document, DocumentHeader *header);
extern const Datum *StoredPageTarget(const StoredTargets *targets, int64 document_id,
									 const bool **nulls);
extern uint64 ReadRun(Statement *statement, Datum *values, long limit);

#define StoredRowValues(rows, row) (&(rows)->values[(row) * (rows)->ncolumns])
#define StoredRowNulls(rows, row) (&(rows)->nulls[(row) * (rows)->ncolumns])

#endif							/* DMS_STOREDPAGE_H */
