/*
 * apischema.c
 *		Reading ApiSchema files: projects, and how they are merged.
 *
 * A file holds one project: the core, or an extension of it.  Extensions come
 * as files of their own, which are made without knowing each other, so what
 * they say is merged here: an extension of a resource repeats the path down
 * to where it adds something, and everything new is below "_ext.{project}".
 * The result is one description per stored resource, as if it had been
 * written in one file.
 *
 * Everything that is wrong is collected, with its place, before the deploy is
 * refused.  A resource that was found broken is kept by its name, so that no
 * problem is reported for references to it, but nothing is built on it.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "miscadmin.h"
#include "schema/apiread.h"
#include "schema/apischema.h"
#include "schema/naming.h"

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

static const char *const abstract_members[] = {
	"identityJsonPaths", "openApiFragment", NULL
};

/* The width of the columns that hold versions. */
#define MAX_VERSION 64

/*
 * Read one abstract resource: a name and an identity.  It has no JSON schema,
 * because no document is stored under its name; its columns are found through
 * its subclasses.
 */
static ApiAbstract *
ReadAbstract(ApiProject *project, const JNode *node, Problem *problems)
{
	ApiAbstract *abstract = palloc0(sizeof(ApiAbstract));
	ListCell   *cell;

	abstract->project = project;
	abstract->name = node->name;
	abstract->place = psprintf("%s.%s", project->name, node->name);
	if (!ApiReadObject(node, abstract_members, abstract->place, problems))
		return NULL;
	if (!NameIsPlain(node->name, "_") || strlen(node->name) > MODEL_MAX_NAME)
		ProblemAt(problems, abstract->place, "an abstract resource needs a name of letters, digits and \"_\".");
	foreach(cell, ApiReadTexts(node, "identityJsonPaths", abstract->place, problems))
	{
		const char *path = lfirst(cell);

		if (!ApiReadCheckPath(path, "identityJsonPaths", abstract->place, problems))
			continue;
		if (strstr(path, "[*]") != NULL)
			ProblemAt(problems, abstract->place, "%s lies in an array and cannot identify a document.", path);
		abstract->identity_paths = lappend(abstract->identity_paths, lfirst(cell));
	}
	if (abstract->identity_paths == NIL)
		ProblemAt(problems, abstract->place, "\"identityJsonPaths\" is missing or empty.");
	return abstract;
}

/* Read the abstract resources of a project. */
static void
ReadAbstracts(ApiProject *project, const char *place, Problem *problems)
{
	const JNode *abstracts = ApiReadNode(project->node, "abstractResources",
										 JNODE_OBJECT, false, place, problems);

	if (abstracts == NULL)
		return;
	foreach_child(child, abstracts)
	{
		ApiAbstract *abstract = ReadAbstract(project, child, problems);

		if (abstract)
			project->abstracts = lappend(project->abstracts, abstract);
	}
}

/*
 * Check that a map of names agrees with "resourceSchemas".  The file has three
 * places for the same names; only "resourceSchemas" is used.
 */
static void
CheckNameMapping(const ApiProject *project, const char *member, bool folded,
				 const char *place, Problem *problems)
{
	const JNode *mapping = ApiReadNode(project->node, member, JNODE_OBJECT, false,
									   place, problems);

	if (mapping == NULL)
		return;
	foreach_child(child, mapping)
	{
		bool		fits = false;
		ListCell   *cell;

		foreach(cell, project->resources)
		{
			ApiResource *resource = lfirst(cell);
			bool		named = folded ? pg_strcasecmp(resource->endpoint, child->name) == 0 :
			strcmp(resource->name, child->name) == 0;

			fits |= named && child->kind == JNODE_STRING &&
				strcmp(resource->endpoint, child->text) == 0;
		}
		if (!fits)
			ProblemAt(problems, place, "%s.%s contradicts \"resourceSchemas\".", member, child->name);
	}
}

/*
 * Refuse two resources that a caller could mean by one name: both names and
 * endpoints are accepted, in any case.
 */
