/*
 * follow.h
 *		Those who follow the changes of the store, and keep a copy of it.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include <uuid/uuid.h>

#include "stress.h"

/* The values of a key in SQL, without names: two names may have one value. */
#define VALUES_OF(key) "(SELECT string_agg(DISTINCT value, '|' ORDER BY value) FROM json_each_text(" key "))"

/* A document of a copy. */
typedef struct Copied
{
	uuid_t		id;
	int64_t		etag;
	uuid_t		hash;			/* of its representation */
	uuid_t		key;			/* hash of the values of its identity */
	long		pass;			/* in which it was delivered or deleted last */
	bool		used;
	bool		gone;			/* it was deleted */
	bool		unsure;			/* its key has changed, and it has not come since */
	bool		met;			/* it is in the store in the end */
} Copied;

typedef struct Copy
{
	Copied	   *documents;		/* a hash table */
	size_t		size;
	size_t		n;
} Copy;

/* A commit that was acknowledged. */
typedef struct Acknowledged
{
	uuid_t		id;
	int64_t		etag;			/* 0: a delete */
	bool		restoring;		/* a session has tried to restore it */
} Acknowledged;

/* seen.c */
extern size_t acknowledgements(void);
extern Acknowledged acknowledged_at(size_t i);
extern bool delete_tried(const char *uuid);
extern bool restore_tried(const uuid_t id);

/* copy.c */
extern Copied *copy_find(const Copy *copy, const uuid_t id);
extern Copied *copy_entry(Copy *copy, const char *uuid);
extern void hash_text(const char *text, uuid_t hash);
extern void copy_check_log(const Copy *copy, PGconn *conn, size_t from, size_t to, bool deletes, const char *whose);
extern void copy_check_store(Copy *copy, PGconn *conn, const char *whose);

/* feed.c */
extern void *follow_feed(void *argument);
extern void finish_feed(void);
extern long feed_passes(void);

/* windows.c */
extern void *follow_windows(void *argument);
extern void finish_windows(void);
extern long windows_read(void);

#endif							/* FOLLOW_H */
