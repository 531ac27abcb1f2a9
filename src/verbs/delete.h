/*
 * delete.h
 *		Deleting a document by its id.
 */
#ifndef DMS_DELETE_H
#define DMS_DELETE_H

#include "postgres.h"

#include "model/modelcache.h"
#include "verbs/precondition.h"

extern void DeleteInit(void);
extern int64 DeleteDocument(Resource *resource, const pg_uuid_t *uuid,
							const Precondition *precondition);

#endif							/* DMS_DELETE_H */
