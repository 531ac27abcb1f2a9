/*
 * seen.c
 *		Representations that were read, by (id, etag), and etags and deletes
 *		that the server acknowledged.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"

typedef struct Representation
{
	uuid_t		id;
	int64_t		etag;			/* 0 if the entry is free */
	uuid_t		hash;
	bool		kept;			/* there is a version */
} Representation;

typedef struct Promise
{
	uuid_t		id;
	bool		used;
	bool		deleting;		/* a session tried to delete it */
	bool		deleted;		/* the delete was acknowledged */
	bool		restoring;		/* a session tried to restore it */
	bool		gone;			/* its last version records a deletion */
	int64_t		last;			/* its last version */
	int64_t		etag;			/* the highest that was acknowledged */
} Promise;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Representation *seen = NULL;
static size_t seen_size = 0;
static size_t nseen = 0;
static Promise *promises = NULL;
static size_t promises_size = 0;
static size_t npromises = 0;

/* All that was acknowledged, in that order, for those who follow the store. */
static struct
{
	uuid_t		id;
	int64_t		etag;
}		   *logged = NULL;
static size_t logged_size = 0;
static size_t nlogged = 0;

/* Returns the first place of an entry in a hash table. */
static size_t
place(const uuid_t id, int64_t etag, size_t size)
{
	uint64_t	a;
	uint64_t	b;

	memcpy(&a, id, 8);
	memcpy(&b, id + 8, 8);
	return (size_t) ((a ^ b * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t) etag * UINT64_C(0xbf58476d1ce4e5b9)) >> 7) & (size - 1);
}

/* Find the entry of a representation, or the free place for it. */
static Representation *
find_seen(const uuid_t id, int64_t etag)
{
	size_t		at = place(id, etag, seen_size);

	while (seen[at].etag != 0 && (seen[at].etag != etag || uuid_compare(seen[at].id, id) != 0))
		at = (at + 1) & (seen_size - 1);
	return &seen[at];
}

/* Enlarge the hash table of representations if it is half full. */
static void
grow_seen(void)
{
	Representation *old = seen;
	size_t		old_size = seen_size;

	if (nseen * 2 < seen_size)
		return;
	seen_size = seen_size ? seen_size * 2 : 1 << 16;
	seen = calloc(seen_size, sizeof(Representation));
	for (size_t i = 0; i < old_size; i++)
		if (old[i].etag != 0)
			*find_seen(old[i].id, old[i].etag) = old[i];
	free(old);
}

/* Take the etag and the hash of a representation; returns false if it has no etag. */
static bool
take_representation(const char *uuid, const char *body, Representation *taken)
{
	const char *at = strstr(body, "\"_etag\"");

	memset(taken, 0, sizeof(Representation));
	if (at == NULL || sscanf(at, "\"_etag\"%*[ :\"]%ld", &taken->etag) != 1)
	{
		finding("document %s has no etag: %s", uuid, body);
		return false;
	}
	uuid_parse(uuid, taken->id);
	uuid_generate_md5(taken->hash, taken->id, body, strlen(body));
	return true;
}

/* Check that an etag has one representation, the same for all readers. */
void
seen_representation(const char *uuid, const char *body)
{
	Representation new;
	Representation *known;

	if (!take_representation(uuid, body, &new))
		return;
	pthread_mutex_lock(&mutex);
	grow_seen();
	known = find_seen(new.id, new.etag);
	if (known->etag == 0)
	{
		*known = new;
		nseen++;
	}
	else if (uuid_compare(known->hash, new.hash) != 0)
		finding("document %s has two representations with etag %ld; one is %s", uuid, (long) new.etag, body);
	pthread_mutex_unlock(&mutex);
}

/* Returns the number of representations that were read. */
long
representations_seen(void)
{
	return (long) nseen;
}

/* Find the entry of a document, or the free place for it. */
static Promise *
find_promise(const uuid_t id)
{
	size_t		at = place(id, 0, promises_size);

	while (promises[at].used && uuid_compare(promises[at].id, id) != 0)
		at = (at + 1) & (promises_size - 1);
	return &promises[at];
}

/* Find or create the entry of a document; the caller holds the mutex. */
static Promise *
promise(const char *uuid)
{
	Promise    *found;
	uuid_t		id;

	if (npromises * 2 >= promises_size)
	{
		Promise    *old = promises;
		size_t		old_size = promises_size;

		promises_size = promises_size ? promises_size * 2 : 1 << 12;
		promises = calloc(promises_size, sizeof(Promise));
		for (size_t i = 0; i < old_size; i++)
			if (old[i].used)
				*find_promise(old[i].id) = old[i];
		free(old);
	}
	uuid_parse(uuid, id);
	found = find_promise(id);
	if (!found->used)
	{
		npromises++;
		found->used = true;
		uuid_copy(found->id, id);
	}
	return found;
}

/* Add to the log; the caller holds the mutex. */
static void
log_acknowledged(const uuid_t id, int64_t etag)
{
	if (!options.follow)
		return;
	if (nlogged == logged_size)
	{
		logged_size = logged_size ? logged_size * 2 : 1 << 14;
		logged = realloc(logged, logged_size * sizeof(*logged));
	}
	uuid_copy(logged[nlogged].id, id);
	logged[nlogged++].etag = etag;
}

/* Record an acknowledged commit that left the document with this etag. */
void
acknowledge(const char *uuid, const char *etag)
{
	Promise    *found;

	pthread_mutex_lock(&mutex);
	found = promise(uuid);
	if (atol(etag) > found->etag)
		found->etag = atol(etag);
	log_acknowledged(found->id, atol(etag));
	pthread_mutex_unlock(&mutex);
}

