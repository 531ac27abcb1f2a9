/*
 * modelbind.c
 *		Binding what a resource says by path: targets of references,
 *		identity, query fields.
 *
 * modeltables.c has decided where values are stored.  Here every path of the
 * metadata is resolved to a column, a member of a reference or an array, and
 * what cannot be resolved is reported: a stored model has no path that leads
 * nowhere.
 *
 * The order of values matters throughout.  A reference is looked up by the
 * hash of its target's identity, so the members of a reference are put in the
 * order of the target's identityJsonPaths, whatever the order in the file.
 */
#include "postgres.h"

#include "base/grow.h"
#include "model/equalpaths.h"
#include "schema/modelbind.h"
#include "schema/modelkeys.h"
#include "schema/modeltables.h"
#include "schema/naming.h"

/*
 * The mapping of the reference object that a path lies in; NULL if none.
 * *name is the member.
 */
static ApiMapping *
MappingOfMember(const ApiResource *api, const char *path, const char **name)
{
	const char *dot = strrchr(path, '.');
	char	   *object = pnstrdup(path, dot - path);
	ListCell   *cell;

	foreach(cell, api->mappings)
	{
		ApiMapping *mapping = lfirst(cell);

		if (mapping->reference && !mapping->descriptor &&
			strcmp(mapping->path, object) == 0)
		{
			*name = dot + 1;
			return mapping;
		}
	}
	return NULL;
}

/*
 * The resource whose metadata describes an entry's identity.  All subclasses
 * of an abstract resource store its identity in the same way, so any of them
 * will do.
 */
static ApiResource *
Representative(ModelEntry *entry)
{
	if (entry->api)
		return entry->api;
	return entry->subclasses == NIL ? NULL :
		((ModelEntry *) linitial(entry->subclasses))->api;
}

/*
 * Find the descriptor type of an identity value; false if it is no
 * descriptor.
 *
 * A value of an identity may come from a reference, whose target may have it
 * from a reference in turn.  Only the mapping at the end of that chain names
 * the type.  The depth is limited, because cycles are reported later.
 */
static bool
DescriptorOfIdentity(ModelSet *set, ModelEntry *entry, const char *path,
					 char **project, char **resource, int depth)
{
	ApiResource *api = Representative(entry);
	const char *name;
	ApiMapping *mapping;
	ListCell   *cell;
	ListCell   *inner;

	if (api == NULL || depth > 64)
		return false;
	foreach(cell, api->mappings)
	{
		mapping = lfirst(cell);
		if (mapping->descriptor && strcmp(mapping->path, path) == 0)
		{
			*project = pstrdup(mapping->project);
			*resource = pstrdup(mapping->resource);
			return true;
		}
	}
	mapping = MappingOfMember(api, path, &name);
	if (mapping == NULL)
		return false;
	forboth(cell, mapping->member_names, inner, mapping->identity_paths)
	{
		ModelEntry *target = ModelSetFind(set, mapping->project, mapping->resource);

		if (strcmp(lfirst(cell), name) == 0 && target != NULL)
			return DescriptorOfIdentity(set, target, lfirst(inner), project,
										resource, depth + 1);
	}
	return false;
}

/* The property of a member in the scope of its reference; NULL if there is none. */
static PropertyModel *
MemberProperty(const ResourceModel *model, const char *reference_path,
			   const char *name)
{
	for (int i = 0; i < model->nscopes; i++)
	{
		ScopeModel *scope = &model->scopes[i];

		if (strcmp(scope->path, reference_path) != 0)
			continue;
		for (int j = 0; j < scope->nproperties; j++)
			if (strcmp(scope->properties[j].name, name) == 0)
				return &scope->properties[j];
	}
	return NULL;
}

/* The paths that identify documents of a type, in order. */
static List *
IdentityPaths(const ModelEntry *entry)
{
	return entry->api ? entry->api->identity_paths : entry->abstract->identity_paths;
}

/*
 * Bind the member of a reference that repeats one identity value of the
 * target.  Each value must be there exactly once, or the target could not be
 * identified.
 */
