/*
 * restore.h
 *		Giving a document the content of an earlier version.
 */
#ifndef DMS_RESTORE_H
#define DMS_RESTORE_H

#include "postgres.h"

#include "verbs/write.h"

extern void RestoreDocument(Write *write, Oid caller, const pg_uuid_t *uuid, int64 version);

#endif							/* DMS_RESTORE_H */
