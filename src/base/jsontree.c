/*
 * jsontree.c
 *		Parsing JSON text into a tree, with PostgreSQL's own JSON parser.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/jsontree.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/json.h"

/* Stop looking for repeated names after this many. */
#define MAX_DUPLICATES 100

typedef struct TreeBuilder
{
	JNode	   *root;
	JNode	   *open;			/* innermost object or array that is being
								 * read */
	const char *name;			/* the member name just read */
} TreeBuilder;

/*
 * Make a node that is the last child of the parent, or a root if there is no
 * parent.  Only a member of an object has a name.
 */
JNode *
JsonTreeAdd(JNode *parent, JNodeKind kind, const char *name)
{
	JNode	   *node = palloc0(sizeof(JNode));

	node->kind = kind;
	node->name = name;
	node->parent = parent;
	if (parent == NULL)
		return node;
	node->index = parent->nchildren++;
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	return node;
}

/* As JsonTreeAdd(), for a string or the text of a number. */
JNode *
JsonTreeAddText(JNode *parent, JNodeKind kind, const char *name, const char *value)
{
	JNode	   *node = JsonTreeAdd(parent, kind, name);

	node->text = value;
	node->length = strlen(value);
	return node;
}

/* Add a node to the innermost open container. */
static JNode *
AddNode(TreeBuilder *builder, JNodeKind kind)
{
	JNode	   *parent = builder->open;
	bool		member = parent != NULL && parent->kind == JNODE_OBJECT;
	JNode	   *node = JsonTreeAdd(parent, kind, member ? builder->name : NULL);

	CHECK_FOR_INTERRUPTS();
	if (parent == NULL)
		builder->root = node;
	return node;
}

/* Semantic action: an object begins. */
static JSON_ACTION_RESULT
OpenObject(void *state)
{
	TreeBuilder *builder = state;

	builder->open = AddNode(builder, JNODE_OBJECT);
	JSON_ACTION_RETURN;
}

/* Semantic action: an array begins. */
static JSON_ACTION_RESULT
OpenArray(void *state)
{
	TreeBuilder *builder = state;

	builder->open = AddNode(builder, JNODE_ARRAY);
	JSON_ACTION_RETURN;
}

/* Semantic action: an object or array ends. */
static JSON_ACTION_RESULT
CloseContainer(void *state)
{
	TreeBuilder *builder = state;

	builder->open = builder->open->parent;
	JSON_ACTION_RETURN;
}

/* Semantic action: the next value is the member of this name. */
static JSON_ACTION_RESULT
NameMember(void *state, char *name, bool isnull pg_attribute_unused())
{
	((TreeBuilder *) state)->name = name;
	JSON_ACTION_RETURN;
}

/* Semantic action: a value that is neither object nor array. */
static JSON_ACTION_RESULT
AddScalar(void *state, char *token, JsonTokenType type)
{
	static const JNodeKind kinds[] = {
		[JSON_TOKEN_STRING] = JNODE_STRING,
		[JSON_TOKEN_NUMBER] = JNODE_NUMBER,
		[JSON_TOKEN_TRUE] = JNODE_BOOL,
		[JSON_TOKEN_FALSE] = JNODE_BOOL,
		[JSON_TOKEN_NULL] = JNODE_NULL,
	};
	JNode	   *node = AddNode(state, kinds[type]);

	node->boolean = type == JSON_TOKEN_TRUE;
	if (type == JSON_TOKEN_STRING || type == JSON_TOKEN_NUMBER)
	{
		node->text = token;
		node->length = strlen(token);
	}
	JSON_ACTION_RETURN;
}

/* Parse a text into the builder's tree. */
static JsonParseErrorType
ParseInto(TreeBuilder *builder, JsonLexContext *lexer)
{
	JsonSemAction actions = {
		.semstate = builder,
		.object_start = OpenObject,
		.object_end = CloseContainer,
		.array_start = OpenArray,
		.array_end = CloseContainer,
		.object_field_start = NameMember,
		.scalar = AddScalar,
	};

	return pg_parse_json(lexer, &actions);
}

/*
 * Returns the path of the value at which the lexer stopped.  The parser looks
 * one token ahead, so it had not called the actions for this value, and not
 * even for its name.  It does so when it parses the text again, up to there and
 * with another value.  A name at which the lexer stopped has no path: that of
 * the member before it must do.
 */
