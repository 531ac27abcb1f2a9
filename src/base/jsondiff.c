/*
 * jsondiff.c
 *		What changed from one JSON value to another: a patch (RFC 6902), and diffs of
 *		the lines of texts.
 *
 * Members of objects are compared by their names, in the order in which jsonb has
 * them.  Elements of arrays are compared by position, after equal ones at both ends
 * were left out.  The result depends on nothing but the two values.
 *
 * Values can be hostile, so the work is linear.  First, each distinct subtree of both
 * values gets a number, so that two subtrees are compared in one step, and not again at
 * each level.  A container whose patch is much longer than the container is replaced as
 * a whole, because each operation repeats the path: a patch of many leaves below long
 * names could be far larger than both values.  A tree needs up to a hundred times the
 * memory of its text, so values with very many nodes get none: the new one replaces the
 * old one.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/jsondiff.h"
#include "base/jsontreebuild.h"
#include "base/textdiff.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"

/* The steps that all diffs of lines together may take. */
#define MAX_TEXT_WORK 20000000

/* The nodes that both values together may have, to be compared part by part. */
#define MAX_NODES 1000000

/* Bytes of an operation beside its path and value, and of all that are always in order. */
#define OPERATION_BYTES 40
#define SMALL_PATCH 1000

/* What equal subtrees have in common. */
typedef struct Subtree
{
	uint64		hash;
	Size		bytes;			/* of its text, about */
} Subtree;

/* Returns what a node has in common with all nodes that are equal to it. */
#define SUBTREE(node) ((const Subtree *) (node)->meaning)

/* An entry of the table of subtrees. */
typedef struct KnownSubtree
{
	const JNode *node;			/* the key: the first one */
	Subtree    *subtree;
	uint32		hash;
	char		status;
} KnownSubtree;

static bool AreEqual(const JNode *a, const JNode *b);

#define SH_PREFIX subtrees
#define SH_ELEMENT_TYPE KnownSubtree
#define SH_KEY_TYPE const JNode *
#define SH_KEY node
#define SH_HASH_KEY(tb, key) (uint32) SUBTREE(key)->hash
#define SH_EQUAL(tb, a, b) AreEqual(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) (a)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A place in the values, as the way from the root. */
typedef struct Place
{
	const struct Place *up;		/* NULL: the root */
	const char *name;			/* NULL: an element */
	int			index;
	Size		bytes;			/* of the path, about */
} Place;

typedef enum OperationKind
{
	OPERATION_ADD,
	OPERATION_REMOVE,
	OPERATION_REPLACE
} OperationKind;

/* An operation of the patch. */
typedef struct Operation
{
	OperationKind kind;
	const Place *place;
	const JNode *old_node;		/* of a replacement */
	const JNode *new_node;		/* NULL: nothing is written */
} Operation;

/* A patch that is being made. */
typedef struct Patch
{
	Operation  *operations;
	int			n;
	Size		bytes;			/* of all operations, about */
} Patch;

/* --- equal subtrees -------------------------------------------------------- */

/* Returns true if two nodes are equal, whose children have got their meaning. */
static bool
AreEqual(const JNode *a, const JNode *b)
{
	const JNode *other = b->first;

	if (a->kind != b->kind || a->nchildren != b->nchildren)
		return false;
	if (a->kind == JNODE_BOOL)
		return a->boolean == b->boolean;
	if (a->kind == JNODE_STRING || a->kind == JNODE_NUMBER)
		return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
	foreach_child(child, a)
	{
		if (child->meaning != other->meaning || (child->name != NULL && strcmp(child->name, other->name) != 0))
			return false;
		other = other->next;
	}
	return true;
}

/* Compute the hash and the size of a node from those of its children. */
static void
Describe(const JNode *node, uint64 seed, Subtree *subtree)
{
	subtree->hash = hash_combine64(seed, (uint64) node->kind * 2 + node->boolean);
	subtree->bytes = node->length + 2;
	if (node->text)
		subtree->hash = hash_combine64(subtree->hash, hash_bytes_extended((const unsigned char *) node->text, node->length, seed));
	foreach_child(child, node)
	{
		size_t		length = child->name != NULL ? strlen(child->name) : 0;

		if (child->name != NULL)
			subtree->hash = hash_combine64(subtree->hash, hash_bytes_extended((const unsigned char *) child->name, length, seed));
		subtree->hash = hash_combine64(subtree->hash, SUBTREE(child)->hash);
		subtree->bytes += SUBTREE(child)->bytes + length + 4;
	}
}

