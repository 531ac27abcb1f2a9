/*
 * hub.c
 *		Sections that all sessions refer to, while they are renamed and deleted.
 *
 * If new shared locks on a row could overtake a session that waits for an
 * exclusive lock, that session would starve.  Half of the writers enroll students
 * in a section that is renamed repeatedly.  The other half enroll in a section
 * that another session deletes; they roll back, so that their locks block the
 * delete, but no references do.
 *
 * A writer ends its transaction only when another one has enrolled in the same
 * section, or when all others wait for locks.  So there is always a lock on the
 * section, however fast the machine is, unless new locks have to wait.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define WRITERS 16

/* Number of changes of each kind, and of enrolments between two of them. */
#define CHANGES 40
#define BETWEEN 100

/*
 * The number of enrolments that may be done while a change waits for a lock:
 * those that run when it begins to wait, for each lock that it needs.  A change
 * that starves waits for as long as there are writers.  Enrolments that are done
 * while the change is kept from a processor do not count: how many there are
 * depends on the machine.
 */
#define LIMIT 1000

/* After each so many of them, print what all sessions wait for. */
#define SUSPICIOUS 200

/*
 * The number of enrolments that may be done during a change, whatever it does:
 * more than a fair scheduler allows.
 */
#define ENDLESS 50000

/*
 * The sessions, their wait events, and their locks: those that are awaited, those
 * on the turnstile, and those that other sessions may wait for.  The numbers of a
 * change's schedstat are the nanoseconds that it ran and that it waited for a
 * processor, and how often it ran.
 */
#define WAITS_SQL \
	"SELECT pg_catalog.concat_ws(' ', a.pid, a.application_name, a.state, a.wait_event_type, a.wait_event," \
	" pg_catalog.clock_timestamp() - a.query_start, 'blocked by', pg_catalog.pg_blocking_pids(a.pid)," \
	" l.locktype, l.relation::pg_catalog.regclass, l.page, l.tuple, l.transactionid, l.mode," \
	" CASE WHEN l.granted THEN 'granted' ELSE 'awaited' END, CASE WHEN l.fastpath THEN 'fastpath' END," \
	" CASE WHEN a.application_name LIKE 'stress hub %' THEN" \
	" 'schedstat ' || pg_catalog.rtrim(pg_catalog.pg_read_file('/proc/' || a.pid || '/schedstat', 0, 100, true), E'\\n') END)" \
	" FROM pg_catalog.pg_stat_activity AS a LEFT JOIN pg_catalog.pg_locks AS l ON l.pid = a.pid" \
	" AND (NOT l.granted OR (l.objid = 'dms.IdentityLock'::pg_catalog.regclass AND l.objsubid = 1) OR l.locktype IN ('tuple', 'transactionid'))" \
	" WHERE a.datname = pg_catalog.current_database() AND a.pid <> pg_catalog.pg_backend_pid()" \
	" ORDER BY a.application_name DESC, a.pid"

/*
 * The sessions that wait for a lock, and for the changes, which one: by the
 * statement and the kind of lock, because a change that starves waits for one
 * writer after the other.
 */
#define AWAITED_SQL \
	"SELECT a.application_name, pg_catalog.concat_ws(' ', a.query_start, l.locktype, l.relation, l.mode)" \
	" FROM pg_catalog.pg_stat_activity AS a JOIN pg_catalog.pg_locks AS l ON l.pid = a.pid AND NOT l.granted" \
	" WHERE a.datname = pg_catalog.current_database() AND a.application_name LIKE 'stress %'"

typedef enum HubId
{
	RENAMED, DELETED, NHUBS
} HubId;

typedef struct Hub
{
	const char *change;
	Subject		section;
	int			holders;		/* writers that have enrolled, and not ended */
	long		steps;			/* changes of this number */
	bool		let_go;			/* the other writers wait for locks */
	long		enrolments;		/* finished attempts */
	int			changes;
	long		begun;			/* enrolments when a change began, else -1 */
	char		awaited[256];	/* the lock that the current change was seen to wait for */
	long		seen;			/* enrolments at that time */
	long		waited;			/* enrolments while the current change waited */
	long		overtaken;		/* enrolments while a change waited, at most */
	double		longest;		/* seconds, at most; only printed */
	double		kept;			/* of these, seconds of waiting for a processor */
	int			prints;			/* of waits, during the current change */
} Hub;

