/*
 * publisher.h
 *		Giving changes of the store to Redis.
 */
#ifndef DMS_PUBLISHER_H
#define DMS_PUBLISHER_H

#include "postgres.h"

#include "base/redislibrary.h"
#include "datatype/timestamp.h"

/* Up to where changes were given to Redis. */
typedef struct PublisherPlace
{
	char	   *cursor;
	int64		changes;		/* since the place before */
	TimestampTz began;			/* when the pass did that ended here; 0: none
								 * has ended */
} PublisherPlace;

/* What a step did. */
typedef struct PublisherResult
{
	bool		tracked;		/* changes are recorded */
	bool		more;			/* there is more to do */
	bool		moved;			/* the place is another one */
	bool		lost;			/* the stored place was of no use */
	PublisherPlace place;
} PublisherResult;

extern void PublisherRead(const RedisLibrary *library, RedisConnection *connection,
						  const PublisherPlace *ahead, PublisherResult *result);
extern void PublisherStore(const PublisherPlace *place);

#endif							/* DMS_PUBLISHER_H */
