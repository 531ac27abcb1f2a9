/*
 * faults.c
 *		The test build's settings dms.skip, dms.pause and dms.delay; empty
 *		otherwise.
 */
#include "postgres.h"

#include "base/faults.h"

#ifdef DMS_FAULTS

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"

PG_FUNCTION_INFO_V1(dms_pause_key);

static char *skip_list = NULL;
static char *pause_list = NULL;
static int	longest_delay = 0;

/* Returns true if the word is one of the comma-separated words of the list. */
static bool
ListHasWord(const char *list, const char *word)
{
	size_t		len = strlen(word);
	const char *at = list;

	while (at != NULL && (at = strstr(at, word)) != NULL)
	{
		bool		starts = at == list || at[-1] == ',' || at[-1] == ' ';
		bool		ends = at[len] == '\0' || at[len] == ',' || at[len] == ' ';

		if (starts && ends)
			return true;
		at += len;
	}
	return false;
}

/* Returns the key of the advisory lock of a pause point. */
static int64
PauseKey(const char *point)
{
	return (int64) hash_bytes((const unsigned char *) point, strlen(point));
}

/* Returns true if this guard is to be left out. */
bool
FaultListed(const char *guard)
{
	return ListHasWord(skip_list, guard);
}

/* Sleep for a random time, so that rare interleavings become likely. */
static void
Delay(void)
{
	if (longest_delay == 0)
		return;
	pg_usleep((long) (pg_prng_double(&pg_global_prng_state) * longest_delay * 1000));
	CHECK_FOR_INTERRUPTS();
}

/* Wait here while another session holds the point's advisory lock. */
void
FaultPauseAt(const char *point)
{
	Datum		key;

	Delay();
	if (!ListHasWord(pause_list, point))
		return;
	key = Int64GetDatum(PauseKey(point));
	DirectFunctionCall1(pg_advisory_lock_shared_int8, key);
	DirectFunctionCall1(pg_advisory_unlock_shared_int8, key);
}

/* Define the settings. */
void
FaultsInit(void)
{
	DefineCustomStringVariable("dms.skip",
							   "Guards of the protocol to leave out (test builds only).",
							   NULL, &skip_list, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
	DefineCustomStringVariable("dms.pause",
							   "Points at which to wait for an advisory lock (test builds only).",
							   NULL, &pause_list, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
	DefineCustomIntVariable("dms.delay",
							"Longest time to sleep at each point (test builds only).",
							NULL, &longest_delay, 0, 0, 10000, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

/* Returns the key of a pause point's advisory lock, for the test that holds it. */
Datum
dms_pause_key(PG_FUNCTION_ARGS)
{
	char	   *point = TextDatumGetCString(PG_GETARG_DATUM(0));

	PG_RETURN_INT64(PauseKey(point));
}

#endif							/* DMS_FAULTS */
