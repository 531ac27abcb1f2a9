/*
 * edgesources.c
 *		The resource type of each edge source, and its rank.
 *
 * A cascade finds documents by their edges.  The edge source determines the
 * type of the referring document, so the document itself need not be read.
 */
#include "postgres.h"

#include "cascade/edgesources.h"
#include "engine/result.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "engine/storerow.h"
#include "model/resourcemodels.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/* The type of the documents that have edges of a source. */
typedef struct SourceType
{
	int64		source;			/* hash key */
	int			type;			/* index into known_types */
} SourceType;

/* Loaded again when the store's generation has changed. */
static uint64 sources_generation = 0;
static MemoryContext sources_context = NULL;
static HTAB *sources = NULL;
static KnownType *known_types = NULL;	/* by project and resource */
static int	nknown_types = 0;

/* Order types by their names, as ResourceModelsEdgeSources() does. */
static int
CompareTypes(const void *a, const void *b)
{
	const KnownType *left = a;
	const KnownType *right = b;
	int			order = strcmp(left->project, right->project);

	return order != 0 ? order : strcmp(left->resource, right->resource);
}

/* Add one row of ResourceModelsEdgeSources(); rows are sorted by type. */
static void
AddSource(HTAB *table, KnownType *types, int *ntypes, uint64 row)
{
	const char *project = ResultName(row, 2);
	const char *resource = ResultName(row, 3);
	KnownType  *last = *ntypes > 0 ? &types[*ntypes - 1] : NULL;
	bool		found;
	int64		source;

	if (last == NULL || strcmp(last->project, project) != 0 || strcmp(last->resource, resource) != 0)
	{
		last = &types[(*ntypes)++];
		strlcpy(last->project, project, sizeof(last->project));
		strlcpy(last->resource, resource, sizeof(last->resource));
		last->rank = ResultInt32(row, 4);
	}
	if (ResultText(row, 1) == NULL)
		return;					/* the type refers to nothing */
	source = ResultInt64(row, 1);
	((SourceType *) hash_search(table, &source, HASH_ENTER, &found))->type = *ntypes - 1;
}

/*
 * Load the types and ranks of all edge sources, unless those that are loaded
 * are current.
 */
void
EdgeSourcesLoad(void)
{
	uint64		generation = StoreRowGeneration();
	MemoryContext context;
	HASHCTL		control = {0};
	HTAB	   *table;
	KnownType  *types;
	int			ntypes = 0;

	if (sources != NULL && sources_generation == generation)
		return;
	SnapshotBeginCatalog();
	(void) ResourceModelsEdgeSources();
	SnapshotEnd();
	context = AllocSetContextCreate(CurrentMemoryContext, "dms edge sources", ALLOCSET_DEFAULT_SIZES);
	control.keysize = sizeof(int64);
	control.entrysize = sizeof(SourceType);
	control.hcxt = context;
	table = hash_create("dms edge sources", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	types = MemoryContextAlloc(context, sizeof(KnownType) * Max(ResultRows(), 1));
	for (uint64 i = 0; i < ResultRows(); i++)
		AddSource(table, types, &ntypes, i);
	ResultFree();

	/* Now complete; an error before this point has left the old one in place. */
	if (sources_context != NULL)
		MemoryContextDelete(sources_context);
	MemoryContextSetParent(context, TopMemoryContext);
	sources_context = context;
	sources = table;
	known_types = types;
	nknown_types = ntypes;
	sources_generation = generation;
}

/* Returns the number of a type. */
int
EdgeSourceTypeByName(const char *project, const char *resource)
{
	KnownType	wanted = {0};
	const KnownType *found;

	strlcpy(wanted.project, project, sizeof(wanted.project));
	strlcpy(wanted.resource, resource, sizeof(wanted.resource));
	found = nknown_types == 0 ? NULL :
		bsearch(&wanted, known_types, nknown_types, sizeof(KnownType), CompareTypes);
	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("there is no model of \"%s.%s\"", project, resource)));
	return found - known_types;
}

/*
 * Returns the number of the type whose documents have edges of this source, or
 * -1 if the source is unknown.
 */
int
EdgeSourceType(int64 source)
{
	const SourceType *found = hash_search(sources, &source, HASH_FIND, NULL);

	return found != NULL ? found->type : -1;
}

/* Returns the type with a number. */
const KnownType *
EdgeSourceTypeByNumber(int type)
{
	return &known_types[type];
}
