/*
 * modelcheck.c
 *		Checking the metadata of a resource against its JSON schema and
 *		against other resources.
 *
 * Metadata that leads nowhere or contradicts the document is a mistake of its
 * author.  Guessing what was meant could store documents in a way that is
 * wrong and hard to change later, so it is reported.
 */
#include "postgres.h"

#include "schema/modelcheck.h"

/* A column of dms.Descriptor. */
typedef struct DescriptorProperty
{
	const char *name;
	ValueType	type;
	int			max_length;
	bool		required;
} DescriptorProperty;

static const DescriptorProperty descriptor_properties[] = {
	{"codeValue", VALUE_TEXT, 50, true},
	{"description", VALUE_TEXT, 1024, false},
	{"effectiveBeginDate", VALUE_DATE, -1, false},
	{"effectiveEndDate", VALUE_DATE, -1, false},
	{"namespace", VALUE_TEXT, 255, true},
	{"shortDescription", VALUE_TEXT, 75, true},
};

/* Returns true if a property of a descriptor fits into its column of dms.Descriptor. */
static bool
FitsDescriptor(const SchemaProperty *found, const DescriptorProperty *wanted)
{
	const ValueModel *value;

	if (found == NULL || found->node->kind != SCHEMA_SCALAR)
		return false;
	value = &found->node->value;
	if (value->type != (int) wanted->type || found->required != wanted->required)
		return false;
	return wanted->max_length < 0 ||
		(value->max_length > 0 && value->max_length <= wanted->max_length);
}

/* All descriptors share a table, so all must have its shape. */
static void
CheckDescriptorShape(ModelSet *set, ModelEntry *entry)
{
	const ApiResource *api = entry->api;
	bool		odd = list_length(api->schema->properties) != lengthof(descriptor_properties);

	for (size_t i = 0; i < lengthof(descriptor_properties) && !odd; i++)
		odd = !FitsDescriptor(JsonSchemaFind(api->schema, descriptor_properties[i].name),
							  &descriptor_properties[i]);
	if (odd || entry->model->nreferences > 0)
		ProblemAt(set->problems, entry->place,
				  "a descriptor must have exactly the properties codeValue, namespace, shortDescription (required, up to 50, 255 and 75 characters), description (up to 1024), effectiveBeginDate and effectiveEndDate.");
}

/* Report overrides that named nothing. */
static void
CheckOverrides(ModelSet *set, ModelEntry *entry)
{
	ListCell   *cell;

	foreach(cell, entry->api->overrides)
	{
		ApiNameOverride *override = lfirst(cell);

		if (!override->used)
			ProblemAt(set->problems, override->place, "the override matches nothing, or another one has done so before.");
	}
}

/* Check that the value at a path has the type that some metadata gives it. */
static void
CheckTypeAt(ModelSet *set, ModelEntry *entry, const char *path,
			const char *type, const char *place)
{
	const SchemaNode *node;
	const char *actual;

	if (!JsonSchemaPathExists(entry->api->schema, path, &node))
	{
		ProblemAt(set->problems, place, "%s is not in the JSON schema: it maps to no column.", path);
		return;
	}
	actual = JsonSchemaTypeName(node);
	if (actual == NULL)
		ProblemAt(set->problems, place, "%s is not a plain value in the JSON schema.", path);
	else if (type && *type && strcmp(actual, type) != 0)
		ProblemAt(set->problems, place, "%s is of type %s in the JSON schema, not %s.", path, actual, type);
}

/*
 * Check the paths of lists, decimals and query fields.  A query field that
 * leads nowhere is reported by modelbind.c.
 */
