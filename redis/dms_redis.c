/*
 * dms_redis.c
 *		Talking to Redis: a library of its own, which background workers load.
 *
 * A connection is driven by the worker, which waits for its socket beside everything
 * else that it waits for.  Commands are put into a buffer, and sent as fast as the
 * server takes them; answers are counted.  A connection ends with the first answer that
 * is not what was asked for.
 *
 * What the server says is not trusted.  Only the first word of an error is kept, because
 * servers repeat commands in what follows, and keys and values should not appear in a
 * log.  Lists are refused, and so is an answer that is longer than any that we expect.
 *
 * A server that was stopped for a while still has the commands that we sent before we
 * gave up.  They must not overwrite what a new connection writes.  So that one begins by
 * ending the connection before it, if the user may do that.
 */
#include "postgres.h"

#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <sys/socket.h>

#include "base/redislibrary.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT const RedisLibrary *dms_redis_library(void);

/* Bytes that may be received before an answer is complete. */
#define LONGEST_ANSWER 65536

/* How often the socket is read at most, before the worker does something else. */
#define READS_AT_ONCE 64

/*
 * Bytes that a socket of this machine may hold.  The system allows less, but more than it
 * gives by default.  What does not fit waits until the worker gets a processor again.
 */
#define SOCKET_BYTES (1024 * 1024)

/* The largest number of commands before a connection is ready. */
#define GREETINGS 5

/* What is expected of a command of the beginning. */
typedef enum Greeting
{
	GREETING_REQUIRED,			/* to be done */
	GREETING_ID,				/* a number, or an error */
	GREETING_OPTIONAL			/* nothing */
} Greeting;

typedef struct Connection
{
	RedisConnection head;
	MemoryContext context;
	redisContext *redis;
	int			timeout;
	int64		previous;
	const char *user;			/* NULL: the default user */
	StringInfoData out;			/* commands, not yet in the buffer of redis */
	Greeting	greetings[GREETINGS];
	int			ngreetings;
	int			greeted;
} Connection;

/* The kinds of answers. */
typedef enum AnswerKind
{
	ANSWER_DONE,
	ANSWER_NUMBER,
	ANSWER_ERROR,
	ANSWER_OTHER
} AnswerKind;

typedef struct Answer
{
	AnswerKind	kind;
	int64		number;
	char		code[32];		/* the first word of an error */
} Answer;

/* --- the protocol --------------------------------------------------------- */

/* Append a number and the end of a line. */
static void
AppendLine(StringInfo out, char kind, int number)
{
	char		line[16];
	int			length;

	line[0] = kind;
	length = 1 + pg_ltoa(number, line + 1);
	line[length++] = '\r';
	line[length++] = '\n';
	appendBinaryStringInfo(out, line, length);
}

/* Append an argument of a command, which can have any bytes. */
static void
AppendArgument(StringInfo out, const char *argument, Size length)
{
	AppendLine(out, '$', (int) length);
	appendBinaryStringInfo(out, argument, (int) length);
	appendBinaryStringInfo(out, "\r\n", 2);
}

/* Append a command of texts. */
static void
AppendCommand(StringInfo out, int n, const char *const *arguments)
{
	AppendLine(out, '*', n);
	for (int i = 0; i < n; i++)
		AppendArgument(out, arguments[i], strlen(arguments[i]));
}

/* --- answers -------------------------------------------------------------- */

/* Only one answer is looked at at a time, so it needs no memory of its own. */
static Answer answer;

/* Keep the first word of an error, if it is one of capital letters. */
static void
KeepCode(const char *text, size_t length)
{
	size_t		n = 0;

	while (n < length && n < sizeof(answer.code) - 1 && text[n] >= 'A' && text[n] <= 'Z')
	{
		answer.code[n] = text[n];
		n++;
	}
	answer.code[n] = '\0';
	if (n == 0)
		strlcpy(answer.code, "an error", sizeof(answer.code));
}

/* Callback: a line or a string was read. */
static void *
TakeString(const redisReadTask *task, char *text, size_t length)
{
	answer.kind = ANSWER_OTHER;
	if (task->type == REDIS_REPLY_ERROR)
	{
		answer.kind = ANSWER_ERROR;
		KeepCode(text, length);
	}
	else if (task->type == REDIS_REPLY_STATUS &&
			 ((length == 2 && memcmp(text, "OK", 2) == 0) || (length == 4 && memcmp(text, "PONG", 4) == 0)))
		answer.kind = ANSWER_DONE;
	return &answer;
}

/* Callback: a list begins.  We ask for none, and it could be of any length. */
#if HIREDIS_MAJOR >= 1
static void *
TakeArray(const redisReadTask *task pg_attribute_unused(), size_t length pg_attribute_unused())
#else
static void *
TakeArray(const redisReadTask *task pg_attribute_unused(), int length pg_attribute_unused())
#endif
{
	return NULL;
}

/* Callback: a number was read. */
static void *
TakeNumber(const redisReadTask *task pg_attribute_unused(), long long number)
{
	answer.kind = ANSWER_NUMBER;
	answer.number = number;
	return &answer;
}

