/*
 * update.h
 *		Writing a document by its id.
 */
#ifndef DMS_UPDATE_H
#define DMS_UPDATE_H

#include "postgres.h"

#include "verbs/write.h"

extern void UpdateDocument(Write *write, const pg_uuid_t *uuid, text *document);

#endif							/* DMS_UPDATE_H */
