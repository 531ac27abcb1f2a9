/*
 * apischema.c
 *		Reading ApiSchema files: projects, resources and their metadata.
 *
 * Everything that is wrong is collected, with its place, before anything is
 * refused.  What is read here is checked for itself; whether it fits together
 * is the builder's question.
 */
#include "postgres.h"

#include "apischema.h"
#include "naming.h"

static const char *const file_members[] = {
	"apiSchemaVersion", "projectSchema", NULL
};

static const char *const project_members[] = {
	"abstractResources", "caseInsensitiveEndpointNameMapping",
	"compatibleDsRange", "description", "domains",
	"educationOrganizationHierarchy", "educationOrganizationTypes",
	"isExtensionProject", "openApiBaseDocuments", "projectEndpointName",
	"projectName", "projectVersion", "resourceNameMapping",
	"resourceSchemas", NULL
};

static const char *const resource_members[] = {
	"allowIdentityUpdates", "arrayUniquenessConstraints",
	"authorizationPathways", "booleanJsonPaths", "commonExtensionOverrides",
	"dateJsonPaths", "dateTimeJsonPaths", "decimalPropertyValidationInfos",
	"description", "documentPathsMapping", "domains", "equalityConstraints",
	"identityJsonPaths", "isDescriptor", "isResourceExtension",
	"isSchoolYearEnumeration", "isSubclass", "jsonSchemaForInsert",
	"numericJsonPaths", "openApiFragment", "openApiFragments",
	"queryFieldMapping", "relational", "resourceName", "securableElements",
	"subclassType", "superclassIdentityJsonPath", "superclassProjectName",
	"superclassResourceName", NULL
};

static const char *const mapping_members[] = {
	"isDescriptor", "isPartOfIdentity", "isReference", "isRequired", "path",
	"projectName", "referenceJsonPaths", "resourceName", "type", NULL
};

static const char *const pair_members[] = {
	"identityJsonPath", "referenceJsonPath", "type", NULL
};

static const char *const relational_members[] = {
	"rootTableNameOverride", "nameOverrides", NULL
};

/* Note a path that is not one; true when it is. */
static bool
CheckPath(const char *path, const char *what, const char *place,
		  Problem *problems)
{
	if (PathIsPlain(path))
		return true;
	ProblemAt(problems, place, "\"%s\" in %s is not a path of the form $.name[*].name.",
			  path, what);
	return false;
}

/* The one object that all members of a reference share, and their names. */
static void
ReadMembers(ApiMapping *mapping, const JNode *pairs, Problem *problems)
{
	foreach_child(pair, pairs)
	{
		const char *identity = ReadText(pair, "identityJsonPath", true,
										mapping->place, problems);
		const char *path = ReadText(pair, "referenceJsonPath", true,
									mapping->place, problems);
		const char *dot = strrchr(path, '.');
		char	   *object;

		if (pair->kind != JNODE_OBJECT || *identity == '\0' || *path == '\0')
			continue;
		CheckKnownMembers(pair, pair_members, mapping->place, problems);
		if (!CheckPath(identity, "identityJsonPath", mapping->place, problems) ||
			!CheckPath(path, "referenceJsonPath", mapping->place, problems))
			continue;
		object = pnstrdup(path, dot - path);
		if (mapping->path == NULL)
			mapping->path = object;
		if (strcmp(mapping->path, object) != 0 || strcmp(object, "$") == 0 ||
			strchr(dot, '[') != NULL)
			ProblemAt(problems, mapping->place,
					  "\"%s\" does not lie in the same reference object as the other members.",
					  path);
		mapping->identity_paths = lappend(mapping->identity_paths,
										  unconstify(char *, identity));
		mapping->member_names = lappend(mapping->member_names, pstrdup(dot + 1));
	}
	if (mapping->path == NULL)
	{
		ProblemAt(problems, mapping->place, "the reference has no \"referenceJsonPaths\".");
		mapping->path = "";
	}
}

