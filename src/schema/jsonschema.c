/*
 * jsonschema.c
 *		The JSON schema of a resource: reading it, merging extensions,
 *		following paths.
 *
 * ApiSchema files use a small part of JSON Schema: objects, arrays of
 * objects, and scalars with a format, lengths, bounds or a pattern.  Anything
 * else is refused, because a rule that is not understood could not be kept.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/decimal.h"
#include "base/pattern.h"
#include "miscadmin.h"
#include "model/value.h"
#include "schema/apiread.h"
#include "schema/jsonschema.h"
#include "schema/naming.h"

/* Far deeper than any real document; keeps nonsense cheap. */
#define MAX_SCHEMA_DEPTH 32

/* State of reading one JSON schema. */
typedef struct Reader
{
	const char *place;			/* the resource */
	bool		extension;		/* of a resource: may have "_ext" */
	int			depth;
	Problem    *problems;
} Reader;

static const char *const object_members[] = {
	"$schema", "title", "description", "type", "properties", "required",
	"additionalProperties", NULL
};
static const char *const array_members[] = {
	"title", "description", "type", "items", "minItems", "maxItems",
	"uniqueItems", NULL
};
static const char *const string_members[] = {
	"title", "description", "type", "format", "pattern", "minLength",
	"maxLength", NULL
};
static const char *const number_members[] = {
	"title", "description", "type", "format", "minimum", "maximum",
	"exclusiveMinimum", "exclusiveMaximum", NULL
};
static const char *const boolean_members[] = {
	"title", "description", "type", NULL
};

static SchemaNode *ReadSchemaNode(Reader *reader, const JNode *node);

/* "Ed-Fi.Student: $.properties.firstName" */
static char *
PlaceOf(const char *place, const char *path)
{
	return psprintf("%s: %s", place, path);
}

/* Read a bound of a value, as it is written. */
static char *
ReadBound(const JNode *node, const char *name, const char *place,
		  Problem *problems)
{
	const JNode *bound = ApiReadNode(node, name, JNODE_NUMBER, false, place,
									 problems);
	Decimal		decimal;

	if (bound == NULL)
		return NULL;
	if (DecimalParse(bound->text, bound->length, &decimal) != DECIMAL_OK)
	{
		ProblemAt(problems, place, "\"%s\" has too many digits.", name);
		return NULL;
	}
	return unconstify(char *, bound->text);
}

/* Read the bounds of a number, inclusive or exclusive. */
static void
ReadBounds(const JNode *node, ValueModel *value, const char *place,
		   Problem *problems)
{
	char	   *below = ReadBound(node, "exclusiveMinimum", place, problems);
	char	   *above = ReadBound(node, "exclusiveMaximum", place, problems);

	value->minimum = ReadBound(node, "minimum", place, problems);
	value->maximum = ReadBound(node, "maximum", place, problems);
	if ((below && value->minimum) || (above && value->maximum))
		ProblemAt(problems, place, "an inclusive and an exclusive bound contradict each other.");
	if (below)
	{
		value->minimum = below;
		value->exclusive_minimum = true;
	}
	if (above)
	{
		value->maximum = above;
		value->exclusive_maximum = true;
	}
	if (value->minimum && value->maximum &&
		ValueCompareNumbers(value->minimum, value->maximum) > 0)
		ProblemAt(problems, place, "no value lies between %s and %s.",
				  value->minimum, value->maximum);
}

/* Returns true if there is a bound, and a 4-byte integer does not reach it. */
static bool
IsBeyondInt4(const char *bound)
{
	return bound != NULL &&
		(ValueCompareNumbers(bound, VALUE_INT4_LEAST) < 0 ||
		 ValueCompareNumbers(bound, VALUE_INT4_MOST) > 0);
}

