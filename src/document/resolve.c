/*
 * resolve.c
 *		Looking up ReferentialIds, and telling which of a body's references
 *		name nothing.
 */
#include "postgres.h"

#include "base/report.h"
#include "catalog/pg_type.h"
#include "document/resolve.h"
#include "engine/keyscan.h"
#include "engine/plan.h"
#include "lib/qunique.h"
#include "utils/fmgroids.h"

static const Oid uuid_array[] = {UUIDARRAYOID};

static const char *const identity_columns[] = {"referentialid", "documentid"};
static const Oid identity_types[] = {UUIDOID, INT8OID};
static const KeyScanTable identities = {"dms", "referentialidentity", identity_columns, identity_types, lengthof(identity_columns)};

/* In the order of the index: for a few keys, a bitmap costs more than it saves. */
static Statement look_up = {
	.sql = "SELECT ReferentialId, DocumentId FROM dms.ReferentialIdentity"
	" WHERE ReferentialId OPERATOR(pg_catalog.=) ANY ($1)",
	.nargs = 1,
	.argtypes = uuid_array,
	.ordered = true,
};

static int
CompareIds(const void *a, const void *b)
{
	return memcmp(a, b, UUID_LEN);
}

/* Sort entries that the caller has put together, for IdSetFind(). */
void
IdSetSort(IdSet *set)
{
	if (set->n > 0)
		qsort(set->entries, set->n, sizeof(IdEntry), CompareIds);
}

/* A set of ids, to be looked up. */
IdSet *
IdSetMake(const pg_uuid_t *ids, int n)
{
	IdSet	   *set = palloc(sizeof(IdSet));

	set->entries = palloc0(sizeof(IdEntry) * Max(n, 1));
	for (int i = 0; i < n; i++)
		set->entries[i].id = ids[i];
	qsort(set->entries, n, sizeof(IdEntry), CompareIds);
	set->n = (int) qunique(set->entries, n, sizeof(IdEntry), CompareIds);
	return set;
}

static IdEntry *
FindEntry(const IdSet *set, const pg_uuid_t *id)
{
	return set->n == 0 ? NULL : bsearch(id, set->entries, set->n, sizeof(IdEntry), CompareIds);
}

/* The document that has this id, by the last look-up; 0: none. */
int64
IdSetFind(const IdSet *set, const pg_uuid_t *id)
{
	IdEntry    *entry = FindEntry(set, id);

	return entry ? entry->document_id : 0;
}

/* Find the documents of all ids at once, in the active snapshot. */
void
IdSetLookUp(IdSet *set)
{
	Datum	   *ids = palloc(sizeof(Datum) * Max(set->n, 1));
	KeyScanKey	key = {.equals = F_UUID_EQ,.any = true};
	StoredRows	rows;

	for (int i = 0; i < set->n; i++)
	{
		ids[i] = UUIDPGetDatum(&set->entries[i].id);
		set->entries[i].document_id = 0;
	}
	key.value = ArrayDatum(set->n, ids, NULL, UUIDOID);
	KeyRead(&identities, &look_up, &key, 1, &rows);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);
		IdEntry    *entry = FindEntry(set, DatumGetUUIDP(values[0]));

		if (entry == NULL)
			RefuseRow("a row that it was not asked for");
		entry->document_id = DatumGetInt64(values[1]);
	}
}

/* Resolve all references and the document itself; returns the latter's id. */
int64
ResolveDocument(FlatDocument *flat)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * (flat->nuses + 1));
	IdSet	   *set;

	ids[0] = flat->primary;
	for (int i = 0; i < flat->nuses; i++)
		ids[i + 1] = flat->uses[i].referential_id;
	set = IdSetMake(ids, flat->nuses + 1);
	IdSetLookUp(set);
	for (int i = 0; i < flat->nuses; i++)
		flat->uses[i].document_id = IdSetFind(set, &flat->uses[i].referential_id);
	return IdSetFind(set, &flat->primary);
}

