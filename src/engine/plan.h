/*
 * plan.h
 *		Connecting to SPI, and keeping prepared plans.
 */
#ifndef DMS_PLAN_H
#define DMS_PLAN_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "engine/ownercode.h"
#include "executor/spi.h"

/*
 * A statement of fixed text.  Its plan is made at first use, kept for the
 * session and revalidated by PostgreSQL when what it depends on changes.
 */
typedef struct Statement
{
	const char *sql;
	int			nargs;
	const Oid  *argtypes;
	bool		ordered;		/* rows must be met in the order of the index */
	bool		adaptive;		/* the best plan depends on the values */
	SPIPlanPtr	plan;
	OwnerCode	code;			/* what it runs with lent rights */
} Statement;

/* Whose rights the statements run with. */
typedef enum StoreRights
{
	RIGHTS_OF_CALLER,
	RIGHTS_OF_OWNER
} StoreRights;

typedef struct StoreSession
{
	Oid			saved_user;
	int			saved_context;
	StoreRights rights;
	int			guc_level;		/* 0: no settings are changed */
} StoreSession;

extern void StoreBegin(StoreSession *session, StoreRights rights);
extern void StoreEnd(StoreSession *session);

/* Returns whether what it did may stay. */
typedef bool (*AttemptFunction) (void *arg);

extern bool Attempt(AttemptFunction function, void *arg);
extern ErrorData *AttemptCatch(AttemptFunction function, void *arg, bool *stays);

extern uint64 StatementRun(Statement *statement, Datum *values,
						   const char *nulls, bool read_only, long limit);
extern void StatementCheck(Statement *statement);
extern uint64 ReadRun(Statement *statement, Datum *values, long limit);
extern void StatementForget(Statement *statement);
extern bool StatementsAreRunning(void);
extern void StatementsEnd(void);

/* One snapshot for several read-only statements. */
extern void SnapshotBegin(void);
extern void SnapshotBeginLatest(void);
extern void SnapshotBeginCatalog(void);
extern void SnapshotEnd(void);

extern void ExecuteSql(const char *sql);
extern uint64 ExecuteWithArgs(const char *sql, int nargs, Oid *types,
							  Datum *values, bool read_only);
extern bool TypeFits(Oid found, Oid expected);
extern void ResultExpect(const Oid *types);
extern Datum ResultDatum(uint64 row, int column, bool *isnull);
extern char *ResultText(uint64 row, int column);
extern char *ResultName(uint64 row, int column);
extern int64 ResultInt64(uint64 row, int column);
extern int32 ResultInt32(uint64 row, int column);
extern bool ResultBool(uint64 row, int column);
extern TimestampTz ResultTime(uint64 row, int column);
extern void RefuseRow(const char *what) pg_attribute_noreturn();
extern Datum TextArrayDatum(int n, const char *const *texts);
extern Datum ArrayDatum(int n, Datum *values, bool *nulls, Oid type);
extern Datum Int8ArrayDatum(int n, const int64 *numbers);

#endif							/* DMS_PLAN_H */