static void
BindMember(ModelSet *set, ModelEntry *entry, int reference,
		   const ApiMapping *mapping, ModelEntry *target, const char *path)
{
	ReferenceModel *r = &entry->model->references[reference];
	MemberModel member = {0};
	PropertyModel *property;
	const char *name = NULL;
	int			found = 0;
	ListCell   *cell;
	ListCell   *inner;

	forboth(cell, mapping->identity_paths, inner, mapping->member_names)
	{
		if (strcmp(lfirst(cell), path) == 0)
		{
			name = lfirst(inner);
			found++;
		}
	}
	if (found != 1)
	{
		ProblemAt(set->problems, mapping->place, found == 0 ?
				  "the identity value %s of %s.%s is not in the reference." :
				  "the identity value %s of %s.%s is in the reference more than once.",
				  path, mapping->project, mapping->resource);
		return;
	}
	property = MemberProperty(entry->model, mapping->path, name);
	if (property == NULL)
	{
		ProblemAt(set->problems, mapping->place, "%s.%s is not in the JSON schema.", mapping->path, name);
		return;
	}
	member.identity_path = pstrdup(path);
	member.name = pstrdup(name);
	member.type = property->value.type;
	member.lower = ModelPathIsDescriptor(path);
	DescriptorOfIdentity(set, target, path, &member.descriptor_project,
						 &member.descriptor_resource, 0);
	APPEND(r->members, r->nmembers, member);
}

/*
 * Bind a reference to its target, member by member.  Members are bound in the
 * order of the target's identity.  Members that identify nothing are an
 * error, since they would not be stored.
 */
static void
BindReference(ModelSet *set, ModelEntry *entry, int reference,
			  const ApiMapping *mapping)
{
	ReferenceModel *r = &entry->model->references[reference];
	ModelEntry *target = ModelSetFind(set, r->project, r->resource);
	bool		is_descriptor = target && target->api && target->api->descriptor;
	ListCell   *cell;

	if (target == NULL)
	{
		ProblemAt(set->problems, mapping->place, "there is no resource %s.%s to refer to.", r->project, r->resource);
		return;
	}
	if (target->abstract && target->subclasses == NIL)
	{
		ProblemAt(set->problems, mapping->place, "%s.%s is an abstract resource without subclasses: there is nothing to refer to.", r->project, r->resource);
		return;
	}
	if (target->api && target->api->broken)
		return;
	if (is_descriptor != r->descriptor)
	{
		ProblemAt(set->problems, mapping->place,
				  r->descriptor ? "%s.%s is not a descriptor." : "%s.%s is a descriptor, not a document.",
				  r->project, r->resource);
		return;
	}
	r->abstract = target->api == NULL;
	if (r->descriptor)
		return;
	foreach(cell, IdentityPaths(target))
		BindMember(set, entry, reference, mapping, target, lfirst(cell));
	if (list_length(mapping->identity_paths) > list_length(IdentityPaths(target)))
		ProblemAt(set->problems, mapping->place, "the reference has values that do not identify %s.%s.", r->project, r->resource);
}

/* Bind targets and members of all references of a resource. */
void
ModelBindReferences(ModelSet *set, ModelEntry *entry)
{
	for (int i = 0; i < entry->model->nreferences; i++)
	{
		ListCell   *cell;

		foreach(cell, entry->api->mappings)
		{
			ApiMapping *mapping = lfirst(cell);

			if (mapping->reference &&
				strcmp(mapping->path, entry->model->references[i].path) == 0)
			{
				BindReference(set, entry, i, mapping);
				break;
			}
		}
	}
}

/*
 * Find the value that a path of the root leads to: a column of the root
 * table, or a member of a reference there.  The value of a member is stored
 * with the target, so its column is that of the reference.
 */
