/*
 * forest.c
 *		The test of trees: sessions give documents parents, move and delete them at
 *		random, and a model of the forest is made of the answers that they got.
 *
 * Each transaction draws a number while it holds its locks, so the numbers of two
 * transactions that touch the same document are in the order of their effects.  At
 * the end the answers are replayed in that order.  Each must be possible: no document
 * comes below itself, nobody is attached to a document that is gone.  Then the forest
 * of the store must be that of the model: the same documents with the same parents,
 * so each delete took exactly what was below.
 *
 * "forest CONNINFO CLIENTS OPERATIONS SEED" prints findings, and as its last line the
 * verdict, which the exit status repeats.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLIENTS 64

/* Documents that calls choose among, beside those that are gone. */
#define LIVING 400

#define UUID_TEXT 37

typedef enum Kind
{
	MAKE,						/* a document, with a parent or without */
	MOVE,						/* give a document a parent, or none */
	TAKE						/* delete a document with all below */
} Kind;

/* What a transaction has done, as it was acknowledged. */
typedef struct Event
{
	int64_t		number;
	Kind		kind;
	int			document;
	int			parent;			/* -1: none */
	bool		changed;
} Event;

/* A document, as the model sees it. */
typedef struct Node
{
	char		uuid[UUID_TEXT];
	bool		lives;
	int			parent;			/* -1: none */
} Node;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Node *nodes = NULL;
static int	nnodes = 0;
static int	candidates[LIVING]; /* likely to be alive */
static Event *events = NULL;
static int	nevents = 0;
static long left;				/* operations to begin */
static long findings = 0;
static long refused[3];			/* rings, missing documents, others to repeat */
static const char *conninfo;
static uint64_t seed;

/* Report a contradiction. */
static void
finding(const char *format,...)
{
	va_list		args;

	if (findings++ >= 20)
		return;
	printf("FINDING (seed %" PRIu64 "): ", seed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* Exit with a message: the test could not run. */
static void
die(const char *what, const char *why)
{
	fprintf(stderr, "forest: %s: %s\n", what, why);
	exit(2);
}

/* Returns the next random number of a session. */
static uint32_t
next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) (*state >> 33);
}

/* Make room for one more element. */
static void *
grow(void *array, int n, size_t size)
{
	if (n > 0 && (n & (n - 1)) != 0)
		return array;
	array = realloc(array, size * (n == 0 ? 1 : 2 * (size_t) n));
	if (array == NULL)
		die("memory", "there is no more");
	return array;
}

/* Connect to the server. */
static PGconn *
connect_to(void)
{
	PGconn	   *connection = PQconnectdb(conninfo);

	if (PQstatus(connection) != CONNECTION_OK)
		die("connection", PQerrorMessage(connection));
	PQclear(PQexec(connection, "SET client_min_messages = error; SET synchronous_commit = off"));
	return connection;
}

/* Add a document to the model; it does not live before its event is replayed. */
static int
add_node(const char *uuid, uint32_t place)
{
	int			node;

	pthread_mutex_lock(&mutex);
	nodes = grow(nodes, nnodes, sizeof(Node));
	node = nnodes++;
	memset(&nodes[node], 0, sizeof(Node));
	snprintf(nodes[node].uuid, UUID_TEXT, "%s", uuid);
	candidates[place % LIVING] = node;
	pthread_mutex_unlock(&mutex);
	return node;
}

/* Note an acknowledged transaction. */
static void
add_event(Event event)
{
	pthread_mutex_lock(&mutex);
	events = grow(events, nevents, sizeof(Event));
	events[nevents++] = event;
	pthread_mutex_unlock(&mutex);
}

/* Choose a document, and copy its uuid; -1 if there is none. */
static int
choose(uint32_t random, char *uuid)
{
	int			node;

	pthread_mutex_lock(&mutex);
	node = candidates[random % LIVING];
	if (node >= 0)
		strcpy(uuid, nodes[node].uuid);
	pthread_mutex_unlock(&mutex);
	return node;
}

/* Count why a call was refused; anything that must not happen is a finding. */
static void
note_refusal(const char *state, const char *message)
{
	pthread_mutex_lock(&mutex);
	if (strcmp(state, "23514") == 0)
		refused[0]++;
	else if (strcmp(state, "ZD404") == 0 || strcmp(state, "23503") == 0)
		refused[1]++;
	else if (strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0)
		refused[2]++;
	else
		finding("%s: %s", state, message);
	pthread_mutex_unlock(&mutex);
}

/*
 * Run a transaction whose statement returns an answer and a number.  Returns NULL if it
 * was refused.
 */
