/*
 * batch.h
 *		Documents that one call writes.
 */
#ifndef DMS_BATCH_H
#define DMS_BATCH_H

#include "postgres.h"

#include "cascade/closure.h"
#include "cascade/futurenames.h"
#include "cascade/keychanges.h"
#include "verbs/write.h"

/* One of the documents. */
typedef struct BatchItem
{
	Write		write;
	WriteResult result;
	bool		key;			/* the columns of its key change, with the
								 * identity or without */
	bool		key_written;	/* with those of others */
	bool		differs;
	DocumentHeader header;
} BatchItem;

/*
 * The documents of a call.  A follower is a document outside of the call whose
 * identity is made of one that the call changes.
 */
typedef struct Batch
{
	BatchItem  *items;
	BatchItem **by_id;			/* ascending, for locks */
	int			n;
	int64	   *ids;			/* of by_id */
	FutureNames *names;			/* of the batch, and later of its followers */
	int64	   *seeds;			/* ascending: those whose identity changes */
	int			nseeds;
	Closure    *closure;		/* of the seeds, when it is locked */
	KeyChanges *changes;		/* of the closure; NULL if not recorded */
	int			position;		/* at work, for messages; -1: all of them */
} Batch;

#endif							/* DMS_BATCH_H */