static bool
FindRootValue(const ResourceModel *model, const char *path, int *column,
			  int *reference, int *member, int *type)
{
	*reference = *member = -1;
	*column = ModelTablesFindColumn(model, 0, path);
	if (*column >= 0)
	{
		const ColumnModel *c = &model->tables[0].columns[*column];

		*type = c->role == COLUMN_DESCRIPTOR ? VALUE_TEXT : c->value.type;
		return c->role != COLUMN_REFERENCE;
	}
	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *r = &model->references[i];
		size_t		length = strlen(r->path);

		if (r->table != 0 || strncmp(path, r->path, length) != 0 || path[length] != '.')
			continue;
		for (int j = 0; j < r->nmembers; j++)
		{
			if (strcmp(r->members[j].name, path + length + 1) != 0)
				continue;
			*column = r->column;
			*reference = i;
			*member = j;
			*type = r->members[j].type;
			return true;
		}
	}
	return false;
}

/*
 * Returns true if a path leads into a reference that was not bound.  That was
 * reported before.
 */
static bool
LiesInBrokenReference(const ResourceModel *model, const char *path)
{
	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *r = &model->references[i];
		size_t		length = strlen(r->path);

		if (!r->descriptor && r->nmembers == 0 &&
			strncmp(path, r->path, length) == 0 && path[length] == '.')
			return true;
	}
	return false;
}

/*
 * An identity must contain all values of a reference or none.  Part of it
 * could not be a key of the table, which has only the column of the
 * reference.
 */
static void
CheckWholeReferences(ModelSet *set, ModelEntry *entry)
{
	ResourceModel *model = entry->model;

	for (int i = 0; i < model->nreferences; i++)
	{
		ReferenceModel *r = &model->references[i];

		if (r->descriptor || !r->identity)
			continue;
		for (int j = 0; j < r->nmembers; j++)
		{
			char	   *path = psprintf("%s.%s", r->path, r->members[j].name);
			bool		used = false;

			for (int k = 0; k < model->nidentity; k++)
				used |= strcmp(model->identity[k].path, path) == 0;
			if (!used)
				ProblemAt(set->problems, entry->place,
						  "the identity uses a part of %s: %s is missing.", r->path, path);
		}
	}
}

/*
 * Bind one value of the identity.  It must be required, because a missing
 * value cannot be hashed.  Values whose path ends in "Descriptor" are hashed
 * in lower case, so a descriptor must be named like one.
 */
static void
BindIdentityPath(ModelSet *set, ModelEntry *entry, const char *path)
{
	ResourceModel *model = entry->model;
	IdentityModel identity = {0};
	ColumnModel *column;

	if (!FindRootValue(model, path, &identity.column, &identity.reference,
					   &identity.member, &identity.type))
	{
		if (!LiesInBrokenReference(model, path))
			ProblemAt(set->problems, entry->place,
					  "identityJsonPaths: %s is neither a value of the document nor of one of its references.", path);
		return;
	}
	identity.path = pstrdup(path);
	identity.lower = ModelPathIsDescriptor(path);
	column = &model->tables[0].columns[identity.column];
	if (column->role == COLUMN_DESCRIPTOR && !identity.lower)
		ProblemAt(set->problems, entry->place,
				  "identityJsonPaths: %s is a descriptor, so its name must end in \"Descriptor\".", path);
	column->identity = true;
	if (column->reference >= 0)
		model->references[column->reference].identity = true;
	if (!column->required)
		ProblemAt(set->problems, entry->place, "the identity value %s is not required.", path);
	for (int i = 0; i < model->nidentity; i++)
		if (strcmp(model->identity[i].path, path) == 0)
			ProblemAt(set->problems, entry->place, "identityJsonPaths: %s is listed twice.", path);
	APPEND(model->identity, model->nidentity, identity);
}