static Hub	hubs[NHUBS] = {[RENAMED] = {.change = "rename",.begun = -1},[DELETED] = {.change = "delete",.begun = -1}};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Returns the section with its current name. */
static Subject
section_of(const Hub *hub)
{
	Subject		copy;

	pthread_mutex_lock(&mutex);
	copy = hub->section;
	pthread_mutex_unlock(&mutex);
	return copy;
}

/* Set the section that writers refer to. */
static void
set_section(Hub *hub, const Subject *section)
{
	pthread_mutex_lock(&mutex);
	hub->section = *section;
	pthread_mutex_unlock(&mutex);
}

/* Write a document; returns false if it was refused. */
static bool
put(PGconn *conn, Subject *subject, bool by_id, Random *random)
{
	char		body[BODY_SIZE];
	const char *values[3] = {by_id ? subject->uuid : types[subject->type].resource, body, NULL};
	PGresult   *result;
	bool		done;

	write_body(subject, random, body);
	result = PQexecPrepared(conn, by_id ? "update" : "upsert", 3, values, NULL, NULL, 0);
	done = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (done)
		snprintf(subject->uuid, sizeof(subject->uuid), "%s", PQgetvalue(result, 0, 1));
	else if (strcmp(PQresultErrorField(result, PG_DIAG_SQLSTATE), "23503") != 0)
		finding("%s: %s", body, PQerrorMessage(conn));
	PQclear(result);
	return done;
}

/*
 * Keep the transaction of a writer open until another writer has enrolled, or
 * until it is let go.
 */
static void
hold(Hub *hub)
{
	bool		leave = false;

	pthread_mutex_lock(&mutex);
	hub->holders++;
	hub->steps++;
	hub->let_go = false;
	pthread_mutex_unlock(&mutex);
	while (!leave)
	{
		usleep(2000);
		pthread_mutex_lock(&mutex);
		leave = stopping || hub->let_go || hub->holders > 1;
		if (leave)
		{
			hub->holders--;
			hub->steps++;
		}
		pthread_mutex_unlock(&mutex);
	}
}

/* Thread: enroll students in the section of a hub. */
static void *
enroll(void *argument)
{
	long		number = (long) argument;
	Hub		   *hub = &hubs[number % NHUBS];
	Random		random = {options.seed * 100 + (uint64_t) number};
	PGconn	   *conn = connect_patiently(hub == &hubs[RENAMED] ? "stress writer rename" : "stress writer delete");

	prepare_all(conn);
	while (!stopping)
	{
		Subject		section = section_of(hub);
		Subject		enrolment;

		derive(&enrolment, ENROLMENT, &section, &random);
		PQclear(PQexec(conn, "BEGIN"));
		if (put(conn, &enrolment, false, &random))
			hold(hub);
		else
			usleep(2000);
		PQclear(PQexec(conn, hub == &hubs[RENAMED] ? "COMMIT" : "ROLLBACK"));
		pthread_mutex_lock(&mutex);
		hub->enrolments++;
		pthread_mutex_unlock(&mutex);
	}
	PQfinish(conn);
	return NULL;
}

/* Returns the number of enrolments since the current change began, or 0. */
static long
overtaking(const Hub *hub)
{
	long		n;

	pthread_mutex_lock(&mutex);
	n = hub->begun < 0 ? 0 : hub->enrolments - hub->begun;
	pthread_mutex_unlock(&mutex);
	return n;
}

/*
 * Returns the seconds that the server process of a session has waited for a
 * processor; 0 if the system does not report them.
 */
static double
kept_from_running(PGconn *conn)
{
	char		path[64];
	FILE	   *file;
	unsigned long long delay = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", PQbackendPID(conn));
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%*u %llu", &delay) != 1)
		delay = 0;
	fclose(file);
	return (double) delay / 1e9;
}

/* The time when a change began, and kept_from_running() at that time. */
typedef struct Start
{
	double		time;
	double		kept;
} Start;

/* Note that a change begins; returns its start. */
static Start
begin_change(Hub *hub, PGconn *conn)
{
	Start		start = {.kept = kept_from_running(conn)};

	pthread_mutex_lock(&mutex);
	hub->begun = hub->enrolments;
	hub->waited = 0;
	hub->awaited[0] = '\0';
	pthread_mutex_unlock(&mutex);
	start.time = now();
	return start;
}

