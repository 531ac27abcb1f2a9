/*
 * apiread.c
 *		Typed access to the members of ApiSchema objects.
 *
 * Each function adds what is wrong to the list of problems and returns
 * something harmless, so that one attempt to deploy lists everything that has
 * to be corrected.
 */
#include "postgres.h"

#include "schema/apiread.h"
#include "schema/naming.h"

/* A member of the wanted kind; null counts as absent, as in the real files. */
const JNode *
ApiReadNode(const JNode *object, const char *name, JNodeKind kind, bool required,
			const char *place, Problem *problems)
{
	JNode	   *member = JsonTreeMember(object, name);
	JNode		wanted = {.kind = kind};

	if (member == NULL || member->kind == JNODE_NULL)
	{
		if (required)
			ProblemAt(problems, place, "\"%s\" is missing.", name);
		return NULL;
	}
	if (member->kind != kind)
	{
		ProblemAt(problems, place, "\"%s\" must be of type %s, not %s.", name,
				  JsonTreeKindName(&wanted), JsonTreeKindName(member));
		return NULL;
	}
	return member;
}

/* A text.  A missing one is "" if it is required, NULL if not. */
const char *
ApiReadText(const JNode *object, const char *name, bool required,
			const char *place, Problem *problems)
{
	const JNode *member = ApiReadNode(object, name, JNODE_STRING, required,
									  place, problems);

	if (member == NULL)
		return required ? "" : NULL;
	if (required && member->length == 0)
		ProblemAt(problems, place, "\"%s\" must not be empty.", name);
	return member->text;
}

/* A boolean; false if it is absent. */
bool
ApiReadBool(const JNode *object, const char *name, const char *place,
			Problem *problems)
{
	const JNode *member = ApiReadNode(object, name, JNODE_BOOL, false, place,
									  problems);

	return member != NULL && member->boolean;
}

/* A whole number from 0 to a billion. */
int
ApiReadInt(const JNode *object, const char *name, int absent, const char *place,
		   Problem *problems)
{
	const JNode *member = ApiReadNode(object, name, JNODE_NUMBER, false, place,
									  problems);

	if (member == NULL)
		return absent;
	if (strspn(member->text, "0123456789") != (size_t) member->length ||
		member->length > 9)
	{
		ProblemAt(problems, place,
				  "\"%s\" must be a whole number below 1000000000, not %s.",
				  name, member->text);
		return absent;
	}
	return atoi(member->text);
}

/* A list of texts; empty if it is absent. */
List *
ApiReadTexts(const JNode *object, const char *name, const char *place,
			 Problem *problems)
{
	const JNode *member = ApiReadNode(object, name, JNODE_ARRAY, false, place,
									  problems);
	List	   *texts = NIL;

	if (member == NULL)
		return NIL;
	foreach_child(child, member)
	{
		if (child->kind == JNODE_STRING)
			texts = lappend(texts, unconstify(char *, child->text));
		else
			ProblemAt(problems, place, "\"%s\" must hold only strings.", name);
	}
	return texts;
}

/*
 * Returns true for "$" and at least one ".name" or ".name[*]" with plain
 * names.  No other form of JSON path occurs in ApiSchema files.
 */
static bool
PathIsPlain(const char *path)
{
	if (*path++ != '$' || *path == '\0')
		return false;
	while (*path)
	{
		size_t		length;

		if (*path++ != '.')
			return false;
		length = strcspn(path, ".[");
		if (!NameIsPlain(pnstrdup(path, length), "_-"))
			return false;
		path += length;
		if (strncmp(path, "[*]", 3) == 0)
			path += 3;
	}
	return true;
}

/* Returns true for a plain path; reports any other. */
bool
ApiReadCheckPath(const char *path, const char *what, const char *place,
				 Problem *problems)
{
	if (PathIsPlain(path))
		return true;
	ProblemAt(problems, place, "\"%s\" in %s is not a path of the form $.name[*].name.",
			  path, what);
	return false;
}

/*
 * Check that a node is an object that has only known members.  Unknown ones
 * are reported, since ignoring them could store documents in another way than
 * their author meant.  Returns false if it is no object.
 */
bool
ApiReadObject(const JNode *node, const char *const *known, const char *place,
			  Problem *problems)
{
	if (node->kind != JNODE_OBJECT)
	{
		ProblemAt(problems, place, "must be of type object, not %s.",
				  JsonTreeKindName(node));
		return false;
	}
	foreach_child(child, node)
	{
		bool		found = false;

		for (const char *const *name = known; *name && !found; name++)
			found = strcmp(child->name, *name) == 0;
		if (!found)
			ProblemAt(problems, place, "\"%s\" is not known in this format.",
					  child->name);
	}
	return true;
}
