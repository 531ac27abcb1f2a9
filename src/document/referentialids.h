/*
 * referentialids.h
 *		Rows of dms.ReferentialIdentity.
 */
#ifndef DMS_REFERENTIALIDS_H
#define DMS_REFERENTIALIDS_H

#include "postgres.h"

#include "document/flatten.h"
#include "document/idset.h"
#include "engine/keywrite.h"
#include "utils/uuid.h"

/* The columns of a row that is passed to the callbacks below. */
enum
{
	REFERENTIAL_ID_DOCUMENT,
	REFERENTIAL_ID_PROJECT,
	REFERENTIAL_ID_RESOURCE,
	REFERENTIAL_ID_ID,
	REFERENTIAL_ID_COLUMNS
};

extern void ReferentialIdsLookUp(IdSet *set);
extern bool ReferentialIdRead(int64 document_id, const char *project, const char *resource,
							  pg_uuid_t *id);
extern void ReferentialIdsOfDocuments(const int64 *ids, int n, StoredRows *rows);
extern bool ReferentialIdHasName(const Datum *values, const char *project, const char *resource);
extern void ReferentialIdsForget(int64 document_id);
extern bool ReferentialIdsTryClaim(const FlatDocument *flat, int64 document_id);
extern void ReferentialIdsClaim(const FlatDocument *flat, int64 document_id);
extern void ReferentialIdsDelete(const int64 *ids, int n, RowChoice choose, void *arg);
extern void ReferentialIdsInsert(int n, RowSource source, void *arg);

#endif							/* DMS_REFERENTIALIDS_H */