/* One entry of documentPathsMapping. */
static ApiMapping *
ReadMapping(const JNode *node, const char *place, Problem *problems)
{
	ApiMapping *mapping = palloc0(sizeof(ApiMapping));

	mapping->key = node->name;
	mapping->place = psprintf("%s: documentPathsMapping.%s", place, node->name);
	if (node->kind != JNODE_OBJECT)
	{
		ProblemAt(problems, mapping->place, "must be an object.");
		return NULL;
	}
	CheckKnownMembers(node, mapping_members, mapping->place, problems);
	mapping->reference = ReadBool(node, "isReference", mapping->place, problems);
	mapping->descriptor = ReadBool(node, "isDescriptor", mapping->place, problems);
	if (mapping->reference)
	{
		mapping->project = ReadText(node, "projectName", true, mapping->place, problems);
		mapping->resource = ReadText(node, "resourceName", true, mapping->place, problems);
	}
	if (mapping->reference && !mapping->descriptor)
	{
		const JNode *pairs = ReadNode(node, "referenceJsonPaths", JNODE_ARRAY,
									  true, mapping->place, problems);

		if (pairs == NULL)
			return NULL;
		ReadMembers(mapping, pairs, problems);
	}
	else
	{
		mapping->path = ReadText(node, "path", true, mapping->place, problems);
		if (!CheckPath(mapping->path, "path", mapping->place, problems))
			return NULL;
	}
	return mapping;
}

static void
ReadMappings(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *mappings = ReadNode(node, "documentPathsMapping", JNODE_OBJECT,
									 true, resource->place, problems);

	if (mappings == NULL)
		return;
	foreach_child(child, mappings)
	{
		ApiMapping *mapping = ReadMapping(child, resource->place, problems);

		if (mapping)
			resource->mappings = lappend(resource->mappings, mapping);
	}
}

/* queryFieldMapping, one entry per path of a field. */
static void
ReadQueries(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *fields = ReadNode(node, "queryFieldMapping", JNODE_OBJECT,
								   false, resource->place, problems);

	if (fields == NULL)
		return;
	foreach_child(field, fields)
	{
		char	   *place = psprintf("%s: queryFieldMapping.%s",
									 resource->place, field->name);

		if (field->kind != JNODE_ARRAY)
		{
			ProblemAt(problems, place, "must be an array.");
			continue;
		}
		foreach_child(path, field)
		{
			ApiQueryPath *query = palloc0(sizeof(ApiQueryPath));

			query->field = field->name;
			query->path = ReadText(path, "path", true, place, problems);
			query->type = ReadText(path, "type", true, place, problems);
			if (CheckPath(query->path, "path", place, problems))
				resource->queries = lappend(resource->queries, query);
		}
	}
}

static void
ReadOverrides(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *relational = ReadNode(node, "relational", JNODE_OBJECT, false,
									   resource->place, problems);
	char	   *place = psprintf("%s: relational", resource->place);
	const JNode *overrides;

	if (relational == NULL)
		return;
	CheckKnownMembers(relational, relational_members, place, problems);
	resource->root_table_override = ReadText(relational, "rootTableNameOverride",
											 false, place, problems);
	if (resource->root_table_override &&
		!NameIsPlain(resource->root_table_override, "_"))
		ProblemAt(problems, place, "\"%s\" is not a name that a table can have: only letters, digits and \"_\" are.",
				  resource->root_table_override);
	overrides = ReadNode(relational, "nameOverrides", JNODE_OBJECT, false,
						 place, problems);
	if (overrides == NULL)
		return;
	foreach_child(child, overrides)
	{
		ApiNameOverride *override = palloc0(sizeof(ApiNameOverride));

		override->path = child->name;
		override->place = psprintf("%s.nameOverrides.%s", place, child->name);
		override->name = child->kind == JNODE_STRING ? child->text : "";
		if (!NameIsPlain(override->name, "_"))
			ProblemAt(problems, override->place,
					  "an override must be a name of letters, digits and \"_\".");
		else
			resource->overrides = lappend(resource->overrides, override);
	}
}

