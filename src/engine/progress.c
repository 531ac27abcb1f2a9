/*
 * progress.c
 *		Telling pg_stat_activity how far a long call is.
 *
 * The views pg_stat_progress_* are for PostgreSQL's own commands only.  So the text of
 * the running query is replaced for a while by one that says what is being done.  The
 * time at which the query began stays, and so does its id.  The next query brings its
 * own text, so nothing is to be done after an error.
 */
#include "postgres.h"

#include "engine/progress.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_report_progress);

/* Show a text as that of the running query; NULL changes none. */
static void
Show(const char *text)
{
	uint64		query_id = (uint64) pgstat_get_my_query_id();

	pgstat_report_activity(STATE_RUNNING, text);
	pgstat_report_query_id(query_id, true);
}

/* Show what is being done.  Keys and bodies of documents do not belong here. */
void
ProgressReport(const char *format,...)
{
	char		shown[512] = "dms: ";
	va_list		args;

	va_start(args, format);
	vsnprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), format, args);
	va_end(args);
	shown[pg_mbcliplen(shown, strlen(shown), sizeof(shown) - 1)] = '\0';
	Show(shown);
}

/* Show the query again.  A background worker has none, and shows the last text. */
void
ProgressEnd(void)
{
	Show(debug_query_string);
}

/* The same for functions in SQL; NULL shows the query again. */
Datum
dms_report_progress(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		ProgressEnd();
	else
		ProgressReport("%s", text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}
