/*
 * repair.c
 *		dms.repair(): repairing what an audit found.
 *
 * The tables of the resources are the truth; everything else is made to agree
 * with them.  The audit runs with the caller's rights, the repair as the owner of
 * the store, and the gate is closed to writers meanwhile.  Repairing one thing can
 * uncover another, so audit and repair alternate until nothing is left to do.
 */
#include "postgres.h"

#include "access/xact.h"
#include "admin/rebuildedges.h"
#include "admin/repairsql.h"
#include "base/grow.h"
#include "base/report.h"
#include "cascade/cascade.h"
#include "cascade/closure.h"
#include "catalog/pg_type.h"
#include "document/descriptoruris.h"
#include "document/history.h"
#include "document/rowtables.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "model/modelcache.h"
#include "model/resourcemodels.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_repair);

#define MAX_ROUNDS 5

/* Documents that one statement repairs. */
#define REPAIR_BATCH 1000

/* How a kind of finding is repaired. */
typedef enum Remedy
{
	REMEDY_SQL,
	REMEDY_DELETE,				/* a statement that deletes documents */
	REMEDY_EDGES,
	REMEDY_MEMBERS,
	REMEDY_IDENTITY,
	REMEDY_CHANGE,				/* record the present etag in the journal */
	REMEDY_VERSION,				/* write a version with the present etag */
	REMEDY_NEXT_VERSION			/* raise the etag, and write a version */
} Remedy;

typedef struct KindInfo
{
	const char *kind;
	Remedy		remedy;
} KindInfo;

/*
 * In the order of repair: derived data follow what they are derived from.  The
 * statements of REMEDY_SQL and REMEDY_DELETE are in the install script.
 */
static const KindInfo kinds[] = {
	{"edge_source_wrong", REMEDY_SQL},
	{"resource_type_wrong", REMEDY_SQL},
	{"row_without_document", REMEDY_SQL},
	{"document_type", REMEDY_SQL},
	{"descriptor_type", REMEDY_SQL},
	{"document_without_row", REMEDY_DELETE},
	{"lock_missing", REMEDY_SQL},
	{"lock_without_document", REMEDY_SQL},
	{"identity_without_document", REMEDY_SQL},
	{"edge_without_document", REMEDY_SQL},
	{"relation_without_document", REMEDY_SQL},
	{"member_without_document", REMEDY_SQL},
	{"account_without_document", REMEDY_SQL},
	{"key_without_document", REMEDY_SQL},
	{"relation_wrong", REMEDY_SQL},
	{"member_missing", REMEDY_MEMBERS},
	{"member_surplus", REMEDY_MEMBERS},
	{"member_wrong", REMEDY_MEMBERS},
	{"edge_source_unknown", REMEDY_EDGES},
	{"edge_surplus", REMEDY_EDGES},
	{"edge_missing", REMEDY_EDGES},
	{"edge_flag", REMEDY_EDGES},
	{"descriptor_uri", REMEDY_SQL},
	{"identity_surplus", REMEDY_SQL},
	{"identity_missing", REMEDY_IDENTITY},
	{"identity_wrong", REMEDY_IDENTITY},
	{"change_ahead", REMEDY_SQL},
	{"change_surplus", REMEDY_SQL},
	{"change_missing", REMEDY_CHANGE},
	{"tombstone_missing", REMEDY_SQL},
	{"history_missing", REMEDY_VERSION},
	{"history_wrong", REMEDY_NEXT_VERSION},
	{"diff_without_version", REMEDY_SQL},
	{"cache_without_document", REMEDY_SQL},
	{"cache_wrong", REMEDY_SQL},
	{"consumer_ahead", REMEDY_SQL},
};

/* The findings of one kind. */
typedef struct Findings
{
	char	   *kind;
	const KindInfo *info;		/* NULL if they cannot be repaired */
	int64	   *ids;
	char	  **expected;
	int			n;
	int			before;			/* number in the last round */
	int64		repaired;		/* in all rounds */
} Findings;

typedef struct Repair
{
	FunctionCallInfo fcinfo;	/* project, resource, document */
	MemoryContext context;		/* outlives the connections */
	Findings   *findings;
	int			n;
	bool		cascade;
} Repair;

/* Look up a kind of finding; NULL if it cannot be repaired. */
static const KindInfo *
FindKind(const char *kind)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return &kinds[i];
	return NULL;
}

