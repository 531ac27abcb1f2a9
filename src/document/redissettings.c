/*
 * redissettings.c
 *		The settings of the background worker's Redis.
 *
 * The server itself opens the connection.  So only superusers may say where to, and only
 * they see it: the owner of a database must not reach the network through us.
 */
#include "postgres.h"

#include <sys/un.h>

#include "document/redissettings.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#define DEFAULT_PORT 6379
#define MAX_DATABASE 65535

static char *url = NULL;
static char *password_file = NULL;
static char *kinds = NULL;
static char *channel = NULL;
static int	timeout = 1000;
static int	ttl = 600;
static int	kind_bits = REDIS_REFID;

static const struct
{
	const char *name;
	RedisKind	kind;
}			kind_names[] = {
	{"refid", REDIS_REFID},
	{"uuid", REDIS_UUID},
	{"uri", REDIS_URI},
	{"doc", REDIS_DOC},
};

/* --- the URL -------------------------------------------------------------- */

/* Take a prefix from a text; returns false if it does not begin with it. */
static bool
TakePrefix(char **at, const char *prefix)
{
	if (strncmp(*at, prefix, strlen(prefix)) != 0)
		return false;
	*at += strlen(prefix);
	return true;
}

/* Read a number that is all of a text; returns false if it is not one up to a limit. */
static bool
ReadNumber(const char *digits, int limit, int *number)
{
	char	   *end;
	long		value;

	if (*digits < '0' || *digits > '9' || strlen(digits) > 5)
		return false;
	value = strtol(digits, &end, 10);
	*number = (int) value;
	return *end == '\0' && value <= limit;
}

/* Take the user before "@", if there is one. */
static const char *
TakeUser(char **at, RedisServer *server)
{
	char	   *end = strchr(*at, '@');

	if (end == NULL)
		return NULL;
	*end = '\0';
	server->user = *at;
	*at = end + 1;
	if (strchr(server->user, ':') != NULL)
		return "A password belongs into the file that dms.redis_password_file names.";
	return *server->user == '\0' ? "The name of the user is missing." : NULL;
}

/* Read what follows "unix://": a path, and the number of a database. */
static const char *
ReadPath(char *at, RedisServer *server)
{
	char	   *query = strchr(at, '?');

	server->path = at;
	if (query != NULL)
	{
		*query++ = '\0';
		if (!TakePrefix(&query, "db=") || !ReadNumber(query, MAX_DATABASE, &server->database))
			return "After the path, only \"?db=\" and a number may follow.";
	}
	if (strlen(at) >= sizeof(((struct sockaddr_un *) NULL)->sun_path))
		return "The path is too long for a socket.";
	return *at == '/' ? NULL : "The path of a socket begins with \"/\".";
}

/* Read what follows "redis://": a host, a port, and the number of a database. */
static const char *
ReadHost(char *at, RedisServer *server)
{
	char	   *database = strchr(at, '/');
	char	   *port;

	server->host = at;
	server->port = DEFAULT_PORT;
	if (database != NULL)
	{
		*database++ = '\0';
		if (*database != '\0' && !ReadNumber(database, MAX_DATABASE, &server->database))
			return "After the host, only \"/\" and a number may follow.";
	}
	port = strrchr(at, ':');
	if (*at == '[')
	{
		char	   *end = strchr(at, ']');

		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return "An address with colons stands in brackets.";
		*end = '\0';
		server->host = at + 1;
		port = end[1] == ':' ? end + 1 : NULL;
	}
	if (port != NULL)
	{
		*port++ = '\0';
		if (!ReadNumber(port, 65535, &server->port) || server->port == 0)
			return "The port is not a number from 1 to 65535.";
	}
	return *server->host == '\0' ? "The host is missing." : NULL;
}

/*
 * Read a URL, which is changed, and which the result points to.  Returns what is wrong
 * with it, or NULL.
 */
static const char *
ReadUrl(char *at, RedisServer *server)
{
	const char *problem;
	bool		is_path;

	memset(server, 0, sizeof(RedisServer));
	if (TakePrefix(&at, "rediss://"))
		return "TLS is not built in; use a socket, or a proxy on this machine.";
	is_path = TakePrefix(&at, "unix://");
	if (!is_path && !TakePrefix(&at, "redis://"))
		return "It begins with \"redis://\" or \"unix://\".";
	problem = TakeUser(&at, server);
	if (problem != NULL)
		return problem;
	return is_path ? ReadPath(at, server) : ReadHost(at, server);
}