static PGresult *
run(PGconn *connection, const char *sql, const char *const *values, int n, bool serializable)
{
	PGresult   *result;

	PQclear(PQexec(connection, serializable ? "BEGIN ISOLATION LEVEL SERIALIZABLE" : "BEGIN"));
	result = PQexecParams(connection, sql, n, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		PGresult   *end = PQexec(connection, "COMMIT");
		const char *state = PQresultErrorField(end, PG_DIAG_SQLSTATE);

		if (PQresultStatus(end) == PGRES_COMMAND_OK)
		{
			PQclear(end);
			return result;
		}
		note_refusal(state != NULL ? state : "?", PQresultErrorMessage(end));
		PQclear(end);
	}
	else
	{
		const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

		note_refusal(state != NULL ? state : "?", PQresultErrorMessage(result));
		PQclear(PQexec(connection, "ROLLBACK"));
	}
	PQclear(result);
	return NULL;
}

/* Create a document, perhaps below another one. */
static void
make(PGconn *connection, uint64_t *state, long key)
{
	char		parent[UUID_TEXT];
	char		id[32];
	int			parent_node = next(state) % 4 != 0 ? choose(next(state), parent) : -1;
	const char *values[] = {id, parent_node >= 0 ? parent : NULL};
	PGresult   *result;

	snprintf(id, sizeof(id), "%ld", key);
	result = run(connection, "WITH made AS MATERIALIZED (SELECT document_uuid AS id FROM dms.upsert_document('system', 'systems',"
				 " json_build_object('systemId', $1::text, 'name', 'x'))), placed AS MATERIALIZED (SELECT id,"
				 " CASE WHEN $2::uuid IS NOT NULL THEN dms.set_parent(id, $2::uuid) END AS changed FROM made)"
				 " SELECT changed, id, nextval('forest') FROM placed", values, 2, false);
	if (result == NULL)
		return;
	add_event((Event) {atoll(PQgetvalue(result, 0, 2)), MAKE, add_node(PQgetvalue(result, 0, 1), next(state)), parent_node, true});
	PQclear(result);
}

/* Give a document another parent, or none. */
static void
move(PGconn *connection, uint64_t *state)
{
	char		child[UUID_TEXT];
	char		parent[UUID_TEXT];
	int			child_node = choose(next(state), child);
	int			parent_node = next(state) % 8 != 0 ? choose(next(state), parent) : -1;
	const char *values[] = {child, parent_node >= 0 ? parent : NULL};
	PGresult   *result;

	if (child_node < 0)
		return;
	result = run(connection, "WITH moved AS MATERIALIZED (SELECT dms.set_parent($1, $2) AS changed)"
				 " SELECT changed, nextval('forest') FROM moved", values, 2, next(state) % 8 == 0);
	if (result == NULL)
		return;
	add_event((Event) {atoll(PQgetvalue(result, 0, 1)), MOVE, child_node, parent_node, PQgetvalue(result, 0, 0)[0] == 't'});
	PQclear(result);
}

/* Delete a document, and all that is below. */
static void
take(PGconn *connection, uint64_t *state)
{
	char		uuid[UUID_TEXT];
	int			node = choose(next(state), uuid);
	const char *values[] = {uuid};
	PGresult   *result;

	if (node < 0)
		return;
	result = run(connection, "WITH gone AS MATERIALIZED (SELECT dms.delete_document($1) AS deleted)"
				 " SELECT deleted, nextval('forest') FROM gone", values, 1, next(state) % 8 == 0);
	if (result == NULL)
		return;
	add_event((Event) {atoll(PQgetvalue(result, 0, 1)), TAKE, node, -1, true});
	PQclear(result);
}

/* A session: run operations until all have begun. */
static void *
session(void *arg)
{
	uint64_t	state = seed * 1000 + (uintptr_t) arg;
	PGconn	   *connection = connect_to();

	for (;;)
	{
		long		operation;
		uint32_t	what = next(&state) % 20;

		pthread_mutex_lock(&mutex);
		operation = left-- - 1;
		pthread_mutex_unlock(&mutex);
		if (operation < 0)
			break;
		if (what < 9)
			make(connection, &state, operation);
		else if (what < 19)
			move(connection, &state);
		else
			take(connection, &state);
	}
	PQfinish(connection);
	return NULL;
}

/* Order events by their numbers. */
static int
compare_events(const void *a, const void *b)
{
	int64_t		left_number = ((const Event *) a)->number;
	int64_t		right_number = ((const Event *) b)->number;

	return left_number < right_number ? -1 : left_number > right_number;
}

/* Returns true if a document of the model is above another one, or is it. */
static bool
is_above(int above, int node)
{
	for (int steps = 0; node >= 0; node = nodes[node].parent)
	{
		if (node == above)
			return true;
		if (steps++ > nnodes)
		{
			finding("the model has a ring");
			return false;
		}
	}
	return false;
}

