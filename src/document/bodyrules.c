/*
 * bodyrules.c
 *		Rules that span several values of a body: equal values, complete
 *		references, no duplicate references or elements, no ambiguous
 *		identity.
 *
 * Each rule is a stage of its own; the first stage that finds faults reports
 * them.
 */
#include "postgres.h"

#include "base/lowercase.h"
#include "base/referentialid.h"
#include "base/report.h"
#include "base/uuid.h"
#include "document/body.h"
#include "miscadmin.h"
#include "utils/builtins.h"

/* An element of an array, and the text of the values that must be unique. */
typedef struct ElementKey
{
	char	   *key;
	JNode	   *element;
	int			position;		/* in document order */
} ElementKey;

/* What is wrong with any of the references of a body. */
typedef struct ReferenceFaults
{
	bool		incomplete;		/* a value is missing */
	bool		ambiguous;		/* a value could be mistaken for several */
} ReferenceFaults;

/* Returns true if values at a path are descriptor URIs, by its name. */
static bool
IsDescriptorPath(const char *path)
{
	size_t		length = strlen(path);

	return length >= 10 && strcmp(path + length - 10, "Descriptor") == 0;
}

/*
 * Returns true if two values are equal; descriptors are compared in lower
 * case.
 */
static bool
SameValue(const JNode *a, const JNode *b, bool descriptor)
{
	Assert(a->text);
	Assert(b->text);
	if (descriptor)
		return strcmp(LowercaseInvariant(a->text, a->length),
					  LowercaseInvariant(b->text, b->length)) == 0;
	return strcmp(a->text, b->text) == 0;
}

/* Returns true if all nodes have the same value as the given one. */
static bool
AllEqual(List *nodes, const JNode *value, bool descriptor)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		CHECK_FOR_INTERRUPTS();
		if (!SameValue(lfirst(cell), value, descriptor))
			return false;
	}
	return true;
}

/* Check that every value at one path equals every value at the other. */
static void
CheckEquality(Problem *problem, const EqualityModel *equality, JNode *body)
{
	List	   *sources = NIL;
	List	   *targets = NIL;
	bool		descriptor = IsDescriptorPath(equality->source);

	JsonTreeSelect(body, equality->source, &sources);
	JsonTreeSelect(body, equality->target, &targets);
	if (sources == NIL || targets == NIL)
		return;
	if (AllEqual(sources, linitial(targets), descriptor) &&
		AllEqual(targets, linitial(targets), descriptor))
		return;
	ProblemAt(problem, equality->source, "must be equal to %s.", equality->target);
	ProblemAt(problem, equality->target, "must be equal to %s.", equality->source);
}

/* Check that a reference has all values that identify its target. */
static void
CheckComplete(Problem *problem, const ReferenceModel *reference, JNode *body)
{
	List	   *nodes = NIL;
	ListCell   *cell;

	JsonTreeSelect(body, reference->path, &nodes);
	foreach(cell, nodes)
	{
		JNode	   *node = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < reference->nmembers; i++)
			if (JsonTreeMember(node, reference->members[i].name) == NULL)
				ProblemAt(problem, JsonTreePath(node), "is incomplete: %s is missing.",
						  reference->members[i].name);
	}
}

/* Order elements by their keys, then by their positions. */
static int
CompareKeys(const void *a, const void *b)
{
	const ElementKey *left = a;
	const ElementKey *right = b;
	int			order = strcmp(left->key, right->key);

	CHECK_FOR_INTERRUPTS();
	return order != 0 ? order : left->position - right->position;
}

/* Returns an ordinal number: 1st, 2nd, 3rd, 11th. */
static char *
Ordinal(int n)
{
	static const char *const endings[] = {"th", "st", "nd", "rd"};
	int			last = n % 10;

	return psprintf("%d%s", n, n / 10 % 10 == 1 || last > 3 ? endings[0] : endings[last]);
}

