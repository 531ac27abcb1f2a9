/*
 * apiresource.c
 *		Reading what an ApiSchema file says of one resource.
 *
 * An ApiSchema is generated from a model of the domain, and describes a
 * resource twice: "jsonSchemaForInsert" has the shape of the document, and
 * the other members say what its places mean, by JSON path.  Which object is
 * a reference, for example, is not in the JSON schema; "documentPathsMapping"
 * says so.  Where the two overlap, the JSON schema decides (nullability comes
 * from "required", never from "isRequired", which is relative to the object
 * around a property) and the other must not contradict it.
 *
 * Here each member is read and checked for itself.  Whether they agree is
 * checked when the model is built (modelcheck.c, modelbind.c), because
 * extensions have to be merged first.
 */
#include "postgres.h"

#include "base/words.h"
#include "miscadmin.h"
#include "schema/apiread.h"
#include "schema/apiresource.h"
#include "schema/naming.h"

/* Keys of edge sources begin with both names, and keep this much when they are cut. */
#define MAX_FULL_NAME 240

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
static const char *const query_members[] = {
	"path", "type", NULL
};
static const char *const relational_members[] = {
	"rootTableNameOverride", "nameOverrides", NULL
};
static const char *const decimal_members[] = {
	"path", "totalDigits", "decimalPlaces", NULL
};
static const char *const uniqueness_members[] = {
	"basePath", "paths", "nestedConstraints", NULL
};
static const char *const equality_members[] = {
	"sourceJsonPath", "targetJsonPath", NULL
};
static const char *const common_members[] = {
	"insertionLocations", "projectEndpointName", "schemaFragment", NULL
};

/* Check a word for the type of a value. */
static void
CheckType(const char *type, const char *place, Problem *problems)
{
	static const char *const types[] = {
		"string", "number", "boolean", "date", "date-time", "time",
	};

	if (type == NULL || WordFind(types, lengthof(types), type) >= 0)
		return;
	ProblemAt(problems, place, "\"type\" is \"%s\", which no value has.", type);
}

/*
 * Read one value of a reference: its path in the target, and here.
 *
 * A reference repeats the identity of its target, and all repeated values lie
 * in one object.  The file lists the values, not the object, so the object is
 * what their paths share.  Two values of the target may have the same path
 * here, where the target's own references repeat a value.
 */
static void
ReadMember(ApiMapping *mapping, const JNode *pair, Problem *problems)
{
	const char *identity;
	const char *path;
	const char *type;
	const char *dot;
	char	   *object;

	if (!ApiReadObject(pair, pair_members, mapping->place, problems))
		return;
	identity = ApiReadText(pair, "identityJsonPath", true, mapping->place, problems);
	path = ApiReadText(pair, "referenceJsonPath", true, mapping->place, problems);
	type = ApiReadText(pair, "type", false, mapping->place, problems);
	CheckType(type, mapping->place, problems);
	if (!ApiReadCheckPath(identity, "identityJsonPath", mapping->place, problems) ||
		!ApiReadCheckPath(path, "referenceJsonPath", mapping->place, problems))
		return;
	dot = strrchr(path, '.');
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
	mapping->member_types = lappend(mapping->member_types, pstrdup(type ? type : ""));
}

/* Read a reference to a document.  Returns false if its object cannot be found out. */
static bool
ReadReference(ApiMapping *mapping, const JNode *node, Problem *problems)
{
	const JNode *pairs = ApiReadNode(node, "referenceJsonPaths", JNODE_ARRAY,
									 true, mapping->place, problems);

	if (pairs == NULL)
		return false;
	foreach_child(pair, pairs)
	{
		ReadMember(mapping, pair, problems);
	}
	if (pairs->nchildren == 0)
		ProblemAt(problems, mapping->place, "the reference has no \"referenceJsonPaths\".");
	return mapping->path != NULL;
}

