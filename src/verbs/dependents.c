/*
 * dependents.c
 *		Documents that prevent others from being deleted: those that refer to them,
 *		and those whose account is among them.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/faults.h"
#include "base/grow.h"
#include "base/report.h"
#include "document/document.h"
#include "document/edges.h"
#include "engine/session.h"
#include "engine/snapshot.h"
#include "fmgr.h"
#include "funcapi.h"
#include "graph/accounts.h"
#include "graph/nodes.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "verbs/dependents.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_delete_plan);

/* The documents outside of a subtree that depend on it; ascending. */
typedef struct Dependents
{
	int64	   *referrers;
	int			nreferrers;
	int64	   *account;		/* whose account is in it */
	int			naccount;
} Dependents;

/* How many documents there are of a resource. */
typedef struct ResourceCount
{
	char	   *project;
	char	   *resource;
	int64		n;
} ResourceCount;

/* Set the referrers outside of a subtree from edges into it. */
static void
TakeReferrers(const Subtree *tree, const ParentEdge *edges, int n, Dependents *dependents)
{
	int64	   *ids = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
		ids[i] = edges[i].parent;
	dependents->referrers = SubtreeOutside(tree, ids, n, &dependents->nreferrers);
}

/* Read the documents outside of a subtree whose account is in it, in the active snapshot. */
static int64 *
ReadAccount(const Subtree *tree, int *n)
{
	int64	   *ids = AccountsDocumentsOf(tree->ids, tree->n, n);

	return SubtreeOutside(tree, ids, *n, n);
}

/*
 * Find the documents outside of a subtree whose account is in it.  As with edges, the
 * latest state must agree with a fixed snapshot.
 */
static void
FindAccount(const Subtree *tree, Dependents *dependents)
{
	int			n;

	SnapshotBegin();
	dependents->account = ReadAccount(tree, &dependents->naccount);
	SnapshotEnd();
	if (!IsolationUsesXactSnapshot() || FAULT_SKIP("latest_look"))
		return;
	SnapshotBeginLatest();
	(void) ReadAccount(tree, &n);
	SnapshotEnd();
	if (n != dependents->naccount)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent changes of accounts")));
}

/* Order rows of DocumentsReadTypes() by resource. */
static int
CompareCounts(const void *a, const void *b)
{
	const ResourceCount *left = a;
	const ResourceCount *right = b;
	int			order = strcmp(left->project, right->project);

	return order != 0 ? order : strcmp(left->resource, right->resource);
}

/* Count documents, whose ids are ascending, by resource, in the active snapshot. */
static ResourceCount *
CountByResource(const int64 *ids, int n, int *ncounts)
{
	StoredRows	rows;
	ResourceCount *counts;

	DocumentsReadTypes(ids, n, &rows);
	counts = palloc_extended(sizeof(ResourceCount) * Max(rows.nrows, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);

		counts[i].project = TextDatumGetCString(values[1]);
		counts[i].resource = TextDatumGetCString(values[2]);
		counts[i].n = 1;
	}
	qsort(counts, rows.nrows, sizeof(ResourceCount), CompareCounts);
	*ncounts = 0;
	for (int i = 0; i < rows.nrows; i++)
	{
		if (*ncounts > 0 && CompareCounts(&counts[*ncounts - 1], &counts[i]) == 0)
			counts[*ncounts - 1].n++;
		else
			counts[(*ncounts)++] = counts[i];
	}
	return counts;
}

/* A sentence and a JSON array about dependents. */
typedef struct DependentsText
{
	StringInfoData names;
	StringInfoData array;
	int			n;
} DependentsText;

/* Add the resources of documents, with their numbers. */
static void
AppendResources(DependentsText *text, const int64 *ids, int n, bool account)
{
	int			ncounts;
	ResourceCount *counts = CountByResource(ids, n, &ncounts);

	for (int i = 0; i < ncounts; i++)
	{
		char	   *resource = psprintf("%s.%s", counts[i].project, counts[i].resource);

		appendStringInfo(&text->names, "%s%s", text->n > 0 ? ", " : "", resource);
		appendStringInfoString(&text->array, text->n++ > 0 ? ", {\"resource\": " : "[{\"resource\": ");
		escape_json(&text->array, resource);
		appendStringInfo(&text->array, ", \"count\": " INT64_FORMAT "%s}", counts[i].n,
						 account ? ", \"relation\": \"account\"" : "");
	}
}

/* Raise an error that lists the dependents of a subtree. */
static void
pg_attribute_noreturn()
RaiseDependents(const Subtree *tree, const Dependents *dependents)
{
	DependentsText written = {0};
	Problem    *problem = ProblemNew(PROBLEM_STILL_REFERENCED);

	initStringInfo(&written.names);
	initStringInfo(&written.array);
	SnapshotBegin();
	AppendResources(&written, dependents->referrers, dependents->nreferrers, false);
	AppendResources(&written, dependents->account, dependents->naccount, true);
	SnapshotEnd();
	appendStringInfoChar(&written.array, ']');
	problem->detail = psprintf("Documents of %s depend on %s.", written.names.data,
							   tree->n == 1 ? "this one" : "this one, or on one below it");
	problem->dependents = written.array.data;
	ProblemRaise(problem, "document is still needed by other documents");
}

/*
 * Refuse to delete a subtree that others depend on.  All of them are counted, by
 * resource.
 */
void
DependentsRefuse(const Subtree *tree)
{
	Dependents	dependents;
	int			n;
	ParentEdge *edges = EdgesToLocked(tree->ids, tree->n, &n);

	TakeReferrers(tree, edges, n, &dependents);
	FindAccount(tree, &dependents);
	if (dependents.nreferrers > 0 || dependents.naccount > 0)
		RaiseDependents(tree, &dependents);
}

/* Return documents by resource, as a part of a plan. */
static void
ReturnPart(FunctionCallInfo fcinfo, const char *part, const int64 *ids, int n)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			ncounts;
	ResourceCount *counts = CountByResource(ids, n, &ncounts);

	for (int i = 0; i < ncounts; i++)
	{
		bool		nulls[] = {false, false, false, false};
		Datum		values[] = {
			CStringGetTextDatum(part), CStringGetTextDatum(counts[i].project),
			CStringGetTextDatum(counts[i].resource), Int64GetDatum(counts[i].n)
		};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* Return what deleting a document would delete, and what prevents it. */
Datum
dms_delete_plan(PG_FUNCTION_ARGS)
{
	Session		session;
	GraphNode	node;

	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	if (NodeFind(PG_GETARG_UUID_P(0), &node))
	{
		Subtree		tree;
		Dependents	dependents;
		int			n;
		ParentEdge *edges;

		SubtreeRead(node.document_id, &tree);
		edges = EdgesTo(tree.ids, tree.n, &n);
		TakeReferrers(&tree, edges, n, &dependents);
		dependents.account = ReadAccount(&tree, &dependents.naccount);
		ReturnPart(fcinfo, "goes", tree.ids, tree.n);
		ReturnPart(fcinfo, "refers", dependents.referrers, dependents.nreferrers);
		ReturnPart(fcinfo, "account", dependents.account, dependents.naccount);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}