static char *
PathOfToken(const JsonLexContext *lexer)
{
	TreeBuilder builder = {NULL, NULL, NULL};
	StringInfoData start;

	initStringInfo(&start);
	appendBinaryStringInfo(&start, lexer->input, lexer->token_start - lexer->input);
	appendStringInfoString(&start, " 0");
	(void) ParseInto(&builder, CompatMakeJsonLexer(start.data, start.len, lexer->input_encoding));
	if (builder.open == NULL)
		return JsonTreePath(builder.root);
	return JsonTreePath(builder.open->last ? builder.open->last : builder.open);
}

/* Order members by name, equal names by position. */
static int
CompareMembers(const void *a, const void *b)
{
	const JNode *left = *(JNode *const *) a;
	const JNode *right = *(JNode *const *) b;
	int			order = strcmp(left->name, right->name);

	CHECK_FOR_INTERRUPTS();
	return order != 0 ? order : left->index - right->index;
}

/* Returns an object's members, ordered by name. */
static JNode **
SortedMembers(const JNode *object)
{
	JNode	  **members = palloc(sizeof(JNode *) * Max(object->nchildren, 1));
	int			n = 0;

	foreach_child(child, object)
	{
		members[n++] = child;
	}
	qsort(members, n, sizeof(JNode *), CompareMembers);
	return members;
}

/* Returns true if two members have the same name.  Small objects need no sorting. */
static bool
HasDuplicates(const JNode *object)
{
	JNode	  **members;
	bool		found = false;

	if (object->nchildren <= 8)
	{
		foreach_child(child, object)
		{
			for (JNode *other = child->next; other; other = other->next)
				if (strcmp(child->name, other->name) == 0)
					return true;
		}
		return false;
	}
	members = SortedMembers(object);
	for (int i = 1; i < object->nchildren && !found; i++)
		found = strcmp(members[i - 1]->name, members[i]->name) == 0;
	pfree(members);
	return found;
}

/* Order members by position, for list_sort(). */
static int
CompareIndexes(const ListCell *a, const ListCell *b)
{
	return ((const JNode *) lfirst(a))->index - ((const JNode *) lfirst(b))->index;
}

/* Returns the second member of each name that an object has more than once. */
static List *
DuplicatesOf(const JNode *object)
{
	JNode	  **members = SortedMembers(object);
	List	   *found = NIL;

	for (int i = 1; i < object->nchildren; i++)
		if (strcmp(members[i - 1]->name, members[i]->name) == 0 &&
			(i == 1 || strcmp(members[i - 2]->name, members[i]->name) != 0))
			found = lappend(found, members[i]);
	pfree(members);
	list_sort(found, CompareIndexes);
	return list_truncate(found, MAX_DUPLICATES);
}

/*
 * Returns the members that repeat a name of their object, in document order.
 * Walks without recursion: the tree may be as deep as the stack allowed the
 * parser to go.
 */
static List *
FindDuplicates(JNode *root)
{
	List	   *found = NIL;
	JNode	   *node = root;

	while (node != NULL && list_length(found) < MAX_DUPLICATES)
	{
		CHECK_FOR_INTERRUPTS();
		if (node->kind == JNODE_OBJECT && HasDuplicates(node))
			found = list_concat(found, DuplicatesOf(node));
		if (node->first != NULL)
			node = node->first;
		else
		{
			while (node != NULL && node->next == NULL)
				node = node->parent;
			if (node != NULL)
				node = node->next;
		}
	}
	return found;
}

/*
 * Parse a text.  Returns NULL if it is refused; *fault then says why and where.
 *
 * A NUL escape is well-formed JSON that PostgreSQL cannot hold in a text: it
 * is reported at its place.  Anything else is malformed as a whole.
 */
JNode *
JsonTreeParse(const char *json, int len, JsonFault *fault)
{
	TreeBuilder builder = {NULL, NULL, NULL};
	JsonLexContext *lexer;
	JsonParseErrorType result;

	memset(fault, 0, sizeof(*fault));
	lexer = CompatMakeJsonLexer(unconstify(char *, json), len,
								GetDatabaseEncoding());
	result = ParseInto(&builder, lexer);
	if (result != JSON_SUCCESS)
	{
		bool		nul = result == JSON_UNICODE_CODE_POINT_ZERO;

		fault->path = nul ? PathOfToken(lexer) : "$.";
		fault->message = nul ? "must not contain the character \\u0000."
			: json_errdetail(result, lexer);
		return NULL;
	}
	fault->duplicates = FindDuplicates(builder.root);
	if (fault->duplicates == NIL)
		return builder.root;
	fault->path = JsonTreePath(linitial(fault->duplicates));
	fault->message = "stands more than once in the same object.";
	return NULL;
}