/* Read one entry of documentPathsMapping; NULL if it has no path. */
static ApiMapping *
ReadMapping(const JNode *node, const char *place, Problem *problems)
{
	ApiMapping *mapping = palloc0(sizeof(ApiMapping));

	mapping->key = node->name;
	mapping->place = psprintf("%s: documentPathsMapping.%s", place, node->name);
	if (!ApiReadObject(node, mapping_members, mapping->place, problems))
		return NULL;
	mapping->reference = ApiReadBool(node, "isReference", mapping->place, problems);
	mapping->descriptor = ApiReadBool(node, "isDescriptor", mapping->place, problems);
	if (mapping->descriptor && !mapping->reference)
		ProblemAt(problems, mapping->place, "\"isDescriptor\" contradicts \"isReference\".");
	if (mapping->reference)
	{
		mapping->project = ApiReadText(node, "projectName", true, mapping->place, problems);
		mapping->resource = ApiReadText(node, "resourceName", true, mapping->place, problems);
	}
	if (mapping->reference && !mapping->descriptor)
		return ReadReference(mapping, node, problems) ? mapping : NULL;
	mapping->path = ApiReadText(node, "path", true, mapping->place, problems);
	mapping->type = ApiReadText(node, "type", false, mapping->place, problems);
	CheckType(mapping->type, mapping->place, problems);
	return ApiReadCheckPath(mapping->path, "path", mapping->place, problems) ? mapping : NULL;
}

/*
 * Read documentPathsMapping: what the places of the document mean.  Its keys
 * are names of the domain model, and are used in messages only.
 */
