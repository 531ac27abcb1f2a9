/*
 * jsontreebuild.c
 *		Building a tree from jsonb.
 */
#include "postgres.h"

#include "base/jsontreebuild.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

/* Add a scalar; a number gets the text that PostgreSQL would write. */
static JNode *
AddScalar(JNode *parent, const char *name, const JsonbValue *value)
{
	JNode	   *node;

	switch (value->type)
	{
		case jbvNull:
			return JsonTreeAdd(parent, JNODE_NULL, name);
		case jbvBool:
			node = JsonTreeAdd(parent, JNODE_BOOL, name);
			node->boolean = value->val.boolean;
			return node;
		case jbvString:
			return JsonTreeAddText(parent, JNODE_STRING, name,
								   pnstrdup(value->val.string.val, value->val.string.len));
		case jbvNumeric:
			return JsonTreeAddText(parent, JNODE_NUMBER, name,
								   DatumGetCString(DirectFunctionCall1(numeric_out,
																	   NumericGetDatum(value->val.numeric))));
		default:
			elog(ERROR, "unexpected type %d in jsonb", (int) value->type);
	}
	return NULL;				/* keep compiler quiet */
}

/* Build the tree of an object or array. */
static JNode *
BuildContainer(Jsonb *json)
{
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue	value;
	JNode	   *root = NULL;
	JNode	   *open = NULL;	/* innermost object or array */
	const char *name = NULL;	/* of the next value; NULL in arrays */

	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (token)
		{
			case WJB_KEY:
				name = pnstrdup(value.val.string.val, value.val.string.len);
				break;
			case WJB_BEGIN_OBJECT:
			case WJB_BEGIN_ARRAY:
				open = JsonTreeAdd(open, token == WJB_BEGIN_OBJECT ? JNODE_OBJECT : JNODE_ARRAY, name);
				if (root == NULL)
					root = open;
				name = NULL;
				break;
			case WJB_VALUE:
			case WJB_ELEM:
				AddScalar(open, name, &value);
				name = NULL;
				break;
			case WJB_END_OBJECT:
			case WJB_END_ARRAY:
				open = open->parent;
				break;
			case WJB_DONE:
				break;
		}
	}
	return root;
}

/* Build the tree of a jsonb value; members are in the order in which it has them. */
JNode *
JsonTreeBuild(Jsonb *json)
{
	JsonbValue	scalar;

	/* A scalar is stored as an array of one element. */
	if (JsonbExtractScalar(&json->root, &scalar))
		return AddScalar(NULL, NULL, &scalar);
	return BuildContainer(json);
}