/* Report every element whose key another element before it has. */
static void
ReportDuplicates(Problem *problem, ElementKey *keys, int n, const char *what)
{
	qsort(keys, n, sizeof(ElementKey), CompareKeys);
	for (int i = 1; i < n; i++)
		if (strcmp(keys[i - 1].key, keys[i].key) == 0)
			ProblemAt(problem, JsonTreePath(keys[i].element->parent),
					  "the %s element %s.", Ordinal(keys[i].element->index + 1), what);
}

/* Append a text behind its length, so that no text of another length looks the same. */
static void
AppendSized(StringInfo out, const char *text)
{
	int			length = (int) strlen(text);
	char		digits[12];

	appendBinaryStringInfo(out, digits, pg_ltoa(length, digits));
	appendStringInfoChar(out, ':');
	appendBinaryStringInfo(out, text, length);
	appendStringInfoChar(out, ';');
}

/* Returns the values of an element at these paths as one text. */
static char *
KeyOf(JNode *element, char **members, int nmembers)
{
	StringInfoData key;

	CHECK_FOR_INTERRUPTS();
	initStringInfo(&key);
	for (int i = 0; i < nmembers; i++)
	{
		JNode	   *value = JsonTreeAt(element, members[i]);

		if (value == NULL || value->text == NULL)
			appendStringInfoString(&key, "-;");
		else
			AppendSized(&key, IsDescriptorPath(members[i]) ?
						LowercaseInvariant(value->text, value->length) : value->text);
	}
	return key.data;
}

/*
 * Check that no reference of a collection of references is repeated, anywhere
 * in the document.
 */
static void
CheckBareReferences(Problem *problem, const ResourceModel *model,
					const TableModel *table, JNode *body)
{
	const ReferenceModel *reference =
	&model->references[table->columns[table->nkeys].reference];
	char	  **members;
	List	   *elements = NIL;
	ElementKey *keys;
	int			n = 0;
	ListCell   *cell;

	JsonTreeSelect(body, table->scope_path, &elements);
	if (list_length(elements) < 2)
		return;
	members = palloc(sizeof(char *) * reference->nmembers);
	for (int i = 0; i < reference->nmembers; i++)
		members[i] = psprintf("%s.%s", reference->path + strlen(table->scope_path),
							  reference->members[i].name);
	keys = palloc(sizeof(ElementKey) * list_length(elements));
	foreach(cell, elements)
	{
		keys[n].element = lfirst(cell);
		keys[n].position = n;
		keys[n].key = KeyOf(lfirst(cell), members, reference->nmembers);
		n++;
	}
	ReportDuplicates(problem, keys, n, "repeats a reference");
}

/* Check that no two elements of one array agree in all the given values. */
static void
CheckUniqueness(Problem *problem, const UniquenessModel *uniqueness, JNode *body)
{
	List	   *arrays = NIL;
	char	   *path = pnstrdup(uniqueness->array_path, strlen(uniqueness->array_path) - 3);
	ListCell   *cell;

	JsonTreeSelect(body, path, &arrays);
	foreach(cell, arrays)
	{
		JNode	   *array = lfirst(cell);
		ElementKey *keys;
		int			n = 0;

		if (array->nchildren < 2)
			continue;
		keys = palloc(sizeof(ElementKey) * array->nchildren);
		foreach_child(child, array)
		{
			keys[n].element = child;
			keys[n].position = n;
			keys[n].key = KeyOf(child, uniqueness->members, uniqueness->nmembers);
			n++;
		}
		ReportDuplicates(problem, keys, n, "has the same identifying values as one before it");
	}
}

/*
 * Check that a value of an identity cannot be mistaken for several: identities
 * are hashed as path=value#path=value.
 */
static void
CheckIdentifier(Problem *problem, const JNode *node, const char *value)
{
	if (ReferentialIdValueIsAmbiguous(value))
		ProblemAt(problem, JsonTreePath(node),
				  "must not contain \"#$.\", because it identifies a document.");
}