static void
ReadMappings(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *mappings = ApiReadNode(node, "documentPathsMapping", JNODE_OBJECT,
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

/* Read a field of queryFieldMapping, one entry for each of its paths. */
static void
ReadQuery(ApiResource *resource, const JNode *field, Problem *problems)
{
	char	   *place = psprintf("%s: queryFieldMapping.%s",
								 resource->place, field->name);

	if (field->kind != JNODE_ARRAY)
	{
		ProblemAt(problems, place, "must be of type array, not %s.", JsonTreeKindName(field));
		return;
	}
	if (!NameIsPlain(field->name, "_-"))
		ProblemAt(problems, place, "a query field needs a name of letters, digits, \"_\" and \"-\".");
	foreach_child(path, field)
	{
		ApiQueryPath *query = palloc0(sizeof(ApiQueryPath));

		if (!ApiReadObject(path, query_members, place, problems))
			continue;
		query->field = field->name;
		query->place = place;
		query->path = ApiReadText(path, "path", true, place, problems);
		query->type = ApiReadText(path, "type", true, place, problems);
		CheckType(query->type, place, problems);
		if (ApiReadCheckPath(query->path, "path", place, problems))
			resource->queries = lappend(resource->queries, query);
	}
}

/* Fields are found in any case, and paging has taken some names. */
static void
CheckQueryName(const JNode *field, const char *place, Problem *problems)
{
	static const char *const taken[] = {"limit", "offset", "totalCount"};

	for (size_t i = 0; i < lengthof(taken); i++)
		if (pg_strcasecmp(field->name, taken[i]) == 0)
			ProblemAt(problems, place, "the query field \"%s\" has a name that paging uses.", field->name);
	for (const JNode *other = field->next; other; other = other->next)
		if (pg_strcasecmp(field->name, other->name) == 0)
			ProblemAt(problems, place, "the query fields \"%s\" and \"%s\" differ only in case.",
					  field->name, other->name);
}

/* Read the fields that documents can be queried by. */
static void
ReadQueries(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *fields = ApiReadNode(node, "queryFieldMapping", JNODE_OBJECT,
									  false, resource->place, problems);

	if (fields == NULL)
		return;
	foreach_child(field, fields)
	{
		ReadQuery(resource, field, problems);
		CheckQueryName(field, resource->place, problems);
	}
}

/*
 * Read the names that the author gave to places.  Whether the path exists is
 * found out when the name is used.
 */
static void
ReadNameOverrides(ApiResource *resource, const JNode *overrides,
				  const char *place, Problem *problems)
{
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

/* Read the hints about names of tables and columns. */
static void
ReadRelational(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *relational = ApiReadNode(node, "relational", JNODE_OBJECT, false,
										  resource->place, problems);
	char	   *place = psprintf("%s: relational", resource->place);
	const JNode *overrides;
	const char *name;

	if (relational == NULL)
		return;
	(void) ApiReadObject(relational, relational_members, place, problems);
	name = ApiReadText(relational, "rootTableNameOverride", false, place, problems);
	if (name && !NameIsPlain(name, "_"))
		ProblemAt(problems, place, "\"%s\" is not a name that a table can have: only letters, digits and \"_\" are.",
				  name);
	resource->root_table_override = name;
	overrides = ApiReadNode(relational, "nameOverrides", JNODE_OBJECT, false,
							place, problems);
	if (overrides != NULL)
		ReadNameOverrides(resource, overrides, place, problems);
	if (resource->descriptor && (name || resource->overrides))
		ProblemAt(problems, place, "descriptors share a table whose names cannot be overridden.");
}

/*
 * Read the digits of decimals, which a JSON schema has no words for.  Either
 * number may be missing.  Repeated entries must agree.
 */
static void
ReadDecimals(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *infos = ApiReadNode(node, "decimalPropertyValidationInfos",
									 JNODE_ARRAY, false, resource->place, problems);
	char	   *place = psprintf("%s: decimalPropertyValidationInfos", resource->place);

	if (infos == NULL)
		return;
	foreach_child(info, infos)
	{
		ApiDecimal *decimal = palloc0(sizeof(ApiDecimal));
		ListCell   *cell;

		if (!ApiReadObject(info, decimal_members, place, problems))
			continue;
		decimal->path = ApiReadText(info, "path", true, place, problems);
		decimal->total_digits = ApiReadInt(info, "totalDigits", -1, place, problems);
		decimal->decimal_places = ApiReadInt(info, "decimalPlaces", -1, place, problems);
		if (decimal->total_digits == 0 || decimal->total_digits > MODEL_MAX_PRECISION ||
			decimal->decimal_places > MODEL_MAX_PRECISION ||
			(decimal->total_digits > 0 && decimal->decimal_places > decimal->total_digits))
			ProblemAt(problems, place, "the digits of %s are out of range.", decimal->path);
		foreach(cell, resource->decimals)
		{
			const ApiDecimal *other = lfirst(cell);

			if (strcmp(other->path, decimal->path) == 0 &&
				(other->total_digits != decimal->total_digits || other->decimal_places != decimal->decimal_places))
				ProblemAt(problems, place, "the digits of %s are given twice, and differ.", decimal->path);
		}
		if (ApiReadCheckPath(decimal->path, "path", place, problems))
			resource->decimals = lappend(resource->decimals, decimal);
	}
}

/*
 * Read a constraint and those nested in it.
 *
 * Paths of a nested constraint are relative to one element of "basePath".
 * They are made absolute: a constraint always holds within one parent, which
 * the absolute path says as well.
 */
static void
ReadUniqueness(ApiResource *resource, const JNode *node, const char *base,
			   Problem *problems)
{
	ApiUniqueness *unique = palloc0(sizeof(ApiUniqueness));
	const JNode *nested;
	ListCell   *cell;

	check_stack_depth();
	unique->place = psprintf("%s: arrayUniquenessConstraints", resource->place);
	if (!ApiReadObject(node, uniqueness_members, unique->place, problems))
		return;
	foreach(cell, ApiReadTexts(node, "paths", unique->place, problems))
	{
		char	   *path = lfirst(cell);

		if (ApiReadCheckPath(path, "paths", unique->place, problems))
			unique->paths = lappend(unique->paths, psprintf("%s%s", base, path + 1));
	}
	if (unique->paths != NIL)
		resource->uniqueness = lappend(resource->uniqueness, unique);
	nested = ApiReadNode(node, "nestedConstraints", JNODE_ARRAY, false,
						 unique->place, problems);
	if (nested == NULL)
		return;
	foreach_child(child, nested)
	{
		const char *below = ApiReadText(child, "basePath", true, unique->place, problems);

		if (ApiReadCheckPath(below, "basePath", unique->place, problems))
			ReadUniqueness(resource, child, psprintf("%s%s", base, below + 1), problems);
	}
}

/*
 * Read what must be unique within arrays, and which values of the document
 * must be equal.
 */
static void
ReadConstraints(ApiResource *resource, const JNode *node, Problem *problems)
{
	const JNode *uniques = ApiReadNode(node, "arrayUniquenessConstraints",
									   JNODE_ARRAY, false, resource->place, problems);
	const JNode *equals = ApiReadNode(node, "equalityConstraints", JNODE_ARRAY,
									  false, resource->place, problems);

	if (uniques)
	{
		foreach_child(child, uniques)
		{
			ReadUniqueness(resource, child, "$", problems);
		}
	}
	if (equals == NULL)
		return;
	foreach_child(child, equals)
	{
		ApiEquality *equality = palloc0(sizeof(ApiEquality));

		equality->place = psprintf("%s: equalityConstraints", resource->place);
		if (!ApiReadObject(child, equality_members, equality->place, problems))
			continue;
		equality->source = ApiReadText(child, "sourceJsonPath", true, equality->place, problems);
		equality->target = ApiReadText(child, "targetJsonPath", true, equality->place, problems);
		if (ApiReadCheckPath(equality->source, "sourceJsonPath", equality->place, problems) &&
			ApiReadCheckPath(equality->target, "targetJsonPath", equality->place, problems))
			resource->equalities = lappend(resource->equalities, equality);
	}
}

/*
 * Read the lists of paths whose values may be coerced.  They are incomplete
 * in real files, so coercion follows the JSON schema; the lists are read to
 * find contradictions.
 */
static void
ReadTypedPaths(ApiResource *resource, const JNode *node, Problem *problems)
{
	static const char *const lists[][2] = {
		{"booleanJsonPaths", "boolean"}, {"numericJsonPaths", "number"},
		{"dateJsonPaths", "date"}, {"dateTimeJsonPaths", "date-time"},
	};
	ListCell   *cell;

	for (size_t i = 0; i < lengthof(lists); i++)
	{
		foreach(cell, ApiReadTexts(node, lists[i][0], resource->place, problems))
		{
			ApiTypedPath *typed = palloc0(sizeof(ApiTypedPath));

			typed->list = lists[i][0];
			typed->type = lists[i][1];
			typed->path = lfirst(cell);
			if (ApiReadCheckPath(typed->path, typed->list, resource->place, problems))
				resource->typed_paths = lappend(resource->typed_paths, typed);
		}
	}
}

/* Read one entry of commonExtensionOverrides, once for each of its locations. */
static void
ReadCommonExtension(ApiResource *resource, const JNode *node,
					const char *place, Problem *problems)
{
	const JNode *fragment;
	const char *endpoint;
	ListCell   *cell;

	if (!ApiReadObject(node, common_members, place, problems))
		return;
	fragment = ApiReadNode(node, "schemaFragment", JNODE_OBJECT, true, place, problems);
	endpoint = ApiReadText(node, "projectEndpointName", false, place, problems);
	if (endpoint && strcmp(endpoint, resource->project->endpoint) != 0)
		ProblemAt(problems, place, "\"projectEndpointName\" is \"%s\", but the project is \"%s\".",
				  endpoint, resource->project->endpoint);
	foreach(cell, ApiReadTexts(node, "insertionLocations", place, problems))
	{
		ApiCommonExtension *common = palloc0(sizeof(ApiCommonExtension));

		if (fragment == NULL)
			continue;
		common->location = lfirst(cell);
		common->place = place;
		common->fragment = JsonSchemaRead(fragment, true, resource->place, problems);
		resource->common_extensions = lappend(resource->common_extensions, common);
	}
}

/* Read the extensions of parts that many resources share. */
static void
ReadCommonExtensions(ApiResource *resource, const JNode *node,
					 Problem *problems)
{
	const JNode *list = ApiReadNode(node, "commonExtensionOverrides", JNODE_ARRAY,
									false, resource->place, problems);
	char	   *place = psprintf("%s: commonExtensionOverrides", resource->place);

	if (list == NULL)
		return;
	foreach_child(child, list)
	{
		ReadCommonExtension(resource, child, place, problems);
	}
	if (list->nchildren > 0 && !resource->extension)
		ProblemAt(problems, place, "only a resource extension can have these.");
}

/*
 * Read what a subclass says of its superclass.
 *
 * There are two kinds.  A "domainEntity" (School) has an identity of one
 * value under a name of its own, and "superclassIdentityJsonPath" is the name
 * of that value in the superclass.  An "association" has the identity of its
 * superclass, path by path.
 */
static void
ReadSubclass(ApiResource *resource, const JNode *node, Problem *problems)
{
	const char *type = ApiReadText(node, "subclassType", false, resource->place, problems);

	resource->subclass = ApiReadBool(node, "isSubclass", resource->place, problems);
	resource->superclass_project = ApiReadText(node, "superclassProjectName",
											   resource->subclass, resource->place, problems);
	resource->superclass_resource = ApiReadText(node, "superclassResourceName",
												resource->subclass, resource->place, problems);
	resource->superclass_path = ApiReadText(node, "superclassIdentityJsonPath", false,
											resource->place, problems);
	if (!resource->subclass)
	{
		if (type || resource->superclass_project || resource->superclass_resource ||
			resource->superclass_path)
			ProblemAt(problems, resource->place, "there is a superclass, but \"isSubclass\" is not true.");
		return;
	}
	resource->association = type && strcmp(type, "association") == 0;
	if (!resource->association && (type == NULL || strcmp(type, "domainEntity") != 0))
		ProblemAt(problems, resource->place, "\"subclassType\" must be domainEntity or association, not \"%s\".",
				  type ? type : "");
	else if (resource->superclass_path && resource->association)
		ProblemAt(problems, resource->place, "an association has the identity of its superclass: \"superclassIdentityJsonPath\" contradicts that.");
	else if (!resource->superclass_path && !resource->association)
		ProblemAt(problems, resource->place, "\"superclassIdentityJsonPath\" is missing.");
}

/*
 * Kinds of resources exclude each other.  Descriptors are identified by
 * "namespace#codeValue" and extensions by what they extend, so neither lists
 * an identity.
 */
static void
CheckKinds(const ApiResource *resource, Problem *problems)
{
	int			kinds = resource->descriptor + resource->extension + resource->school_year;
	bool		bare = resource->extension || resource->descriptor;

	if (kinds > 1 || (resource->subclass && kinds > 0))
		ProblemAt(problems, resource->place, "\"isDescriptor\", \"isResourceExtension\", \"isSchoolYearEnumeration\" and \"isSubclass\" contradict each other.");
	if (resource->extension && !resource->project->extension)
		ProblemAt(problems, resource->place, "a resource of the core cannot be a resource extension.");
	if (bare && resource->identity_paths != NIL)
		ProblemAt(problems, resource->place, "a descriptor or a resource extension cannot have \"identityJsonPaths\".");
	if (!bare && resource->identity_paths == NIL)
		ProblemAt(problems, resource->place, "\"identityJsonPaths\" is missing or empty.");
	if (resource->school_year && resource->identity_paths != NIL &&
		(list_length(resource->identity_paths) > 1 ||
		 strcmp(linitial(resource->identity_paths), "$.schoolYear") != 0))
		ProblemAt(problems, resource->place, "the identity of the school year enumeration must be $.schoolYear alone.");
}

/* Read the paths of the identity, in the order in which they are hashed. */
static void
ReadIdentity(ApiResource *resource, const JNode *node, Problem *problems)
{
	List	   *paths = ApiReadTexts(node, "identityJsonPaths", resource->place, problems);
	ListCell   *cell;

	foreach(cell, paths)
	{
		if (ApiReadCheckPath(lfirst(cell), "identityJsonPaths", resource->place, problems))
			resource->identity_paths = lappend(resource->identity_paths, lfirst(cell));
	}
	if (resource->identity_paths != NIL || paths == NIL)
		CheckKinds(resource, problems);
}

/*
 * Read the JSON schema.  Names that documents have in responses cannot be
 * properties of its root.
 */
static void
ReadSchema(ApiResource *resource, const JNode *node, Problem *problems)
{
	static const char *const taken[] = {
		"id", "link", "_etag", "_lastModifiedDate",
	};
	const JNode *schema = ApiReadNode(node, "jsonSchemaForInsert", JNODE_OBJECT, true,
									  resource->place, problems);
	ListCell   *cell;

	if (schema == NULL)
		return;
	resource->schema = JsonSchemaRead(schema, resource->extension, resource->place, problems);
	if (resource->schema->kind != SCHEMA_OBJECT)
		ProblemAt(problems, resource->place, "\"jsonSchemaForInsert\" must describe an object.");
	for (size_t i = 0; i < lengthof(taken); i++)
		if (JsonSchemaFind(resource->schema, taken[i]))
			ProblemAt(problems, resource->place, "\"%s\" cannot be a property: every document has it by itself.", taken[i]);
	foreach(cell, resource->schema->properties)
	{
		const char *name = ((SchemaProperty *) lfirst(cell))->name;

		/* An upsert refuses "id" in any case. */
		if (pg_strcasecmp(name, "id") == 0 && strcmp(name, "id") != 0)
			ProblemAt(problems, resource->place, "\"%s\" cannot be a property: it reads like \"id\".", name);
	}
}

/* Read the names of a resource; false if it cannot be identified by them. */
static bool
ReadNames(ApiResource *resource, const JNode *node, Problem *problems)
{
	resource->endpoint = node->name;
	resource->place = psprintf("%s.%s", resource->project->name, node->name);
	if (!ApiReadObject(node, resource_members, resource->place, problems))
		return false;
	resource->name = ApiReadText(node, "resourceName", true, resource->place, problems);
	if (!NameIsPlain(resource->name, "_") || !NameIsPlain(resource->endpoint, "_-"))
	{
		ProblemAt(problems, resource->place, "a resource needs a name of letters, digits and \"_\", and an endpoint of these and \"-\".");
		return false;
	}
	if (strlen(resource->name) > MODEL_MAX_NAME || strlen(resource->endpoint) > MODEL_MAX_NAME)
	{
		ProblemAt(problems, resource->place, "names of resources and endpoints can have up to %d characters.", MODEL_MAX_NAME);
		return false;
	}
	if (strlen(resource->project->name) + strlen(resource->name) > MAX_FULL_NAME)
		ProblemAt(problems, resource->place, "the names of the project and of the resource can have up to %d characters together.",
				  MAX_FULL_NAME);
	resource->place = psprintf("%s.%s", resource->project->name, resource->name);
	return true;
}

/*
 * Read one resource; NULL if it cannot even be named.  Kinds are read before
 * the other members, because those depend on them; the JSON schema of an
 * extension, for example, has other rules.
 */
ApiResource *
ApiResourceRead(ApiProject *project, const JNode *node, Problem *problems)
{
	ApiResource *resource = palloc0(sizeof(ApiResource));
	int			before = problems->count;

	resource->project = project;
	if (!ReadNames(resource, node, problems))
		return NULL;
	resource->descriptor = ApiReadBool(node, "isDescriptor", resource->place, problems);
	resource->extension = ApiReadBool(node, "isResourceExtension", resource->place, problems);
	resource->school_year = ApiReadBool(node, "isSchoolYearEnumeration", resource->place, problems);
	resource->allow_identity_updates = ApiReadBool(node, "allowIdentityUpdates", resource->place, problems);
	ReadSubclass(resource, node, problems);
	ReadIdentity(resource, node, problems);
	ReadMappings(resource, node, problems);
	ReadQueries(resource, node, problems);
	ReadRelational(resource, node, problems);
	ReadDecimals(resource, node, problems);
	ReadConstraints(resource, node, problems);
	ReadTypedPaths(resource, node, problems);
	ReadCommonExtensions(resource, node, problems);
	ReadSchema(resource, node, problems);
	resource->broken = problems->count > before;
	return resource;
}