static void
ReadDecimals(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *infos = ReadNode(node, "decimalPropertyValidationInfos",
								  JNODE_ARRAY, false, resource->place, problems);
	char	   *place = psprintf("%s: decimalPropertyValidationInfos", resource->place);

	if (infos == NULL)
		return;
	foreach_child(info, infos)
	{
		ApiDecimal *decimal = palloc0(sizeof(ApiDecimal));

		decimal->path = ReadText(info, "path", true, place, problems);
		decimal->total_digits = ReadInt(info, "totalDigits", -1, place, problems);
		decimal->decimal_places = ReadInt(info, "decimalPlaces", -1, place, problems);
		if (decimal->total_digits == 0 || decimal->total_digits > 1000 ||
			decimal->decimal_places > 1000 ||
			(decimal->total_digits > 0 && decimal->decimal_places > decimal->total_digits))
			ProblemAt(problems, place, "the digits of %s are out of range.", decimal->path);
		if (CheckPath(decimal->path, "path", place, problems))
			resource->decimals = lappend(resource->decimals, decimal);
	}
}

/* One constraint; nested ones are made absolute and stand beside it. */
static void
ReadUniqueness(ApiResource *resource, const JNode *node, const char *base,
			   Problem *problems)
{
	ApiUniqueness *unique = palloc0(sizeof(ApiUniqueness));
	const JNode *nested;
	ListCell   *cell;

	unique->place = psprintf("%s: arrayUniquenessConstraints", resource->place);
	foreach(cell, ReadTexts(node, "paths", unique->place, problems))
	{
		char	   *path = lfirst(cell);

		if (!CheckPath(path, "paths", unique->place, problems))
			continue;
		unique->paths = lappend(unique->paths, psprintf("%s%s", base, path + 1));
	}
	if (unique->paths != NIL)
		resource->uniqueness = lappend(resource->uniqueness, unique);
	nested = ReadNode(node, "nestedConstraints", JNODE_ARRAY, false,
					  unique->place, problems);
	if (nested == NULL)
		return;
	foreach_child(child, nested)
	{
		const char *below = ReadText(child, "basePath", true, unique->place, problems);

		if (CheckPath(below, "basePath", unique->place, problems))
			ReadUniqueness(resource, child, psprintf("%s%s", base, below + 1), problems);
	}
}

static void
ReadConstraints(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *uniques = ReadNode(node, "arrayUniquenessConstraints",
									JNODE_ARRAY, false, resource->place, problems);
	const JNode *equals = ReadNode(node, "equalityConstraints", JNODE_ARRAY,
								   false, resource->place, problems);

	if (uniques)
		foreach_child(child, uniques)
			ReadUniqueness(resource, child, "$", problems);
	if (equals == NULL)
		return;
	foreach_child(child, equals)
	{
		ApiEquality *equality = palloc0(sizeof(ApiEquality));

		equality->place = psprintf("%s: equalityConstraints", resource->place);
		equality->source = ReadText(child, "sourceJsonPath", true, equality->place, problems);
		equality->target = ReadText(child, "targetJsonPath", true, equality->place, problems);
		if (CheckPath(equality->source, "sourceJsonPath", equality->place, problems) &&
			CheckPath(equality->target, "targetJsonPath", equality->place, problems))
			resource->equalities = lappend(resource->equalities, equality);
	}
}

static void
ReadCommonExtensions(ApiResource *resource, const JNode *node,
					 Problem *problems)
{
	const JNode *list = ReadNode(node, "commonExtensionOverrides", JNODE_ARRAY,
								 false, resource->place, problems);
	char	   *place = psprintf("%s: commonExtensionOverrides", resource->place);

	if (list == NULL)
		return;
	foreach_child(child, list)
	{
		const JNode *fragment = ReadNode(child, "schemaFragment", JNODE_OBJECT,
										 true, place, problems);
		ListCell   *cell;

		foreach(cell, ReadTexts(child, "insertionLocations", place, problems))
		{
			ApiCommonExtension *common = palloc0(sizeof(ApiCommonExtension));

			if (fragment == NULL)
				continue;
			common->location = lfirst(cell);
			common->place = place;
			common->fragment = SchemaRead(fragment, resource->place, problems);
			resource->common_extensions = lappend(resource->common_extensions, common);
		}
	}
}

