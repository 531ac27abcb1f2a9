/*
 * modelgraph.c
 *		Analyzing how resource types depend on each other: ranks,
 *		whose identity can change, the order to load in, and how to read an
 *		identity from storage.
 *
 * There are two graphs.  In the graph of identities a type depends on those
 * whose identity is part of its own.  It must have no cycles, or an identity
 * would be a part of itself; its levels are ranks, and the engine locks
 * identities rank by rank, so that two transactions take locks in the same
 * order.  In the graph of references a type depends on all that it refers to.
 * That graph may have cycles (a district of a district); its levels are the
 * order in which a client can load documents.
 */
#include "postgres.h"

#include "base/grow.h"
#include "miscadmin.h"
#include "schema/modelgraph.h"

typedef enum WalkColor
{
	NOT_SEEN,
	ON_THE_WAY,
	DONE
} WalkColor;

/*
 * The types that the identity of a type depends on; for an abstract one, its
 * subclasses.
 */
static List *
IdentityTargets(ModelSet *set, ModelEntry *entry)
{
	List	   *targets = NIL;

	if (entry->api == NULL)
		return entry->subclasses;
	for (int i = 0; i < entry->model->nreferences; i++)
	{
		ReferenceModel *r = &entry->model->references[i];
		ModelEntry *target = ModelSetFind(set, r->project, r->resource);

		if (r->identity && target != NULL)
			targets = list_append_unique_ptr(targets, target);
	}
	return targets;
}

/* Report the types of the cycle that closes at *at*. */
static void
ReportCycle(ModelSet *set, List *way, ModelEntry *at)
{
	StringInfoData names;
	bool		inside = false;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, way)
	{
		ModelEntry *entry = lfirst(cell);

		inside |= entry == at;
		if (inside)
			appendStringInfo(&names, "%s -> ", entry->place);
	}
	ProblemAt(set->problems, at->place,
			  "the identities of these resources depend on each other: %s%s.",
			  names.data, at->place);
}

/*
 * Rank a type above all types that its identity depends on.  Its identity can
 * change if it may be updated, or if one of those can change.
 */
static void
RankEntry(ModelSet *set, ModelEntry *entry, List *way)
{
	ListCell   *cell;

	check_stack_depth();
	if (entry->color == DONE)
		return;
	if (entry->color == ON_THE_WAY)
	{
		ReportCycle(set, way, entry);
		return;
	}
	entry->color = ON_THE_WAY;
	way = lappend(list_copy(way), entry);
	entry->model->can_change = entry->model->allow_identity_updates;
	foreach(cell, IdentityTargets(set, entry))
	{
		ModelEntry *target = lfirst(cell);
		int			step = entry->api ? 1 : 0;

		RankEntry(set, target, way);
		entry->model->can_change |= target->model->can_change;
		entry->model->rank = Max(entry->model->rank, target->model->rank + step);
	}
	entry->color = DONE;
}

/*
 * Give all subclasses of an abstract resource the same rank.  A reference to
 * the abstract resource is locked by that rank, and which subclass its target
 * has is known only later.  That raises types that depend on them in turn;
 * returns true if any rank was raised.
 */
static bool
LevelSubclasses(ModelSet *set)
{
	bool		lifted = false;
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, set->entries)
	{
		ModelEntry *entry = lfirst(cell);
		int			step = entry->api ? 1 : 0;

		foreach(inner, IdentityTargets(set, entry))
		{
			ModelEntry *target = lfirst(inner);

			if (entry->model->rank < target->model->rank + step)
			{
				entry->model->rank = target->model->rank + step;
				lifted = true;
			}
		}
		foreach(inner, entry->subclasses)
		{
			ModelEntry *subclass = lfirst(inner);

			lifted |= subclass->model->rank < entry->model->rank;
			subclass->model->rank = entry->model->rank;
		}
	}
	return lifted;
}

/* Set ranks, and whether identities can change, for all types and references. */
void
ModelGraphRank(ModelSet *set)
{
	int			rounds = 0;
	ListCell   *cell;

	foreach(cell, set->entries)
		RankEntry(set, lfirst(cell), NIL);

	/*
	 * This ends unless a subclass depends on a sibling.  Then the order of
	 * their locks is not fixed, which costs a retry after a deadlock at
	 * worst.
	 */
	while (LevelSubclasses(set) && ++rounds < list_length(set->entries))
		CHECK_FOR_INTERRUPTS();
	foreach(cell, set->entries)
	{
		ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		for (int i = 0; i < model->nreferences; i++)
		{
			ReferenceModel *r = &model->references[i];
			ModelEntry *target = ModelSetFind(set, r->project, r->resource);

			if (target == NULL)
				continue;
			r->can_change = target->model->can_change;
			r->rank = target->model->rank;
		}
	}
}

static void OrderEntry(ModelSet *set, ModelEntry *entry);

/*
 * The level that a reference to this type requires.  References that close a
 * cycle do not count.
 */
static int
OrderAfter(ModelSet *set, ModelEntry *target)
{
	int			order = 0;
	ListCell   *cell;

	if (target == NULL || target->color == ON_THE_WAY)
		return 0;
	if (target->api)
	{
		OrderEntry(set, target);
		return target->model->load_order + 1;
	}
	/* The target may be of any of the subclasses. */
	foreach(cell, target->subclasses)
		order = Max(order, OrderAfter(set, lfirst(cell)));
	return order;
}

