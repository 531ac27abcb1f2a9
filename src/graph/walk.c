/*
 * walk.c
 *		Walking along relations, from some documents to all that they lead to.
 *
 * A walk goes by levels, with one read per relation and level.  Collections may
 * contain each other, so it remembers where it has been; of parents, which form
 * trees, that keeps it from going on for ever in a store that contradicts itself.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/ids.h"
#include "graph/members.h"
#include "graph/parents.h"
#include "graph/walk.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* The ids of a level. */
typedef struct Level
{
	int64	   *ids;
	int			n;
} Level;

/* Add a document to the walk, unless it is there. */
static void
AddStep(Walk *walk, int64 document_id, int depth, int along)
{
	bool		found;
	WalkStep	step = {.document_id = document_id,.depth = depth,.along = along};

	(void) hash_search(walk->seen, &document_id, HASH_ENTER, &found);
	if (!found)
		APPEND(walk->steps, walk->n, step);
}

/* Add the documents that a relation leads to. */
static void
AddSteps(Walk *walk, const int64 *ids, int n, int depth, int along)
{
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		AddStep(walk, ids[i], depth, along);
	}
}

/* Walk from one level to the next along one relation. */
static void
WalkAlong(Walk *walk, const Level *level, int depth, int along)
{
	int			n = 0;
	int64	   *found = NULL;

	switch (along)
	{
		case WALK_PARENTS:
			found = ParentsOf(level->ids, level->n, &n);
			break;
		case WALK_CHILDREN:
			found = ParentsChildrenOf(level->ids, level->n, &n);
			break;
		case WALK_COLLECTIONS:
			found = MembersCollectionsOf(level->ids, level->n, true, &n);
			break;
		case WALK_MEMBERS:
			found = MembersOf(level->ids, level->n, true, &n);
			break;
	}
	AddSteps(walk, found, n, depth, along);
}

/* Returns the ids of the steps from one on, ascending. */
static Level
LevelFrom(const Walk *walk, int first)
{
	Level		level = {.ids = palloc_extended(sizeof(int64) * Max(walk->n - first, 1), MCXT_ALLOC_HUGE)};

	for (int i = first; i < walk->n; i++)
		level.ids[level.n++] = walk->steps[i].document_id;
	level.n = IdsSort(level.ids, level.n);
	return level;
}

/* Start a walk, in the current memory context. */
static Walk *
NewWalk(void)
{
	Walk	   *walk = palloc0(sizeof(Walk));
	HASHCTL		control = {.keysize = sizeof(int64),.entrysize = sizeof(int64),.hcxt = CurrentMemoryContext};

	walk->seen = hash_create("dms walk", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return walk;
}

/*
 * Walk from some documents along relations, in the active snapshot.  The walk ends
 * early if it has reached a target, unless that is 0, or more than max documents,
 * unless that is 0.
 */
Walk *
WalkFrom(const int64 *starts, int n, int relations, int64 target, int max)
{
	Walk	   *walk = NewWalk();
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms level of a walk", ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = CurrentMemoryContext;
	int			first = 0;

	walk->steps = palloc(sizeof(WalkStep));
	AddSteps(walk, starts, n, 0, 0);
	for (int depth = 1; first < walk->n; depth++)
	{
		Level		level;

		if ((target != 0 && WalkHas(walk, target)) || (max > 0 && walk->n > max))
			break;
		MemoryContextSwitchTo(context);
		level = LevelFrom(walk, first);
		first = walk->n;
		for (int along = WALK_PARENTS; along <= WALK_MEMBERS; along <<= 1)
			if (relations & along)
				WalkAlong(walk, &level, depth, along);
		MemoryContextSwitchTo(saved);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return walk;
}

/* Returns true if a walk has reached a document. */
bool
WalkHas(const Walk *walk, int64 document_id)
{
	return hash_search(walk->seen, &document_id, HASH_FIND, NULL) != NULL;
}

/* Returns the documents that a walk has reached, those where it began included; ascending. */
int64 *
WalkIds(const Walk *walk, int *n)
{
	Level		all = LevelFrom(walk, 0);

	*n = all.n;
	return all.ids;
}