/* Callback: a null was read. */
static void *
TakeNull(const redisReadTask *task pg_attribute_unused())
{
	answer.kind = ANSWER_OTHER;
	return &answer;
}

/* Callback: an answer is not needed any more. */
static void
ForgetAnswer(void *reply pg_attribute_unused())
{
}

static redisReplyObjectFunctions answer_functions = {
	.createString = TakeString,
	.createArray = TakeArray,
	.createInteger = TakeNumber,
	.createNil = TakeNull,
	.freeObject = ForgetAnswer,
};

/* Let a connection fail. */
static void
Fail(Connection *connection, const char *problem)
{
	if (connection->head.state == REDIS_FAILED)
		return;
	connection->head.state = REDIS_FAILED;
	strlcpy(connection->head.problem, problem, sizeof(connection->head.problem));
}

/* Let a connection fail because of what the client library says. */
static void
FailAsTold(Connection *connection)
{
	redisContext *redis = connection->redis;

	connection->head.ended = redis != NULL &&
		(redis->err == REDIS_ERR_EOF || (redis->err == REDIS_ERR_IO && (errno == ECONNRESET || errno == EPIPE)));
	Fail(connection, redis == NULL ? "out of memory" :
		 redis->err == REDIS_ERR_EOF ? "the server has closed the connection" :
		 redis->err == REDIS_ERR_PROTOCOL || redis->err == REDIS_ERR_OOM ? "it answers what is not asked for" : redis->errstr);
}

/* Give a command of the beginning. */
static void
Greet(Connection *connection, Greeting greeting, int n, const char *const *arguments)
{
	AppendCommand(&connection->out, n, arguments);
	connection->greetings[connection->ngreetings++] = greeting;
}

/*
 * Give the last commands of the beginning.  Numbers of connections ascend until the
 * server is started again.  If ours is not the higher one, the one before is gone, and
 * its number may be that of somebody else.  A user is named, so that even then it could
 * only be a connection of his.
 */
static void
GreetAtLast(Connection *connection)
{
	const char *user = connection->user;
	char		previous[24];

	snprintf(previous, sizeof(previous), INT64_FORMAT, connection->previous);
	if (connection->previous != 0 && connection->head.id > connection->previous)
		Greet(connection, GREETING_OPTIONAL, user == NULL ? 4 : 6,
			  (const char *const[]){"CLIENT", "KILL", "ID", previous, "USER", user});
	Greet(connection, GREETING_REQUIRED, 1, (const char *const[]){"PING"});
}

/* Process the answer to a command of the beginning. */
static void
TakeGreeting(Connection *connection)
{
	switch (connection->greetings[connection->greeted++])
	{
		case GREETING_REQUIRED:
			if (answer.kind == ANSWER_ERROR)
				Fail(connection, answer.code);
			else if (answer.kind != ANSWER_DONE)
				Fail(connection, "it answers what is not asked for");
			break;
		case GREETING_ID:
			if (answer.kind == ANSWER_NUMBER)
				connection->head.id = answer.number;
			GreetAtLast(connection);
			break;
		case GREETING_OPTIONAL:
			break;
	}
	if (connection->greeted == connection->ngreetings && connection->head.state == REDIS_CONNECTING)
		connection->head.state = REDIS_READY;
}

/* Process an answer. */
static void
TakeAnswer(Connection *connection)
{
	RedisConnection *head = &connection->head;

	if (connection->greeted < connection->ngreetings)
		TakeGreeting(connection);
	else if (answer.kind == ANSWER_ERROR)
		Fail(connection, answer.code);
	else if (head->answered == head->asked || answer.kind == ANSWER_OTHER)
		Fail(connection, "it answers what is not asked for");
	else
		head->answered++;
}

/* --- sending and receiving ------------------------------------------------ */

/* Send what the server takes at once.  Returns true if it took something. */
static bool
Send(Connection *connection)
{
	redisContext *redis = connection->redis;
	bool		progress = false;

	connection->head.writes = false;
	while (connection->out.len > 0 || sdslen(redis->obuf) > 0)
	{
		size_t		left;
		int			done;

		if (sdslen(redis->obuf) == 0)
		{
			if (redisAppendFormattedCommand(redis, connection->out.data, connection->out.len) != REDIS_OK)
			{
				FailAsTold(connection);
				break;
			}
			resetStringInfo(&connection->out);
		}
		left = sdslen(redis->obuf);
		if (redisBufferWrite(redis, &done) != REDIS_OK)
		{
			FailAsTold(connection);
			break;
		}
		if (!done && sdslen(redis->obuf) == left)
		{
			connection->head.writes = true;
			break;
		}
		progress = true;
	}
	connection->head.unsent = connection->out.len + (redis->obuf == NULL ? 0 : sdslen(redis->obuf));
	return progress;
}