/* Give equal nodes of a tree, and of those before it, the same meaning. */
static void
Recognize(JNode *node, subtrees_hash *table, uint64 seed)
{
	Subtree    *subtree = palloc(sizeof(Subtree));
	KnownSubtree *known;
	bool		found;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	foreach_child(child, node)
		Recognize(child, table, seed);
	Describe(node, seed, subtree);
	known = subtrees_insert_hash(table, node, (uint32) subtree->hash, &found);
	if (found)
		pfree(subtree);
	else
		known->subtree = subtree;
	node->meaning = known->subtree;
}

/* --- the patch ------------------------------------------------------------- */

/* Add an operation. */
static void
AddOperation(Patch *patch, OperationKind kind, const Place *place, const JNode *old_node, const JNode *new_node)
{
	Operation	operation = {.kind = kind,.place = place,.old_node = old_node,.new_node = new_node};

	APPEND(patch->operations, patch->n, operation);
	patch->bytes += OPERATION_BYTES + place->bytes + (new_node != NULL ? SUBTREE(new_node)->bytes : 0);
}

/* Returns the place of a child. */
static const Place *
PlaceOfChild(const Place *up, const char *name, int index)
{
	Place	   *place = palloc(sizeof(Place));

	place->up = up;
	place->name = name;
	place->index = index;
	place->bytes = up->bytes + 1 + (name != NULL ? strlen(name) : 10);
	return place;
}

static void DiffNodes(Patch *patch, const Place *place, const JNode *a, const JNode *b);

/* Compare names of members: jsonb has them in this order. */
static int
CompareNames(const char *a, const char *b)
{
	size_t		alen = strlen(a);
	size_t		blen = strlen(b);

	return alen != blen ? (alen < blen ? -1 : 1) : memcmp(a, b, alen);
}

/* Compare two objects, member by member. */
static void
DiffObjects(Patch *patch, const Place *place, const JNode *a, const JNode *b)
{
	const JNode *left = a->first;
	const JNode *right = b->first;

	while (left != NULL || right != NULL)
	{
		int			order = left == NULL ? 1 : right == NULL ? -1 : CompareNames(left->name, right->name);

		CHECK_FOR_INTERRUPTS();
		if (order < 0)
			AddOperation(patch, OPERATION_REMOVE, PlaceOfChild(place, left->name, 0), left, NULL);
		else if (order > 0)
			AddOperation(patch, OPERATION_ADD, PlaceOfChild(place, right->name, 0), NULL, right);
		else if (left->meaning != right->meaning)
			DiffNodes(patch, PlaceOfChild(place, left->name, 0), left, right);
		if (order <= 0)
			left = left->next;
		if (order >= 0)
			right = right->next;
	}
}

/* Returns the children of an array, as an array. */
static const JNode **
Elements(const JNode *node)
{
	const JNode **elements = palloc_extended(sizeof(JNode *) * Max(node->nchildren, 1), MCXT_ALLOC_HUGE);

	foreach_child(child, node)
		elements[child->index] = child;
	return elements;
}

/*
 * Compare two arrays.  Equal elements at both ends are left out; of the others, those
 * at the same position are compared, and the rest is removed, from the end, or added.
 */
static void
DiffArrays(Patch *patch, const Place *place, const JNode *a, const JNode *b)
{
	const JNode **left = Elements(a);
	const JNode **right = Elements(b);
	int			both = Min(a->nchildren, b->nchildren);
	int			head = 0;
	int			tail = 0;

	while (head < both && left[head]->meaning == right[head]->meaning)
		head++;
	while (tail < both - head &&
		   left[a->nchildren - 1 - tail]->meaning == right[b->nchildren - 1 - tail]->meaning)
		tail++;
	for (int i = head; i < both - tail; i++)
		if (left[i]->meaning != right[i]->meaning)
			DiffNodes(patch, PlaceOfChild(place, NULL, i), left[i], right[i]);
	for (int i = a->nchildren - tail - 1; i >= both - tail; i--)
		AddOperation(patch, OPERATION_REMOVE, PlaceOfChild(place, NULL, i), left[i], NULL);
	for (int i = both - tail; i < b->nchildren - tail; i++)
		AddOperation(patch, OPERATION_ADD, PlaceOfChild(place, NULL, i), NULL, right[i]);
	pfree(left);
	pfree(right);
}

