/*
 * jsontree.h
 *		A JSON text as a tree of nodes that know where they stand.
 *
 * One parser serves request bodies, ApiSchema files and stored models.  Each
 * node knows its parent, so that an error can name the place ("$.a[2].b")
 * without anybody carrying paths along.
 */
#ifndef DMS_JSONTREE_H
#define DMS_JSONTREE_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

typedef enum JNodeKind
{
	JNODE_NULL,
	JNODE_BOOL,
	JNODE_NUMBER,
	JNODE_STRING,
	JNODE_ARRAY,
	JNODE_OBJECT
} JNodeKind;

typedef struct JNode
{
	JNodeKind	kind;
	bool		boolean;		/* JNODE_BOOL */
	int			index;			/* position in the parent */
	int			nchildren;		/* JNODE_ARRAY, JNODE_OBJECT */
	int			length;			/* bytes of text */
	const char *name;			/* member name, when the parent is an object */
	const char *text;			/* JNODE_NUMBER: as written; JNODE_STRING */
	const void *meaning;		/* what a reader made of it */
	struct JNode *parent;
	struct JNode *first;
	struct JNode *last;
	struct JNode *next;
} JNode;

/* What stopped the parser. */
typedef struct JsonFault
{
	List	   *duplicates;		/* of JNode: keys that stand twice in an
								 * object */
	const char *path;			/* where; "$." when the text is not JSON */
	const char *message;
} JsonFault;

extern JNode *JsonTreeParse(const char *text, int len, JsonFault *fault);
extern JNode *JsonTreeAdd(JNode *parent, JNodeKind kind, const char *name);
extern JNode *JsonTreeAddText(JNode *parent, JNodeKind kind, const char *name,
							  const char *value);
extern JNode *JsonTreeMember(const JNode *object, const char *name);
extern char *JsonTreePath(const JNode *node);
extern JNode *JsonTreeAt(JNode *root, const char *path);
extern void JsonTreeSelect(JNode *root, const char *path, List **nodes);
extern const char *JsonTreeKindName(const JNode *node);
extern void JsonTreeCanonical(StringInfo out, const JNode *node,
							  bool (*skip) (const JNode *member));
extern void JsonAppendString(StringInfo out, const char *text);

#define foreach_child(child, node) \
	for (JNode *child = (node)->first; child != NULL; child = child->next)

#endif							/* DMS_JSONTREE_H */
