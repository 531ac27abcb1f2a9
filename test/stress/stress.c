/*
 * stress.c
 *		The stress test: options, set-up, threads and the verdict.
 *
 * "stress --help" prints the options.  The last line is the verdict, which the exit
 * status repeats.  A finding is printed with the seed that repeats the same choices.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "follow.h"

#define MAX_CLIENTS 64
#define MAX_FINDINGS 50

/* The minimum number of checks of a run, and of passes of those who follow. */
#define MIN_CHECKS 3

Options		options = {.conninfo = "",.clients = 8,.seconds = 60};
volatile bool stopping = false;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long findings = 0;
static double started;			/* when the sessions began to write */

/* Returns the time in seconds. */
double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* Report a finding: a violated invariant. */
void
finding(const char *format,...)
{
	va_list		args;

	pthread_mutex_lock(&mutex);
	if (findings == 0)
		printf("first finding after %.1f s\n", now() - started);
	if (findings++ < MAX_FINDINGS)
	{
		printf("FINDING (seed %" PRIu64 "): ", options.seed);
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
		fflush(stdout);
	}
	if (options.until_finding)
		stopping = true;
	pthread_mutex_unlock(&mutex);
}

/* Exit with a message: the test could not run. */
void
die(const char *format,...)
{
	va_list		args;

	fprintf(stderr, "stress: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(2);
}

/* Notice processor that prints nothing. */
static void
ignore_notice(void *argument, const char *message)
{
	(void) argument;
	(void) message;
}

/* Connect; if crashes are expected, wait until the server is available again. */
PGconn *
connect_patiently(const char *name)
{
	double		start = now();

	for (;;)
	{
		PGconn	   *conn = PQconnectdb(options.conninfo);

		if (PQstatus(conn) == CONNECTION_OK)
		{
			char		sql[200];

			PQsetNoticeProcessor(conn, ignore_notice, NULL);
			snprintf(sql, sizeof(sql), "SET application_name = '%s'; SET statement_timeout = '%ds'; SET deadlock_timeout = '20ms'; SET jit = off",
					 name, PATIENCE);
			PQclear(PQexec(conn, sql));
			return conn;
		}
		if (!options.crashes || now() - start > PATIENCE)
			die("%s", PQerrorMessage(conn));
		PQfinish(conn);
		usleep(100000);
	}
}

/* Returns the content of a file. */
static char *
read_file(const char *path)
{
	FILE	   *file = fopen(path, "r");
	char	   *text;
	long		size;

	if (file == NULL)
		die("cannot read %s", path);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	text = calloc(1, (size_t) size + 1);
	if (fread(text, 1, (size_t) size, file) != (size_t) size)
		die("cannot read %s", path);
	fclose(file);
	return text;
}

/* Run a statement that must succeed. */
static void
must(PGconn *conn, const char *sql)
{
	PGresult   *result = PQexec(conn, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		die("%.60s: %s", sql, PQerrorMessage(conn));
	PQclear(result);
}

/* Let writers fill the cache; what is there already is projected now. */
static void
fill_cache(PGconn *conn)
{
	must(conn, "SET client_min_messages = warning");
	must(conn, "SELECT dms.set_cache_mode('strict')");
	must(conn, "CALL dms.project_documents()");
}

/* Deploy the schema, and create the checker's views and the first documents. */
static void
deploy(PGconn *conn)
{
	const char *values[1] = {read_file(options.schema)};
	PGresult   *result;

	must(conn, "CREATE EXTENSION IF NOT EXISTS dms");
	result = PQexecParams(conn, "SELECT dms.deploy_schema($1)", 1, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	PQclear(result);
	must(conn, read_file(options.views));
	set_up(conn);
	if (options.history)
		keep_versions(conn);
	if (options.strict)
		fill_cache(conn);
}

/* Find out whether the deployed schema allows renaming schools. */
static void
ask_model(PGconn *conn)
{
	PGresult   *result = PQexec(conn, "SELECT Model ->> 'allow_identity_updates' FROM dms.ResourceModel"
								" WHERE ProjectName = 'Ed-Fi' AND ResourceName = 'School'");

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
		die("there is no School: %s", PQerrorMessage(conn));
	options.rename_schools = strcmp(PQgetvalue(result, 0, 0), "true") == 0;
	PQclear(result);
}

/* Print the options. */
static void
usage(void)
{
	printf("Writes documents from many sessions at random, and checks what comes out.\n\n"
		   "  stress [OPTION]...\n\n"
		   "  --dbname CONNINFO     the database; default: libpq's\n"
		   "  --schema FILE         deploy this ApiSchema first, into a database without one\n"
		   "  --views FILE          the checker's views (views.sql)\n"
		   "  --clients N           sessions that write (8)\n"
		   "  --seconds N           how long (60)\n"
		   "  --transactions N      or how many transactions\n"
		   "  --seed N              choices of another run\n"
		   "  --single              one write a transaction, at Read Committed\n"
		   "  --crashes             lost connections are expected; wait for the server\n"
		   "  --batches             instead: a few documents, written in calls that refer to\n"
		   "                        each other, while they are renamed\n"
		   "  --history             versions are kept, and documents restored\n"
		   "  --strict              the cache has all documents at every commit\n"
		   "  --relations           documents have parents, collections, accounts and unique values\n"
		   "  --follow              two programs keep copies of the store meanwhile\n"
		   "  --until-finding       stop at the first finding\n"
		   "  --hub                 instead: 8 sessions refer to a section, while it is\n"
		   "                        renamed, and 8 to another, while it is deleted\n\n"
		   "SIGINT ends a run early, with all checks that belong to its end.\n");
	exit(0);
}

/* Parse the options. */
static void
parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"dbname", required_argument, NULL, 'd'}, {"schema", required_argument, NULL, 's'},
		{"views", required_argument, NULL, 'v'}, {"clients", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 't'}, {"transactions", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 'r'}, {"crashes", no_argument, NULL, 'x'},
		{"single", no_argument, NULL, 'o'}, {"batches", no_argument, NULL, 'm'},
		{"history", no_argument, NULL, 'k'}, {"strict", no_argument, NULL, 'i'}, {"relations", no_argument, NULL, 'g'}, {"follow", no_argument, NULL, 'f'},
		{"until-finding", no_argument, NULL, 'u'},
		{"hub", no_argument, NULL, 'b'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}
	};
	int			option;

	options.seed = (uint64_t) time(NULL) % 1000000;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (option)
		{
			case 'd':
				options.conninfo = optarg;
				break;
			case 's':
				options.schema = optarg;
				break;
			case 'v':
				options.views = optarg;
				break;
			case 'c':
				options.clients = atoi(optarg);
				break;
			case 't':
				options.seconds = atoi(optarg);
				break;
			case 'n':
				options.transactions = atol(optarg);
				break;
			case 'r':
				options.seed = strtoull(optarg, NULL, 10);
				break;
			case 'x':
				options.crashes = true;
				break;
			case 'o':
				options.single = true;
				break;
			case 'm':
				options.batches = true;
				break;
			case 'k':
				options.history = true;
				break;
			case 'i':
				options.strict = true;
				break;
			case 'g':
				options.relations = true;
				break;
			case 'f':
				options.follow = true;
				break;
			case 'u':
				options.until_finding = true;
				break;
			case 'b':
				options.hub = true;
				break;
			case 'h':
				usage();
				break;
			default:
				exit(2);
		}
	if (options.clients < 1 || options.clients > MAX_CLIENTS)
		die("between 1 and %d clients", MAX_CLIENTS);
	if (options.schema != NULL && options.views == NULL)
		die("--schema needs --views");
	if (options.follow && options.hub)
		die("nobody follows a hub");
}