/* Compare two nodes that differ. */
static void
DiffNodes(Patch *patch, const Place *place, const JNode *a, const JNode *b)
{
	int			n = patch->n;
	Size		bytes = patch->bytes;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (a->kind == b->kind && a->kind == JNODE_OBJECT)
		DiffObjects(patch, place, a, b);
	else if (a->kind == b->kind && a->kind == JNODE_ARRAY)
		DiffArrays(patch, place, a, b);
	else
	{
		AddOperation(patch, OPERATION_REPLACE, place, a, b);
		return;
	}
	if (patch->bytes - bytes <= 2 * (place->bytes + SUBTREE(b)->bytes) + SMALL_PATCH)
		return;
	patch->n = n;
	patch->bytes = bytes;
	AddOperation(patch, OPERATION_REPLACE, place, a, b);
}

/* --- writing ---------------------------------------------------------------- */

/* Append a path as a JSON pointer (RFC 6901), without quotes. */
static void
AppendPointer(StringInfo out, const Place *place)
{
	if (place->up == NULL)
		return;
	check_stack_depth();
	AppendPointer(out, place->up);
	appendStringInfoChar(out, '/');
	if (place->name == NULL)
	{
		appendStringInfo(out, "%d", place->index);
		return;
	}
	for (const char *c = place->name; *c != '\0'; c++)
	{
		if (*c == '~')
			appendStringInfoString(out, "~0");
		else if (*c == '/')
			appendStringInfoString(out, "~1");
		else
			appendStringInfoChar(out, *c);
	}
}

/* Append a path as a JSON string. */
static void
AppendPath(StringInfo out, const Place *place)
{
	StringInfoData pointer;

	initStringInfo(&pointer);
	AppendPointer(&pointer, place);
	escape_json(out, pointer.data);
	pfree(pointer.data);
}

/* Append an operation. */
static void
AppendOperation(StringInfo out, const Operation *operation)
{
	static const char *const names[] = {
		[OPERATION_ADD] = "add",
		[OPERATION_REMOVE] = "remove",
		[OPERATION_REPLACE] = "replace",
	};

	appendStringInfo(out, "{\"op\":\"%s\",\"path\":", names[operation->kind]);
	AppendPath(out, operation->place);
	if (operation->new_node != NULL)
	{
		appendStringInfoString(out, ",\"value\":");
		JsonTreeCanonical(out, operation->new_node, NULL);
	}
	appendStringInfoChar(out, '}');
}

/* Returns true if a node is a string, of more than one line if that is asked for. */
static bool
IsText(const JNode *node, bool lines)
{
	return node->kind == JNODE_STRING && (!lines || memchr(node->text, '\n', node->length) != NULL);
}

/* Append the diffs of the lines of strings that are replaced, if one of both has several. */
static void
AppendTexts(StringInfo out, const Patch *patch)
{
	int64		work = MAX_TEXT_WORK;
	bool		first = true;

	for (int i = 0; i < patch->n; i++)
	{
		const Operation *operation = &patch->operations[i];
		const JNode *a = operation->old_node;
		const JNode *b = operation->new_node;
		StringInfoData diff;

		if (operation->kind != OPERATION_REPLACE || !IsText(a, false) || !IsText(b, false) ||
			(!IsText(a, true) && !IsText(b, true)))
			continue;
		initStringInfo(&diff);
		if (TextDiff(a->text, a->length, b->text, b->length, &work, &diff))
		{
			if (!first)
				appendStringInfoChar(out, ',');
			first = false;
			AppendPath(out, operation->place);
			appendStringInfoChar(out, ':');
			escape_json(out, diff.data);
		}
		pfree(diff.data);
	}
}

/* Returns the patch and the texts as JSON. */
static char *
WriteDiff(const Patch *patch)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"patch\":[");
	for (int i = 0; i < patch->n; i++)
	{
		if (i > 0)
			appendStringInfoChar(&out, ',');
		AppendOperation(&out, &patch->operations[i]);
	}
	appendStringInfoString(&out, "],\"text\":{");
	AppendTexts(&out, patch);
	appendStringInfoString(&out, "}}");
	return out.data;
}