static void
CheckResourceNames(const ApiProject *project, Problem *problems)
{
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, project->resources)
	{
		ApiResource *resource = lfirst(cell);

		foreach(other, project->resources)
		{
			ApiResource *twin = lfirst(other);

			if (twin == resource)
				break;
			CHECK_FOR_INTERRUPTS();
			if (pg_strcasecmp(twin->name, resource->name) == 0 ||
				pg_strcasecmp(twin->endpoint, resource->endpoint) == 0 ||
				pg_strcasecmp(twin->name, resource->endpoint) == 0 ||
				pg_strcasecmp(twin->endpoint, resource->name) == 0)
			{
				ProblemAt(problems, resource->place,
						  "%s (endpoint \"%s\") and %s (endpoint \"%s\") cannot be told apart by name or endpoint in any case.",
						  twin->place, twin->endpoint, resource->place, resource->endpoint);
				resource->broken = true;
			}
		}
	}
}

/*
 * Returns true for a schema of others.  The name has only letters and digits,
 * so PostgreSQL's own ("pg_...") cannot occur.
 */
static bool
SchemaNameIsTaken(const char *name)
{
	return strcmp(name, "dms") == 0 || strcmp(name, "public") == 0;
}

/*
 * Read the names of a project.  They become parts of schema names, edge
 * source keys and hashes, so they are restricted to plain characters.
 */
static void
ReadProjectNames(ApiProject *project, const char *place, Problem *problems)
{
	project->name = ApiReadText(project->node, "projectName", true, place, problems);
	project->endpoint = ApiReadText(project->node, "projectEndpointName", true, place, problems);
	project->version = ApiReadText(project->node, "projectVersion", true, place, problems);
	project->extension = ApiReadBool(project->node, "isExtensionProject", place, problems);
	project->schema_name = NameOfSchema(project->endpoint);
	if (*project->name && !NameIsPlain(project->name, "_- "))
		ProblemAt(problems, place, "\"projectName\" may hold only letters, digits, \"_\", \"-\" and blanks, not \"%s\".", project->name);
	if (*project->version && !NameIsPlain(project->version, "_-+. "))
		ProblemAt(problems, place, "\"projectVersion\" may hold only letters, digits, \"_\", \"-\", \"+\", \".\" and blanks, not \"%s\".", project->version);
	if (strlen(project->name) > MODEL_MAX_NAME || strlen(project->version) > MAX_VERSION)
		ProblemAt(problems, place, "\"projectName\" can have up to %d characters, \"projectVersion\" up to %d.",
				  MODEL_MAX_NAME, MAX_VERSION);
	if (*project->endpoint && !NameIsPlain(project->endpoint, "_-"))
		ProblemAt(problems, place, "\"projectEndpointName\" may hold only letters, digits, \"_\" and \"-\", not \"%s\".", project->endpoint);
	else if (pg_strcasecmp(project->endpoint, "changequeries") == 0)
		ProblemAt(problems, place, "\"projectEndpointName\" must not be \"%s\", because change queries have that path.", project->endpoint);
	else if (*project->endpoint &&
			 (*project->schema_name == '\0' || SchemaNameIsTaken(project->schema_name) ||
			  strlen(project->schema_name) >= NAMEDATALEN))
		ProblemAt(problems, place, "\"projectEndpointName\" \"%s\" would need the database schema \"%s\", which cannot be used.",
				  project->endpoint, project->schema_name);
}

/* Read the resources of a project, and check their names together. */
static void
ReadResources(ApiProject *project, const JNode *resources, const char *place,
			  Problem *problems)
{
	foreach_child(child, resources)
	{
		ApiResource *resource = ApiResourceRead(project, child, problems);

		if (resource)
			project->resources = lappend(project->resources, resource);
	}
	CheckResourceNames(project, problems);
	CheckNameMapping(project, "resourceNameMapping", false, place, problems);
	CheckNameMapping(project, "caseInsensitiveEndpointNameMapping", true, place, problems);
}

