/*
 * repairsql.c
 *		Reading the statements that repair the store.
 *
 * They are in the install script, as functions that return a text.  Since that
 * text runs with the rights of the store's owner, no other role may provide it.
 * The call is a statement like any other: it is refused if it would run a function
 * of a role that does not have these rights.
 */
#include "postgres.h"

#include "admin/repairsql.h"
#include "catalog/pg_type.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "utils/builtins.h"

/*
 * Returns what a function of the extension returns for one or two texts.  Their
 * types are those of the function, so that no other can be a better match.
 */
char *
RepairSql(const char *function, int nargs, const char *const *args)
{
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2];
	char	   *sql;

	Assert(nargs == 1 || nargs == 2);
	for (int i = 0; i < nargs; i++)
		values[i] = CStringGetTextDatum(args[i]);
	StatementExecuteWithArgs(psprintf("SELECT dms_internal.%s(%s)", function, nargs == 1 ? "$1" : "$1, $2"),
							 nargs, types, values, true);
	sql = ResultText(0, 1);
	if (sql == NULL)
		elog(ERROR, "function dms_internal.%s() has no statement for \"%s\"", function, args[0]);
	ResultFree();
	return sql;
}