/* What a subclass says of its superclass. */
static void
ReadSubclass(ApiResource *resource, const JNode *node, Problem *problems)
{
	const char *type;

	resource->subclass = ReadBool(node, "isSubclass", resource->place, problems);
	if (!resource->subclass)
		return;
	type = ReadText(node, "subclassType", true, resource->place, problems);
	resource->association = strcmp(type, "association") == 0;
	if (!resource->association && strcmp(type, "domainEntity") != 0)
		ProblemAt(problems, resource->place, "\"subclassType\" must be domainEntity or association, not \"%s\".", type);
	resource->superclass_project = ReadText(node, "superclassProjectName", true,
											resource->place, problems);
	resource->superclass_resource = ReadText(node, "superclassResourceName", true,
											 resource->place, problems);
	resource->superclass_path = ReadText(node, "superclassIdentityJsonPath",
										 !resource->association,
										 resource->place, problems);
	if (resource->superclass_path && resource->association)
		ProblemAt(problems, resource->place, "an association has the identity of its superclass: \"superclassIdentityJsonPath\" contradicts that.");
}

/* Kinds of resources exclude each other. */
static void
CheckKinds(const ApiResource *resource, Problem *problems)
{
	int			kinds = resource->descriptor + resource->extension + resource->school_year;

	if (kinds > 1 || (resource->subclass && kinds > 0))
		ProblemAt(problems, resource->place, "\"isDescriptor\", \"isResourceExtension\", \"isSchoolYearEnumeration\" and \"isSubclass\" contradict each other.");
	if (resource->extension && !resource->project->extension)
		ProblemAt(problems, resource->place, "a resource of the core cannot be a resource extension.");
	if ((resource->extension || resource->descriptor) && resource->identity_paths != NIL)
		ProblemAt(problems, resource->place, "a descriptor or a resource extension cannot have \"identityJsonPaths\".");
	if (!resource->extension && !resource->descriptor && resource->identity_paths == NIL)
		ProblemAt(problems, resource->place, "\"identityJsonPaths\" is missing or empty.");
}

static ApiResource *
ReadResource(ApiProject *project, const JNode *node, Problem *problems)
{
	ApiResource *resource = palloc0(sizeof(ApiResource));
	const JNode *schema;
	ListCell   *cell;

	resource->project = project;
	resource->endpoint = node->name;
	resource->place = psprintf("%s.%s", project->name, node->name);
	if (node->kind != JNODE_OBJECT)
	{
		ProblemAt(problems, resource->place, "a resource schema must be an object, not %s.",
				  JsonTreeKindName(node));
		return NULL;
	}
	resource->name = ReadText(node, "resourceName", true, resource->place, problems);
	if (!NameIsPlain(resource->name, "_") || !NameIsPlain(resource->endpoint, "_-"))
		ProblemAt(problems, resource->place, "a resource needs a name of letters, digits and \"_\", and an endpoint of these and \"-\".");
	else
		resource->place = psprintf("%s.%s", project->name, resource->name);
	CheckKnownMembers(node, resource_members, resource->place, problems);
	resource->descriptor = ReadBool(node, "isDescriptor", resource->place, problems);
	resource->extension = ReadBool(node, "isResourceExtension", resource->place, problems);
	resource->school_year = ReadBool(node, "isSchoolYearEnumeration", resource->place, problems);
	resource->allow_identity_updates = ReadBool(node, "allowIdentityUpdates", resource->place, problems);
	resource->identity_paths = ReadTexts(node, "identityJsonPaths", resource->place, problems);
	foreach(cell, resource->identity_paths)
		if (!CheckPath(lfirst(cell), "identityJsonPaths", resource->place, problems))
		resource->identity_paths = foreach_delete_current(resource->identity_paths, cell);
	ReadSubclass(resource, node, problems);
	CheckKinds(resource, problems);
	ReadMappings(resource, node, problems);
	ReadQueries(resource, node, problems);
	ReadOverrides(resource, node, problems);
	ReadDecimals(resource, node, problems);
	ReadConstraints(resource, node, problems);
	ReadCommonExtensions(resource, node, problems);
	schema = ReadNode(node, "jsonSchemaForInsert", JNODE_OBJECT, true,
					  resource->place, problems);
	if (schema == NULL)
		return NULL;
	resource->schema = SchemaRead(schema, resource->place, problems);
	if (resource->schema->kind != SCHEMA_OBJECT)
		ProblemAt(problems, resource->place, "\"jsonSchemaForInsert\" must describe an object.");
	return resource;
}

