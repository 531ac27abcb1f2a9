/*
 * plansizes.c
 *		Planning as if tables were large.
 *
 * Plans of our statements are kept for the session, and a table may be empty when one is
 * made.  To the planner, reading all of an empty index costs no more than one search in
 * it: a join may then read the whole index, once or for each row of the other table, and
 * go on to do so when there are a hundred thousand rows.  No setting of the planner
 * forbids that.  So while such a plan is made, no table and no index has fewer rows and
 * pages than these.
 *
 * The tables that have a row for each resource are left as they are: they do not grow with
 * the documents, and joins that begin with a resource should begin there.
 */
#include "postgres.h"

#include "access/transam.h"
#include "base/faults.h"
#include "catalog/namespace.h"
#include "engine/plansizes.h"
#include "nodes/pathnodes.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"

/* Sizes of a table, and of its indexes.  A partial index has a tenth of them. */
#define ROWS 1000000
#define TABLE_PAGES 20000
#define INDEX_PAGES 4000
#define INDEX_HEIGHT 2

static get_relation_info_hook_type next_hook = NULL;
static bool planning = false;

/* Let an index be large, too. */
static void
EnlargeIndex(IndexOptInfo *index)
{
	int			part = index->indpred == NIL ? 1 : 10;

	index->tuples = Max(index->tuples, ROWS / part);
	index->pages = Max(index->pages, INDEX_PAGES / part);
	if (index->tree_height >= 0)
		index->tree_height = Max(index->tree_height, INDEX_HEIGHT);
}

/* Returns true if a table has a row for each resource, and not for each document. */
static bool
IsOfResources(Oid relation)
{
	const char *name = get_rel_name(relation);

	return name != NULL && (strcmp(name, "resourcetype") == 0 || strcmp(name, "resourcemodel") == 0) &&
		get_rel_namespace(relation) == get_namespace_oid("dms", true);
}

/* Called when the planner has found out the size of a table. */
static void
Enlarge(PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *info)
{
	ListCell   *cell;

	if (next_hook != NULL)
		next_hook(root, relation, inhparent, info);
	if (!planning || inhparent || relation < FirstNormalObjectId || IsOfResources(relation) ||
		FAULT_SKIP("plan_sizes"))
		return;
	info->tuples = Max(info->tuples, ROWS);
	info->pages = Max(info->pages, TABLE_PAGES);
	foreach(cell, info->indexlist)
		EnlargeIndex(lfirst_node(IndexOptInfo, cell));
}

/* Install the hook. */
void
PlanSizesInit(void)
{
	next_hook = get_relation_info_hook;
	get_relation_info_hook = Enlarge;
}

/* Let tables be large for the plan that is made now. */
void
PlanSizesBegin(void)
{
	planning = true;
}

/* Let them be what they are. */
void
PlanSizesEnd(void)
{
	planning = false;
}
