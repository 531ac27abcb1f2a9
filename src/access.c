/*
 * access.c
 *		dms.grant_access(), and grants on what a deploy creates.
 *
 * Which level has what, and the statements that give it, are written in SQL in
 * the install script.  Here they are run as the owner of the store.  Who has a
 * level is told by the grants themselves: there is no list that could differ
 * from them, and a role that is dropped or renamed takes its grants along.
 */
#include "postgres.h"

#include "access.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "plan.h"
#include "report.h"
#include "store.h"
#include "utils/acl.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_grant_access);

static const Oid ddl_types[] = {NAMEOID, TEXTOID, BOOLOID};

static Statement read_ddl = {
	.sql = "SELECT statement FROM dms.access_ddl($1, $2) WHERE of_store OR NOT $3",
	.nargs = 3,
	.argtypes = ddl_types,
};

static Statement read_grants = {
	.sql = "SELECT role, level FROM dms.access_grants()",
};

/* A column of the last result, as texts that outlive it. */
static char **
ResultTexts(int column)
{
	char	  **texts = palloc(sizeof(char *) * Max(SPI_processed, 1));

	for (uint64 i = 0; i < SPI_processed; i++)
		texts[i] = ResultText(i, column);
	return texts;
}

/* Give a role a level, on the objects of the store or on everything. */
static void
ApplyLevel(const char *role, const char *level, bool store_only)
{
	Datum		values[3];
	char	  **statements;
	uint64		n;

	values[0] = DirectFunctionCall1(namein, CStringGetDatum(role));
	values[1] = CStringGetTextDatum(level);
	values[2] = BoolGetDatum(store_only);
	SnapshotBegin();
	n = StatementRun(&read_ddl, values, NULL, true, 0);
	SnapshotEnd();
	statements = ResultTexts(1);
	for (uint64 i = 0; i < n; i++)
		ExecuteSql(statements[i]);
}

/*
 * A deploy created tables: whoever has a level gets what it needs of them.
 * Must be called within an SPI connection of whoever owns the store.
 */
void
AccessReapply(void)
{
	uint64		n;
	char	  **roles;
	char	  **levels;

	SnapshotBegin();
	n = StatementRun(&read_grants, NULL, NULL, true, 0);
	SnapshotEnd();
	roles = ResultTexts(1);
	levels = ResultTexts(2);
	for (uint64 i = 0; i < n; i++)
		if (get_role_oid(roles[i], false) != StoreOwner())
			ApplyLevel(roles[i], levels[i], true);
}

static void
CheckLevel(const char *level)
{
	static const char *const levels[] = {"reader", "writer", "admin", "none"};

	for (size_t i = 0; i < lengthof(levels); i++)
		if (strcmp(level, levels[i]) == 0)
			return;
	ReportError(PROBLEM_ARGUMENT, "The levels are reader, writer, admin and none.",
				"there is no level \"%s\"", level);
}

/* Give a role a level of access, no more and no less. */
Datum
dms_grant_access(PG_FUNCTION_ARGS)
{
	const char *role = NameStr(*PG_GETARG_NAME(0));
	const char *level = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool		deployed = StoreExists();
	StoreSession session;

	PreventCommandIfReadOnly("dms.grant_access()");
	CheckLevel(level);
	if (get_role_oid(role, false) == (deployed ? StoreOwner() : GetUserId()))
		ReportError(PROBLEM_ARGUMENT, NULL,
					"role \"%s\" is the owner and has all rights already", role);
	StoreBegin(&session, deployed ? RIGHTS_OF_OWNER : RIGHTS_OF_CALLER);
	ApplyLevel(role, level, false);
	StoreEnd(&session);
	PG_RETURN_VOID();
}