/* Returns the findings of a kind; an empty entry is made if there is none. */
static Findings *
FindingsOf(Repair *repair, const char *kind)
{
	Findings   *added;

	for (int i = 0; i < repair->n; i++)
		if (strcmp(repair->findings[i].kind, kind) == 0)
			return &repair->findings[i];
	GROW(repair->findings, repair->n);
	added = &repair->findings[repair->n++];
	memset(added, 0, sizeof(Findings));
	added->kind = pstrdup(kind);
	added->info = FindKind(kind);
	return added;
}

/* Add a finding; the expected value may be NULL. */
static void
AddFinding(Findings *findings, int64 id, const char *expected)
{
	GROW(findings->ids, findings->n);
	findings->ids[findings->n] = id;
	APPEND(findings->expected, findings->n, expected ? pstrdup(expected) : NULL);
}

/* Run dms.audit() with our own arguments; the findings are the last result. */
static void
RunAudit(const Repair *repair)
{
	static const Oid finding_types[] = {TEXTOID, INT8OID, TEXTOID};
	Oid			types[3] = {TEXTOID, TEXTOID, UUIDOID};
	Datum		values[3];
	char		nulls[3];

	for (int i = 0; i < 3; i++)
	{
		nulls[i] = repair->fcinfo->args[i].isnull ? 'n' : ' ';
		values[i] = repair->fcinfo->args[i].value;
	}
	StatementExecuteWithNulls("SELECT kind, document_id, expected FROM dms.audit($1, $2, $3)",
							  lengthof(types), types, values, nulls, false);
	ResultExpect(finding_types);
}

/* Audit the scope, as the caller; returns how many findings can be repaired. */
static int
Audit(Repair *repair)
{
	Session		session;
	MemoryContext saved;
	int			repairable = 0;
	bool		isnull;

	for (int i = 0; i < repair->n; i++)
	{
		repair->findings[i].before = repair->findings[i].n;
		repair->findings[i].n = 0;
	}
	SessionBegin(&session, RIGHTS_OF_CALLER);
	RunAudit(repair);
	saved = MemoryContextSwitchTo(repair->context);
	for (uint64 i = 0; i < ResultRows(); i++)
	{
		Findings   *findings = FindingsOf(repair, ResultName(i, 1));

		AddFinding(findings, DatumGetInt64(ResultDatum(i, 2, &isnull)), ResultText(i, 3));
		repairable += findings->info != NULL;
	}
	MemoryContextSwitchTo(saved);
	SessionEnd(&session);
	return repairable;
}

/* Run the statement of a kind, for some documents at a time. */
static void
RepairBySql(const Findings *findings)
{
	Oid			types[2] = {INT8ARRAYOID, TEXTARRAYOID};
	const char *sql = RepairSql("repair_statement", 1, &findings->info->kind);

	for (int i = 0; i < findings->n; i += REPAIR_BATCH)
	{
		int			n = Min(REPAIR_BATCH, findings->n - i);
		Datum		values[2] = {DatumInt8Array(n, findings->ids + i),
		DatumTextArray(n, (const char *const *) findings->expected + i)};

		CHECK_FOR_INTERRUPTS();
		StatementExecuteWithArgs(sql, 2, types, values, false);
	}
	DescriptorUrisForget();
}

/* Delete documents; triggers delete the rows of their resources. */
static void
RepairByDelete(const Findings *findings)
{
	for (ClosureType *t = ClosureGroup(findings->ids, findings->n); t != NULL; t = t->next)
		StatementCheck(RowTablesClear(ModelCacheFind(t->project, t->resource)));
	RepairBySql(findings);
}

/* Rebuild all edges of the resources of these documents. */
static void
RepairEdges(const Findings *findings)
{
	for (ClosureType *t = ClosureGroup(findings->ids, findings->n); t != NULL; t = t->next)
		RebuildEdgesOf(ModelCacheFind(t->project, t->resource)->model);
}

/* Make the member tables of abstract resources what their views say. */
static void
RepairMembers(const Findings *findings)
{
	Oid			types[1] = {INT8ARRAYOID};
	Datum		values[1] = {DatumInt8Array(findings->n, findings->ids)};
	uint64		n = ResourceModelsAbstract();
	char	  **members = ResultNames(1);
	char	  **views = ResultNames(2);

	for (uint64 i = 0; i < n; i++)
	{
		const char *const names[] = {members[i], views[i]};

		StatementExecuteWithArgs(RepairSql("repair_members_statement", 2, names), 1, types, values, false);
	}
}