/* The document that has the body's identity now. */
int64
ResolveOwn(const FlatDocument *flat)
{
	IdSet	   *set = IdSetMake(&flat->primary, 1);

	IdSetLookUp(set);
	return IdSetFind(set, &flat->primary);
}

/*
 * Does a reference name nothing?  One to the document itself always names it,
 * and of one that is resolved later nobody can tell yet.
 */
static bool
IsMissing(const ReferenceUse *use)
{
	return use->document_id == 0 && !use->own && !use->later;
}

/* Does every reference name a document? */
bool
ResolveComplete(const FlatDocument *flat)
{
	for (int i = 0; i < flat->nuses; i++)
		if (IsMissing(&flat->uses[i]))
			return false;
	return true;
}

/* References to an identity that the document itself gives up name nothing. */
void
ResolveForgetOld(FlatDocument *flat, int64 document_id)
{
	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].document_id == document_id && !flat->uses[i].own)
			flat->uses[i].document_id = 0;
}

/* "schoolId = 2, schoolYear = 2030" */
static char *
DescribeReference(const ReferenceUse *use)
{
	StringInfoData text;

	initStringInfo(&text);
	if (use->reference->descriptor)
		appendStringInfo(&text, "\"%s\"", use->node->text);
	else
		foreach_child(child, use->node)
			appendStringInfo(&text, "%s%s = %s", child == use->node->first ? "" : ", ",
							 child->name, child->text);
	return text.data;
}

static void
NoteUnresolved(Problem *problem, const ReferenceUse *use)
{
	ProblemAt(problem, JsonTreePath(use->node), "%s.%s with %s does not exist.",
			  use->reference->project, use->reference->resource,
			  DescribeReference(use));
}

/*
 * Descriptors inside references that do not resolve: when the descriptor is
 * what is missing, say so.  (Where the reference resolves, they exist.)
 */
static int
NoteMemberDescriptors(Problem *problem, const FlatDocument *flat)
{
	int			found = 0;

	for (int i = 0; i < flat->nuses; i++)
	{
		const ReferenceUse *use = &flat->uses[i];

		if (!IsMissing(use))
			continue;
		for (int j = 0; j < use->reference->nmembers; j++)
		{
			const MemberModel *member = &use->reference->members[j];
			JNode	   *node = JsonTreeMember(use->node, member->name);
			pg_uuid_t	id;
			IdSet	   *set;

			if (!DescriptorOfMember(use, j, &id))
				continue;
			set = IdSetMake(&id, 1);
			SnapshotBegin();
			IdSetLookUp(set);
			SnapshotEnd();
			if (set->entries[0].document_id != 0)
				continue;
			found++;
			ProblemAt(problem, JsonTreePath(node), "%s.%s with \"%s\" does not exist.",
					  member->descriptor_project, member->descriptor_resource, node->text);
		}
	}
	return found;
}

/*
 * Refuse a body that names descriptors which do not exist.  References that do
 * not resolve either are listed with them.
 */
void
ResolveRefuseDescriptors(const FlatDocument *flat)
{
	Problem    *problem;
	int			missing = 0;

	if (ResolveComplete(flat))
		return;
	problem = ProblemNew(PROBLEM_UNRESOLVED_DESCRIPTOR);
	for (int i = 0; i < flat->nuses; i++)
	{
		const ReferenceUse *use = &flat->uses[i];

		if (!IsMissing(use))
			continue;
		missing += use->reference->descriptor;
		NoteUnresolved(problem, use);
	}
	missing += NoteMemberDescriptors(problem, flat);
	if (missing > 0)
		ProblemRaise(problem, "document refers to descriptors that do not exist");
}

/* Refuse a body that refers to documents which do not exist. */
void
ResolveRefuseReferences(const FlatDocument *flat)
{
	Problem    *problem;

	if (ResolveComplete(flat))
		return;
	problem = ProblemNew(PROBLEM_UNRESOLVED_REFERENCE);
	for (int i = 0; i < flat->nuses; i++)
		if (IsMissing(&flat->uses[i]))
			NoteUnresolved(problem, &flat->uses[i]);
	ProblemRaise(problem, "document refers to documents that do not exist");
}