static void
ReadAbstracts(ApiProject *project, Problem *problems)
{
	const JNode *abstracts = ReadNode(project->node, "abstractResources",
									  JNODE_OBJECT, false, project->name, problems);

	if (abstracts == NULL)
		return;
	foreach_child(child, abstracts)
	{
		ApiAbstract *abstract = palloc0(sizeof(ApiAbstract));

		abstract->project = project;
		abstract->name = child->name;
		abstract->place = psprintf("%s.%s", project->name, child->name);
		if (!NameIsPlain(child->name, "_"))
			ProblemAt(problems, abstract->place, "an abstract resource needs a name of letters, digits and \"_\".");
		abstract->identity_paths = ReadTexts(child, "identityJsonPaths", abstract->place, problems);
		if (abstract->identity_paths == NIL)
			ProblemAt(problems, abstract->place, "\"identityJsonPaths\" is missing or empty.");
		project->abstracts = lappend(project->abstracts, abstract);
	}
}

/* Is this the name of a PostgreSQL schema that is not ours to use? */
static bool
SchemaNameIsTaken(const char *name)
{
	return strcmp(name, "dms") == 0 || strcmp(name, "public") == 0 ||
		strncmp(name, "pg", 2) == 0 || strcmp(name, "informationschema") == 0;
}

static void
ReadProjectNames(ApiProject *project, const char *place, Problem *problems)
{
	project->name = ReadText(project->node, "projectName", true, place, problems);
	project->endpoint = ReadText(project->node, "projectEndpointName", true, place, problems);
	project->version = ReadText(project->node, "projectVersion", true, place, problems);
	project->extension = ReadBool(project->node, "isExtensionProject", place, problems);
	project->schema_name = NameOfSchema(project->endpoint);
	if (*project->name && !NameIsPlain(project->name, "_- "))
		ProblemAt(problems, place, "\"projectName\" may hold only letters, digits, \"_\", \"-\" and blanks, not \"%s\".", project->name);
	if (*project->endpoint && !NameIsPlain(project->endpoint, "_-"))
		ProblemAt(problems, place, "\"projectEndpointName\" may hold only letters, digits, \"_\" and \"-\", not \"%s\".", project->endpoint);
	else if (*project->schema_name == '\0' || SchemaNameIsTaken(project->schema_name))
		ProblemAt(problems, place, "\"projectEndpointName\" \"%s\" would need the database schema \"%s\", which cannot be used.",
				  project->endpoint, project->schema_name);
}

/* One file. */
static ApiProject *
ReadProject(ApiSchema *schema, const JNode *root, const char *place)
{
	Problem    *problems = schema->problems;
	ApiProject *project = palloc0(sizeof(ApiProject));
	const JNode *resources;
	const char *version;

	if (root->kind != JNODE_OBJECT)
	{
		ProblemAt(problems, place, "an ApiSchema must be an object, not %s.", JsonTreeKindName(root));
		return NULL;
	}
	CheckKnownMembers(root, file_members, place, problems);
	version = ReadText(root, "apiSchemaVersion", true, place, problems);
	if (schema->format_version == NULL)
		schema->format_version = version;
	else if (strcmp(schema->format_version, version) != 0)
		ProblemAt(problems, place, "\"apiSchemaVersion\" is %s, but %s in another file.", version, schema->format_version);
	project->node = ReadNode(root, "projectSchema", JNODE_OBJECT, true, place, problems);
	if (project->node == NULL)
		return NULL;
	CheckKnownMembers(project->node, project_members, place, problems);
	ReadProjectNames(project, place, problems);
	ReadAbstracts(project, problems);
	resources = ReadNode(project->node, "resourceSchemas", JNODE_OBJECT, true, place, problems);
	if (resources == NULL)
		return project;
	foreach_child(child, resources)
	{
		ApiResource *resource = ReadResource(project, child, problems);

		if (resource)
			project->resources = lappend(project->resources, resource);
	}
	return project;
}