/* Read a string.  Its format decides which type it is stored as. */
static void
ReadString(const JNode *node, ValueModel *value, const char *place,
		   Problem *problems)
{
	const char *format = ApiReadText(node, "format", false, place, problems);
	const char *wrong;

	value->type = VALUE_TEXT;
	value->min_length = ApiReadInt(node, "minLength", -1, place, problems);
	value->max_length = ApiReadInt(node, "maxLength", -1, place, problems);
	value->pattern = unconstify(char *, ApiReadText(node, "pattern", false, place, problems));
	if (value->max_length == 0 || value->max_length > MaxAttrSize)
		ProblemAt(problems, place, "\"maxLength\" must be between 1 and %d.", MaxAttrSize);
	if (value->max_length >= 0 && value->min_length > value->max_length)
		ProblemAt(problems, place, "\"minLength\" is greater than \"maxLength\".");
	if (value->pattern && (wrong = PatternCheck(value->pattern)) != NULL)
		ProblemAt(problems, place, "the pattern \"%s\" does not compile: %s.",
				  value->pattern, wrong);
	if (format == NULL)
		return;
	if (strcmp(format, "date") == 0)
		value->type = VALUE_DATE;
	else if (strcmp(format, "time") == 0)
		value->type = VALUE_TIME;
	else if (strcmp(format, "date-time") == 0)
		value->type = VALUE_TIMESTAMP;
	else
		ProblemAt(problems, place, "the format \"%s\" is not supported for strings.", format);
}

/*
 * Read an integer.  It is stored in 8 bytes if its format or one of its
 * bounds says so.
 */
static void
ReadInteger(const JNode *node, ValueModel *value, const char *place,
			Problem *problems)
{
	const char *format = ApiReadText(node, "format", false, place, problems);
	bool		wide = false;

	if (format != NULL)
	{
		wide = strcmp(format, "int64") == 0;
		if (!wide && strcmp(format, "int32") != 0)
			ProblemAt(problems, place,
					  "the format \"%s\" is not supported for integers.", format);
	}
	ReadBounds(node, value, place, problems);
	wide = wide || IsBeyondInt4(value->minimum) || IsBeyondInt4(value->maximum);
	value->type = wide ? VALUE_INT8 : VALUE_INT4;
}

/*
 * Read a number that need not be whole; its digits are in
 * decimalPropertyValidationInfos.
 */
static void
ReadNumber(const JNode *node, ValueModel *value, const char *place,
		   Problem *problems)
{
	const char *format = ApiReadText(node, "format", false, place, problems);

	value->type = VALUE_NUMERIC;
	ReadBounds(node, value, place, problems);
	if (format && strcmp(format, "double") != 0 && strcmp(format, "float") != 0)
		ProblemAt(problems, place,
				  "the format \"%s\" is not supported for numbers.", format);
}

/* Read a boolean, which has no rules. */
static void
ReadBoolean(const JNode *node, ValueModel *value, const char *place,
			Problem *problems)
{
	value->type = VALUE_BOOL;
}

/*
 * list_sort() comparator for properties: byte order of names, the order in
 * which documents are written.
 */
static int
CompareProperties(const ListCell *a, const ListCell *b)
{
	return strcmp(((SchemaProperty *) lfirst(a))->name,
				  ((SchemaProperty *) lfirst(b))->name);
}

/* Read one member of an object.  "_ext" is reserved for extensions. */
static SchemaProperty *
ReadProperty(Reader *reader, const JNode *node, const char *place)
{
	SchemaProperty *property = palloc0(sizeof(SchemaProperty));

	property->name = node->name;
	if (!NameIsPlain(node->name, "_-"))
		ProblemAt(reader->problems, place, "\"%s\" is not a name that a property can have: only letters, digits, \"_\" and \"-\" are.",
				  node->name);
	if (strcmp(node->name, "_ext") == 0 &&
		(!reader->extension || strstr(place, "._ext.") || strstr(place, ".schemaFragment")))
		ProblemAt(reader->problems, place, "only a resource extension can have \"_ext\", and not within another.");
	property->node = ReadSchemaNode(reader, node);
	return property;
}

/*
 * Read the members of an object, and mark those that are required.
 *
 * A resource extension lists names as required that exist only below "_ext",
 * beside those of the core.  So a name without a property is a fault in other
 * resources only.
 */
