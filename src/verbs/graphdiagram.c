/*
 * graphdiagram.c
 *		dms.graph_diagram(): the neighbourhood of a document as a Mermaid flowchart.
 *
 * The walk goes by levels along parents, children, collections, members and accounts,
 * in both directions.  A picture of thousands of documents shows nothing, so there are
 * at most so many of them, and so many around each; a note says if some were left out.
 */
#include "postgres.h"

#include "base/grow.h"
#include "base/ids.h"
#include "base/report.h"
#include "base/uuid.h"
#include "engine/session.h"
#include "fmgr.h"
#include "graph/accounts.h"
#include "graph/members.h"
#include "graph/nodes.h"
#include "graph/parents.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_graph_diagram);

/* The documents that a picture has room for, and those of one relation of a document. */
#define MAX_DOCUMENTS 200
#define MAX_NEIGHBORS 25

/* The most relations that a document may be away. */
#define MAX_DEPTH 10

/* How a relation is drawn. */
typedef enum LineKind
{
	LINE_CHILD,
	LINE_MEMBER,
	LINE_CONVEYS,
	LINE_ACCOUNT
} LineKind;

static const char *const lines[] = {
	[LINE_CHILD] = "-->|child|",
	[LINE_MEMBER] = "-.->|member|",
	[LINE_CONVEYS] = "==>|member, conveys|",
	[LINE_ACCOUNT] = "-.->|account|",
};

/* A relation between two documents. */
typedef struct Line
{
	int64		from;
	int64		to;
	LineKind	kind;
} Line;

/* A picture; the documents are in the order in which they were reached. */
typedef struct Picture
{
	int64	   *documents;
	int			n;
	Line	   *drawn;
	int			ndrawn;
	bool		cut;			/* some were left out */
} Picture;

/* Returns the number of a document in a list; -1 if it is not there. */
static int
NumberOf(const int64 *documents, int n, int64 document_id)
{
	for (int i = 0; i < n; i++)
		if (documents[i] == document_id)
			return i;
	return -1;
}

/* Draw a line, unless it is there. */
static void
DrawLine(Picture *picture, int64 from, int64 to, LineKind kind)
{
	Line		line = {.from = from,.to = to,.kind = kind};

	for (int i = 0; i < picture->ndrawn; i++)
		if (picture->drawn[i].from == from && picture->drawn[i].to == to && picture->drawn[i].kind == kind)
			return;
	APPEND(picture->drawn, picture->ndrawn, line);
}

/* Returns true if the caller may see a document. */
static bool
IsSeen(int64 document_id)
{
	int			n;

	SessionBeginPart();
	(void) NodesName(&document_id, 1, &n);
	SessionEndPart();
	return n > 0;
}

/*
 * Add a document, unless it is there; returns false if there is no room, or if the caller
 * must not see it.  So what is behind hidden documents is not drawn either: it would tell
 * that they are there.
 */
static bool
Reach(Picture *picture, int64 document_id)
{
	if (NumberOf(picture->documents, picture->n, document_id) >= 0)
		return true;
	if (!IsSeen(document_id))
		return false;
	if (picture->n == MAX_DOCUMENTS)
	{
		picture->cut = true;
		return false;
	}
	APPEND(picture->documents, picture->n, document_id);
	return true;
}

/* Draw whether a document is a member of a collection. */
static void
DrawMember(Picture *picture, int64 collection, int64 member)
{
	bool		conveys = false;

	(void) MembersAddedAt(collection, member, &conveys);
	DrawLine(picture, collection, member, conveys ? LINE_CONVEYS : LINE_MEMBER);
}

/* The document whose far ends are read. */
typedef struct Surroundings
{
	Picture    *picture;
	int64		center;
	int			n;
	LineKind	kind;
} Surroundings;

/* Callback: draw a far end. */
static bool
DrawFarEnd(void *state, const char *type pg_attribute_unused(), const pg_uuid_t *uuid,
		   TimestampTz created pg_attribute_unused())
{
	Surroundings *around = state;
	GraphNode	node;

	if (!NodeFindOneOfMany(uuid, &node))
		return false;
	if (around->n++ == MAX_NEIGHBORS)
	{
		around->picture->cut = true;
		return true;
	}
	if (!Reach(around->picture, node.document_id))
		return true;
	if (around->kind == LINE_MEMBER)
		DrawMember(around->picture, around->center, node.document_id);
	else if (around->kind == LINE_ACCOUNT)
		DrawLine(around->picture, node.document_id, around->center, LINE_ACCOUNT);
	else
		DrawLine(around->picture, around->center, node.document_id, around->kind);
	return true;
}

/* Draw the far ends of a document. */
static void
DrawFarEnds(Picture *picture, const FarEndTable *table, int64 center, LineKind kind)
{
	Surroundings around = {.picture = picture,.center = center,.kind = kind};
	FarEndQuery query;

	FarEndQueryInit(&query, center, MAX_NEIGHBORS + 1);
	FarEndsRead(table, &query, DrawFarEnd, &around);
}