/* Give a document of the model a parent. */
static void
replay_parent(const Event *event)
{
	if (event->parent >= 0 && !nodes[event->parent].lives)
		finding("%s was attached to %s, which is gone", nodes[event->document].uuid, nodes[event->parent].uuid);
	if (event->parent >= 0 && is_above(event->document, event->parent))
		finding("%s came below itself", nodes[event->document].uuid);
	if (event->kind == MOVE && event->changed != (nodes[event->document].parent != event->parent))
		finding("a move of %s returned %d", nodes[event->document].uuid, event->changed);
	nodes[event->document].parent = event->parent;
}

/* Delete a document of the model, and all below; children are found by their parents. */
static void
replay_take(int root)
{
	bool	   *gone = calloc((size_t) nnodes, sizeof(bool));

	for (int i = 0; i < nnodes; i++)
		gone[i] = nodes[i].lives && is_above(root, i);
	for (int i = 0; i < nnodes; i++)
		if (gone[i])
			nodes[i].lives = false;
	free(gone);
}

/* Replay all answers in the order of their effects. */
static void
replay(void)
{
	qsort(events, (size_t) nevents, sizeof(Event), compare_events);
	for (int i = 0; i < nevents; i++)
	{
		const Event *event = &events[i];

		if (event->kind != MAKE && !nodes[event->document].lives)
			finding("%s was changed after it was gone", nodes[event->document].uuid);
		if (event->kind == MAKE)
		{
			nodes[event->document].lives = true;
			nodes[event->document].parent = -1;
		}
		if (event->kind == TAKE)
			replay_take(event->document);
		else
			replay_parent(event);
	}
}

/* Order pairs of texts. */
static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Compare the forest of the store with that of the model. */
static void
compare(PGconn *connection)
{
	PGresult   *result = PQexec(connection, "SELECT concat_ws(' ', d.DocumentUuid, p.DocumentUuid) FROM dms.Document AS d"
								" LEFT JOIN dms.ParentChild AS r ON r.ChildDocumentId = d.DocumentId"
								" LEFT JOIN dms.Document AS p ON p.DocumentId = r.ParentDocumentId");
	int			n = PQntuples(result);
	char	  **stored = malloc(sizeof(char *) * (size_t) (n + 1));
	char	  **wanted = malloc(sizeof(char *) * (size_t) (nnodes + 1));
	int			nwanted = 0;

	for (int i = 0; i < n; i++)
		stored[i] = PQgetvalue(result, i, 0);
	for (int i = 0; i < nnodes; i++)
	{
		const Node *node = &nodes[i];

		if (!node->lives)
			continue;
		wanted[nwanted] = malloc(2 * UUID_TEXT);
		snprintf(wanted[nwanted++], 2 * UUID_TEXT, "%s%s%s", node->uuid, node->parent >= 0 ? " " : "",
				 node->parent >= 0 ? nodes[node->parent].uuid : "");
	}
	qsort(stored, (size_t) n, sizeof(char *), compare_texts);
	qsort(wanted, (size_t) nwanted, sizeof(char *), compare_texts);
	if (n != nwanted)
		finding("the store has %d documents, and the model %d", n, nwanted);
	for (int i = 0; i < n && i < nwanted; i++)
		if (strcmp(stored[i], wanted[i]) != 0)
		{
			finding("the store has \"%s\", and the model \"%s\"", stored[i], wanted[i]);
			break;
		}
	printf("%d documents are left\n", n);
	PQclear(result);
}

int
main(int argc, char **argv)
{
	pthread_t	threads[MAX_CLIENTS];
	PGconn	   *connection;
	int			clients;
	long		operations;

	if (argc != 5)
		die("usage", "forest CONNINFO CLIENTS OPERATIONS SEED");
	conninfo = argv[1];
	clients = atoi(argv[2]);
	left = operations = atol(argv[3]);
	seed = strtoull(argv[4], NULL, 10);
	if (clients < 1 || clients > MAX_CLIENTS)
		die("usage", "CLIENTS must be between 1 and 64");
	for (int i = 0; i < LIVING; i++)
		candidates[i] = -1;
	connection = connect_to();
	PQclear(PQexec(connection, "CREATE SEQUENCE forest"));
	for (int i = 0; i < clients; i++)
		if (pthread_create(&threads[i], NULL, session, (void *) (uintptr_t) i) != 0)
			die("threads", "cannot start one");
	for (int i = 0; i < clients; i++)
		pthread_join(threads[i], NULL);
	replay();
	compare(connection);
	PQfinish(connection);
	printf("%ld operations: %d done, %ld rings refused, %ld documents missing, %ld to repeat\n", operations, nevents,
		   refused[0], refused[1], refused[2]);
	printf("%s\n", findings == 0 ? "no finding" : "FAILED");
	return findings == 0 ? 0 : 1;
}
