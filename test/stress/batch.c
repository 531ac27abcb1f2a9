/*
 * batch.c
 *		A few documents that all sessions write, mostly several in one call.
 *
 * The references of a call are resolved before the call holds its locks, and the
 * result must still be valid when it does.  Random writes to many documents rarely
 * conflict in that interval.  So here there are few documents, calls whose
 * documents refer to each other or to documents that depend on them, other calls
 * that rename the same documents, and pauses: transactions stay open for a while,
 * and in a server built with FAULTS=1 the setting dms.delay makes sessions sleep
 * before each lock.
 */
#include <stdio.h>
#include <string.h>

#include "stress.h"

#define SESSIONS 2
#define SECTIONS 2				/* of each session */
#define STUDENTS 2
#define NAMES 8					/* more than documents, so that most are free */

static const char *const kinds[] = {"uri://ed-fi.org/GradeTypeDescriptor#Final", "uri://ed-fi.org/GradeTypeDescriptor#Exam"};

/* Insert or update a document of the set-up. */
static void
upsert(PGconn *conn, const Subject *subject, Random *random)
{
	char		body[BODY_SIZE];
	const char *values[3] = {types[subject->type].resource, body, NULL};
	PGresult   *result;

	write_body(subject, random, body);
	result = PQexecPrepared(conn, "upsert", 3, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("set-up of %s: %s%s", types[subject->type].resource, PQerrorMessage(conn), body);
	PQclear(result);
}

/* Create a section, and its dependents: an enrolment, a grade, a report card. */
static void
set_up_section(PGconn *conn, const Subject *offering, int number, Random *random)
{
	Subject		section;
	Subject		enrolment;
	Subject		grade;
	Subject		card;

	derive(&section, SECTION, offering, random);
	set_value(&section, 4, "I%d", number);
	upsert(conn, &section, random);
	derive(&enrolment, ENROLMENT, &section, random);
	set_value(&enrolment, 6, "T%d", number % STUDENTS);
	upsert(conn, &enrolment, random);
	derive(&grade, GRADE, &enrolment, random);
	set_value(&grade, 2, "P0");
	upsert(conn, &grade, random);
	derive(&card, REPORT_CARD, &grade, random);
	card.grades[0] = '\0';
	upsert(conn, &card, random);
}

/* Create the documents that are written; none is added or deleted later. */
void
set_up_batches(void)
{
	PGconn	   *conn = connect_patiently("stress");
	Random		random = {options.seed};
	Subject		school = {.type = SCHOOL};

	prepare_all(conn);
	set_value(&school, 0, "100");
	for (int i = 0; i < SESSIONS; i++)
	{
		Subject		session;
		Subject		offering;

		derive(&session, SESSION, &school, &random);
		set_value(&session, 1, "2030");
		set_value(&session, 2, "S%d", i);
		upsert(conn, &session, &random);
		derive(&offering, COURSE_OFFERING, &session, &random);
		upsert(conn, &offering, &random);
		for (int j = 0; j < SECTIONS; j++)
			set_up_section(conn, &offering, j, &random);
	}
	PQfinish(conn);
}

/* Change the document's own part of its identity. */
static void
rename_one(Subject *subject, Random *random)
{
	if (subject->type == SESSION)
		set_value(subject, 2, "S%u", draw(random, NAMES));
	else if (subject->type == SECTION)
		set_value(subject, 4, "I%u", draw(random, NAMES));
	else if (subject->type == GRADE)
		set_value(subject, 0, "%s", kinds[draw(random, 2)]);
}

/* Move an enrolment to a section; the student remains. */
static void
enroll(Subject *enrolment, const Subject *section, Random *random)
{
	Subject		derived;

	derive(&derived, ENROLMENT, section, random);
	for (int i = 1; i <= 5; i++)
		set_value(enrolment, i, "%s", derived.values[i]);
}

/* Write two documents in one call, in random order. */
static Outcome
send_both(Session *session, const Subject *one, const Subject *other)
{
	bool		turn = chance(&session->random, 50);

	return run_batch(session, turn ? other : one, turn ? one : other);
}

/* Move an enrolment to a section of the same call, which may rename it. */
static Outcome
refer_inside(Session *session, int renamed)
{
	Subject		section;
	Subject		enrolment;

	if (!pick(session, SECTION, &section) || !pick(session, ENROLMENT, &enrolment))
		return DONE;
	if (chance(&session->random, renamed))
		rename_one(&section, &session->random);
	enroll(&enrolment, &section, &session->random);
	return send_both(session, &section, &enrolment);
}

/* Let a report card refer to a grade of the same call, outside of its identity. */
static Outcome
mention_inside(Session *session, int renamed)
{
	Subject		grade;
	Subject		card;
	Subject		wanted;

	if (!pick(session, GRADE, &grade) || !pick(session, REPORT_CARD, &card))
		return DONE;
	if (chance(&session->random, renamed))
		rename_one(&grade, &session->random);
	derive(&wanted, REPORT_CARD, &grade, &session->random);
	if (memcmp(wanted.values, card.values, sizeof(card.values)) != 0)
		return DONE;
	memcpy(card.grades, wanted.grades, sizeof(card.grades));
	return send_both(session, &grade, &card);
}

/* Rename a section, and move an enrolment to another one. */
static Outcome
refer_outside(Session *session)
{
	Subject		section;
	Subject		other;
	Subject		enrolment;

	if (!pick(session, SECTION, &section) || !pick(session, SECTION, &other) || !pick(session, ENROLMENT, &enrolment) ||
		strcmp(section.uuid, other.uuid) == 0)
		return DONE;
	rename_one(&section, &session->random);
	enroll(&enrolment, &other, &session->random);
	return send_both(session, &section, &enrolment);
}

/* Move the name of a section to another section. */
static Outcome
move_name(Session *session)
{
	Subject		from;
	Subject		to;

	if (!pick(session, SECTION, &from) || !pick(session, SECTION, &to))
		return DONE;
	memcpy(to.values, from.values, sizeof(to.values));
	rename_one(&from, &session->random);
	return send_both(session, &from, &to);
}

/* Rename a session, and move an enrolment to a section that depends on it. */
static Outcome
refer_to_follower(Session *session)
{
	Subject		above;
	Subject		section;
	Subject		enrolment;

	if (!pick(session, SESSION, &above) || !pick(session, SECTION, &section) || !pick(session, ENROLMENT, &enrolment))
		return DONE;
	/* A section has the values of its session at other paths. */
	if (strcmp(above.values[2], section.values[3]) != 0)
		return DONE;
	rename_one(&above, &session->random);
	set_value(&section, 3, "%s", above.values[2]);
	enroll(&enrolment, &section, &session->random);
	return send_both(session, &above, &enrolment);
}

/* Rename one document. */
static Outcome
rename_alone(Session *session)
{
	static const TypeId choice[] = {SESSION, SECTION, SECTION, SECTION, GRADE, GRADE};
	Subject		subject;

	if (!pick(session, choice[draw(&session->random, sizeof(choice) / sizeof(choice[0]))], &subject))
		return DONE;
	rename_one(&subject, &session->random);
	return run_update(session, &subject, NULL);
}

/* Make one call at random. */
Outcome
step_batch(Session *session)
{
	uint32_t	what = draw(&session->random, 100);

	if (what < 25)
		return refer_inside(session, 20);
	if (what < 40)
		return mention_inside(session, 20);
	if (what < 50)
		return refer_outside(session);
	if (what < 57)
		return move_name(session);
	if (what < 65)
		return refer_to_follower(session);
	if (what < 70)
		return run_swap(session, chance(&session->random, 50) ? SESSION : SECTION);
	return rename_alone(session);
}
