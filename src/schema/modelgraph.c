/*
 * modelgraph.c
 *		What follows from how resource types depend on each other: ranks, whose
 *		identity can change, the order to load in, and how to read an identity
 *		from storage.
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
}			WalkColor;

/* The types whose identities make up ours; for an abstract one, its subclasses. */
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

/* Say which types form the cycle that closes at *at*. */
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

/* Rank a type behind everything its identity is made of. */
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
 * Give all subclasses of an abstract resource the same rank: a reference to
 * the abstract one is locked by it, whatever the document behind it is.  That
 * lifts what is built on them in turn; returns whether anything was lifted.
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

/* Ranks, whose identity can change, and the same on every reference. */
void
ModelGraphRank(ModelSet *set)
{
	int			rounds = 0;
	ListCell   *cell;

	foreach(cell, set->entries)
		RankEntry(set, lfirst(cell), NIL);

	/*
	 * Ends unless a subclass is built on a sibling; then the order of their
	 * locks is not settled, which costs a retry at worst.
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
 * The level of a type as seen by one that refers to it.  References that close
 * a cycle (a district of a district) do not count.
 */
static int
OrderBehind(ModelSet *set, ModelEntry *target)
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
	/* Any of the subclasses may be meant. */
	foreach(cell, target->subclasses)
		order = Max(order, OrderBehind(set, lfirst(cell)));
	return order;
}

/* Load order: behind everything a type refers to. */
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

		order = Max(order, OrderBehind(set, ModelSetFind(set, r->project, r->resource)));
	}
	entry->model->load_order = order;
	entry->color = DONE;
}

/* An abstract type is complete when the last of its subclasses is. */
static void
OrderAbstract(ModelEntry *entry)
{
	ListCell   *cell;

	entry->model->load_order = 0;
	foreach(cell, entry->subclasses)
		entry->model->load_order = Max(entry->model->load_order,
									   ((ModelEntry *) lfirst(cell))->model->load_order);
}

void
ModelGraphOrder(ModelSet *set)
{
	ListCell   *cell;

	foreach(cell, set->entries)
		((ModelEntry *) lfirst(cell))->color = NOT_SEEN;
	foreach(cell, set->entries)
		if (((ModelEntry *) lfirst(cell))->api)
		OrderEntry(set, lfirst(cell));
	foreach(cell, set->entries)
		if (((ModelEntry *) lfirst(cell))->abstract)
		OrderAbstract(lfirst(cell));
}

/* The join that leads from another over a column, made if not yet there. */
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

/* Follow one identity value to the column that holds it. */
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

/* How to read the identity of a type from its tables. */
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

/* The projections that a resource needs: its own, and those of its targets. */
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