/* All files must have the same format version. */
static void
ReadVersion(ApiSchema *schema, const JNode *root, const char *place)
{
	const char *version = ApiReadText(root, "apiSchemaVersion", true, place, schema->problems);

	if (*version == '\0')
		return;
	if (strlen(version) > MAX_VERSION || !NameIsPlain(version, "_-+. "))
		ProblemAt(schema->problems, place, "\"apiSchemaVersion\" is not a version.");
	else if (schema->format_version == NULL)
		schema->format_version = version;
	else if (strcmp(schema->format_version, version) != 0)
		ProblemAt(schema->problems, place, "\"apiSchemaVersion\" is %s, but %s in another file.", version, schema->format_version);
}

/*
 * Read the project of one file.  Without names and resources the rest means
 * nothing: then the schema is marked as broken, and not compiled to find more
 * problems.
 */
static ApiProject *
ReadProject(ApiSchema *schema, const JNode *root, const char *place)
{
	Problem    *problems = schema->problems;
	ApiProject *project = palloc0(sizeof(ApiProject));
	const JNode *resources;
	int			before;

	schema->broken = true;
	if (!ApiReadObject(root, file_members, place, problems))
		return NULL;
	ReadVersion(schema, root, place);
	project->node = ApiReadNode(root, "projectSchema", JNODE_OBJECT, true, place, problems);
	if (project->node == NULL)
		return NULL;
	before = problems->count;
	(void) ApiReadObject(project->node, project_members, place, problems);
	ReadProjectNames(project, place, problems);
	resources = ApiReadNode(project->node, "resourceSchemas", JNODE_OBJECT, true, place, problems);
	schema->broken = problems->count > before;
	ReadAbstracts(project, place, problems);
	if (resources)
		ReadResources(project, resources, place, problems);
	return project;
}

/* The core first, then extensions by endpoint: the order of files never matters. */
static int
OrderOfProjects(const ApiProject *left, const ApiProject *right)
{
	if (left->extension != right->extension)
		return left->extension ? 1 : -1;
	return strcmp(left->endpoint, right->endpoint);
}

/* list_sort() comparator for projects. */
static int
CompareProjects(const ListCell *a, const ListCell *b)
{
	return OrderOfProjects(lfirst(a), lfirst(b));
}

/*
 * There must be one core, and projects must differ in their names and
 * database schemas.
 */
static void
CheckProjects(ApiSchema *schema)
{
	int			cores = 0;
	int			before = schema->problems->count;
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
				pg_strcasecmp(twin->name, project->name) == 0 ||
				pg_strcasecmp(twin->name, project->endpoint) == 0 ||
				pg_strcasecmp(twin->endpoint, project->name) == 0)
				ProblemAt(schema->problems, project->name,
						  "the projects \"%s\" and \"%s\" cannot be told apart: they have the same name or the same database schema.",
						  twin->endpoint, project->endpoint);
		}
	}
	if (cores != 1 && !schema->broken)
		ProblemNote(schema->problems, cores == 0 ?
					"There is no core project: an extension cannot be deployed without the project it extends." :
					"There is more than one core project.");
	schema->broken |= schema->problems->count > before;
}

/*
 * The resource of the core that an extension extends: it has the same name
 * and endpoint.
 */
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

/*
 * Add a fragment at the location of the core's JSON schema that it names.
 *
 * An extension of a "common" (an address, say) applies wherever the core uses
 * it.  The generator writes the fragment once, with a list of locations such
 * as "$.properties.addresses.items", instead of repeating the path as other
 * extensions do.
 */
static void
MergeCommonExtension(ApiResource *into, const ApiResource *from,
					 const ApiCommonExtension *common, Problem *problems)
{
	SchemaNode *site = JsonSchemaAtLocation(into->schema, common->location);
	SchemaNode	wrapper = {.kind = SCHEMA_OBJECT};
	SchemaProperty property = {.name = "_ext",.node = common->fragment};

	if (site == NULL || site->kind != SCHEMA_OBJECT)
	{
		ProblemAt(problems, common->place, "there is no object at \"%s\" in the resource it extends.", common->location);
		return;
	}
	wrapper.source = site->source;
	wrapper.properties = list_make1(&property);
	JsonSchemaMerge(site, &wrapper, from->project->endpoint, from->place, problems);
}