/* Find the superclass of a resource, and add the resource to its subclasses. */
void
ModelBindSuperclass(ModelSet *set, ModelEntry *entry)
{
	const ApiResource *api = entry->api;
	ResourceModel *model = entry->model;
	ModelEntry *super;

	if (!api->subclass)
		return;
	super = ModelSetFind(set, api->superclass_project, api->superclass_resource);
	if (super == NULL || super->abstract == NULL)
	{
		ProblemAt(set->problems, entry->place, "there is no abstract resource %s.%s to be a subclass of.",
				  api->superclass_project, api->superclass_resource);
		return;
	}
	model->superclass_project = pstrdup(api->superclass_project);
	model->superclass_resource = pstrdup(api->superclass_resource);
	model->superclass_path = api->superclass_path ? pstrdup(api->superclass_path) : NULL;
	model->member_schema = pstrdup(super->abstract->project->schema_name);
	model->member_table = NamePhysical(psprintf("%s_Member", super->abstract->name));
	super->subclasses = lappend(super->subclasses, entry);
}

/*
 * Check that a subclass has the identity of its superclass.  A document of
 * the subclass is also found by the identity of the superclass, which is
 * computed from the same values.
 */
static void
CheckSuperclass(ModelSet *set, ModelEntry *entry)
{
	const ApiResource *api = entry->api;
	ModelEntry *super = ModelSetFind(set, api->superclass_project, api->superclass_resource);
	List	   *paths;
	bool		same;
	ListCell   *left;
	ListCell   *right;

	if (super == NULL || super->abstract == NULL)
		return;
	paths = super->abstract->identity_paths;
	same = list_length(paths) == list_length(api->identity_paths);
	if (same && api->association)
	{
		forboth(left, paths, right, api->identity_paths)
		{
			same = same && strcmp(lfirst(left), lfirst(right)) == 0;
		}
	}
	else if (same)
		same = list_length(paths) == 1 && strcmp(linitial(paths), api->superclass_path) == 0;
	if (!same)
		ProblemAt(set->problems, entry->place, "the identity does not fit that of %s.", super->place);
}

/*
 * Bind the identity of a resource, and make its natural key.  A descriptor
 * has no paths: its identity is the URI.
 */
void
ModelBindIdentity(ModelSet *set, ModelEntry *entry)
{
	ResourceModel *model = entry->model;
	ListCell   *cell;

	if (entry->api->descriptor)
	{
		IdentityModel identity = {.path = "$.descriptor",.type = VALUE_TEXT,
		.lower = true,.reference = -1,.member = -1};

		identity.column = model->tables[0].ncolumns - 1;
		APPEND(model->identity, model->nidentity, identity);
		return;
	}
	foreach(cell, entry->api->identity_paths)
		BindIdentityPath(set, entry, lfirst(cell));
	CheckWholeReferences(set, entry);
	ModelKeysAddNatural(set, entry);
	if (entry->api->subclass)
		CheckSuperclass(set, entry);
}

/*
 * The name of a view's column, from the path of the abstract identity.
 * Subclasses have different names for it.
 */
static char *
ViewColumnTitle(const char *path, const ColumnModel *column)
{
	StringInfoData title;
	const char *end = column->role == COLUMN_REFERENCE ? strrchr(path, '.') :
	path + strlen(path);

	initStringInfo(&title);
	for (const char *at = path + 1; at < end;)
	{
		size_t		length = strcspn(at + 1, ".");

		appendStringInfoString(&title, NamePascal(pnstrdup(at + 1, length)));
		at += 1 + length;
	}
	if (column->role == COLUMN_REFERENCE)
		return psprintf("%s_DocumentId", NameWithoutSuffix(title.data, "Reference"));
	if (column->role == COLUMN_DESCRIPTOR)
		appendStringInfoString(&title, "_DescriptorId");
	return title.data;
}

/* Add the view's own copy of a subclass' reference, once. */
static int
AddViewReference(ResourceModel *model, const ReferenceModel *theirs)
{
	for (int i = 0; i < model->nreferences; i++)
		if (strcmp(model->references[i].path, theirs->path) == 0)
			return i;
	return APPEND(model->references, model->nreferences, *theirs);
}

/*
 * Add a value of the abstract identity as a column of the view.  It is typed
 * as in the first subclass.  A reference stays one column, whatever number of
 * identity values it has, so that identities are read through views as
 * through tables.
 */
