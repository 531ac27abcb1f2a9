/*
 * redistask.c
 *		What a background worker does about Redis.
 *
 * Nothing waits for Redis but the values that it is to get.  The worker waits for its
 * socket beside its own latch, and never in a transaction.  While commands are on their
 * way, it projects documents and runs jobs as always, and reads the next changes.
 *
 * After a failure of any kind the connection is closed, and opened again after a pause,
 * which is longer each time.  The changes whose commands were not confirmed are given
 * once more.  How long it has failed outlives the worker, because that leaves when
 * nothing is left to do.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "admin/publisher.h"
#include "base/compat.h"
#include "base/faults.h"
#include "common/hashfn.h"
#include "document/redissettings.h"
#include "engine/attempt.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/redistask.h"

/* Milliseconds before the first attempt after a failure, and at most. */
#define FIRST_RETRY 1000
#define LAST_RETRY 60000

/* Places whose commands are on their way, and commands and bytes of them at most. */
#define MAX_PLACES 8
#define MAX_COMMANDS 4000
#define MAX_BYTES (2 * 1024 * 1024)

/* The longest password. */
#define PASSWORD_SIZE 1024

/* A place, and the command before it. */
typedef struct SentPlace
{
	PublisherPlace place;
	uint64		command;
} SentPlace;

static WorkerSlot *slot;
static const char *database_name;
static const RedisLibrary *library = NULL;
static RedisConnection *connection = NULL;
static uint32 opened = 0;		/* the server of the connection */
static SentPlace sent[MAX_PLACES];	/* in order */
static int	nsent = 0;
static bool more = false;		/* there are more changes */

/* --- failures ------------------------------------------------------------- */

/* Forget the places whose commands are on their way, up to one. */
static void
ForgetPlaces(int n)
{
	for (int i = 0; i < n; i++)
		pfree(sent[i].place.cursor);
	memmove(sent, sent + n, sizeof(SentPlace) * (nsent - n));
	nsent -= n;
}

/* Returns a number for the server that is connected to. */
static uint32
ServerNumber(void)
{
	return DatumGetUInt32(hash_any((const unsigned char *) RedisSettingsUrl(), (int) strlen(RedisSettingsUrl())));
}

/* Remember a connection that may have commands on their way, until the next one is open. */
static void
Remember(int64 id)
{
	LWLockAcquire(WorkerShareGet()->lock, LW_EXCLUSIVE);
	slot->redis_client = id;
	LWLockRelease(WorkerShareGet()->lock);
}

/*
 * Close the connection.  If it has no commands on their way, it need not be remembered.
 * One that was never ready is not the one that is: that may still have some.
 */
static void
Close(void)
{
	if (connection == NULL)
		return;
	if (slot->redis_client == connection->id && (connection->asked == connection->answered || connection->ended))
		Remember(0);
	library->close(connection);
	connection = NULL;
	ForgetPlaces(nsent);
	more = false;
}

/* Note that Redis cannot be written to, and say so once. */
static void
Fail(const char *problem)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		wait = FIRST_RETRY;
	bool		first;

	LWLockAcquire(WorkerShareGet()->lock, LW_EXCLUSIVE);
	first = slot->redis_failures++ == 0;
	if (first)
		slot->redis_since = now;
	for (int i = 1; i < slot->redis_failures && wait < LAST_RETRY; i++)
		wait *= 2;
	slot->redis_retry = TimestampTzPlusMilliseconds(now, Min(wait, LAST_RETRY));
	LWLockRelease(WorkerShareGet()->lock);
	if (first)
		ereport(LOG,
				(errmsg("dms: Redis of database \"%s\" does not answer (%s), trying again", database_name, problem)));
	Close();
}

/* Note that Redis takes what it is given. */
static void
Succeed(void)
{
	TimestampTz since = slot->redis_since;

	if (slot->redis_failures == 0)
		return;
	LWLockAcquire(WorkerShareGet()->lock, LW_EXCLUSIVE);
	slot->redis_failures = 0;
	slot->redis_since = slot->redis_retry = 0;
	LWLockRelease(WorkerShareGet()->lock);
	ereport(LOG,
			(errmsg("dms: Redis of database \"%s\" answers again after %ld s", database_name,
					TimestampDifferenceMilliseconds(since, GetCurrentTimestamp()) / 1000)));
}