/* Returns true if a path lies below "_ext" of the extension's own project. */
static bool
IsOfExtension(const ApiResource *extension, const char *path)
{
	char	   *own = psprintf("._ext.%s", extension->project->endpoint);
	const char *found = strstr(path, own);

	return found != NULL && (found[strlen(own)] == '\0' || found[strlen(own)] == '.');
}

/* Returns true if the resource maps this path. */
static bool
HasMappingAt(const ApiResource *resource, const char *path)
{
	ListCell   *cell;

	foreach(cell, resource->mappings)
	{
		if (strcmp(((ApiMapping *) lfirst(cell))->path, path) == 0)
			return true;
	}
	return false;
}

/* Returns true if the resource gives the same digits to the same path. */
static bool
HasDecimal(const ApiResource *resource, const ApiDecimal *decimal)
{
	ListCell   *cell;

	foreach(cell, resource->decimals)
	{
		const ApiDecimal *other = lfirst(cell);

		if (strcmp(other->path, decimal->path) == 0 && other->total_digits == decimal->total_digits &&
			other->decimal_places == decimal->decimal_places)
			return true;
	}
	return false;
}

/*
 * Refuse what an extension says of places that are not its own: the tables of
 * the core must be the same whatever extends it.  Repeating the digits of a
 * decimal is harmless, and mapping a place again is reported by modelcheck.c.
 */
static void
RefuseForeignPlaces(const ApiResource *into, const ApiResource *from, Problem *problems)
{
	ListCell   *cell;

	foreach(cell, from->mappings)
	{
		const ApiMapping *mapping = lfirst(cell);

		if (mapping->reference && !IsOfExtension(from, mapping->path) && !HasMappingAt(into, mapping->path))
			ProblemAt(problems, mapping->place, "%s is not a place of the extension.", mapping->path);
	}
	foreach(cell, from->overrides)
	{
		const ApiNameOverride *override = lfirst(cell);

		if (!IsOfExtension(from, override->path))
			ProblemAt(problems, override->place, "%s is not a place of the extension.", override->path);
	}
	foreach(cell, from->decimals)
	{
		const ApiDecimal *decimal = lfirst(cell);

		if (!IsOfExtension(from, decimal->path) && !HasDecimal(into, decimal))
			ProblemAt(problems, from->place, "decimalPropertyValidationInfos: %s is not a place of the extension.", decimal->path);
	}
}

/*
 * Merge what an extension says of a resource into what the core says.  Real
 * files repeat constraints of the core; modelbind.c drops the duplicates.
 */
static void
MergeExtension(ApiResource *into, ApiResource *from, Problem *problems)
{
	int			before = problems->count;
	ListCell   *cell;

	if (into->broken || from->broken)
	{
		into->broken = true;
		return;
	}
	JsonSchemaMerge(into->schema, from->schema, from->project->endpoint, from->place, problems);
	foreach(cell, from->common_extensions)
		MergeCommonExtension(into, from, lfirst(cell), problems);
	RefuseForeignPlaces(into, from, problems);
	into->mappings = list_concat(into->mappings, from->mappings);
	into->overrides = list_concat(into->overrides, from->overrides);
	into->decimals = list_concat(into->decimals, from->decimals);
	into->uniqueness = list_concat(into->uniqueness, from->uniqueness);
	into->equalities = list_concat(into->equalities, from->equalities);
	into->queries = list_concat(into->queries, from->queries);
	into->typed_paths = list_concat(into->typed_paths, from->typed_paths);
	into->extended_by = lappend(into->extended_by, from);
	into->broken = problems->count > before;
}

/* list_sort() comparator for resources: by project, then by name. */
static int
CompareResources(const ListCell *a, const ListCell *b)
{
	const ApiResource *left = lfirst(a);
	const ApiResource *right = lfirst(b);
	int			order = OrderOfProjects(left->project, right->project);

	return order != 0 ? order : strcmp(left->name, right->name);
}

/*
 * Returns true if an abstract resource could be meant by the name or endpoint
 * of a resource.
 */