/* Look up an object's member by name; NULL if there is none. */
JNode *
JsonTreeMember(const JNode *object, const char *name)
{
	if (object == NULL || object->kind != JNODE_OBJECT)
		return NULL;
	foreach_child(child, object)
	{
		if (strcmp(child->name, name) == 0)
			return child;
	}
	return NULL;
}

/* As JsonTreeMember(), for a name that is not terminated by a NUL. */
static JNode *
MemberOfLength(const JNode *object, const char *name, size_t length)
{
	if (object->kind != JNODE_OBJECT)
		return NULL;
	foreach_child(child, object)
	{
		if (strncmp(child->name, name, length) == 0 && child->name[length] == '\0')
			return child;
	}
	return NULL;
}

/* Look up the node at a path without arrays, "$.a.b" or ".a.b"; NULL if none. */
JNode *
JsonTreeAt(JNode *root, const char *path)
{
	JNode	   *node = root;

	path += *path == '$';
	while (*path != '\0' && node != NULL)
	{
		size_t		length = strcspn(path + 1, ".");

		node = MemberOfLength(node, path + 1, length);
		path += 1 + length;
	}
	return node;
}

/* Append all nodes at a path that may go through arrays ("[*]"). */
void
JsonTreeSelect(JNode *root, const char *path, List **nodes)
{
	JNode	   *node = root;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	path += *path == '$';
	while (*path != '\0' && node != NULL)
	{
		size_t		length;

		if (strncmp(path, "[*]", 3) == 0)
		{
			if (node->kind != JNODE_ARRAY)
				return;
			foreach_child(child, node)
			{
				JsonTreeSelect(child, path + 3, nodes);
			}
			return;
		}
		length = strcspn(path + 1, ".[");
		node = MemberOfLength(node, path + 1, length);
		path += 1 + length;
	}
	if (node != NULL)
		*nodes = lappend(*nodes, node);
}

/* Returns the JSON path of a node, with indices. */
char *
JsonTreePath(const JNode *node)
{
	StringInfoData path;
	const JNode **line;
	int			depth = 0;

	for (const JNode *up = node; up->parent != NULL; up = up->parent)
		depth++;
	line = palloc(sizeof(JNode *) * Max(depth, 1));
	for (int i = depth; node->parent != NULL; node = node->parent)
		line[--i] = node;

	initStringInfo(&path);
	appendStringInfoChar(&path, '$');
	for (int i = 0; i < depth; i++)
	{
		if (line[i]->parent->kind == JNODE_ARRAY)
			appendStringInfo(&path, "[%d]", line[i]->index);
		else
			appendStringInfo(&path, ".%s", line[i]->name);
	}
	pfree(line);
	return path.data;
}

/* Returns the name of a node's kind, for messages. */
const char *
JsonTreeKindName(const JNode *node)
{
	static const char *const names[] = {
		[JNODE_NULL] = "null",
		[JNODE_BOOL] = "boolean",
		[JNODE_NUMBER] = "number",
		[JNODE_STRING] = "string",
		[JNODE_ARRAY] = "array",
		[JNODE_OBJECT] = "object",
	};

	return names[node->kind];
}

/*
 * Append the node as text that depends neither on the order of members nor on
 * white space: the members of objects are sorted by name, and arrays keep their
 * order.  Members for which skip returns true are left out.
 */
void
JsonTreeCanonical(StringInfo out, const JNode *node,
				  bool (*skip) (const JNode *member))
{
	JNode	  **members;
	bool		first = true;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->kind)
	{
		case JNODE_NULL:
			appendStringInfoString(out, "null");
			break;
		case JNODE_BOOL:
			appendStringInfoString(out, node->boolean ? "true" : "false");
			break;
		case JNODE_NUMBER:
			appendStringInfoString(out, node->text);
			break;
		case JNODE_STRING:
			escape_json(out, node->text);
			break;
		case JNODE_ARRAY:
			appendStringInfoChar(out, '[');
			foreach_child(child, node)
			{
				if (child != node->first)
					appendStringInfoChar(out, ',');
				JsonTreeCanonical(out, child, skip);
			}
			appendStringInfoChar(out, ']');
			break;
		case JNODE_OBJECT:
			appendStringInfoChar(out, '{');
			members = SortedMembers(node);
			for (int i = 0; i < node->nchildren; i++)
			{
				if (skip != NULL && skip(members[i]))
					continue;
				if (!first)
					appendStringInfoChar(out, ',');
				first = false;
				escape_json(out, members[i]->name);
				appendStringInfoChar(out, ':');
				JsonTreeCanonical(out, members[i], skip);
			}
			pfree(members);
			appendStringInfoChar(out, '}');
			break;
	}
}