/* Recompute identities, and with cascade those that depend on them. */
static void
RepairIdentities(const Repair *repair, const Findings *findings)
{
	int64	   *ids = findings->ids;
	int			n = findings->n;

	if (repair->cascade)
		ids = ClosureIds(ClosureLock(ids, n, NULL), &n);
	CascadeRecompute(ids, n);
}

/*
 * Write versions of documents from what is stored.  A version is never changed: if that
 * of the present etag is wrong, the document gets another etag.  Findings without a
 * document are about older versions, and stay.
 */
static void
RepairVersions(const Findings *findings, bool raise)
{
	int64	   *ids = palloc_extended(sizeof(int64) * Max(findings->n, 1), MCXT_ALLOC_HUGE);
	int			n = 0;

	for (int i = 0; i < findings->n; i++)
		if (findings->ids[i] != 0)
			ids[n++] = findings->ids[i];
	for (ClosureType *t = ClosureGroup(ids, n); t != NULL; t = t->next)
	{
		if (raise)
			CascadeBumpType(t);
		HistoryAppend(ModelCacheFind(t->project, t->resource), t->ids, t->n, HISTORY_BASELINE);
	}
}

/* Count the findings that are gone since the last round; returns false if none is. */
static bool
CountRepaired(Repair *repair)
{
	bool		progress = false;

	for (int i = 0; i < repair->n; i++)
	{
		Findings   *findings = &repair->findings[i];

		if (findings->n < findings->before)
		{
			findings->repaired += findings->before - findings->n;
			progress = true;
		}
	}
	return progress;
}

/* Repair the findings of one kind. */
static void
RepairKind(const Repair *repair, Findings *findings)
{
	switch (findings->info->remedy)
	{
		case REMEDY_SQL:
			RepairBySql(findings);
			break;
		case REMEDY_DELETE:
			RepairByDelete(findings);
			break;
		case REMEDY_EDGES:
			RepairEdges(findings);
			break;
		case REMEDY_MEMBERS:
			RepairMembers(findings);
			break;
		case REMEDY_IDENTITY:
			RepairIdentities(repair, findings);
			break;
		case REMEDY_CHANGE:
			CascadeNote(findings->ids, findings->n);
			break;
		case REMEDY_VERSION:
			RepairVersions(findings, false);
			break;
		case REMEDY_NEXT_VERSION:
			RepairVersions(findings, true);
			break;
	}
}

/* Repair all kinds in their order, as the owner of the store. */
static void
RepairAll(Repair *repair)
{
	Session		session;

	SessionBegin(&session, RIGHTS_OF_OWNER);
	for (size_t i = 0; i < lengthof(kinds); i++)
		for (int j = 0; j < repair->n; j++)
			if (repair->findings[j].info == &kinds[i] && repair->findings[j].n > 0)
				RepairKind(repair, &repair->findings[j]);
	SessionEnd(&session);
}

/* Order findings by kind, for qsort(). */
static int
CompareFindings(const void *a, const void *b)
{
	return strcmp(((const Findings *) a)->kind, ((const Findings *) b)->kind);
}

/* Repair what an audit finds; returns how many findings of each kind are gone. */
Datum
dms_repair(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Repair		repair = {.fcinfo = fcinfo,.context = CurrentMemoryContext};
	int			repairable;

	InitMaterializedSRF(fcinfo, 0);
	PreventCommandIfReadOnly("dms.repair()");
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"the store cannot be repaired under a snapshot that was taken before the writers were stopped");
	repair.cascade = PG_ARGISNULL(3) || PG_GETARG_BOOL(3);
	StoreGate(ShareRowExclusiveLock);
	repairable = Audit(&repair);
	for (int round = 0; repairable > 0 && round < MAX_ROUNDS; round++)
	{
		RepairAll(&repair);
		CommandCounterIncrement();
		repairable = Audit(&repair);
		if (!CountRepaired(&repair))
			break;
	}
	qsort(repair.findings, repair.n, sizeof(Findings), CompareFindings);
	for (int i = 0; i < repair.n; i++)
	{
		Datum		values[2] = {CStringGetTextDatum(repair.findings[i].kind),
		Int64GetDatum(repair.findings[i].repaired)};
		bool		nulls[2] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	PG_RETURN_NULL();
}