static void
AddViewColumn(ModelSet *set, ModelEntry *entry, const char *path,
			  const ResourceModel *subclass, int ordinal)
{
	ResourceModel *model = entry->model;
	TableModel *view = &model->tables[0];
	IdentityModel identity = subclass->identity[ordinal];
	ColumnModel column = subclass->tables[0].columns[identity.column];

	column.name = NamePhysical(ViewColumnTitle(path, &column));
	column.foreign_key = NULL;	/* a view has no constraints */
	if (column.reference >= 0)
		column.reference = AddViewReference(model, &subclass->references[column.reference]);
	if (identity.reference >= 0)
		identity.reference = column.reference;
	column.path = column.role == COLUMN_REFERENCE ?
		model->references[column.reference].path : pstrdup(path);
	identity.path = pstrdup(path);
	identity.column = -1;
	for (int i = 0; i < view->ncolumns; i++)
		if (strcmp(view->columns[i].name, column.name) == 0)
			identity.column = i;
	if (strcmp(column.name, "discriminator") == 0 ||
		(identity.column >= 0 && (column.reference < 0 ||
								  view->columns[identity.column].reference != column.reference)))
		ProblemAt(set->problems, entry->place,
				  "identityJsonPaths: the view would need another column \"%s\" for %s.", column.name, path);
	if (identity.column < 0)
		identity.column = APPEND(view->columns, view->ncolumns, column);
	if (column.reference >= 0)
		model->references[column.reference].column = identity.column;
	APPEND(model->identity, model->nidentity, identity);
}

/*
 * Returns true if two subclasses store a value of the shared identity in the
 * same way.
 */
static bool
SameIdentityColumn(const ResourceModel *a, const IdentityModel *x,
				   const ResourceModel *b, const IdentityModel *y)
{
	const ColumnModel *left = &a->tables[0].columns[x->column];
	const ColumnModel *right = &b->tables[0].columns[y->column];

	if (left->role != right->role || left->value.type != right->value.type ||
		x->member != y->member)
		return false;
	return left->reference < 0 ||
		(strcmp(a->references[left->reference].project, b->references[right->reference].project) == 0 &&
		 strcmp(a->references[left->reference].resource, b->references[right->reference].resource) == 0);
}

/*
 * All subclasses must store the shared identity in the same way, or no view
 * could unite them.
 */
static bool
CheckSubclasses(ModelSet *set, ModelEntry *entry)
{
	ModelEntry *first = linitial(entry->subclasses);
	int			n = list_length(entry->abstract->identity_paths);
	ListCell   *cell;

	foreach(cell, entry->subclasses)
	{
		ModelEntry *other = lfirst(cell);
		bool		same = true;

		if (first->model->nidentity != n || other->model->nidentity != n)
			return false;		/* reported when the subclass was bound */
		for (int i = 0; i < n; i++)
			same = same && SameIdentityColumn(first->model, &first->model->identity[i],
											  other->model, &other->model->identity[i]);
		if (!same)
		{
			ProblemAt(set->problems, entry->place,
					  "the subclasses %s and %s do not store their identity in the same way.",
					  first->place, other->place);
			return false;
		}
	}
	return true;
}

/*
 * Bind an abstract resource: as a model it has one table, the view over its
 * subclasses, and an identity.  References to it are read through the view,
 * and their foreign keys lead to the member table, where each document of a
 * subclass has a row.
 */