/* Record that a delete was tried: from now on the document may be missing. */
void
deleting(const char *uuid)
{
	pthread_mutex_lock(&mutex);
	promise(uuid)->deleting = true;
	pthread_mutex_unlock(&mutex);
}

/* Record an acknowledged delete. */
void
acknowledge_delete(const char *uuid)
{
	Promise    *found;

	pthread_mutex_lock(&mutex);
	found = promise(uuid);
	found->deleted = true;
	log_acknowledged(found->id, 0);
	pthread_mutex_unlock(&mutex);
}

/* Returns the length of the log: what is behind it was not acknowledged yet. */
size_t
acknowledgements(void)
{
	size_t		n;

	pthread_mutex_lock(&mutex);
	n = nlogged;
	pthread_mutex_unlock(&mutex);
	return n;
}

/* Returns an entry of the log, and whether the document may have been restored until now. */
Acknowledged
acknowledged_at(size_t i)
{
	Acknowledged found = {0};

	pthread_mutex_lock(&mutex);
	uuid_copy(found.id, logged[i].id);
	found.etag = logged[i].etag;
	found.restoring = find_promise(found.id)->restoring;
	pthread_mutex_unlock(&mutex);
	return found;
}

/* Returns true if a session has tried to delete a document. */
bool
delete_tried(const char *uuid)
{
	bool		tried;

	pthread_mutex_lock(&mutex);
	tried = promise(uuid)->deleting;
	pthread_mutex_unlock(&mutex);
	return tried;
}

/* Returns true if a session has tried to restore a document. */
bool
restore_tried(const uuid_t id)
{
	char		uuid[37];
	bool		tried;

	uuid_unparse_lower(id, uuid);
	pthread_mutex_lock(&mutex);
	tried = promise(uuid)->restoring;
	pthread_mutex_unlock(&mutex);
	return tried;
}

/* Record that a restore was tried: from now on a deleted document may be there. */
void
restoring(const char *uuid)
{
	pthread_mutex_lock(&mutex);
	promise(uuid)->restoring = true;
	pthread_mutex_unlock(&mutex);
}

/* Choose a document that was written at any time, also one that was deleted if that is wanted. */
bool
any_uuid(Random *random, bool deleted, char *uuid)
{
	bool		found = false;

	pthread_mutex_lock(&mutex);
	for (int i = 0; promises_size > 0 && !found && i < 200; i++)
	{
		Promise    *p = &promises[draw(random, (uint32_t) promises_size)];

		found = p->used && (deleted || !p->deleted);
		if (found)
			uuid_unparse_lower(p->id, uuid);
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

/* Check that a document is as it was acknowledged. */
static void
check_promise(PGconn *conn, const Promise *p)
{
	char		uuid[37];
	const char *values[1] = {uuid};
	PGresult   *result;
	bool		there;

	uuid_unparse_lower(p->id, uuid);
	result = PQexecParams(conn, "SELECT Etag FROM dms.Document WHERE DocumentUuid = $1", 1, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	there = PQntuples(result) == 1;
	if (there && p->deleted && !p->restoring)
		finding("document %s is there, although its delete was acknowledged", uuid);
	if (!there && !p->deleting)
		finding("document %s is gone, although nobody deleted it", uuid);
	if (there && atol(PQgetvalue(result, 0, 0)) < p->etag)
		finding("document %s has etag %s, although %ld was acknowledged", uuid, PQgetvalue(result, 0, 0), (long) p->etag);
	PQclear(result);
}

/* Check that all acknowledged writes exist; no session writes any more. */
void
check_acknowledged(PGconn *conn)
{
	for (size_t i = 0; i < promises_size; i++)
		if (promises[i].used)
			check_promise(conn, &promises[i]);
}

/* Check that a version is what readers got who read the document with its number. */
void
seen_version(const char *uuid, long number, const char *body)
{
	Representation version;
	Representation *known;

	if (!take_representation(uuid, body, &version))
		return;
	if (version.etag != number)
		finding("version %ld of document %s has etag %ld", number, uuid, (long) version.etag);
	if (nseen == 0)
		return;
	known = find_seen(version.id, version.etag);
	known->kept = known->etag != 0;
	if (known->kept && uuid_compare(known->hash, version.hash) != 0)
		finding("version %ld of document %s is not what was read: %s", number, uuid, body);
}

/* Record the last version of a document. */
void
seen_last_version(const char *uuid, long number, bool deleted)
{
	Promise    *found = promise(uuid);

	found->last = number;
	found->gone = deleted;
}

/* Check a document that was written against its last version. */
static void
check_last_version(const Promise *p)
{
	char		uuid[37];

	uuid_unparse_lower(p->id, uuid);
	if (p->etag > p->last)
		finding("document %s was written with etag %ld, and its last version is %ld", uuid, (long) p->etag, (long) p->last);
	if (p->deleted && !p->restoring && !p->gone)
		finding("document %s was deleted, and its last version is %ld", uuid, (long) p->last);
}

/* Check that everything that was read or acknowledged has a version; all versions were seen. */
void
check_seen_versions(void)
{
	for (size_t i = 0; i < seen_size; i++)
		if (seen[i].etag != 0 && !seen[i].kept)
		{
			char		uuid[37];

			uuid_unparse_lower(seen[i].id, uuid);
			finding("document %s was read with etag %ld, of which there is no version", uuid, (long) seen[i].etag);
		}
	for (size_t i = 0; i < promises_size; i++)
		if (promises[i].used)
			check_last_version(&promises[i]);
}
