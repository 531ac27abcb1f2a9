/*
 * changequery.h
 *		Changes of a resource between two numbers.
 */
#ifndef DMS_CHANGEQUERY_H
#define DMS_CHANGEQUERY_H

#include "postgres.h"

#include "document/trackedreads.h"
#include "model/modelcache.h"
#include "utils/uuid.h"

/* A document that was deleted, or whose key has changed. */
typedef struct ChangedItem
{
	pg_uuid_t	uuid;
	int64		version;
	text	   *old_key;
	text	   *new_key;		/* NULL: deleted */
} ChangedItem;

/* Takes items, one after the other. */
typedef void (*ChangedSink) (void *state, const ChangedItem *item);

extern bool ChangeQueryMayRead(const char *project, const char *resource);
extern bool ChangeQueryMaySeeIds(void);
extern int64 ChangeQueryNewest(int64 *oldest);
extern void ChangeQueryDeleted(Resource *resource, const ChangePage *window, ChangedSink sink, void *state);
extern void ChangeQueryKeys(Resource *resource, const ChangePage *window, ChangedSink sink, void *state);
extern int64 ChangeQueryCountDeleted(Resource *resource, const ChangePage *window);
extern int64 ChangeQueryCountKeys(Resource *resource, const ChangePage *window);

#endif							/* DMS_CHANGEQUERY_H */