static void
CheckTypedPaths(ModelSet *set, ModelEntry *entry)
{
	ListCell   *cell;

	foreach(cell, entry->api->typed_paths)
	{
		ApiTypedPath *typed = lfirst(cell);

		CheckTypeAt(set, entry, typed->path, typed->type,
					psprintf("%s: %s", entry->place, typed->list));
	}
	foreach(cell, entry->api->decimals)
	{
		ApiDecimal *decimal = lfirst(cell);

		CheckTypeAt(set, entry, decimal->path, "number",
					psprintf("%s: decimalPropertyValidationInfos", entry->place));
	}
	foreach(cell, entry->api->queries)
	{
		ApiQueryPath *query = lfirst(cell);

		if (strcmp(query->path, "$.id") != 0 &&
			JsonSchemaPathExists(entry->api->schema, query->path, NULL))
			CheckTypeAt(set, entry, query->path, query->type, query->place);
	}
}

/* Returns true if the walk through the document found the place of a reference. */
static bool
IsBound(const ResourceModel *model, const ApiMapping *mapping)
{
	for (int i = 0; i < model->nreferences; i++)
		if (strcmp(model->references[i].path, mapping->path) == 0)
			return true;
	return false;
}

/* Check a mapping that refers to a document or a descriptor. */
static void
CheckReferenceMapping(ModelSet *set, ModelEntry *entry,
					  const ApiMapping *mapping)
{
	ListCell   *name;
	ListCell   *type;

	if (!JsonSchemaPathExists(entry->api->schema, mapping->path, NULL))
	{
		ProblemAt(set->problems, mapping->place, "%s is not in the JSON schema: it maps to no column.", mapping->path);
		return;
	}
	if (!IsBound(entry->model, mapping))
		ProblemAt(set->problems, mapping->place, "%s maps to no column.", mapping->path);
	if (mapping->descriptor)
		CheckTypeAt(set, entry, mapping->path, mapping->type, mapping->place);
	forboth(name, mapping->member_names, type, mapping->member_types)
		CheckTypeAt(set, entry, psprintf("%s.%s", mapping->path, (char *) lfirst(name)),
					lfirst(type), mapping->place);
}

/* Each entry of documentPathsMapping must lead to a place of its own. */
static void
CheckMappings(ModelSet *set, ModelEntry *entry)
{
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, entry->api->mappings)
	{
		ApiMapping *mapping = lfirst(cell);

		if (mapping->reference)
			CheckReferenceMapping(set, entry, mapping);
		else
			CheckTypeAt(set, entry, mapping->path, mapping->type, mapping->place);
		foreach(other, entry->api->mappings)
		{
			ApiMapping *twin = lfirst(other);

			if (twin == mapping)
				break;
			if (strcmp(twin->path, mapping->path) == 0)
				ProblemAt(set->problems, mapping->place, "%s is mapped more than once: also by \"%s\".",
						  mapping->path, twin->key);
		}
	}
}

/* Check all metadata of a resource against its document. */
void
ModelCheckMetadata(ModelSet *set, ModelEntry *entry)
{
	if (entry->api->descriptor)
		CheckDescriptorShape(set, entry);
	CheckOverrides(set, entry);
	CheckTypedPaths(set, entry);
	CheckMappings(set, entry);
}

/*
 * A value must have the same type in a reference as in its target, since both
 * are hashed.  Integers of both widths have the same text.
 */
void
ModelCheckMembers(ModelSet *set, ModelEntry *entry)
{
	const ResourceModel *model = entry->model;

	for (int i = 0; i < model->nreferences; i++)
	{
		const ReferenceModel *r = &model->references[i];
		ModelEntry *target = ModelSetFind(set, r->project, r->resource);

		if (r->descriptor || target == NULL || target->model->nidentity != r->nmembers)
			continue;			/* reported before */
		for (int j = 0; j < r->nmembers; j++)
		{
			int			ours = r->members[j].type;
			int			theirs = target->model->identity[j].type;
			bool		integers = (ours == VALUE_INT4 || ours == VALUE_INT8) &&
			(theirs == VALUE_INT4 || theirs == VALUE_INT8);

			if (ours != theirs && !integers)
				ProblemAt(set->problems, entry->place, "%s.%s has another type than %s of %s.%s.",
						  r->path, r->members[j].name, r->members[j].identity_path,
						  r->project, r->resource);
		}
	}
}
