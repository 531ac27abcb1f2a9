/*
 * notices.h
 *		Telling sessions that listen about changes and jobs.
 */
#ifndef DMS_NOTICES_H
#define DMS_NOTICES_H

#include "postgres.h"

#include "document/document.h"

extern void NoticesInit(void);
extern void NoticesTellJob(const char *queue);
extern bool NoticesAreOfDocuments(void);
extern void NoticesTellDocument(const Resource *resource, const pg_uuid_t *uuid, int64 version, const char *kind);
extern void NoticesTellDocuments(const Resource *resource, const int64 *ids, int n, const char *kind, bool next);

#endif							/* DMS_NOTICES_H */