/* The core first, then extensions by endpoint: order of files never matters. */
static int
CompareProjects(const ListCell *a, const ListCell *b)
{
	const ApiProject *left = lfirst(a);
	const ApiProject *right = lfirst(b);

	if (left->extension != right->extension)
		return left->extension ? 1 : -1;
	return strcmp(left->endpoint, right->endpoint);
}

static void
CheckProjects(ApiSchema *schema)
{
	int			cores = 0;
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, schema->projects)
	{
		ApiProject *project = lfirst(cell);

		cores += !project->extension;
		foreach(other, schema->projects)
		{
			ApiProject *twin = lfirst(other);

			if (twin == project)
				break;
			if (strcmp(twin->schema_name, project->schema_name) == 0 ||
				pg_strcasecmp(twin->name, project->name) == 0)
				ProblemAt(schema->problems, project->name,
						  "the projects \"%s\" and \"%s\" have the same name or the same database schema.",
						  twin->endpoint, project->endpoint);
		}
	}
	if (cores != 1)
		ProblemNote(schema->problems, cores == 0 ?
					"There is no core project: an extension cannot be deployed without the project it extends." :
					"There is more than one core project.");
}

/* The resource of the core that an extension extends: the same endpoint. */
static ApiResource *
ExtendedResource(ApiSchema *schema, const ApiResource *extension)
{
	ApiProject *core = linitial(schema->projects);
	ListCell   *cell;

	foreach(cell, core->resources)
	{
		ApiResource *resource = lfirst(cell);

		if (strcmp(resource->endpoint, extension->endpoint) == 0 &&
			strcmp(resource->name, extension->name) == 0)
			return resource;
	}
	return NULL;
}

/* Put what an extension says of a resource to what the core says. */
static void
MergeExtension(ApiResource *into, ApiResource *from, Problem *problems)
{
	const char *endpoint = from->project->endpoint;
	ListCell   *cell;

	SchemaMerge(into->schema, from->schema, endpoint, from->place, problems);
	foreach(cell, from->common_extensions)
	{
		ApiCommonExtension *common = lfirst(cell);
		SchemaNode *site = SchemaAtLocation(into->schema, common->location);
		SchemaNode	wrapper = {.kind = SCHEMA_OBJECT};
		SchemaProperty property = {.name = "_ext",.node = common->fragment};

		if (site == NULL || site->kind != SCHEMA_OBJECT)
		{
			ProblemAt(problems, common->place, "there is no object at \"%s\" in the resource it extends.", common->location);
			continue;
		}
		wrapper.source = site->source;
		wrapper.properties = list_make1(&property);
		SchemaMerge(site, &wrapper, endpoint, from->place, problems);
	}
	into->mappings = list_concat(into->mappings, from->mappings);
	into->overrides = list_concat(into->overrides, from->overrides);
	into->decimals = list_concat(into->decimals, from->decimals);
	into->uniqueness = list_concat(into->uniqueness, from->uniqueness);
	into->equalities = list_concat(into->equalities, from->equalities);
	into->queries = list_concat(into->queries, from->queries);
	into->extended_by = lappend(into->extended_by, from);
}

static int
CompareResources(const ListCell *a, const ListCell *b)
{
	const ApiResource *left = lfirst(a);
	const ApiResource *right = lfirst(b);
/**INDENT** Error@612: Unbalanced parens */
	int			order = CompareProjects(&(ListCell) {.ptr_value = left->project},
			   &(ListCell)
	{
		.ptr_value = right->project
/**INDENT** Warning@613: Extra ) */
	});

	return order != 0 ? order : strcmp(left->name, right->name);
}

/* Gather resources over all projects, extensions merged into what they extend. */
static void
GatherResources(ApiSchema *schema)
{
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, schema->projects)
	{
		ApiProject *project = lfirst(cell);

		schema->abstracts = list_concat(schema->abstracts, project->abstracts);
		foreach(inner, project->resources)
		{
			ApiResource *resource = lfirst(inner);
			ApiResource *extended;

			if (!resource->extension)
			{
				if (ApiSchemaFind(schema, project->name, resource->name) ||
					ApiSchemaFindAbstract(schema, project->name, resource->name))
					ProblemAt(schema->problems, resource->place, "there are two resources of this name.");
				schema->resources = lappend(schema->resources, resource);
				continue;
			}
			extended = ExtendedResource(schema, resource);
			if (extended == NULL || extended->schema == NULL)
				ProblemAt(schema->problems, resource->place, "the core has no resource \"%s\" to extend.", resource->endpoint);
			else
				MergeExtension(extended, resource, schema->problems);
		}
	}
	list_sort(schema->resources, CompareResources);
}