/* --- comparing --------------------------------------------------------------- */

/* Returns the value of a JSON text.  PostgreSQL's parser does not look for interrupts, so do it here. */
static Jsonb *
ReadJson(char *json)
{
	Datum		value;

	CHECK_FOR_INTERRUPTS();
	value = DirectFunctionCall1(jsonb_in, CStringGetDatum(json));
	CHECK_FOR_INTERRUPTS();
	return DatumGetJsonbP(value);
}

/* Returns a value without some members of its root, if that is an object. */
static Jsonb *
LeaveOut(Jsonb *json, const char *const *left_out)
{
	Datum	   *names = NULL;
	int			n = 0;

	if (left_out == NULL || !JB_ROOT_IS_OBJECT(json))
		return json;
	for (; left_out[n] != NULL; n++)
	{
		GROW(names, n);
		names[n] = CStringGetTextDatum(left_out[n]);
	}
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete_array, JsonbPGetDatum(json),
											  PointerGetDatum(construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT))));
}

/*
 * Returns the value of a JSON text, without those members of the root that are left out.
 * PostgreSQL's parser needs much more memory than the value, which is freed.
 */
static Jsonb *
ParseJson(const text *json, const char *const *left_out)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms JSON diff parser", ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	Jsonb	   *value = LeaveOut(ReadJson(text_to_cstring(json)), left_out);

	MemoryContextSwitchTo(saved);
	value = DatumGetJsonbP(datumCopy(JsonbPGetDatum(value), false, -1));
	MemoryContextDelete(context);
	return value;
}

/* Count the nodes of a value, without more memory than its depth needs, but not beyond a limit. */
static int
CountNodes(Jsonb *json, int most)
{
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue	value;
	int			n = 0;

	while (n < most && (token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token != WJB_KEY && token != WJB_END_ARRAY && token != WJB_END_OBJECT)
			n++;
	}
	return n;
}

/* Returns the patch that replaces one value by the other. */
static char *
ReplaceAll(Jsonb *a, Jsonb *b)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"patch\":[");
	if (VARSIZE(a) != VARSIZE(b) || memcmp(a, b, VARSIZE(a)) != 0)
	{
		appendStringInfoString(&out, "{\"op\":\"replace\",\"path\":\"\",\"value\":");
		(void) JsonbToCString(&out, &b->root, VARSIZE(b));
		appendStringInfoChar(&out, '}');
	}
	appendStringInfoString(&out, "],\"text\":{}}");
	return out.data;
}

/* Compare two values part by part. */
static char *
DiffTrees(Jsonb *old_value, Jsonb *new_value)
{
	static const Place root = {0};
	JNode	   *a = JsonTreeBuild(old_value);
	JNode	   *b = JsonTreeBuild(new_value);
	Patch		patch = {0};
	subtrees_hash *table = subtrees_create(CurrentMemoryContext, 256, NULL);
	uint64		seed;

	/* Nobody shall be able to choose values that fall into one place. */
	if (!pg_strong_random(&seed, sizeof(seed)))
		seed = 0;
	Recognize(a, table, seed);
	Recognize(b, table, seed);
	if (a->meaning != b->meaning)
		DiffNodes(&patch, &root, a, b);
	return WriteDiff(&patch);
}

/*
 * Returns what changed from one value to another, but for members of the root that are
 * left out; their names end with NULL.
 */
Jsonb *
JsonDiff(const text *old_json, const text *new_json, const char *const *left_out)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms JSON diff", ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	Jsonb	   *a = ParseJson(old_json, left_out);
	Jsonb	   *b = ParseJson(new_json, left_out);
	int			nodes = CountNodes(a, MAX_NODES);
	char	   *json;
	Jsonb	   *result;

	if (nodes + CountNodes(b, MAX_NODES) > MAX_NODES)
		json = ReplaceAll(a, b);
	else
		json = DiffTrees(a, b);
	MemoryContextSwitchTo(saved);
	result = ReadJson(json);
	MemoryContextDelete(context);
	return result;
}
