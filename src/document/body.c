/*
 * body.c
 *		Parsing a body and bringing it into canonical form.
 *
 * The walk follows the scopes of the model and changes the tree in place:
 * unknown properties, nulls and what is empty are removed, and values become
 * canonical.  The result is what will be stored, so later steps need not check
 * it again.  All faults of a stage are reported together.
 */
#include "postgres.h"

#include "base/report.h"
#include "document/body.h"
#include "miscadmin.h"
#include "model/value.h"
#include "utils/guc.h"

/* Values of dms.unknown_properties. */
typedef enum UnknownProperties
{
	UNKNOWN_DROP,
	UNKNOWN_NOTICE,
	UNKNOWN_REFUSE
} UnknownProperties;

static const struct config_enum_entry unknown_options[] = {
	{"drop", UNKNOWN_DROP, false},
	{"notice", UNKNOWN_NOTICE, false},
	{"refuse", UNKNOWN_REFUSE, false},
	{NULL, 0, false}
};

static int	unknown_properties = UNKNOWN_DROP;

/* The state of a walk through a body. */
typedef struct BodyState
{
	const ResourceModel *model;
	Problem    *schema;			/* faults against the schema */
	Problem    *decimals;		/* faults of the next stage */
} BodyState;

static void CheckObject(BodyState *state, int scope, JNode *object);
static void CheckMembers(BodyState *state, const ScopeModel *scope, JNode *object);