/* Note that a change has ended. */
static void
end_change(Hub *hub, PGconn *conn, const Start *start)
{
	double		took = now() - start->time;
	double		kept = kept_from_running(conn) - start->kept;

	pthread_mutex_lock(&mutex);
	hub->begun = -1;
	hub->changes++;
	if (took > hub->longest)
	{
		hub->longest = took;
		hub->kept = kept;
	}
	pthread_mutex_unlock(&mutex);
}

/* Wait until the writers have made this number of attempts. */
static void
let_enroll(Hub *hub, int times)
{
	long		from;

	pthread_mutex_lock(&mutex);
	from = hub->enrolments;
	pthread_mutex_unlock(&mutex);
	for (;;)
	{
		bool		enough;

		pthread_mutex_lock(&mutex);
		enough = hub->enrolments - from >= times;
		pthread_mutex_unlock(&mutex);
		if (enough || stopping)
			return;
		usleep(1000);
	}
}

/*
 * Connect a session that changes a hub.  It keeps writers out until it is done:
 * with a time limit, the number that overtakes it would depend on the machine.
 */
static PGconn *
connect_change(const char *name)
{
	PGconn	   *conn = connect_patiently(name);

	prepare_all(conn);
	PQclear(PQexec(conn, "SET dms.turnstile_timeout = 0"));
	return conn;
}

/* Thread: rename the section of a hub repeatedly. */
static void *
rename_hub(void *argument)
{
	Hub		   *hub = &hubs[RENAMED];
	Random		random = {options.seed + 7};
	PGconn	   *conn = connect_change("stress hub rename");

	(void) argument;
	for (int i = 0; !stopping; i++)
	{
		Subject		section = section_of(hub);
		Start		start = begin_change(hub, conn);

		set_value(&section, 4, "hub %d", i);
		if (!put(conn, &section, true, &random))
		{
			finding("the rename of a hub was refused: %s", PQerrorMessage(conn));
			stopping = true;
		}
		end_change(hub, conn, &start);
		set_section(hub, &section);
		let_enroll(hub, BETWEEN);
	}
	PQfinish(conn);
	return NULL;
}

/* Returns true for errors after which a client retries: serialization failures, deadlocks. */
static bool
must_try_again(PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state != NULL && strncmp(state, "40", 2) == 0;
}

/* Thread: delete the section of the other hub repeatedly. */
static void *
delete_hub(void *argument)
{
	Hub		   *hub = &hubs[DELETED];
	Random		random = {options.seed + 8};
	PGconn	   *conn = connect_change("stress hub delete");

	(void) argument;
	while (!stopping)
	{
		Subject		section = section_of(hub);
		const char *values[2] = {section.uuid, NULL};
		Start		start = begin_change(hub, conn);
		PGresult   *result = PQexecPrepared(conn, "delete", 2, values, NULL, NULL, 0);

		while (must_try_again(result))
		{
			PQclear(result);
			result = PQexecPrepared(conn, "delete", 2, values, NULL, NULL, 0);
		}
		if (PQresultStatus(result) != PGRES_TUPLES_OK)
		{
			finding("delete: %s", PQerrorMessage(conn));
			stopping = true;
		}
		PQclear(result);
		end_change(hub, conn, &start);
		if (put(conn, &section, false, &random))
			set_section(hub, &section);
		let_enroll(hub, BETWEEN);
	}
	PQfinish(conn);
	return NULL;
}

/* Create a chain of documents from the first school to two sections. */
static void
make_hubs(void)
{
	PGconn	   *conn = connect_patiently("stress hub");
	Random		random = {options.seed};
	Subject		school = {.type = SCHOOL};
	Subject		session;
	Subject		offering;

	prepare_all(conn);
	set_value(&school, 0, "100");
	derive(&session, SESSION, &school, &random);
	put(conn, &session, false, &random);
	derive(&offering, COURSE_OFFERING, &session, &random);
	put(conn, &offering, false, &random);
	for (int i = 0; i < NHUBS; i++)
	{
		derive(&hubs[i].section, SECTION, &offering, &random);
		set_value(&hubs[i].section, 4, i == RENAMED ? "hub" : "doomed");
		put(conn, &hubs[i].section, false, &random);
	}
	PQfinish(conn);
}

/* Print what all sessions wait for, and their locks. */
static void
print_waits(PGconn *conn, const Hub *hub, long waited)
{
	PGresult   *result = PQexec(conn, WAITS_SQL);

	printf("a %s is overtaken by %ld, and by %ld while it waits:\n", hub->change, overtaking(hub), waited);
	for (int i = 0; i < PQntuples(result); i++)
		printf("  %s\n", PQgetvalue(result, i, 0));
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		printf("  %s", PQerrorMessage(conn));
	PQclear(result);
}

