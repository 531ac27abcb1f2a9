/*
 * notices.c
 *		Telling sessions that listen about jobs, by NOTIFY.
 *
 * This is off by default: a transaction that notifies takes a lock that all such
 * transactions share, and holds it until it has committed.  So they commit one after
 * the other, in all databases of the server.
 */
#include "postgres.h"

#include "commands/async.h"
#include "document/notices.h"
#include "utils/guc.h"

typedef enum NotifyAbout
{
	NOTIFY_OFF,
	NOTIFY_JOBS
} NotifyAbout;

static const struct config_enum_entry notify_options[] = {
	{"off", NOTIFY_OFF, false},
	{"jobs", NOTIFY_JOBS, false},
	{NULL, 0, false}
};

static int	notify_about = NOTIFY_OFF;

/* Define the setting of this module. */
void
NoticesInit(void)
{
	DefineCustomEnumVariable("dms.notify",
							 "What sessions that listen are told about.",
							 "Transactions that notify commit one after the other.",
							 &notify_about, NOTIFY_OFF, notify_options, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* Tell those who listen that there is a job in a queue. */
void
NoticesTellJob(const char *queue)
{
	if (notify_about == NOTIFY_JOBS)
		Async_Notify("dms_jobs", queue);
}
