/*
 * futurenames.c
 *		What documents will be called once a call has changed identities.
 *
 * A document of the call will be called what its body says.
 */
#include "postgres.h"

#include "futurenames.h"
#include "grow.h"
#include "resolve.h"

struct FutureNames
{
	IdSet		ids;			/* ReferentialIds, aliases included */
	bool		sorted;
};

/* No names yet. */
FutureNames *
FutureNamesMake(void)
{
	return palloc0(sizeof(FutureNames));
}

/* Add one ReferentialId of a document. */
static void
AddId(FutureNames *names, int64 document_id, const pg_uuid_t *id)
{
	IdEntry		entry = {.id = *id,.document_id = document_id};

	APPEND(names->ids.entries, names->ids.n, entry);
	names->sorted = false;
}

/* Add a document of the call. */
void
FutureNamesAdd(FutureNames *names, int64 document_id, const FlatDocument *flat)
{
	AddId(names, document_id, &flat->primary);
	if (flat->model->superclass_resource)
		AddId(names, document_id, &flat->alias);
}

/*
 * The document that will have this ReferentialId; 0: none of those added.  Of
 * several that want the same one it is any: all but one will find it taken.
 */
int64
FutureNamesFind(FutureNames *names, const pg_uuid_t *id)
{
	if (!names->sorted)
		IdSetSort(&names->ids);
	names->sorted = true;
	return IdSetFind(&names->ids, id);
}
