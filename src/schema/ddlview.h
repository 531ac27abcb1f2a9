/*
 * ddlview.h
 *		The view of an abstract resource over its subclasses.
 */
#ifndef DMS_DDLVIEW_H
#define DMS_DDLVIEW_H

#include "postgres.h"

#include "schema/modelset.h"

/* A subclass: which column of its root table is which of the view. */
typedef struct DdlBranch
{
	const ModelEntry *subclass;
	const TableModel *table;
	int		   *columns;
} DdlBranch;

typedef struct DdlView
{
	const ModelEntry *entry;
	const char *schema;
	const char *name;
	const char *comment;
	int			ncolumns;		/* the discriminator follows these */
	DdlBranch  *branches;
	int			nbranches;
} DdlView;

extern DdlView *DdlViewOf(const ModelEntry *entry);
extern char *DdlViewName(const DdlView *view);
extern char *DdlViewSql(const DdlView *view, bool replace);
extern char *DdlViewCommentSql(const DdlView *view);

#endif							/* DMS_DDLVIEW_H */