static bool
HasAbstractOfName(const ApiProject *project, const ApiResource *resource)
{
	ListCell   *cell;

	foreach(cell, project->abstracts)
	{
		const char *name = ((ApiAbstract *) lfirst(cell))->name;

		if (pg_strcasecmp(name, resource->name) == 0 || pg_strcasecmp(name, resource->endpoint) == 0)
			return true;
	}
	return false;
}

/*
 * Gather the resources of all projects, with extensions merged into the
 * resources that they extend.  Projects are sorted, so the core comes first
 * and is complete when the first extension is merged.
 */
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
				if (HasAbstractOfName(project, resource))
					ProblemAt(schema->problems, resource->place, "there is an abstract resource of this name too.");
				else
					schema->resources = lappend(schema->resources, resource);
				continue;
			}
			extended = ExtendedResource(schema, resource);
			if (extended == NULL)
				ProblemAt(schema->problems, resource->place, "the core has no resource \"%s\" with the endpoint \"%s\" to extend.",
						  resource->name, resource->endpoint);
			else
				MergeExtension(extended, resource, schema->problems);
		}
	}
	list_sort(schema->resources, CompareResources);
}

/* Read one file, the nth argument. */
static void
ReadFile(ApiSchema *schema, int number, const char *json, int length)
{
	char	   *place = psprintf("schema %d", number);
	bool		broken = schema->broken;
	JsonFault	fault;
	JNode	   *root = JsonTreeParse(json, length, &fault);
	ApiProject *project = NULL;

	if (root == NULL)
		ProblemAt(schema->problems, psprintf("%s: %s", place, fault.path), "%s", fault.message);
	else
		project = ReadProject(schema, root, place);
	if (project)
		schema->projects = lappend(schema->projects, project);
	schema->broken |= broken || project == NULL;
}

/*
 * Read and merge files.  Problems are collected in ->problems; the caller
 * decides when to refuse.
 */
ApiSchema *
ApiSchemaRead(int nfiles, char **texts, int *lengths)
{
	ApiSchema  *schema = palloc0(sizeof(ApiSchema));

	schema->problems = ProblemNew(PROBLEM_SCHEMA_REFUSED);
	schema->broken = nfiles == 0;
	if (nfiles == 0)
		ProblemNote(schema->problems, "There is no ApiSchema to deploy.");
	for (int i = 0; i < nfiles; i++)
		ReadFile(schema, i + 1, texts[i], lengths[i]);
	list_sort(schema->projects, CompareProjects);
	if (nfiles > 0)
		CheckProjects(schema);
	if (!schema->broken)
		GatherResources(schema);
	return schema;
}

/* Refuse the deploy if any problem was found. */
void
ApiSchemaRefuse(ApiSchema *schema)
{
	if (schema->problems->count > 0)
		ProblemRaise(schema->problems, ngettext("the schema cannot be deployed: %d problem",
												"the schema cannot be deployed: %d problems",
												schema->problems->count),
					 schema->problems->count);
}

/* Returns true for the node "$.projectSchema". */
static bool
IsProjectNode(const JNode *node)
{
	return node != NULL && node->parent != NULL && node->parent->parent == NULL &&
		strcmp(node->name, "projectSchema") == 0;
}

/*
 * Returns true for the documentation payloads of a project or resource, which
 * do not shape the store and are left out of the hash.  Deeper in the file,
 * such a name belongs to the schema's author.
 */
static bool
IsOpenApi(const JNode *member)
{
	const JNode *owner = member->parent;
	const JNode *group = owner->parent;

	if (strncmp(member->name, "openApi", 7) != 0)
		return false;
	if (IsProjectNode(owner))
		return true;
	return group != NULL && IsProjectNode(group->parent) &&
		(strcmp(group->name, "resourceSchemas") == 0 || strcmp(group->name, "abstractResources") == 0);
}

/* list_sort() comparator for projects by endpoint alone, the order of the manifest. */
static int
CompareEndpoints(const ListCell *a, const ListCell *b)
{
	return strcmp(((ApiProject *) lfirst(a))->endpoint,
				  ((ApiProject *) lfirst(b))->endpoint);
}

/*
 * The hash of a schema: of a manifest of its projects, in which neither white
 * space nor the order of members and files matters.  A deploy with the hash
 * of what is deployed changes nothing.
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