/* --- the connection ------------------------------------------------------- */

/*
 * Read the password from its file, which no other user may read.  Returns what is wrong, or
 * NULL.
 */
static const char *
ReadPassword(char *password)
{
	struct stat state;
	int			file = OpenTransientFile(RedisSettingsPasswordFile(), O_RDONLY | O_NONBLOCK | PG_BINARY);
	const char *problem = NULL;
	int			length = 0;

	if (file < 0)
		return "the file with the password cannot be read";
	if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode))
		problem = "the file with the password is not a file";
	else if ((state.st_uid != geteuid() && state.st_uid != 0) || (state.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		problem = "others have rights on the file with the password";
	else
		length = (int) read(file, password, PASSWORD_SIZE);
	(void) CloseTransientFile(file);
	if (problem == NULL && (length <= 0 || length == PASSWORD_SIZE))
		problem = "the file with the password has none, or too much";
	password[Max(length, 0) % PASSWORD_SIZE] = '\0';
	password[strcspn(password, "\r\n")] = '\0';
	return problem;
}

/* Begin to connect. */
static void
Open(void)
{
	char		password[PASSWORD_SIZE] = "";
	RedisServer server;
	const char *problem = NULL;

	RedisSettingsServer(&server);
	server.previous = FAULT_SKIP("redis_kill") ? 0 : slot->redis_client;
	if (*RedisSettingsPasswordFile() != '\0')
	{
		problem = ReadPassword(password);
		server.password = password;
	}
	else if (server.user != NULL)
		problem = "dms.redis_password_file is not set";
	if (problem == NULL)
	{
		connection = library->open(&server);
		opened = ServerNumber();
		more = true;
	}
	explicit_bzero(password, sizeof(password));
	if (problem != NULL)
		Fail(problem);
}

/* Send and receive what is possible. */
static void
Advance(void)
{
	if (connection == NULL)
		return;
	library->advance(connection);
	if (connection->state == REDIS_FAILED)
		Fail(pstrdup(connection->problem));
}

/* Returns true if there is room for more commands on the way. */
static bool
HasRoom(void)
{
	return nsent < MAX_PLACES && connection->asked - connection->answered < MAX_COMMANDS && connection->unsent < MAX_BYTES;
}

/* Returns true if a place can be stored. */
static bool
IsConfirmed(void)
{
	return nsent > 0 && sent[0].command <= connection->answered;
}

/* Returns true if it is time to do something in a transaction. */
static bool
HasNews(void)
{
	if (!RedisSettingsIsOn())
		return connection != NULL;
	if (connection == NULL)
		return GetCurrentTimestamp() >= slot->redis_retry;
	return connection->state == REDIS_READY && (IsConfirmed() || (more && HasRoom()));
}

/* --- transactions --------------------------------------------------------- */

/* Load dms_redis.  An error says why that is not possible. */
static void
Load(void)
{
	const RedisLibrary *(*offer) (void);
	const RedisLibrary *offered;

	offer = (const RedisLibrary *(*) (void)) load_external_function("$libdir/" REDIS_LIBRARY, REDIS_LIBRARY_FUNCTION,
																	true, NULL);
	offered = offer();
	if (offered->version != REDIS_LIBRARY_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dms_redis is of another version than dms")));
	library = offered;
}

/* Store the last place that was confirmed. */
static void
StorePlaces(void)
{
	PublisherPlace place = {0};
	int			n = 0;

	while (n < nsent && sent[n].command <= connection->answered)
	{
		place.cursor = sent[n].place.cursor;
		place.changes += sent[n].place.changes;
		if (sent[n].place.began != 0)
			place.began = sent[n].place.began;
		n++;
	}
	if (n == 0)
		return;
	PublisherStore(&place);
	ForgetPlaces(n);
	Succeed();
}

/* Give the next changes to the connection. */
static void
Read(void)
{
	PublisherResult result;

	more = false;
	PublisherRead(library, connection, nsent > 0 ? &sent[nsent - 1].place : NULL, &result);
	if (!result.tracked)
		return;
	more = result.more;
	if (result.lost)
		ereport(LOG,
				(errmsg("dms: Redis of database \"%s\" gets changes from now on", database_name)));
	if (!result.moved)
	{
		if (nsent == 0)
			Succeed();
		return;
	}
	sent[nsent].place = result.place;
	sent[nsent].place.cursor = MemoryContextStrdup(TopMemoryContext, result.place.cursor);
	sent[nsent++].command = connection->asked;
}

/* Do what is to be done in a transaction, for AttemptCatch(). */
static bool
RunInAttempt(void *arg pg_attribute_unused())
{
	if (library == NULL)
		Load();
	if (connection == NULL)
		return true;
	Remember(connection->id);
	StorePlaces();
	if (HasRoom())
		Read();
	StorePlaces();
	return true;
}

/* --- what the worker calls ------------------------------------------------ */

/* Prepare for the database of a slot. */
void
RedisTaskInit(WorkerSlot *slot_of_database, const char *database)
{
	slot = slot_of_database;
	database_name = database;
}

/* Begin anew if the server is another one than when we looked last. */
static void
LookAtServer(void)
{
	if (connection != NULL && opened != ServerNumber())
		Close();
	if (slot->redis_server == ServerNumber())
		return;
	LWLockAcquire(WorkerShareGet()->lock, LW_EXCLUSIVE);
	slot->redis_server = ServerNumber();
	slot->redis_failures = 0;
	slot->redis_since = slot->redis_retry = 0;
	slot->redis_client = 0;
	LWLockRelease(WorkerShareGet()->lock);
}

/* Connect if it is time.  Returns true if RedisTaskRun() is to be called, in a transaction. */
bool
RedisTaskBegin(void)
{
	LookAtServer();
	if (!RedisSettingsIsOn() || (connection == NULL && GetCurrentTimestamp() < slot->redis_retry))
		return false;
	if (library == NULL)
		return true;
	if (connection == NULL)
		Open();
	Advance();
	return connection != NULL && connection->state == REDIS_READY;
}

/* Store what was confirmed, and give the next changes. */
void
RedisTaskRun(const char *database pg_attribute_unused(), TaskOutcome *outcome pg_attribute_unused())
{
	bool		stays;
	ErrorData  *error;

	pgstat_report_activity(STATE_RUNNING, "dms: publishing changes to Redis");

	/*
	 * A place that is lost in a crash only means that changes are given
	 * again.
	 */
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	error = AttemptCatch(RunInAttempt, NULL, &stays);
	if (error == NULL)
		return;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	/* Other messages might reveal what is in the store. */
	Fail(library == NULL ? error->message :
		 psprintf("reading the store failed with SQLSTATE %s", unpack_sql_state(error->sqlerrcode)));
}

/* Send what was given.  Says when there is something to do again. */
void
RedisTaskEnd(TaskOutcome *outcome)
{
	if (!RedisSettingsIsOn())
	{
		Close();
		return;
	}
	outcome->watched = true;
	if (library != NULL && connection == NULL && GetCurrentTimestamp() >= slot->redis_retry)
		Open();
	Advance();
	if (HasNews())
		outcome->more = true;
	if (connection == NULL && (outcome->next == 0 || slot->redis_retry < outcome->next))
		outcome->next = slot->redis_retry;
}

/*
 * Wait for the latch, and for Redis, so many milliseconds at most.  Returns true if there
 * is something to do about Redis.
 */
bool
RedisTaskWait(long milliseconds)
{
	int			events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;

	if (connection == NULL || connection->socket < 0)
		(void) WaitLatch(MyLatch, events, milliseconds, COMPAT_WAIT_WORKER);
	else
	{
		TimestampTz now = GetCurrentTimestamp();

		if (connection->deadline != 0)
			milliseconds = Min(milliseconds, TimestampDifferenceMilliseconds(now, connection->deadline) + 1);
		events |= WL_SOCKET_READABLE | (connection->writes ? WL_SOCKET_WRITEABLE : 0);
		(void) WaitLatchOrSocket(MyLatch, events, connection->socket, milliseconds, COMPAT_WAIT_REDIS);
	}
	ResetLatch(MyLatch);
	Advance();
	return HasNews();
}

/* The worker leaves. */
void
RedisTaskClose(void)
{
	Close();
}

/* Returns true if answers are still to come, so that the worker should stay. */
bool
RedisTaskIsOpen(void)
{
	return connection != NULL && connection->deadline != 0;
}