/* Draw the collections that a document is in. */
static void
DrawCollections(Picture *picture, int64 member)
{
	int			n;
	int64	   *collections = MembersCollectionsOf(&member, 1, false, &n);
	int			seen = 0;

	n = IdsSort(collections, n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!IsSeen(collections[i]))
			continue;
		if (seen++ == MAX_NEIGHBORS)
		{
			picture->cut = true;
			return;
		}
		if (Reach(picture, collections[i]))
			DrawMember(picture, collections[i], member);
	}
}

/* Draw all that is one relation away from a document. */
static void
DrawAround(Picture *picture, int64 document_id)
{
	int64		parent = ParentsRead(document_id);
	int64		account = AccountsRead(document_id);

	if (parent != 0 && Reach(picture, parent))
		DrawLine(picture, parent, document_id, LINE_CHILD);
	if (account != 0 && Reach(picture, account))
		DrawLine(picture, document_id, account, LINE_ACCOUNT);
	DrawCollections(picture, document_id);
	DrawFarEnds(picture, ParentsChildren(), document_id, LINE_CHILD);
	DrawFarEnds(picture, MembersOfCollection(), document_id, LINE_MEMBER);
	DrawFarEnds(picture, AccountsDocuments(), document_id, LINE_ACCOUNT);
}

/* Returns the name of a document; NULL if it is not there. */
static const NodeName *
FindName(const NodeName *names, int n, int64 document_id)
{
	for (int i = 0; i < n; i++)
		if (names[i].document_id == document_id)
			return &names[i];
	return NULL;
}

/* Write the documents that the caller may see; *seen is set to them. */
static void
WriteDocuments(StringInfo out, const Picture *picture, int64 *seen, int *nseen)
{
	int64	   *ids = palloc(sizeof(int64) * picture->n);
	int			nnames;
	NodeName   *names;

	memcpy(ids, picture->documents, sizeof(int64) * picture->n);
	names = NodesName(ids, IdsSort(ids, picture->n), &nnames);
	*nseen = 0;
	for (int i = 0; i < picture->n; i++)
	{
		const NodeName *name = FindName(names, nnames, picture->documents[i]);

		if (name == NULL)
			continue;
		appendStringInfo(out, "    d%d[\"%s<br/>%s\"]\n", *nseen, name->type, UuidText(&name->uuid));
		seen[(*nseen)++] = name->document_id;
	}
}

/* Write a picture.  The document where it began is marked. */
static char *
WritePicture(const Picture *picture)
{
	StringInfoData out;
	int64	   *seen = palloc(sizeof(int64) * picture->n);
	int			nseen;

	initStringInfo(&out);
	appendStringInfoString(&out, "flowchart TD\n");
	WriteDocuments(&out, picture, seen, &nseen);
	for (int i = 0; i < picture->ndrawn; i++)
	{
		int			from = NumberOf(seen, nseen, picture->drawn[i].from);
		int			to = NumberOf(seen, nseen, picture->drawn[i].to);

		if (from >= 0 && to >= 0)
			appendStringInfo(&out, "    d%d %s d%d\n", from, lines[picture->drawn[i].kind], to);
	}
	if (picture->cut)
		appendStringInfoString(&out, "    more[\"not all are shown\"]\n");
	appendStringInfoString(&out, "    style d0 stroke-width:3px");
	return out.data;
}

/* Draw what is around a document, level by level, in the active snapshot. */
static void
Draw(Picture *picture, int64 center, int depth)
{
	int			first = 0;

	(void) Reach(picture, center);
	for (int level = 0; level < depth && first < picture->n; level++)
	{
		int			end = picture->n;

		for (; first < end; first++)
		{
			CHECK_FOR_INTERRUPTS();
			DrawAround(picture, picture->documents[first]);
		}
	}
}

/* Return the neighborhood of a document as a picture; NULL if there is no such document. */
Datum
dms_graph_diagram(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"document_uuid", "depth"};
	MemoryContext context = CurrentMemoryContext;
	Session		session;
	GraphNode	node;
	Picture		picture = {0};
	text	   *result = NULL;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	if (PG_GETARG_INT32(1) < 0 || PG_GETARG_INT32(1) > MAX_DEPTH)
		ReportError(PROBLEM_ARGUMENT, NULL, "depth must be between 0 and %d", MAX_DEPTH);
	ReadBegin(&session);
	if (NodeFind(PG_GETARG_UUID_P(0), &node))
	{
		char	   *written;
		MemoryContext saved;

		Draw(&picture, node.document_id, PG_GETARG_INT32(1));
		written = WritePicture(&picture);
		saved = MemoryContextSwitchTo(context);
		result = cstring_to_text(written);
		MemoryContextSwitchTo(saved);
	}
	SessionEnd(&session);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result);
}