static void
ReadProperties(Reader *reader, SchemaNode *schema, const char *place)
{
	const JNode *members = ApiReadNode(schema->source, "properties", JNODE_OBJECT,
									   false, place, reader->problems);
	List	   *required = ApiReadTexts(schema->source, "required", place,
										reader->problems);
	ListCell   *cell;

	schema->kind = SCHEMA_OBJECT;
	(void) ApiReadBool(schema->source, "additionalProperties", place,
					   reader->problems);
	if (members != NULL)
	{
		foreach_child(child, members)
		{
			schema->properties = lappend(schema->properties,
										 ReadProperty(reader, child, place));
		}
	}
	list_sort(schema->properties, CompareProperties);
	foreach(cell, required)
	{
		SchemaProperty *property = JsonSchemaFind(schema, lfirst(cell));

		if (property)
			property->required = true;
		else if (!reader->extension)
			ProblemAt(reader->problems, place, "\"%s\" is required, but there is no such property.",
					  (char *) lfirst(cell));
	}
}

/*
 * Read an array.  Elements must be objects, since each becomes a row with
 * columns named by its properties.
 */
static void
ReadArray(Reader *reader, SchemaNode *schema, const char *place)
{
	const JNode *items = ApiReadNode(schema->source, "items", JNODE_OBJECT, true,
									 place, reader->problems);

	schema->kind = SCHEMA_ARRAY;
	schema->min_items = ApiReadInt(schema->source, "minItems", -1, place,
								   reader->problems);
	schema->max_items = ApiReadInt(schema->source, "maxItems", -1, place,
								   reader->problems);
	schema->unique_items = ApiReadBool(schema->source, "uniqueItems", place,
									   reader->problems);
	if (schema->max_items >= 0 && schema->min_items > schema->max_items)
		ProblemAt(reader->problems, place, "\"minItems\" is greater than \"maxItems\".");
	if (items == NULL)
	{
		schema->items = palloc0(sizeof(SchemaNode));
		schema->items->source = schema->source;
		return;
	}
	schema->items = ReadSchemaNode(reader, items);
	if (schema->items->kind != SCHEMA_OBJECT)
		ProblemAt(reader->problems, place, "an array of anything but objects is not supported.");
}

/* How each "type" of a JSON schema is read. */
static const struct SchemaType
{
	const char *name;
	const char *const *members;
	void		(*container) (Reader *reader, SchemaNode *schema, const char *place);
	void		(*scalar) (const JNode *node, ValueModel *value,
						   const char *place, Problem *problems);
}			schema_types[] =

{
	{"object", object_members, ReadProperties, NULL},
	{"array", array_members, ReadArray, NULL},
	{"string", string_members, NULL, ReadString},
	{"integer", number_members, NULL, ReadInteger},
	{"number", number_members, NULL, ReadNumber},
	{"boolean", boolean_members, NULL, ReadBoolean},
};

/* Read a node by its "type". */
static void
ReadByType(Reader *reader, SchemaNode *schema, const char *place)
{
	const char *type = ApiReadText(schema->source, "type", true, place,
								   reader->problems);

	for (size_t i = 0; i < lengthof(schema_types); i++)
	{
		if (strcmp(schema_types[i].name, type) != 0)
			continue;
		(void) ApiReadObject(schema->source, schema_types[i].members, place,
							 reader->problems);
		if (schema_types[i].container)
			schema_types[i].container(reader, schema, place);
		else
		{
			schema->kind = SCHEMA_SCALAR;
			schema_types[i].scalar(schema->source, &schema->value, place,
								   reader->problems);
		}
		return;
	}
	if (*type != '\0')
		ProblemAt(reader->problems, place, "the type \"%s\" is not supported.", type);
}