/* Signal handler: stop the run. */
static void
interrupt(int signal)
{
	(void) signal;
	stopping = true;
}

/* Returns true if the requested amount of work was done. */
static bool
is_enough(double start)
{
	if (checks_done() < MIN_CHECKS)
		return false;
	if (options.follow && (feed_passes() < MIN_CHECKS || windows_read() < MIN_CHECKS))
		return false;
	if (options.transactions > 0)
		return transactions_done() >= options.transactions;
	return now() - start >= options.seconds;
}

/* Run the sessions and the checker until it is time to stop. */
static void
run_workers(void)
{
	pthread_t	workers[MAX_CLIENTS];
	pthread_t	checker;
	pthread_t	followers[2];
	double		start = now();

	for (long i = 0; i < options.clients; i++)
		pthread_create(&workers[i], NULL, work, (void *) (i + 1));
	pthread_create(&checker, NULL, keep_checking, NULL);
	if (options.follow)
	{
		pthread_create(&followers[0], NULL, follow_feed, NULL);
		pthread_create(&followers[1], NULL, follow_windows, NULL);
	}
	while (!stopping)
	{
		usleep(10000);
		if (is_enough(start))
			stopping = true;
	}
	for (int i = 0; i < options.clients; i++)
		pthread_join(workers[i], NULL);
	pthread_join(checker, NULL);
	for (int i = 0; options.follow && i < 2; i++)
		pthread_join(followers[i], NULL);
}

/* Run the test; exits with 0 without findings, 1 with findings, 2 if it could not run. */
int
main(int argc, char **argv)
{
	PGconn	   *conn;
	double		took;

	parse(argc, argv);
	printf("seed %" PRIu64 "\n", options.seed);
	fflush(stdout);
	signal(SIGINT, interrupt);
	conn = connect_patiently("stress");
	if (options.schema != NULL)
		deploy(conn);
	ask_model(conn);
	PQfinish(conn);
	if (options.batches)
		set_up_batches();
	started = now();
	if (options.hub)
		run_hub();
	else
		run_workers();
	took = now() - started;
	if (options.follow)
	{
		finish_windows();
		finish_feed();
	}
	conn = connect_checker("stress");
	if (!check_once(conn))
		finding("the last check did not end: %s", PQerrorMessage(conn));
	check_indexes(conn);
	check_acknowledged(conn);
	if (options.history)
		check_versions(conn);
	if (options.relations)
		check_relations(conn);
	PQfinish(conn);
	if (!options.hub)
	{
		print_counts();
		printf("%.0f transactions a second, %ld checks, %ld representations%s\n", (double) transactions_done() / took,
			   checks_done(), representations_seen(), options.rename_schools ? ", schools renamed" : "");
	}
	printf("%ld findings\n", findings);
	return findings > 0;
}
