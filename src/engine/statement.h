/*
 * statement.h
 *		Running statements, and keeping their plans.
 */
#ifndef DMS_STATEMENT_H
#define DMS_STATEMENT_H

#include "postgres.h"

#include "engine/ownercode.h"
#include "executor/spi.h"

/*
 * A statement of fixed text.  Its plan is made at first use, kept for the
 * session, and revalidated by PostgreSQL when an object that it depends on changes.
 */
typedef struct Statement
{
	const char *sql;
	int			nargs;
	const Oid  *argtypes;
	bool		ordered;		/* rows must be read in the order of the index */
	bool		adaptive;		/* the planner chooses joins, by the values */
	SPIPlanPtr	plan;
	int			generation;		/* of the plan that was made with our settings */
	OwnerCode	code;			/* the code that it runs with lent rights */
} Statement;

extern uint64 StatementRun(Statement *statement, Datum *values,
						   const char *nulls, bool read_only, long limit);
extern uint64 StatementRead(Statement *statement, Datum *values, long limit);
extern void StatementCheck(Statement *statement);
extern void StatementForget(Statement *statement);
extern void StatementSetLocally(const char *name, const char *value);
extern uint64 StatementsStarted(void);
extern int	StatementsRunning(void);
extern void StatementExecute(const char *sql);
extern void StatementTruncate(Oid table);
extern uint64 StatementExecuteWithArgs(const char *sql, int nargs, Oid *types,
									   Datum *values, bool read_only);
extern uint64 StatementExecuteWithNulls(const char *sql, int nargs, Oid *types,
										Datum *values, const char *nulls, bool read_only);
extern Portal StatementOpen(const char *sql, int nargs, Oid *types, Datum *values);
extern uint64 StatementFetch(Portal cursor, long limit);
extern void StatementClose(Portal cursor);

#endif							/* DMS_STATEMENT_H */