/*
 * Count the enrolments that were done while the current change of a hub waited
 * for one lock, from one look to the next, and let writers go if all others wait.
 * "before" is the hub before the look.
 */
static void
judge_look(Hub *hub, const Hub *before, const char *awaited, int waiting_writers)
{
	pthread_mutex_lock(&mutex);
	if (hub->begun < 0 || before->begun < 0 || hub->changes != before->changes)
		awaited = "";			/* it may be of another change */
	if (awaited[0] != '\0' && strcmp(hub->awaited, awaited) == 0)
		hub->waited += before->enrolments - hub->seen;
	if (hub->waited > hub->overtaken)
		hub->overtaken = hub->waited;
	snprintf(hub->awaited, sizeof(hub->awaited), "%s", awaited);
	hub->seen = hub->enrolments;
	if (hub->steps == before->steps && hub->holders + waiting_writers == WRITERS / NHUBS)
		hub->let_go = true;
	pthread_mutex_unlock(&mutex);
}

/* Look at the locks that sessions wait for. */
static void
look_at_waits(PGconn *conn)
{
	Hub			before[NHUBS];
	PGresult   *result;

	pthread_mutex_lock(&mutex);
	memcpy(before, hubs, sizeof(hubs));
	pthread_mutex_unlock(&mutex);
	result = PQexec(conn, AWAITED_SQL);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		finding("%s", PQerrorMessage(conn));
	for (int i = 0; i < NHUBS; i++)
	{
		const char *awaited = "";
		int			waiting_writers = 0;

		for (int row = 0; row < PQntuples(result); row++)
		{
			const char *name = PQgetvalue(result, row, 0);

			if (strcmp(name + strlen(name) - strlen(hubs[i].change), hubs[i].change) != 0)
				continue;
			if (strncmp(name, "stress hub ", strlen("stress hub ")) == 0)
				awaited = PQgetvalue(result, row, 1);
			else
				waiting_writers++;
		}
		judge_look(&hubs[i], &before[i], awaited, waiting_writers);
	}
	PQclear(result);
}

/* Check that a hub was changed often enough; a change that starves ends the run. */
static bool
is_done(Hub *hub, PGconn *conn)
{
	long		waited;
	bool		done;

	pthread_mutex_lock(&mutex);
	waited = hub->waited;
	done = hub->changes >= CHANGES;
	pthread_mutex_unlock(&mutex);
	if (waited <= SUSPICIOUS)
		hub->prints = 0;
	else if (waited > SUSPICIOUS * (hub->prints + 1))
	{
		hub->prints++;
		print_waits(conn, hub, waited);
	}
	if (waited > LIMIT || overtaking(hub) > ENDLESS)
	{
		finding("a %s of a hub starves: %d writers were done %ld times meanwhile, %ld times while it waited for a lock",
				hub->change, WRITERS / NHUBS, overtaking(hub), waited);
		stopping = true;
	}
	return done;
}

/* Run all threads until both hubs were changed often enough. */
void
run_hub(void)
{
	pthread_t	threads[WRITERS + NHUBS];
	PGconn	   *conn = connect_patiently("stress hub watch");

	make_hubs();
	for (long i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, enroll, (void *) i);
	pthread_create(&threads[WRITERS], NULL, rename_hub, NULL);
	pthread_create(&threads[WRITERS + 1], NULL, delete_hub, NULL);
	while (!stopping)
	{
		bool		renamed;

		look_at_waits(conn);
		renamed = is_done(&hubs[RENAMED], conn);
		if (is_done(&hubs[DELETED], conn) && renamed)
			stopping = true;
		usleep(10000);
	}
	for (int i = 0; i < WRITERS + NHUBS; i++)
		pthread_join(threads[i], NULL);
	PQfinish(conn);
	for (int i = 0; i < NHUBS; i++)
		printf("%s of a hub beside %d writers: %d times, overtaken by %ld of %ld enrolments at most while it waited, %.3f s at most, %.3f s of these kept from running\n",
			   hubs[i].change, WRITERS / NHUBS, hubs[i].changes, hubs[i].overtaken, hubs[i].enrolments, hubs[i].longest, hubs[i].kept);
}
