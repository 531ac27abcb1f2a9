/*
 * nodes.c
 *		Documents as the ends of relations: finding and naming them.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "document/document.h"
#include "engine/session.h"
#include "engine/storerow.h"
#include "graph/nodes.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Find a document by its uuid, in the active snapshot; returns false if there is none. */
bool
NodeFind(const pg_uuid_t *uuid, GraphNode *node)
{
	node->uuid = *uuid;
	return DocumentFind(uuid, &node->document_id, &node->resource);
}

/*
 * The same for one of many documents, most of which a policy may hide from the caller:
 * frees what the look for it has used, which is kilobytes if it was a statement.
 */
bool
NodeFindOneOfMany(const pg_uuid_t *uuid, GraphNode *node)
{
	bool		found;

	SessionBeginPart();
	found = NodeFind(uuid, node);
	SessionEndPart();
	return found;
}

/*
 * Refuse a type that a URN cannot have.  The owner of the store can write any text into
 * the table, and URNs become parts of JSON and of pictures as they are.
 */
void
NodeCheckType(const char *type)
{
	if (!UrnIsType(type, (int) Min(strlen(type), INT_MAX)))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("dms.ResourceType has a type that URNs cannot have"),
				 errhint("dms.configure_resource() gives a resource another type.")));
}

/* Returns the type of a resource by its number, which must exist. */
static const char *
TypeOf(int32 type_id)
{
	const char *type = ResourceTypeRead(type_id);

	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("resource %d has no row in dms.ResourceType", type_id),
				 errhint("dms.audit() lists what is wrong in the store.")));
	NodeCheckType(type);
	return type;
}

/* Returns the type of a document, as it is part of its URN. */
const char *
NodeType(const GraphNode *node)
{
	return TypeOf(node->resource->type_id);
}

/* Returns the URN of a document of this store. */
char *
NodeUrn(const char *type, const pg_uuid_t *uuid)
{
	return UrnWrite(StoreRowLimits()->urn_domain, type, uuid);
}

/*
 * Returns the names of documents, whose ids are ascending, in the active snapshot and
 * in the order of the ids.  Those that are not visible are left out.
 */
NodeName *
NodesName(const int64 *ids, int n, int *nfound)
{
	StoredRows	rows;
	NodeName   *names;
	int32		last_id = 0;
	const char *last = NULL;

	DocumentsReadNames(ids, n, &rows);
	names = palloc_extended(sizeof(NodeName) * Max(rows.nrows, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < rows.nrows; i++)
	{
		const Datum *values = StoredRowValues(&rows, i);
		int32		type_id = ResourceTypeId(TextDatumGetCString(values[3]), TextDatumGetCString(values[4]));

		if (last == NULL || type_id != last_id)
			last = TypeOf(type_id);
		last_id = type_id;
		names[i].document_id = DatumGetInt64(values[0]);
		names[i].uuid = *DatumGetUUIDP(values[1]);
		names[i].created = DatumGetTimestampTz(values[2]);
		names[i].type = last;
	}
	*nfound = rows.nrows;
	return names;
}

/* Take the URN of a document of this store apart; returns false if it is of another store. */
static bool
TakeUrn(const char *string, Urn *urn, pg_uuid_t *uuid)
{
	if (!UrnParse(string, urn))
		ReportError(PROBLEM_ARGUMENT, "A URN has the form urn:{domain}:{type}::{id}.", "not a URN: \"%s\"", string);
	return pg_strcasecmp(urn->domain, StoreRowLimits()->urn_domain) == 0 && UuidParse(urn->id, uuid);
}

/*
 * Take the id from the URN of a document of a resource, which need not exist.  Returns
 * false if the URN is of another resource, or of another store.
 */
bool
NodeIdOfUrn(const char *string, const Resource *resource, pg_uuid_t *uuid)
{
	Urn			urn;

	return TakeUrn(string, &urn, uuid) && strcmp(urn.type, TypeOf(resource->type_id)) == 0;
}

/*
 * Find the document of a URN, in the active snapshot.  Returns false if there is none,
 * or if its type or domain is another one.
 */
bool
NodeOfUrn(const char *string, pg_uuid_t *uuid)
{
	Urn			urn;
	GraphNode	node;

	return TakeUrn(string, &urn, uuid) && NodeFind(uuid, &node) && strcmp(urn.type, NodeType(&node)) == 0;
}
