/*
 * repair.c
 *		dms.repair(): mending what an audit found.
 *
 * The tables of the resources are the truth; everything else is made to agree
 * with them.  The audit runs with the caller's rights, the mending as the owner
 * of the store, and the gate is closed to writers meanwhile.  Mending one thing
 * can uncover another, so it is audited again until nothing is left to mend.
 */
#include "postgres.h"

#include "access/xact.h"
#include "admin/audit.h"
#include "base/grow.h"
#include "base/report.h"
#include "cascade/cascade.h"
#include "cascade/closure.h"
#include "catalog/pg_type.h"
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
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_repair);

#define MAX_ROUNDS 5

/* Documents that one statement mends. */
#define REPAIR_BATCH 1000

/* How a kind of finding is mended. */
typedef enum Remedy
{
	REMEDY_NONE,				/* somebody must look at it */
	REMEDY_SQL,
	REMEDY_DELETE,				/* the same, of documents */
	REMEDY_EDGES,
	REMEDY_MEMBERS,
	REMEDY_IDENTITY
} Remedy;

typedef struct KindInfo
{
	const char *kind;
	Remedy		remedy;
	const char *sql;			/* takes the documents, and what was expected */
} KindInfo;

/* In the order to mend: what others are derived from comes first. */
static const KindInfo kinds[] = {
	{"edge_source_wrong", REMEDY_SQL,
		"INSERT INTO dms.EdgeSource (EdgeSourceId, EdgeSourceKey)"
		" SELECT (r ->> 'edge_source_id')::bigint, r ->> 'edge_source_key'"
		" FROM dms.ResourceModel AS m, json_array_elements(m.Model -> 'references') AS r"
		" WHERE m.Kind <> 'abstract'"
	" ON CONFLICT (EdgeSourceId) DO UPDATE SET EdgeSourceKey = EXCLUDED.EdgeSourceKey"},
	{"row_without_document", REMEDY_SQL,
		"INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)"
		" SELECT u.id, dms.uuid_v7(), m.ProjectName, m.ResourceName, m.Model ->> 'version'"
		" FROM unnest($1, $2) AS u (id, type)"
		" JOIN dms.ResourceModel AS m ON concat(m.ProjectName, ':', m.ResourceName) = u.type"
	" ON CONFLICT DO NOTHING"},
	{"document_type", REMEDY_SQL,
		"UPDATE dms.Document AS d SET ProjectName = split_part(u.type, ':', 1), ResourceName = split_part(u.type, ':', 2)"
	" FROM unnest($1, $2) AS u (id, type) WHERE d.DocumentId = u.id"},
	{"document_without_row", REMEDY_DELETE,
		/* A descriptor may only have the name of another type on it. */
		"WITH typed AS (UPDATE dms.Descriptor AS s SET Discriminator = concat(d.ProjectName, ':', d.ResourceName)"
		" FROM dms.Document AS d WHERE d.DocumentId = s.DocumentId AND s.DocumentId = ANY ($1))"
		" DELETE FROM dms.Document AS d WHERE d.DocumentId = ANY ($1)"
	" AND NOT EXISTS (SELECT FROM dms.Descriptor AS s WHERE s.DocumentId = d.DocumentId)"},
	{"lock_missing", REMEDY_SQL,
		"INSERT INTO dms.IdentityLock (DocumentId) SELECT DocumentId FROM dms.Document"
	" WHERE DocumentId = ANY ($1) ON CONFLICT DO NOTHING"},
	{"lock_without_document", REMEDY_SQL,
		"DELETE FROM dms.IdentityLock AS l WHERE l.DocumentId = ANY ($1)"
	" AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = l.DocumentId)"},
	{"identity_without_document", REMEDY_SQL,
		"DELETE FROM dms.ReferentialIdentity AS i WHERE i.DocumentId = ANY ($1)"
	" AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = i.DocumentId)"},
	{"edge_without_document", REMEDY_SQL,
		"DELETE FROM dms.ReferenceEdge AS e WHERE e.ParentDocumentId = ANY ($1)"
	" AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = e.ParentDocumentId)"},
	{"member_missing", REMEDY_MEMBERS, NULL},
	{"member_surplus", REMEDY_MEMBERS, NULL},
	{"member_wrong", REMEDY_MEMBERS, NULL},
	{"edge_source_unknown", REMEDY_EDGES, NULL},
	{"edge_surplus", REMEDY_EDGES, NULL},
	{"edge_missing", REMEDY_EDGES, NULL},
	{"edge_flag", REMEDY_EDGES, NULL},
	{"descriptor_uri", REMEDY_SQL,
	"UPDATE dms.Descriptor SET Uri = Namespace || '#' || CodeValue WHERE DocumentId = ANY ($1)"},
	{"identity_surplus", REMEDY_SQL,
		"DELETE FROM dms.ReferentialIdentity AS i USING dms.Document AS d, dms.ResourceModel AS m"
		" WHERE i.DocumentId = ANY ($1) AND d.DocumentId = i.DocumentId"
		" AND (m.ProjectName, m.ResourceName) = (d.ProjectName, d.ResourceName)"
		" AND (i.ProjectName, i.ResourceName) <> (d.ProjectName, d.ResourceName)"
		" AND (i.ProjectName::text, i.ResourceName::text) IS DISTINCT FROM"
	" (m.Model ->> 'superclass_project', m.Model ->> 'superclass_resource')"},
	{"identity_missing", REMEDY_IDENTITY, NULL},
	{"identity_wrong", REMEDY_IDENTITY, NULL},
};

