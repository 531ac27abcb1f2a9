/*
 * gaps.c
 *		The test build's watch over CHECK_FOR_INTERRUPTS(); empty otherwise.
 *
 * A session that works without looking for interrupts cannot be canceled.  A timer
 * that counts processor time raises InterruptPending, which every look lowers again.
 * So the longest time that it stays raised is the longest that a cancel would have to
 * wait, no matter whose code was running, and no matter how busy the machine is.
 */
#include "postgres.h"

#ifdef DMS_FAULTS

#include <execinfo.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_watch_gaps);
PG_FUNCTION_INFO_V1(dms_longest_gap);
PG_FUNCTION_INFO_V1(dms_processor_time);

#define TICK 10					/* ms */
#define MAX_FRAMES 24

static volatile int ticks;		/* since InterruptPending was raised */
static volatile int longest;
static void *frames[MAX_FRAMES];
static volatile int nframes;

/* The timer's signal handler: was there a look since the last tick? */
static void
Tick(int signo pg_attribute_unused())
{
	int			saved = errno;

	if (!InterruptPending)
		ticks = 0;
	else if (++ticks > longest)
	{
		longest = ticks;
		nframes = backtrace(frames, MAX_FRAMES);
	}
	InterruptPending = true;
	errno = saved;
}

/* Start the timer, or start anew. */
Datum
dms_watch_gaps(PG_FUNCTION_ARGS)
{
	struct itimerval every = {{0, TICK * 1000}, {0, TICK * 1000}};
	struct sigaction action = {.sa_handler = Tick,.sa_flags = SA_RESTART};

	/* The first call loads a library, which a signal handler must not do. */
	nframes = backtrace(frames, MAX_FRAMES);
	ticks = 0;
	longest = 0;
	nframes = 0;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGPROF, &action, NULL) != 0 || setitimer(ITIMER_PROF, &every, NULL) != 0)
		elog(ERROR, "could not start a timer: %m");
	PG_RETURN_VOID();
}

/* Returns the processor time that this session has used, in ms. */
Datum
dms_processor_time(PG_FUNCTION_ARGS)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	PG_RETURN_INT64((int64) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
					(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
}

/* Returns the longest time without a look, in ms, and the functions in which it was. */
Datum
dms_longest_gap(PG_FUNCTION_ARGS)
{
	StringInfoData out;
	char	  **symbols = backtrace_symbols(frames, nframes);

	initStringInfo(&out);
	appendStringInfo(&out, "%d", longest * TICK);
	for (int i = 2; symbols != NULL && i < nframes; i++)
		appendStringInfo(&out, " %s", symbols[i]);
	free(symbols);
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

#endif							/* DMS_FAULTS */
