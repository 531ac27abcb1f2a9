/*
 * apischema.c
 *		Reading ApiSchema files: projects, and how they come together.
 *
 * Everything that is wrong is collected, with its place, before anything is
 * refused.  A resource that was found broken is kept by its name, so that who
 * refers to it is not blamed too, but nothing is built on it.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "miscadmin.h"
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

/* Widths of the columns that hold these. */
#define MAX_NAME_LENGTH 256
#define MAX_VERSION_LENGTH 64

static ApiAbstract *
ReadAbstract(ApiProject *project, const JNode *node, Problem *problems)
{
	ApiAbstract *abstract = palloc0(sizeof(ApiAbstract));
	ListCell   *cell;

	abstract->project = project;
	abstract->name = node->name;
	abstract->place = psprintf("%s.%s", project->name, node->name);
	if (!ReadObject(node, abstract_members, abstract->place, problems))
		return NULL;
	if (!NameIsPlain(node->name, "_") || strlen(node->name) > MAX_NAME_LENGTH)
		ProblemAt(problems, abstract->place, "an abstract resource needs a name of letters, digits and \"_\".");
	foreach(cell, ReadTexts(node, "identityJsonPaths", abstract->place, problems))
	{
		const char *path = lfirst(cell);

		if (!ApiCheckPath(path, "identityJsonPaths", abstract->place, problems))
			continue;
		if (strstr(path, "[*]") != NULL)
			ProblemAt(problems, abstract->place, "%s lies in an array and cannot identify a document.", path);
		abstract->identity_paths = lappend(abstract->identity_paths, lfirst(cell));
	}
	if (abstract->identity_paths == NIL)
		ProblemAt(problems, abstract->place, "\"identityJsonPaths\" is missing or empty.");
	return abstract;
}