/* The findings of one kind. */
typedef struct Findings
{
	char	   *kind;
	const KindInfo *info;		/* NULL for what cannot be mended */
	int64	   *ids;
	char	  **expected;
	int			n;
	int			before;			/* how many there were in the last round */
	int64		mended;			/* over all rounds */
} Findings;

typedef struct Repair
{
	FunctionCallInfo fcinfo;	/* project, resource, document */
	MemoryContext context;		/* outlives the connections */
	Findings   *findings;
	int			n;
	bool		cascade;
} Repair;

static const KindInfo *
FindKind(const char *kind)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return &kinds[i];
	return NULL;
}

/* The findings of a kind, made if there were none yet. */
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

static void
AddFinding(Findings *findings, int64 id, const char *expected)
{
	GROW(findings->ids, findings->n);
	findings->ids[findings->n] = id;
	APPEND(findings->expected, findings->n, expected ? pstrdup(expected) : NULL);
}

/* Audit the scope, as the caller; returns how many findings can be mended. */
static int
Audit(Repair *repair)
{
	static const Oid finding_types[] = {TEXTOID, INT8OID, TEXTOID};
	Oid			types[3] = {TEXTOID, TEXTOID, UUIDOID};
	Datum		values[3];
	char		nulls[3];
	StoreSession session;
	MemoryContext saved;
	int			mendable = 0;
	bool		isnull;

	for (int i = 0; i < repair->n; i++)
	{
		repair->findings[i].before = repair->findings[i].n;
		repair->findings[i].n = 0;
	}
	for (int i = 0; i < 3; i++)
	{
		nulls[i] = repair->fcinfo->args[i].isnull ? 'n' : ' ';
		values[i] = repair->fcinfo->args[i].value;
	}
	StoreBegin(&session, RIGHTS_OF_CALLER);
	if (SPI_execute_with_args("SELECT kind, document_id, expected FROM dms.audit($1, $2, $3)",
							  3, types, values, nulls, false, 0) < 0)
		elog(ERROR, "could not audit the store");
	ResultExpect(finding_types);
	saved = MemoryContextSwitchTo(repair->context);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Findings   *findings = FindingsOf(repair, ResultName(i, 1));

		AddFinding(findings, DatumGetInt64(ResultDatum(i, 2, &isnull)), ResultText(i, 3));
		mendable += findings->info != NULL;
	}
	MemoryContextSwitchTo(saved);
	StoreEnd(&session);
	return mendable;
}

/* Run a kind's statement, some documents at a time. */
static void
MendBySql(const Findings *findings)
{
	Oid			types[2] = {INT8ARRAYOID, TEXTARRAYOID};

	for (int i = 0; i < findings->n; i += REPAIR_BATCH)
	{
		int			n = Min(REPAIR_BATCH, findings->n - i);
		Datum		values[2] = {Int8ArrayDatum(n, findings->ids + i),
		TextArrayDatum(n, (const char *const *) findings->expected + i)};

		CHECK_FOR_INTERRUPTS();
		ExecuteWithArgs(findings->info->sql, 2, types, values, false);
	}
}

/* Delete documents; triggers delete the rows of their resources. */
static void
MendByDelete(const Findings *findings)
{
	for (ClosureType *t = ClosureGroup(findings->ids, findings->n); t != NULL; t = t->next)
		StatementCheck(RowTablesClear(ModelCacheFind(t->project, t->resource)));
	MendBySql(findings);
}

/* Edges are mended a resource at a time, from its reference columns. */
static void
MendEdgesOf(const Findings *findings)
{
	for (ClosureType *t = ClosureGroup(findings->ids, findings->n); t != NULL; t = t->next)
		AuditMendEdges(ModelCacheFind(t->project, t->resource)->model);
}