void
ModelBindAbstract(ModelSet *set, ModelEntry *entry)
{
	ApiAbstract *abstract = entry->abstract;
	TableModel	view = {0};
	ColumnModel id = {.name = "documentid",.role = COLUMN_DOCUMENT,.required = true,.reference = -1};
	ModelEntry *first;
	int			ordinal = 0;
	ListCell   *cell;

	if (!CheckSubclasses(set, entry))
		return;
	first = linitial(entry->subclasses);
	id.value.type = VALUE_INT8;
	view.schema = pstrdup(abstract->project->schema_name);
	view.title = psprintf("%s_View", abstract->name);
	view.name = NamePhysical(view.title);
	view.scope_path = "$";
	view.parent = -1;
	view.nkeys = 1;
	APPEND(entry->model->tables, entry->model->ntables, view);
	APPEND(entry->model->tables[0].columns, entry->model->tables[0].ncolumns, id);
	entry->model->member_schema = view.schema;
	entry->model->member_table = NamePhysical(psprintf("%s_Member", abstract->name));
	foreach(cell, abstract->identity_paths)
		AddViewColumn(set, entry, lfirst(cell), first->model, ordinal++);
}

/* Bind a path of queries to a value of the root row; false if it leads to none. */
static bool
BindQueryPath(const ResourceModel *model, const char *source, QueryPathModel *path)
{
	if (!FindRootValue(model, source, &path->column, &path->reference, &path->member, &path->type))
		return false;
	path->path = pstrdup(source);
	path->required = model->tables[0].columns[path->column].required;
	return true;
}

/*
 * Bind query fields to the document's id, or to values that the root row can
 * reach.  Fields with several paths match any of them.
 */
void
ModelBindQueries(ModelSet *set, ModelEntry *entry)
{
	ResourceModel *model = entry->model;
	ListCell   *cell;

	foreach(cell, entry->api->queries)
	{
		ApiQueryPath *source = lfirst(cell);
		QueryPathModel path = {.path = "$.id",.column = -1,.reference = -1,.member = -1,.required = true};
		QueryModel	field = {0};
		int			index = -1;

		if (strcmp(source->path, path.path) != 0 && !BindQueryPath(model, source->path, &path))
		{
			if (!LiesInBrokenReference(model, source->path))
				ProblemAt(set->problems, source->place, "%s is not a value that a query can reach.", source->path);
			continue;
		}
		for (int i = 0; i < model->nqueries; i++)
			if (pg_strcasecmp(model->queries[i].name, source->field) == 0)
				index = i;
		if (index < 0)
		{
			field.name = pstrdup(source->field);
			index = APPEND(model->queries, model->nqueries, field);
		}
		APPEND(model->queries[index].paths, model->queries[index].npaths, path);
	}
}

/* Returns true if a path lies in a reference that documents need not have. */
static bool
LiesInOptionalReference(const ResourceModel *model, const QueryPathModel *path)
{
	return path->reference >= 0 && !model->tables[0].columns[path->column].required;
}

/* Returns true if a query field matches at an equal path already. */
static bool
HasEqualPath(const QueryModel *query, const char *path)
{
	for (int i = 0; i < query->nequals; i++)
		if (strcmp(query->equals[i].path, path) == 0)
			return true;
	return false;
}

/*
 * Let a query field match at the paths that are equal to one of its own.  Clients
 * mean the value, not the reference that the schema has chosen for it.  A path
 * that has a field of its own is left to that field, and only values of the root
 * row can be queried.
 */
static void
AddEqualPaths(const ResourceModel *model, QueryModel *query, const char *path)
{
	int			n;
	const char **paths = EqualPaths(model, path, &n);

	for (int i = 0; i < n; i++)
	{
		QueryPathModel equal = {0};

		if (EqualPathsFieldOf(model, paths[i]) == NULL && !HasEqualPath(query, paths[i]) &&
			BindQueryPath(model, paths[i], &equal))
			APPEND(query->equals, query->nequals, equal);
	}
}

/* Find the equal paths of the query fields whose documents may lack the path. */
void
ModelBindEqualPaths(ModelSet *set, ModelEntry *entry)
{
	ResourceModel *model = entry->model;

	for (int i = 0; i < model->nqueries; i++)
	{
		QueryModel *query = &model->queries[i];

		for (int j = 0; j < query->npaths; j++)
			if (LiesInOptionalReference(model, &query->paths[j]))
				AddEqualPaths(model, query, query->paths[j].path);
		query->tied = EqualPathsAreTied(model, query);
	}
}