static void
ReadAbstracts(ApiProject *project, const char *place, Problem *problems)
{
	const JNode *abstracts = ReadNode(project->node, "abstractResources",
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

/* Does a mapping of names say something else than the resources? */
static void
CheckNameMapping(const ApiProject *project, const char *member, bool folded,
				 const char *place, Problem *problems)
{
	const JNode *mapping = ReadNode(project->node, member, JNODE_OBJECT, false,
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

/* Resources are found by name or endpoint, in any case. */
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

/* Letters and digits only; "_" of reserved names cannot come up. */
static bool
SchemaNameIsTaken(const char *name)
{
	return strcmp(name, "dms") == 0 || strcmp(name, "public") == 0;
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
	if (*project->version && !NameIsPlain(project->version, "_-+. "))
		ProblemAt(problems, place, "\"projectVersion\" may hold only letters, digits, \"_\", \"-\", \"+\", \".\" and blanks, not \"%s\".", project->version);
	if (strlen(project->name) > MAX_NAME_LENGTH || strlen(project->version) > MAX_VERSION_LENGTH)
		ProblemAt(problems, place, "\"projectName\" can have up to %d characters, \"projectVersion\" up to %d.",
				  MAX_NAME_LENGTH, MAX_VERSION_LENGTH);
	if (*project->endpoint && !NameIsPlain(project->endpoint, "_-"))
		ProblemAt(problems, place, "\"projectEndpointName\" may hold only letters, digits, \"_\" and \"-\", not \"%s\".", project->endpoint);
	else if (*project->endpoint &&
			 (*project->schema_name == '\0' || SchemaNameIsTaken(project->schema_name) ||
			  strlen(project->schema_name) >= NAMEDATALEN))
		ProblemAt(problems, place, "\"projectEndpointName\" \"%s\" would need the database schema \"%s\", which cannot be used.",
				  project->endpoint, project->schema_name);
}

/* The resources of a project, each for itself and their names together. */
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

/* All files must be of one format. */
static void
ReadVersion(ApiSchema *schema, const JNode *root, const char *place)
{
	const char *version = ReadText(root, "apiSchemaVersion", true, place, schema->problems);

	if (*version == '\0')
		return;
	if (strlen(version) > MAX_VERSION_LENGTH || !NameIsPlain(version, "_-+. "))
		ProblemAt(schema->problems, place, "\"apiSchemaVersion\" is not a version.");
	else if (schema->format_version == NULL)
		schema->format_version = version;
	else if (strcmp(schema->format_version, version) != 0)
		ProblemAt(schema->problems, place, "\"apiSchemaVersion\" is %s, but %s in another file.", version, schema->format_version);
}

/* One file. */
static ApiProject *
ReadProject(ApiSchema *schema, const JNode *root, const char *place)
{
	Problem    *problems = schema->problems;
	ApiProject *project = palloc0(sizeof(ApiProject));
	const JNode *resources;
	int			before;

	schema->broken = true;
	if (!ReadObject(root, file_members, place, problems))
		return NULL;
	ReadVersion(schema, root, place);
	project->node = ReadNode(root, "projectSchema", JNODE_OBJECT, true, place, problems);
	if (project->node == NULL)
		return NULL;
	before = problems->count;
	(void) ReadObject(project->node, project_members, place, problems);
	ReadProjectNames(project, place, problems);
	resources = ReadNode(project->node, "resourceSchemas", JNODE_OBJECT, true, place, problems);
	schema->broken = problems->count > before;
	ReadAbstracts(project, place, problems);
	if (resources)
		ReadResources(project, resources, place, problems);
	return project;
}

/* The core first, then extensions by endpoint: order of files never matters. */
static int
OrderOfProjects(const ApiProject *left, const ApiProject *right)
{
	if (left->extension != right->extension)
		return left->extension ? 1 : -1;
	return strcmp(left->endpoint, right->endpoint);
}

static int
CompareProjects(const ListCell *a, const ListCell *b)
{
	return OrderOfProjects(lfirst(a), lfirst(b));
}

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

/* Hang a fragment at the place of the core's JSON schema that it names. */
static void
MergeCommonExtension(ApiResource *into, const ApiResource *from,
					 const ApiCommonExtension *common, Problem *problems)
{
	SchemaNode *site = SchemaAtLocation(into->schema, common->location);
	SchemaNode	wrapper = {.kind = SCHEMA_OBJECT};
	SchemaProperty property = {.name = "_ext",.node = common->fragment};

	if (site == NULL || site->kind != SCHEMA_OBJECT)
	{
		ProblemAt(problems, common->place, "there is no object at \"%s\" in the resource it extends.", common->location);
		return;
	}
	wrapper.source = site->source;
	wrapper.properties = list_make1(&property);
	SchemaMerge(site, &wrapper, from->project->endpoint, from->place, problems);
}

/* Is the place one that the extension has made? */
static bool
IsOfExtension(const ApiResource *extension, const char *path)
{
	char	   *own = psprintf("._ext.%s", extension->project->endpoint);
	const char *found = strstr(path, own);

	return found != NULL && (found[strlen(own)] == '\0' || found[strlen(own)] == '.');
}

static bool
HasMappingAt(const ApiResource *resource, const char *path)
{
	ListCell   *cell;

	foreach(cell, resource->mappings)
		if (strcmp(((ApiMapping *) lfirst(cell))->path, path) == 0)
		return true;
	return false;
}

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
 * The tables of the core are the same whatever extends it: an extension says
 * nothing new of places that are not its own.
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

/* Put what an extension says of a resource to what the core says. */
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
	SchemaMerge(into->schema, from->schema, from->project->endpoint, from->place, problems);
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

static int
CompareResources(const ListCell *a, const ListCell *b)
{
	const ApiResource *left = lfirst(a);
	const ApiResource *right = lfirst(b);
	int			order = OrderOfProjects(left->project, right->project);

	return order != 0 ? order : strcmp(left->name, right->name);
}

/* Is there an abstract resource that the resource's name or endpoint could mean? */
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
 * Read and merge.  What is wrong is in ->problems; the caller decides when to
 * refuse.
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

static bool
IsProjectNode(const JNode *node)
{
	return node != NULL && node->parent != NULL && node->parent->parent == NULL &&
		strcmp(node->name, "projectSchema") == 0;
}

/*
 * Documentation payloads, of the project or of one of its resources, do not
 * shape the store.  Deeper, such a name is one of the author's.
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
