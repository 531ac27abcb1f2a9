/*
 * redislibrary.h
 *		What the library dms_redis offers to a background worker.
 *
 * dms itself is never linked with a client library of Redis.  A worker loads dms_redis
 * if dms.redis_url is set, and gets a RedisLibrary from REDIS_LIBRARY_FUNCTION.  No
 * function of it waits, and none raises an error that is about the server: a connection
 * that cannot go on says so in its state.
 */
#ifndef DMS_REDISLIBRARY_H
#define DMS_REDISLIBRARY_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* Both libraries must have been built from the same sources. */
#define REDIS_LIBRARY_VERSION 2
#define REDIS_LIBRARY "dms_redis"
#define REDIS_LIBRARY_FUNCTION "dms_redis_library"

/* The longest description of why a connection failed. */
#define REDIS_PROBLEM 96

/* Where and as whom to connect. */
typedef struct RedisServer
{
	char	   *path;			/* of a socket; NULL: host and port */
	char	   *host;
	int			port;
	char	   *user;			/* NULL: the default user */
	char	   *password;		/* NULL: none */
	int			database;
	int			timeout;		/* milliseconds without progress */
	int64		previous;		/* a connection of ours that may still have
								 * commands on their way; 0: none */
} RedisServer;

typedef enum RedisState
{
	REDIS_CONNECTING,
	REDIS_READY,				/* it takes commands */
	REDIS_FAILED				/* it must be closed */
} RedisState;

/* The part of a connection that its user sees. */
typedef struct RedisConnection
{
	RedisState	state;
	int			socket;			/* to be waited for; -1: there is none */
	bool		writes;			/* wait until it can be written to, too */
	TimestampTz deadline;		/* when it fails if nothing happens; 0: it
								 * does not */
	uint64		asked;			/* commands that were given */
	uint64		answered;		/* of them, those that have been done */
	bool		ended;			/* by the server, which then does no more of
								 * its commands */
	Size		unsent;			/* bytes of commands */
	int64		id;				/* what the server calls it; 0: not known */
	char		problem[REDIS_PROBLEM]; /* of a connection that has failed */
} RedisConnection;

typedef struct RedisLibrary
{
	int			version;
	/* Begin to connect. */
	RedisConnection *(*open) (const RedisServer *server);
	/* Give a command: a value that expires after so many seconds. */
	void		(*set) (RedisConnection *connection, const char *key, Size key_length,
						const char *value, Size value_length, int seconds);
	/* Give a command: a message for subscribers of a channel. */
	void		(*publish) (RedisConnection *connection, const char *channel,
							const char *message, Size message_length);
	/* Send and receive what can be sent and received at once. */
	void		(*advance) (RedisConnection *connection);
	void		(*close) (RedisConnection *connection);
} RedisLibrary;

#endif							/* DMS_REDISLIBRARY_H */