/* Set the load order of a type: after all types that it refers to. */
static void
OrderEntry(ModelSet *set, ModelEntry *entry)
{
	int			order = 0;

	check_stack_depth();
	if (entry->color != NOT_SEEN)
		return;
	entry->color = ON_THE_WAY;
	for (int i = 0; i < entry->model->nreferences; i++)
	{
		ReferenceModel *r = &entry->model->references[i];

		order = Max(order, OrderAfter(set, ModelSetFind(set, r->project, r->resource)));
	}
	entry->model->load_order = order;
	entry->color = DONE;
}

/* An abstract type is loaded when the last of its subclasses is. */
static void
OrderAbstract(ModelEntry *entry)
{
	ListCell   *cell;

	entry->model->load_order = 0;
	foreach(cell, entry->subclasses)
		entry->model->load_order = Max(entry->model->load_order,
									   ((ModelEntry *) lfirst(cell))->model->load_order);
}

/* Set the load order of all types. */
void
ModelGraphOrder(ModelSet *set)
{
	ListCell   *cell;

	foreach(cell, set->entries)
		((ModelEntry *) lfirst(cell))->color = NOT_SEEN;
	foreach(cell, set->entries)
	{
		if (((ModelEntry *) lfirst(cell))->api)
			OrderEntry(set, lfirst(cell));
	}
	foreach(cell, set->entries)
	{
		if (((ModelEntry *) lfirst(cell))->abstract)
			OrderAbstract(lfirst(cell));
	}
}

/*
 * The join from another one over a column, added if it is not there.  Values
 * that come over one reference share its join.
 */
static int
JoinTo(ProjectionModel *projection, int from, const char *from_column,
	   const char *schema, const char *table)
{
	JoinModel	join = {0};

	for (int i = 1; i < projection->njoins; i++)
		if (projection->joins[i].from == from &&
			strcmp(projection->joins[i].from_column, from_column) == 0)
			return i;
	join.schema = pstrdup(schema);
	join.table = pstrdup(table);
	join.from = from;
	join.from_column = from_column ? pstrdup(from_column) : NULL;
	return APPEND(projection->joins, projection->njoins, join);
}

/*
 * Follow one identity value to the column that holds it.
 *
 * A value that comes from a reference is not stored here.  It is found in the
 * row of the target, which may have it from a reference in turn; the members
 * of a reference say which value of the target is meant.  The graph of
 * identities has no cycles, so this ends.
 */
static void
ProjectValue(ModelSet *set, ProjectionModel *projection, ModelEntry *entry,
			 const char *identity_path, int join, ProjectedModel *value)
{
	ResourceModel *model = entry->model;
	IdentityModel *identity = NULL;
	ColumnModel *column;
	ModelEntry *target;
	ReferenceModel *r;

	check_stack_depth();
	for (int i = 0; i < model->nidentity; i++)
		if (strcmp(model->identity[i].path, identity_path) == 0)
			identity = &model->identity[i];
	if (identity == NULL)
		elog(ERROR, "%s has no identity value %s", entry->place, identity_path);
	column = &model->tables[0].columns[identity->column];
	if (identity->reference >= 0)
	{
		r = &model->references[identity->reference];
		target = ModelSetFind(set, r->project, r->resource);
		join = JoinTo(projection, join, column->name,
					  target->model->tables[0].schema, target->model->tables[0].name);
		ProjectValue(set, projection, target,
					 r->members[identity->member].identity_path, join, value);
	}
	else if (column->role == COLUMN_DESCRIPTOR)
	{
		value->join = JoinTo(projection, join, column->name, "dms", "descriptor");
		value->column = "uri";
		value->type = VALUE_TEXT;
	}
	else
	{
		value->join = join;
		value->column = pstrdup(column->name);
		value->type = identity->type;
	}
}

/* Describe how to read the identity of a type from its tables. */
static ProjectionModel
ProjectEntry(ModelSet *set, ModelEntry *entry)
{
	ProjectionModel projection = {0};

	projection.project = pstrdup(entry->model->project);
	projection.resource = pstrdup(entry->model->resource);
	JoinTo(&projection, -1, NULL, entry->model->tables[0].schema,
		   entry->model->tables[0].name);
	for (int i = 0; i < entry->model->nidentity; i++)
	{
		ProjectedModel value = {0};

		value.path = pstrdup(entry->model->identity[i].path);
		value.lower = entry->model->identity[i].lower;
		ProjectValue(set, &projection, entry, value.path, 0, &value);
		APPEND(projection.values, projection.nvalues, value);
	}
	return projection;
}

/*
 * Add the projections that a resource needs: its own, with which identities
 * are recomputed, and those of its targets, with which reference objects are
 * written.  A session needs no other model for that.
 */
void
ModelGraphProject(ModelSet *set, ModelEntry *entry)
{
	ResourceModel *model = entry->model;

	APPEND(model->projections, model->nprojections, ProjectEntry(set, entry));
	for (int i = 0; i < model->nreferences; i++)
	{
		ReferenceModel *r = &model->references[i];

		if (r->descriptor)
			continue;
		for (int j = 0; j < model->nprojections; j++)
			if (strcmp(model->projections[j].project, r->project) == 0 &&
				strcmp(model->projections[j].resource, r->resource) == 0)
				r->projection = j;
		if (r->projection < 0)
			r->projection = APPEND(model->projections, model->nprojections,
								   ProjectEntry(set, ModelSetFind(set, r->project, r->resource)));
	}
}