/* Check a value of dms.redis_url.  It is not repeated: it may have a password. */
static bool
CheckUrl(char **value, void **extra pg_attribute_unused(), GucSource source pg_attribute_unused())
{
	RedisServer server;
	char	   *copy;
	const char *problem;

	if (**value == '\0')
		return true;
	copy = pstrdup(*value);
	problem = ReadUrl(copy, &server);
	if (problem != NULL)
	{
		GUC_check_errmsg("invalid value for parameter \"%s\"", "dms.redis_url");
		GUC_check_errdetail("%s", problem);
	}
	pfree(copy);
	return problem == NULL;
}

/* --- kinds ---------------------------------------------------------------- */

/* Read names of kinds; returns false if there is another name. */
static bool
ReadKinds(char *text, int *bits)
{
	List	   *names;
	ListCell   *cell;

	*bits = 0;
	if (!SplitIdentifierString(text, ',', &names))
		return false;
	foreach(cell, names)
	{
		int			i = 0;

		while (i < (int) lengthof(kind_names) && strcmp(lfirst(cell), kind_names[i].name) != 0)
			i++;
		if (i == (int) lengthof(kind_names))
			return false;
		*bits |= kind_names[i].kind;
	}
	list_free(names);
	return true;
}

/* Check a value of dms.redis_kinds. */
static bool
CheckKinds(char **value, void **extra, GucSource source pg_attribute_unused())
{
	char	   *copy = pstrdup(*value);
	int			bits;
	bool		known = ReadKinds(copy, &bits);

	pfree(copy);
	if (!known)
	{
		GUC_check_errdetail("The value is a list of refid, uuid, uri and doc.");
		return false;
	}
	*extra = malloc(sizeof(int));
	if (*extra == NULL)
		return false;
	*(int *) *extra = bits;
	return true;
}

/* Take over a value of dms.redis_kinds. */
static void
AssignKinds(const char *value pg_attribute_unused(), void *extra)
{
	kind_bits = *(int *) extra;
}

/* --- all of them ---------------------------------------------------------- */

/* Define the settings. */
void
RedisSettingsInit(void)
{
	DefineCustomStringVariable("dms.redis_url",
							   "The Redis that background workers write to.",
							   "redis://[user@]host[:port][/database] or unix://[user@]/path[?db=database]; "
							   "if it is empty, none.",
							   &url, "", PGC_SUSET, GUC_SUPERUSER_ONLY, CheckUrl, NULL, NULL);
	DefineCustomStringVariable("dms.redis_password_file",
							   "The file with the password for dms.redis_url.",
							   "Only the user of the server may have rights on it.",
							   &password_file, "", PGC_SUSET, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);
	DefineCustomStringVariable("dms.redis_kinds",
							   "What background workers write to Redis.",
							   "A list of refid, uuid, uri and doc.",
							   &kinds, "refid", PGC_SUSET, GUC_SUPERUSER_ONLY, CheckKinds, AssignKinds, NULL);
	DefineCustomStringVariable("dms.redis_channel",
							   "The channel on which Redis tells subscribers the keys of outdated values.",
							   "If it is empty, none.",
							   &channel, "", PGC_SUSET, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);
	DefineCustomIntVariable("dms.redis_timeout",
							"The time without an answer after which a connection to Redis is given up.",
							NULL, &timeout, 1000, 10, 600 * 1000, PGC_SUSET, GUC_UNIT_MS | GUC_SUPERUSER_ONLY,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dms.redis_ttl",
							"How long Redis keeps what background workers write.",
							"URIs of descriptors are kept twelve times as long.",
							&ttl, 600, 1, 7 * 24 * 3600, PGC_SUSET, GUC_UNIT_S | GUC_SUPERUSER_ONLY,
							NULL, NULL, NULL);
}

/* Returns true if there is a Redis to write to. */
bool
RedisSettingsIsOn(void)
{
	return *url != '\0';
}

/* Returns the URL. */
const char *
RedisSettingsUrl(void)
{
	return url;
}

/* Returns the path of the file with the password; empty: there is none. */
const char *
RedisSettingsPasswordFile(void)
{
	return password_file;
}

/* Returns the channel of outdated keys; empty: there is none. */
const char *
RedisSettingsChannel(void)
{
	return channel;
}

/* Returns the kinds that are published. */
int
RedisSettingsKinds(void)
{
	return kind_bits;
}

/* Returns the seconds that values are kept. */
int
RedisSettingsTtl(void)
{
	return ttl;
}

/* Returns where to connect, without the password. */
void
RedisSettingsServer(RedisServer *server)
{
	if (ReadUrl(pstrdup(url), server) != NULL)
		elog(ERROR, "dms.redis_url was not checked");
	server->timeout = timeout;
}
