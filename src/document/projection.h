/*
 * projection.h
 *		Reading identities from storage.
 */
#ifndef DMS_PROJECTION_H
#define DMS_PROJECTION_H

#include "postgres.h"

#include "engine/statement.h"
#include "lib/stringinfo.h"
#include "model/modelcache.h"
#include "utils/uuid.h"

/* The identity of a document, computed from its rows. */
typedef struct StoredIdentity
{
	int64		document_id;
	char	  **values;			/* as model->identity; NULL where a row is
								 * missing */
	bool		complete;		/* no value is missing */
	pg_uuid_t	primary;
	pg_uuid_t	alias;			/* if the resource has a superclass */
} StoredIdentity;

extern void ProjectionAppendSelect(StringInfo sql, const ProjectionModel *projection);
extern void ProjectionReadRows(Resource *resource, int projection, const int64 *ids,
							   int n, bool can_change, StoredRows *rows);
extern StoredIdentity *ProjectionIdentities(Resource *resource, const StoredRows *rows);
extern StoredIdentity *ProjectionRead(Resource *resource, const int64 *ids, int n,
									  int *found);

#endif							/* DMS_PROJECTION_H */