/* Define the settings of this module. */
void
BodyInit(void)
{
	DefineCustomEnumVariable("dms.unknown_properties",
							 "What to do with properties that the schema does not know.",
							 NULL, &unknown_properties, UNKNOWN_DROP, unknown_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

/*
 * Returns true for properties that a read adds to a document.  Clients send
 * them back unchanged, so they are no reason for a notice or an error.
 */
static bool
IsOfResponse(const char *name)
{
	return strcmp(name, "_etag") == 0 || strcmp(name, "_lastModifiedDate") == 0 ||
		strcmp(name, "link") == 0;
}

/*
 * Refuse an "id" (in any case) in the body of an upsert, because the store
 * assigns the id of a new document.
 */
static void
RefuseId(const JNode *body)
{
	Problem    *problem = NULL;

	foreach_child(child, body)
	{
		CHECK_FOR_INTERRUPTS();
		if (pg_strcasecmp(child->name, "id") != 0)
			continue;
		if (problem == NULL)
			problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
		ProblemNote(problem, "\"%s\" must not be given: the id of a document is assigned by the store.",
					child->name);
	}
	if (problem == NULL)
		return;
	problem->detail = "The document has an id, which a new document must not have.";
	ProblemRaiseInvalid(problem);
}

/* Remove the "id" from the body; *id is its text, or NULL if there is none. */
static void
TakeId(JNode *body, const char **id)
{
	JNode	  **link = &body->first;

	*id = NULL;
	body->last = NULL;
	while (*link != NULL)
	{
		JNode	   *child = *link;
		bool		exact = strcmp(child->name, "id") == 0;

		CHECK_FOR_INTERRUPTS();
		if (exact && child->kind != JNODE_NULL)
			*id = child->kind == JNODE_STRING ? child->text : "";
		if (exact)
		{
			*link = child->next;
			body->nchildren--;
			continue;
		}
		body->last = child;
		link = &child->next;
	}
}

/* Parse a body.  Refuses a text that is not a JSON object. */
JNode *
BodyParse(const char *text, int len, BodyPurpose purpose, const char **id)
{
	JsonFault	fault;
	JNode	   *body = JsonTreeParse(text, len, &fault);
	Problem    *problem;
	ListCell   *cell;

	if (body != NULL && body->kind == JNODE_OBJECT)
	{
		if (purpose == BODY_FOR_UPSERT)
			RefuseId(body);
		TakeId(body, id);
		return body;
	}
	if (body == NULL && fault.duplicates == NIL && strcmp(fault.path, "$.") == 0)
	{
		problem = ProblemNew(PROBLEM_BODY_NOT_JSON);
		ProblemAt(problem, fault.path, "%s", fault.message);
		ProblemRaise(problem, "document is not JSON");
	}
	problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
	if (body == NULL && fault.duplicates == NIL)
		ProblemAt(problem, fault.path, "%s", fault.message);
	if (body == NULL && fault.duplicates != NIL)
	{
		problem->detail = "The document has properties that occur more than once. See 'validationErrors' for each.";
		foreach(cell, fault.duplicates)
			ProblemAt(problem, JsonTreePath(lfirst(cell)), "%s", fault.message);
	}
	if (body != NULL)
		ProblemAt(problem, "$", "must be an object, not %s.", JsonTreeKindName(body));
	ProblemRaiseInvalid(problem);
}

/* Compare a name with that of a property, for bsearch(). */
static int
CompareToProperty(const void *name, const void *property)
{
	return strcmp(name, ((const PropertyModel *) property)->name);
}

/* Returns the property with a name, or NULL; properties are in byte order. */
static const PropertyModel *
FindProperty(const ScopeModel *scope, const char *name)
{
	return scope->nproperties == 0 ? NULL :
		bsearch(name, scope->properties, scope->nproperties, sizeof(PropertyModel), CompareToProperty);
}

/*
 * Ignore or report a property that the schema does not have, as the setting
 * says.
 */
static void
CheckUnknown(BodyState *state, JNode *node)
{
	if (unknown_properties == UNKNOWN_DROP || IsOfResponse(node->name))
		return;
	if (unknown_properties == UNKNOWN_REFUSE)
		ProblemAt(state->schema, JsonTreePath(node), "is not a property of this resource.");
	else
		ereport(NOTICE,
				(errmsg("property \"%s\" is not known and was ignored", JsonTreePath(node))));
}

/* Bring a value into canonical form, or report why it has none. */
static void
CheckValue(BodyState *state, const PropertyModel *property, JNode *node)
{
	ValueFault	fault;

	if (!ValueCanonicalise(node, &property->value, property->trim, &fault))
		ProblemAt(fault.decimal ? state->decimals : state->schema,
				  JsonTreePath(node), "%s", fault.message);
}

/* Returns true if an object holds nothing but nulls and unknown properties. */
static bool
HoldsNothing(const ResourceModel *model, int scope, const JNode *object)
{
	foreach_child(child, object)
	{
		CHECK_FOR_INTERRUPTS();
		if (child->kind == JNODE_NULL)
			continue;
		if (FindProperty(&model->scopes[scope], child->name) != NULL)
			return false;
	}
	return true;
}

/* Returns true if every element is null, or an object that holds nothing. */
static bool
OnlyEmptyObjects(const ResourceModel *model, int scope, const JNode *array)
{
	foreach_child(child, array)
	{
		CHECK_FOR_INTERRUPTS();
		if (child->kind == JNODE_NULL)
			continue;
		if (child->kind != JNODE_OBJECT || !HoldsNothing(model, scope, child))
			return false;
	}
	return true;
}

/* Order texts, for qsort(). */
static int
CompareTexts(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Check that no two elements are equal, for "uniqueItems". */
static void
CheckUniqueItems(BodyState *state, JNode *array)
{
	int			n = 0;
	char	  **texts = palloc(sizeof(char *) * Max(array->nchildren, 1));

	foreach_child(child, array)
	{
		StringInfoData text;

		initStringInfo(&text);
		JsonTreeCanonical(&text, child, NULL);
		texts[n++] = text.data;
	}
	qsort(texts, n, sizeof(char *), CompareTexts);
	for (int i = 1; i < n; i++)
		if (strcmp(texts[i - 1], texts[i]) == 0)
		{
			ProblemAt(state->schema, JsonTreePath(array), "must not hold equal elements.");
			return;
		}
}

/*
 * Check the elements of an array.  Nulls are removed; all others must be
 * objects.
 */
static void
CheckElements(BodyState *state, const PropertyModel *property, JNode *array)
{
	JNode	  **link = &array->first;

	array->last = NULL;
	while (*link != NULL)
	{
		JNode	   *child = *link;

		CHECK_FOR_INTERRUPTS();
		if (child->kind == JNODE_NULL)
		{
			*link = child->next;
			array->nchildren--;
			continue;
		}
		if (child->kind != JNODE_OBJECT)
			ProblemAt(state->schema, JsonTreePath(child), "must be an object, not %s.",
					  JsonTreeKindName(child));
		else
			CheckObject(state, property->scope, child);
		array->last = child;
		link = &child->next;
	}
}

/* Check an array; returns false if it counts as absent. */
static bool
CheckArray(BodyState *state, const PropertyModel *property, JNode *node)
{
	if (node->kind != JNODE_ARRAY)
	{
		ProblemAt(state->schema, JsonTreePath(node), "must be an array, not %s.",
				  JsonTreeKindName(node));
		return true;
	}
	if (node->parent->parent == NULL &&
		OnlyEmptyObjects(state->model, property->scope, node))
	{
		/* Unknown properties in it are reported nevertheless. */
		foreach_child(child, node)
		{
			if (child->kind == JNODE_OBJECT)
				CheckMembers(state, &state->model->scopes[property->scope], child);
		}
		return false;
	}
	CheckElements(state, property, node);
	if (node->nchildren < property->min_items)
		ProblemAt(state->schema, JsonTreePath(node), "must hold at least %d element%s.",
				  property->min_items, property->min_items == 1 ? "" : "s");
	if (property->max_items >= 0 && node->nchildren > property->max_items)
		ProblemAt(state->schema, JsonTreePath(node), "must hold at most %d element%s.",
				  property->max_items, property->max_items == 1 ? "" : "s");
	if (property->unique_items)
		CheckUniqueItems(state, node);
	return true;
}

/* Report required properties that are missing. */
static void
CheckRequired(BodyState *state, const ScopeModel *scope, JNode *object)
{
	for (int i = 0; i < scope->nproperties; i++)
	{
		const PropertyModel *property = &scope->properties[i];

		if (property->required && JsonTreeMember(object, property->name) == NULL)
			ProblemAt(state->schema,
					  psprintf("%s.%s", JsonTreePath(object), property->name),
					  "is required.");
	}
}

/*
 * Returns true for an array or object without content.  An empty reference is not
 * one: a later rule reports that it is incomplete.
 */
static bool
IsEmpty(const JNode *node)
{
	const PropertyModel *property = node->meaning;

	return node->nchildren == 0 &&
		(node->kind == JNODE_ARRAY ||
		 (node->kind == JNODE_OBJECT && property->kind != PROPERTY_REFERENCE));
}

/*
 * Remove empty arrays and objects.  They are needed until the schema has been
 * checked, but are not stored.
 */
static void
DropEmpty(JNode *object)
{
	JNode	  **link = &object->first;

	object->last = NULL;
	while (*link != NULL)
	{
		JNode	   *child = *link;

		if (IsEmpty(child))
		{
			*link = child->next;
			object->nchildren--;
			continue;
		}
		object->last = child;
		link = &child->next;
	}
}

/*
 * Check an object inside another.  It need not have any member to be present: what
 * its schema requires is missing then.
 */
static void
CheckNested(BodyState *state, const PropertyModel *property, JNode *node)
{
	if (node->kind != JNODE_OBJECT)
		ProblemAt(state->schema, JsonTreePath(node), "must be an object, not %s.",
				  JsonTreeKindName(node));
	else
		CheckObject(state, property->scope, node);
}

/* Check one member of an object; returns false if it is to be removed. */
static bool
CheckMember(BodyState *state, const ScopeModel *scope, JNode *node)
{
	const PropertyModel *property;

	CHECK_FOR_INTERRUPTS();
	if (node->kind == JNODE_NULL)
		return false;
	property = FindProperty(scope, node->name);
	if (property == NULL)
	{
		CheckUnknown(state, node);
		return false;
	}
	node->meaning = property;
	switch ((PropertyKind) property->kind)
	{
		case PROPERTY_SCALAR:
		case PROPERTY_DESCRIPTOR:
		case PROPERTY_MEMBER:
			CheckValue(state, property, node);
			return true;
		case PROPERTY_ARRAY:
			return CheckArray(state, property, node);
		case PROPERTY_REFERENCE:
		case PROPERTY_OBJECT:
		case PROPERTY_EXTENSION:
			CheckNested(state, property, node);
			return true;
	}
	return false;
}

/* Check the members of an object and everything inside them. */
static void
CheckMembers(BodyState *state, const ScopeModel *scope, JNode *object)
{
	JNode	  **link = &object->first;

	object->last = NULL;
	while (*link != NULL)
	{
		JNode	   *child = *link;

		if (!CheckMember(state, scope, child))
		{
			*link = child->next;
			object->nchildren--;
			continue;
		}
		object->last = child;
		link = &child->next;
	}
}

/* Check an object and everything inside it. */
static void
CheckObject(BodyState *state, int scope_index, JNode *object)
{
	const ScopeModel *scope = &state->model->scopes[scope_index];

	CheckMembers(state, scope, object);
	CheckRequired(state, scope, object);
	DropEmpty(object);
}

/* Raise the problem if anything was found. */
static void
RaiseIfFound(Problem *problem)
{
	if (problem->count > 0)
		ProblemRaiseInvalid(problem);
}

/*
 * Bring a body into canonical form.  Refuses it if its structure or a value
 * does not fit the schema, or if it lacks an id that it needs.
 */
void
BodyCheck(const ResourceModel *model, JNode *body, bool id_missing)
{
	BodyState	state;

	state.model = model;
	state.schema = ProblemNew(PROBLEM_BODY_NOT_VALID);
	state.decimals = ProblemNew(PROBLEM_BODY_NOT_VALID);
	CheckObject(&state, 0, body);
	if (id_missing)
		ProblemAt(state.schema, "$.id", "is required.");
	RaiseIfFound(state.schema);
	RaiseIfFound(state.decimals);
}
