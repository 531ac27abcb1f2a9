/*
 * hub.c
 *		One section that everybody refers to, renamed and deleted meanwhile.
 *
 * A row lock that many share is never free while new sharers overtake who
 * waits.  Half of the writers enroll students in a section that is renamed
 * again and again; the other half in one that somebody deletes: they roll back,
 * so that no reference is in the delete's way, only their locks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define WRITERS 16

/* Starved, a change waits for as long as the writers go on. */
#define LIMIT 5.0

typedef struct Times
{
	int			n;
	double		sum;
	double		longest;
} Times;

static Times renames;
static Times deletes;
static volatile long enrolments = 0;

static Subject hubs[2];			/* to be renamed, and to be deleted */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static Subject
hub(int which)
{
	Subject		copy;

	pthread_mutex_lock(&mutex);
	copy = hubs[which];
	pthread_mutex_unlock(&mutex);
	return copy;
}

/* Write a document; false when it was refused. */
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

static void *
enroll(void *argument)
{
	long		number = (long) argument;
	int			which = (int) (number % 2);
	Random		random = {options.seed * 100 + (uint64_t) number};
	PGconn	   *conn = connect_patiently("stress hub");

	prepare_all(conn);
	while (!stopping)
	{
		Subject		section = hub(which);
		Subject		enrolment;

		derive(&enrolment, ENROLMENT, &section, &random);
		PQclear(PQexec(conn, "BEGIN"));
		if (put(conn, &enrolment, false, &random))
			enrolments++;
		usleep(2000);
		PQclear(PQexec(conn, which == 0 ? "COMMIT" : "ROLLBACK"));
	}
	PQfinish(conn);
	return NULL;
}

static void
note(Times *times, double took)
{
	times->n++;
	times->sum += took;
	if (took > times->longest)
		times->longest = took;
}

static void *
rename_hub(void *argument)
{
	Random		random = {options.seed + 7};
	PGconn	   *conn = connect_patiently("stress hub rename");

	(void) argument;
	prepare_all(conn);
	for (int i = 0; !stopping; i++)
	{
		Subject		section = hub(0);
		double		start = now();

		set_value(&section, 4, "hub %d", i);
		if (put(conn, &section, true, &random))
			note(&renames, now() - start);
		pthread_mutex_lock(&mutex);
		hubs[0] = section;
		pthread_mutex_unlock(&mutex);
		usleep(300000);
	}
	PQfinish(conn);
	return NULL;
}

/* A serialization failure or a deadlock, which is for the client to try again. */
static bool
must_try_again(PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state != NULL && strncmp(state, "40", 2) == 0;
}

static void *
delete_hub(void *argument)
{
	Random		random = {options.seed + 8};
	PGconn	   *conn = connect_patiently("stress hub delete");

	(void) argument;
	prepare_all(conn);
	while (!stopping)
	{
		Subject		section = hub(1);
		const char *values[2] = {section.uuid, NULL};
		double		start = now();
		PGresult   *result = PQexecPrepared(conn, "delete", 2, values, NULL, NULL, 0);

		while (must_try_again(result))
		{
			PQclear(result);
			result = PQexecPrepared(conn, "delete", 2, values, NULL, NULL, 0);
		}
		if (PQresultStatus(result) == PGRES_TUPLES_OK)
			note(&deletes, now() - start);
		else
			finding("delete: %s", PQerrorMessage(conn));
		PQclear(result);
		usleep(20000);
		if (put(conn, &section, false, &random))
		{
			pthread_mutex_lock(&mutex);
			hubs[1] = section;
			pthread_mutex_unlock(&mutex);
		}
		usleep(300000);
	}
	PQfinish(conn);
	return NULL;
}

/* A chain from the first school to two sections. */
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
	for (int i = 0; i < 2; i++)
	{
		derive(&hubs[i], SECTION, &offering, &random);
		set_value(&hubs[i], 4, i == 0 ? "hub" : "doomed");
		put(conn, &hubs[i], false, &random);
	}
	PQfinish(conn);
}

static void
tell(const char *what, const Times *times)
{
	printf("%s of a hub beside %d writers: %d, %.3f s on average, %.3f s at most\n", what, WRITERS,
		   times->n, times->n ? times->sum / times->n : 0, times->longest);
	if (times->n == 0 || times->longest > LIMIT)
		finding("a %s of a hub starves", what);
}

void
run_hub(void)
{
	pthread_t	threads[WRITERS + 2];

	make_hubs();
	for (long i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, enroll, (void *) i);
	pthread_create(&threads[WRITERS], NULL, rename_hub, NULL);
	pthread_create(&threads[WRITERS + 1], NULL, delete_hub, NULL);
	sleep((unsigned) options.seconds);
	stopping = true;
	for (int i = 0; i < WRITERS + 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld enrolments\n", enrolments);
	tell("rename", &renames);
	tell("delete", &deletes);
}