/* Receive what is there.  Returns true if something was. */
static bool
Receive(Connection *connection)
{
	redisContext *redis = connection->redis;
	bool		progress = false;

	for (int i = 0; i < READS_AT_ONCE && connection->head.state != REDIS_FAILED; i++)
	{
		size_t		before = redis->reader->len;
		void	   *reply;
		int			result;

		if (redisBufferRead(redis) != REDIS_OK)
		{
			FailAsTold(connection);
			break;
		}
		if (redis->reader->len == before)
			break;
		progress = true;
		while ((result = redisGetReplyFromReader(redis, &reply)) == REDIS_OK && reply != NULL &&
			   connection->head.state != REDIS_FAILED)
			TakeAnswer(connection);
		if (result != REDIS_OK)
			FailAsTold(connection);
		else if (redis->reader->len - redis->reader->pos > LONGEST_ANSWER)
			Fail(connection, "it answers what is not asked for");
	}
	return progress;
}

/* Send and receive what is possible at once, and look whether that took too long. */
static void
Advance(RedisConnection *head)
{
	Connection *connection = (Connection *) head;
	MemoryContext saved = MemoryContextSwitchTo(connection->context);
	TimestampTz now = GetCurrentTimestamp();
	bool		progress;

	if (head->state != REDIS_FAILED)
	{
		progress = Send(connection);
		if (head->state != REDIS_FAILED)
			progress |= Receive(connection);
		if (connection->greeted == connection->ngreetings && head->asked == head->answered)
			head->deadline = 0;
		else if (progress || head->deadline == 0)
			head->deadline = TimestampTzPlusMilliseconds(now, connection->timeout);
		else if (now >= head->deadline)
			Fail(connection, "timeout");
	}
	MemoryContextSwitchTo(saved);
}

/* --- commands ------------------------------------------------------------- */

/* Give a command: a value that expires. */
static void
Set(RedisConnection *head, const char *key, Size key_length, const char *value, Size value_length, int seconds)
{
	StringInfo	out = &((Connection *) head)->out;
	char		number[16];

	appendBinaryStringInfo(out, "*5\r\n$3\r\nSET\r\n", 13);
	AppendArgument(out, key, key_length);
	AppendArgument(out, value, value_length);
	appendBinaryStringInfo(out, "$2\r\nEX\r\n", 8);
	AppendArgument(out, number, pg_ltoa(seconds, number));
	head->unsent += key_length + value_length;
	head->asked++;
}

/* Give a command: a message for subscribers. */
static void
Publish(RedisConnection *head, const char *channel, const char *message, Size message_length)
{
	StringInfo	out = &((Connection *) head)->out;

	AppendLine(out, '*', 3);
	AppendArgument(out, "PUBLISH", 7);
	AppendArgument(out, channel, strlen(channel));
	AppendArgument(out, message, message_length);
	head->unsent += message_length;
	head->asked++;
}

/* --- connections ---------------------------------------------------------- */

/* Give the first commands. */
static void
GreetAtFirst(Connection *connection, const RedisServer *server)
{
	char	   *database = psprintf("%d", server->database);

	if (server->password != NULL && server->user != NULL)
		Greet(connection, GREETING_REQUIRED, 3, (const char *const[]){"AUTH", server->user, server->password});
	else if (server->password != NULL)
		Greet(connection, GREETING_REQUIRED, 2, (const char *const[]){"AUTH", server->password});
	if (server->database != 0)
		Greet(connection, GREETING_REQUIRED, 2, (const char *const[]){"SELECT", database});
	Greet(connection, GREETING_ID, 2, (const char *const[]){"CLIENT", "ID"});
}

/* Begin to connect. */
static RedisConnection *
Open(const RedisServer *server)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "dms redis", ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	Connection *connection = palloc0(sizeof(Connection));
	int			bytes = SOCKET_BYTES;

	connection->context = context;
	connection->timeout = server->timeout;
	connection->previous = server->previous;
	connection->user = server->user == NULL ? NULL : pstrdup(server->user);
	connection->head.socket = -1;
	initStringInfo(&connection->out);
	GreetAtFirst(connection, server);
	connection->redis = server->path != NULL ? redisConnectUnixNonBlock(server->path) :
		redisConnectNonBlock(server->host, server->port);
	if (connection->redis == NULL || connection->redis->err != 0)
		FailAsTold(connection);
	else
	{
		connection->redis->reader->fn = &answer_functions;
		connection->head.socket = connection->redis->fd;
		if (server->path != NULL)
			(void) setsockopt(connection->redis->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	MemoryContextSwitchTo(saved);
	return &connection->head;
}

/* Close a connection.  What the system has not sent yet is dropped. */
static void
Close(RedisConnection *head)
{
	Connection *connection = (Connection *) head;
	struct linger at_once = {.l_onoff = 1,.l_linger = 0};

	if (connection->redis != NULL)
	{
		if (head->asked != head->answered && head->socket >= 0)
			(void) setsockopt(head->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		redisFree(connection->redis);
	}
	MemoryContextDelete(connection->context);
}

static const RedisLibrary library = {
	.version = REDIS_LIBRARY_VERSION,
	.open = Open,
	.set = Set,
	.publish = Publish,
	.advance = Advance,
	.close = Close,
};

/* Returns what this library offers. */
const RedisLibrary *
dms_redis_library(void)
{
	return &library;
}