/* The member tables of abstract resources become what their views say. */
static void
MendMembers(const Findings *findings)
{
	Oid			types[1] = {INT8ARRAYOID};
	Datum		values[1] = {Int8ArrayDatum(findings->n, findings->ids)};
	SPITupleTable *abstracts;
	uint64		n;

	ExecuteWithArgs("SELECT format('%I.%I', MemberSchema, MemberTable), format('%I.%I', TableSchema, TableName)"
					" FROM dms.ResourceModel WHERE Kind = 'abstract'", 0, NULL, NULL, true);
	abstracts = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
	{
		char	   *member = SPI_getvalue(abstracts->vals[i], abstracts->tupdesc, 1);
		char	   *view = SPI_getvalue(abstracts->vals[i], abstracts->tupdesc, 2);

		ExecuteWithArgs(psprintf("DELETE FROM %s AS m WHERE m.documentid = ANY ($1)"
								 " AND NOT EXISTS (SELECT FROM %s AS v WHERE v.documentid = m.documentid)",
								 member, view), 1, types, values, false);
		ExecuteWithArgs(psprintf("INSERT INTO %s (documentid, discriminator)"
								 " SELECT v.documentid, v.discriminator FROM %s AS v WHERE v.documentid = ANY ($1)"
								 " ON CONFLICT (documentid) DO UPDATE SET discriminator = EXCLUDED.discriminator",
								 member, view), 1, types, values, false);
	}
}

/* Recompute identities, and with cascade those that are made of them. */
static void
MendIdentities(const Repair *repair, const Findings *findings)
{
	int64	   *ids = findings->ids;
	int			n = findings->n;

	if (repair->cascade)
		ids = ClosureIds(ClosureLock(ids, n), &n);
	CascadeRecompute(ids, n);
}

/* Count what is gone since the last round; was anything? */
static bool
CountMended(Repair *repair)
{
	bool		progress = false;

	for (int i = 0; i < repair->n; i++)
	{
		Findings   *findings = &repair->findings[i];

		if (findings->n < findings->before)
		{
			findings->mended += findings->before - findings->n;
			progress = true;
		}
	}
	return progress;
}

/* Mend the findings of one kind. */
static void
Mend(const Repair *repair, Findings *findings)
{
	switch (findings->info->remedy)
	{
		case REMEDY_SQL:
			MendBySql(findings);
			break;
		case REMEDY_DELETE:
			MendByDelete(findings);
			break;
		case REMEDY_EDGES:
			MendEdgesOf(findings);
			break;
		case REMEDY_MEMBERS:
			MendMembers(findings);
			break;
		case REMEDY_IDENTITY:
			MendIdentities(repair, findings);
			break;
		case REMEDY_NONE:
			break;
	}
}

/* Mend all kinds in their order, as the owner of the store. */
static void
MendAll(Repair *repair)
{
	StoreSession session;

	StoreBegin(&session, RIGHTS_OF_OWNER);
	for (size_t i = 0; i < lengthof(kinds); i++)
		for (int j = 0; j < repair->n; j++)
			if (repair->findings[j].info == &kinds[i] && repair->findings[j].n > 0)
				Mend(repair, &repair->findings[j]);
	StoreEnd(&session);
}

static int
CompareFindings(const void *a, const void *b)
{
	return strcmp(((const Findings *) a)->kind, ((const Findings *) b)->kind);
}

/* Mend what an audit finds. */
Datum
dms_repair(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Repair		repair = {.fcinfo = fcinfo,.context = CurrentMemoryContext};
	int			mendable;

	InitMaterializedSRF(fcinfo, 0);
	PreventCommandIfReadOnly("dms.repair()");
	if (IsolationUsesXactSnapshot())
		ReportError(PROBLEM_NOT_SUPPORTED, "Call it in a transaction that is READ COMMITTED.",
					"the store cannot be repaired under a snapshot that was taken before the writers were stopped");
	repair.cascade = PG_ARGISNULL(3) || PG_GETARG_BOOL(3);
	StoreGate(ShareRowExclusiveLock);
	mendable = Audit(&repair);
	for (int round = 0; mendable > 0 && round < MAX_ROUNDS; round++)
	{
		MendAll(&repair);
		CommandCounterIncrement();
		mendable = Audit(&repair);
		if (!CountMended(&repair))
			break;
	}
	qsort(repair.findings, repair.n, sizeof(Findings), CompareFindings);
	for (int i = 0; i < repair.n; i++)
	{
		Datum		values[2] = {CStringGetTextDatum(repair.findings[i].kind),
		Int64GetDatum(repair.findings[i].mended)};
		bool		nulls[2] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	PG_RETURN_NULL();
}