/* Read a node and everything below it. */
static SchemaNode *
ReadSchemaNode(Reader *reader, const JNode *node)
{
	SchemaNode *schema = palloc0(sizeof(SchemaNode));
	char	   *place = PlaceOf(reader->place, JsonTreePath(node));

	CHECK_FOR_INTERRUPTS();
	schema->source = node;
	schema->kind = SCHEMA_OBJECT;
	schema->min_items = schema->max_items = -1;
	schema->value.min_length = schema->value.max_length = -1;
	schema->value.precision = schema->value.scale = -1;
	if (++reader->depth > MAX_SCHEMA_DEPTH)
		ProblemAt(reader->problems, place, "it is nested more than %d levels deep.", MAX_SCHEMA_DEPTH);
	else if (node->kind != JNODE_OBJECT)
		ProblemAt(reader->problems, place, "a JSON schema must be an object, not %s.",
				  JsonTreeKindName(node));
	else
		ReadByType(reader, schema, place);
	reader->depth--;
	return schema;
}

/* Read the JSON schema of a resource, or of a fragment of it. */
SchemaNode *
JsonSchemaRead(const JNode *node, bool extension, const char *place,
			   Problem *problems)
{
	Reader		reader = {.place = place,.extension = extension,.problems = problems};

	return ReadSchemaNode(&reader, node);
}

/* The property of this name; NULL if there is none. */
SchemaProperty *
JsonSchemaFind(const SchemaNode *object, const char *name)
{
	ListCell   *cell;

	foreach(cell, object->properties)
	{
		SchemaProperty *property = lfirst(cell);

		if (strcmp(property->name, name) == 0)
			return property;
	}
	return NULL;
}

/*
 * Returns true for the members whose text may differ between two files that
 * mean the same.  Below "properties" such a name is a property.
 */
static bool
IsDescription(const JNode *member)
{
	if (member->parent->name != NULL && strcmp(member->parent->name, "properties") == 0)
		return false;
	return strcmp(member->name, "description") == 0 ||
		strcmp(member->name, "title") == 0;
}

/* Returns true if two nodes were written in the same way, descriptions aside. */
static bool
SameSource(const JNode *a, const JNode *b)
{
	StringInfoData left;
	StringInfoData right;

	initStringInfo(&left);
	initStringInfo(&right);
	JsonTreeCanonical(&left, a, IsDescription);
	JsonTreeCanonical(&right, b, IsDescription);
	return strcmp(left.data, right.data) == 0;
}

/*
 * Merge what one extension adds below "_ext".  A project may describe a place
 * both in its own document and as a common extension; then both must be the
 * same.
 */
static void
MergeExtensions(SchemaNode *into, SchemaNode *from, const char *endpoint,
				const char *place, Problem *problems)
{
	ListCell   *cell;

	foreach(cell, from->properties)
	{
		SchemaProperty *property = lfirst(cell);
		SchemaProperty *present = JsonSchemaFind(into, property->name);
		char	   *here = PlaceOf(place, JsonTreePath(property->node->source));

		if (strcmp(property->name, endpoint) != 0)
			ProblemAt(problems, here, "a project can extend only below its own name, \"%s\".",
					  endpoint);
		else if (property->node->kind != SCHEMA_OBJECT)
			ProblemAt(problems, here, "an extension must be an object.");
		else if (present == NULL)
			into->properties = lappend(into->properties, property);
		else if (!SameSource(present->node->source, property->node->source))
			ProblemAt(problems, here, "this extension is described twice, in different ways.");
	}
	list_sort(into->properties, CompareProperties);
}

/* Add the object that extensions are added to. */
static SchemaNode *
AddExtensionObject(SchemaNode *into, SchemaNode *from)
{
	SchemaProperty *property = palloc0(sizeof(SchemaProperty));

	property->name = "_ext";
	property->node = palloc0(sizeof(SchemaNode));
	property->node->kind = SCHEMA_OBJECT;
	property->node->source = from->source;
	into->properties = lappend(into->properties, property);
	list_sort(into->properties, CompareProperties);
	return property->node;
}

