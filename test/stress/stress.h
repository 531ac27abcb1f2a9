/*
 * stress.h
 *		Shared parts of the stress test.
 *
 * Many sessions write random documents, whose identities form a chain of six levels.
 * Meanwhile a checker looks for violated invariants.  It is independent of the
 * extension: it uses neither dms.audit() nor the functions of which that consists.
 */
#ifndef STRESS_H
#define STRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#define MAX_VALUES 12
#define VALUE_SIZE 80
#define BODY_SIZE 4096

/* A time limit in seconds that no call reaches, however busy the machine is. */
#define PATIENCE 1200

/* A resource that is written; its identity consists of the values at some paths. */
typedef struct Type
{
	const char *resource;
	const char *superclass_path;	/* the alias' only path */
	int			nvalues;
	const char *paths[MAX_VALUES];
} Type;

typedef enum TypeId
{
	SCHOOL, COURSE, GRADING_PERIOD, SESSION, COURSE_OFFERING, SECTION,
	ENROLMENT, GRADE, REPORT_CARD, NTYPES
} TypeId;

typedef struct Random
{
	uint64_t	state;
} Random;

/* A document that exists or is to be written. */
typedef struct Subject
{
	TypeId		type;
	char		values[MAX_VALUES][VALUE_SIZE];
	char		uuid[37];
	char		document_id[24];
	char		etag[24];
	char		grades[1536];	/* references of a report card, as JSON */
} Subject;

typedef struct Options
{
	const char *conninfo;
	const char *schema;			/* file to deploy; NULL if it is deployed */
	const char *views;			/* file with the checker's views */
	int			clients;
	int			seconds;
	long		transactions;
	uint64_t	seed;
	bool		rename_schools; /* the schema allows it */
	bool		single;			/* one write per transaction, Read Committed */
	bool		crashes;		/* lost connections are expected */
	bool		hub;
	bool		batches;		/* calls that write several documents, and renames */
	bool		history;		/* keep versions, and restore documents */
	bool		strict;			/* the cache has all documents at every commit */
	bool		relations;		/* relate documents to each other */
	bool		follow;			/* keep copies of the store */
	bool		until_finding;	/* stop at the first finding */
} Options;

#define MAX_STEPS 4

typedef enum Verb
{
	UPSERT, UPDATE, BATCH, DELETE, RESTORE, RELATE, READ, NVERBS
} Verb;

typedef enum Outcome
{
	DONE,
	REFUSED,					/* an expected error */
	RETRY,						/* deadlock or serialization failure */
	LOST						/* the connection is gone */
} Outcome;

/* The writes of a transaction, which count when the commit is acknowledged. */
typedef struct Written
{
	char		uuid[37];
	char		etag[24];
	bool		deleted;
} Written;

/* A session that writes. */
typedef struct Session
{
	PGconn	   *conn;
	char		name[32];
	Random		random;
	bool		fixed_snapshot; /* Repeatable Read or Serializable */
	bool		nowait;
	bool		writing;		/* inside a transaction that may be rolled back */
	int			nwritten;
	Written		written[MAX_STEPS * 2];
} Session;

extern Options options;
extern volatile bool stopping;
extern const Type types[NTYPES];

/* stress.c */
extern void finding(const char *format,...) __attribute__((format(printf, 1, 2)));
extern void die(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));
extern PGconn *connect_patiently(const char *name);
extern double now(void);

/* model.c */
extern uint32_t draw(Random *random, uint32_t below);
extern bool chance(Random *random, int percent);
extern void set_value(Subject *subject, int i, const char *format,...) __attribute__((format(printf, 3, 4)));
extern void split_values(Subject *subject, const char *joined);
extern void join_values(const Subject *subject, char *joined);
extern void write_body(const Subject *subject, Random *random, char *body);
extern void referential_id(const Subject *subject, bool alias, char *id);
extern bool derive(Subject *dependent, TypeId type, const Subject *from, Random *random);
extern bool rename_subject(Subject *subject, Random *random);
extern void set_up(PGconn *conn);

/* seen.c */
extern void seen_representation(const char *uuid, const char *body);
extern void acknowledge(const char *uuid, const char *etag);
extern void deleting(const char *uuid);
extern void restoring(const char *uuid);
extern void acknowledge_delete(const char *uuid);
extern bool any_uuid(Random *random, bool deleted, char *uuid);
extern void check_acknowledged(PGconn *conn);
extern long representations_seen(void);
extern void seen_version(const char *uuid, long number, const char *body);
extern void seen_last_version(const char *uuid, long number, bool deleted);
extern void check_seen_versions(void);

/* versions.c */
extern void keep_versions(PGconn *conn);
extern void check_versions(PGconn *conn);

/* work.c */
extern void *work(void *argument);
extern void prepare_all(PGconn *conn);
extern void print_counts(void);
extern void prepare(PGconn *conn, const char *name, const char *sql);
extern PGresult *execute(Session *session, const char *name, int n, const char *const *values);
extern void count(Verb verb, const char *what);
extern Outcome judge(Session *session, Verb verb, PGresult *result, const char *what);
extern void endpoint(TypeId type, char *path, size_t size);
extern bool pick(Session *session, TypeId type, Subject *subject);
extern Outcome run_update(Session *session, const Subject *subject, const char *if_match);
extern Outcome run_batch(Session *session, const Subject *one, const Subject *other);
extern Outcome run_swap(Session *session, TypeId type);
extern long transactions_done(void);

/* batch.c */
extern void set_up_batches(void);
extern Outcome step_batch(Session *session);

/* relations.c */
extern void prepare_relations(PGconn *conn);
extern Outcome step_relate(Session *session);
extern Outcome run_related(Session *session);
extern void check_relations(PGconn *conn);

/* checker.c */
extern void *keep_checking(void *argument);
extern bool check_once(PGconn *conn);
extern PGconn *connect_checker(const char *name);
extern void prepare_checks(PGconn *conn);
extern bool check_identities(PGconn *conn, TypeId type, bool alias);
extern void check_indexes(PGconn *conn);
extern long checks_done(void);

/* hub.c */
extern void run_hub(void);

#endif							/* STRESS_H */