/*
 * Read and merge.  What is wrong is in ->problems; the caller decides when to
 * refuse.
 */
ApiSchema *
ApiSchemaRead(int nfiles, char **texts, int *lengths)
{
	ApiSchema  *schema = palloc0(sizeof(ApiSchema));

	schema->problems = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	if (nfiles == 0)
		ProblemNote(schema->problems, "There is no ApiSchema to deploy.");
	for (int i = 0; i < nfiles; i++)
	{
		char	   *place = psprintf("schema %d", i + 1);
		JsonFault	fault;
		JNode	   *root = JsonTreeParse(texts[i], lengths[i], &fault);
		ApiProject *project;

		if (root == NULL)
		{
			ProblemAt(schema->problems, psprintf("%s: %s", place, fault.path), "%s", fault.message);
			continue;
		}
		project = ReadProject(schema, root, place);
		if (project)
			schema->projects = lappend(schema->projects, project);
	}
	list_sort(schema->projects, CompareProjects);
	if (nfiles > 0)
		CheckProjects(schema);
	if (schema->problems->count == 0)
		GatherResources(schema);
	return schema;
}

/* Refuse the deploy if anything was found. */
void
ApiSchemaRefuse(ApiSchema *schema)
{
	if (schema->problems->count > 0)
		ProblemRaise(schema->problems, ngettext("the schema cannot be deployed: %d problem",
												"the schema cannot be deployed: %d problems",
												schema->problems->count),
					 schema->problems->count);
}

ApiResource *
ApiSchemaFind(const ApiSchema *schema, const char *project, const char *resource)
{
	ListCell   *cell;

	foreach(cell, schema->resources)
	{
		ApiResource *candidate = lfirst(cell);

		if (strcmp(candidate->name, resource) == 0 &&
			strcmp(candidate->project->name, project) == 0)
			return candidate;
	}
	return NULL;
}

ApiAbstract *
ApiSchemaFindAbstract(const ApiSchema *schema, const char *project,
					  const char *resource)
{
	ListCell   *cell;

	foreach(cell, schema->abstracts)
	{
		ApiAbstract *candidate = lfirst(cell);

		if (strcmp(candidate->name, resource) == 0 &&
			strcmp(candidate->project->name, project) == 0)
			return candidate;
	}
	return NULL;
}

/* Documentation payloads do not shape the store. */
static bool
IsOpenApi(const JNode *member)
{
	return strncmp(member->name, "openApi", 7) == 0;
}

static int
CompareEndpoints(const ListCell *a, const ListCell *b)
{
	return strcmp(((ApiProject *) lfirst(a))->endpoint,
				  ((ApiProject *) lfirst(b))->endpoint);
}

/*
 * The hash of a schema: of a manifest of its projects, in which neither white
 * space nor the order of properties and files matters.
 */
char *
ApiSchemaHash(const ApiSchema *schema, const char *mapping_version)
{
	StringInfoData manifest;
	List	   *sorted = list_copy(schema->projects);
	ListCell   *cell;

	list_sort(sorted, CompareEndpoints);
	initStringInfo(&manifest);
	appendStringInfo(&manifest, "dms effective schema\nmapping %s\nformat %s\n",
					 mapping_version, schema->format_version);
	foreach(cell, sorted)
	{
		ApiProject *project = lfirst(cell);
		StringInfoData text;

		initStringInfo(&text);
		JsonTreeCanonical(&text, project->node, IsOpenApi);
		appendStringInfo(&manifest, "%s %s %s %s %s\n", project->endpoint,
						 project->name, project->version,
						 project->extension ? "extension" : "core",
						 Sha256Hex(text.data, text.len));
		pfree(text.data);
	}
	return Sha256Hex(manifest.data, manifest.len);
}