/*
 * Merge the document as an extension describes it into the document of the
 * core.
 *
 * An extension repeats the objects and arrays on the way to what it adds, and
 * may repeat more.  Places that both describe must be the same in both, and
 * new ones must lie below "_ext".
 */
void
JsonSchemaMerge(SchemaNode *into, SchemaNode *from, const char *endpoint,
				const char *place, Problem *problems)
{
	ListCell   *cell;

	check_stack_depth();
	if (into->kind != from->kind ||
		(into->kind == SCHEMA_SCALAR && !SameSource(into->source, from->source)))
	{
		ProblemAt(problems, PlaceOf(place, JsonTreePath(from->source)),
				  "the extension describes this place in another way than the resource it extends.");
		return;
	}
	if (into->kind == SCHEMA_ARRAY)
		JsonSchemaMerge(into->items, from->items, endpoint, place, problems);
	foreach(cell, from->properties)
	{
		SchemaProperty *property = lfirst(cell);
		SchemaProperty *present = JsonSchemaFind(into, property->name);

		if (strcmp(property->name, "_ext") == 0 && property->node->kind != SCHEMA_OBJECT)
			ProblemAt(problems, PlaceOf(place, JsonTreePath(property->node->source)),
					  "\"_ext\" must be an object.");
		else if (strcmp(property->name, "_ext") == 0)
			MergeExtensions(present ? present->node :
							AddExtensionObject(into, property->node),
							property->node, endpoint, place, problems);
		else if (present == NULL)
			ProblemAt(problems, PlaceOf(place, JsonTreePath(property->node->source)),
					  "an extension can add properties only below \"_ext\".");
		else
		{
			present->required |= property->required;
			JsonSchemaMerge(present->node, property->node, endpoint, place, problems);
		}
	}
}

/*
 * The node at a location in the schema itself, such as
 * "$.properties.addresses.items".
 */
SchemaNode *
JsonSchemaAtLocation(SchemaNode *root, const char *location)
{
	SchemaNode *node = root;

	if (*location++ != '$')
		return NULL;
	while (*location && node != NULL)
	{
		if (strncmp(location, ".items", 6) == 0 &&
			(location[6] == '\0' || location[6] == '.'))
		{
			node = node->kind == SCHEMA_ARRAY ? node->items : NULL;
			location += 6;
		}
		else if (strncmp(location, ".properties.", 12) == 0)
		{
			size_t		length = strcspn(location += 12, ".");
			SchemaProperty *property = JsonSchemaFind(node, pnstrdup(location, length));

			node = property ? property->node : NULL;
			location += length;
		}
		else
			return NULL;
	}
	return node;
}

/*
 * Returns true if a JSON path of the document leads to a place of the schema,
 * which is then *leaf.
 */
bool
JsonSchemaPathExists(const SchemaNode *root, const char *path,
					 const SchemaNode **leaf)
{
	const SchemaNode *node = root;

	for (path++; *path;)
	{
		SchemaProperty *property;
		size_t		length;

		if (strncmp(path, "[*]", 3) == 0)
		{
			if (node->kind != SCHEMA_ARRAY)
				return false;
			node = node->items;
			path += 3;
			continue;
		}
		length = strcspn(path + 1, ".[");
		property = JsonSchemaFind(node, pnstrdup(path + 1, length));
		if (property == NULL)
			return false;
		node = property->node;
		path += 1 + length;
	}
	if (leaf)
		*leaf = node;
	return true;
}

/* The word that ApiSchema has for the type of a value; NULL for objects and arrays. */
const char *
JsonSchemaTypeName(const SchemaNode *node)
{
	static const char *const names[] = {
		[VALUE_TEXT] = "string",
		[VALUE_INT4] = "number",
		[VALUE_INT8] = "number",
		[VALUE_NUMERIC] = "number",
		[VALUE_BOOL] = "boolean",
		[VALUE_DATE] = "date",
		[VALUE_TIME] = "time",
		[VALUE_TIMESTAMP] = "date-time",
	};

	return node->kind == SCHEMA_SCALAR ? names[node->value.type] : NULL;
}