/* Check the values that identify the document itself. */
static void
CheckOwnIdentity(Problem *problem, const ResourceModel *model, JNode *body)
{
	if (model->kind == RESOURCE_DESCRIPTOR)
	{
		JNode	   *code = JsonTreeAt(body, "$.codeValue");

		CheckIdentifier(problem, code,
						psprintf("%s#%s", JsonTreeAt(body, "$.namespace")->text, code->text));
		return;
	}
	for (int i = 0; i < model->nidentity; i++)
	{
		JNode	   *node = JsonTreeAt(body, model->identity[i].path);

		if (model->identity[i].reference < 0)
			CheckIdentifier(problem, node, node->text);
	}
}

/* Check the values that identify the targets of a reference. */
static void
CheckReferenced(Problem *problem, const ReferenceModel *reference, JNode *body)
{
	List	   *nodes = NIL;
	ListCell   *cell;

	JsonTreeSelect(body, reference->path, &nodes);
	foreach(cell, nodes)
	{
		JNode	   *node = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (reference->descriptor)
			CheckIdentifier(problem, node, node->text);
		else
			foreach_child(child, node)
				CheckIdentifier(problem, child, child->text);
	}
}

/* Raise the faults of a stage, if there are any. */
static void
EndStage(Problem *problem)
{
	if (problem->count > 0)
		ProblemRaiseInvalid(problem);
}

/* Note what is wrong with a reference, if anything is. */
static void
LookAtReference(const ReferenceModel *reference, const JNode *node, ReferenceFaults *faults)
{
	for (int i = 0; i < reference->nmembers; i++)
		faults->incomplete |= JsonTreeMember(node, reference->members[i].name) == NULL;
	foreach_child(child, node)
		faults->ambiguous |= ReferentialIdValueIsAmbiguous(child->text);
}

/* Note what is wrong with the references in an object. */
static void
LookAtReferences(const ResourceModel *model, const JNode *object, ReferenceFaults *faults)
{
	check_stack_depth();
	foreach_child(child, object)
	{
		const PropertyModel *property = child->meaning;

		CHECK_FOR_INTERRUPTS();
		switch ((PropertyKind) property->kind)
		{
			case PROPERTY_REFERENCE:
				LookAtReference(&model->references[property->reference], child, faults);
				break;
			case PROPERTY_DESCRIPTOR:
				faults->ambiguous |= ReferentialIdValueIsAmbiguous(child->text);
				break;
			case PROPERTY_OBJECT:
			case PROPERTY_EXTENSION:
				LookAtReferences(model, child, faults);
				break;
			case PROPERTY_ARRAY:
				foreach_child(element, child)
					LookAtReferences(model, element, faults);
				break;
			case PROPERTY_SCALAR:
			case PROPERTY_MEMBER:
				break;
		}
	}
}

/*
 * Check all rules, on a body in canonical form.  A model has many references that a
 * body does not have, so one walk over the body finds out whether any is at fault;
 * where that is so, they are looked at in the order of the model.
 */
void
BodyRulesCheck(const ResourceModel *model, JNode *body)
{
	Problem    *problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
	ReferenceFaults faults = {0};

	LookAtReferences(model, body, &faults);

	for (int i = 0; i < model->nequalities; i++)
		CheckEquality(problem, &model->equalities[i], body);
	EndStage(problem);
	for (int i = 0; faults.incomplete && i < model->nreferences; i++)
		if (!model->references[i].descriptor)
			CheckComplete(problem, &model->references[i], body);
	EndStage(problem);
	for (int i = 0; i < model->ntables; i++)
		if (model->tables[i].bare_references)
			CheckBareReferences(problem, model, &model->tables[i], body);
	EndStage(problem);
	for (int i = 0; i < model->nuniqueness; i++)
		CheckUniqueness(problem, &model->uniqueness[i], body);
	EndStage(problem);
	CheckOwnIdentity(problem, model, body);
	for (int i = 0; faults.ambiguous && i < model->nreferences; i++)
		CheckReferenced(problem, &model->references[i], body);
	EndStage(problem);
}
