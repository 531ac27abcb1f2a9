/*
 * claimstart.c
 *		Where a session begins to look for jobs that are due.
 *
 * A job that was claimed leaves an entry in the index, which cannot be removed while a
 * transaction has an older snapshot.  All these entries are before those of jobs that
 * are due.  So a claim would walk over each job of the last minutes or hours to find the
 * next one.  While such a snapshot exists, a session begins where its last claim ended.
 *
 * Jobs that were committed late, or enqueued with an earlier time, are before that place.
 * So a claim that finds nothing there looks from the beginning, and after a while each
 * session does so anyway: after a second, or more if it takes long.  No order of jobs is
 * promised, and none is left out.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "document/claimstart.h"
#include "engine/store.h"
#include "mb/pg_wchar.h"
#include "model/resourceoptions.h"
#include "storage/procarray.h"
#include "utils/timestamp.h"

/* Transactions since the oldest snapshot that leave too few entries to care about. */
#define FEW_TRANSACTIONS 50

/* The part of the time that is spent with looking from the beginning is one in so many. */
#define SHARE_OF_TIME 20

/* Microseconds until a session looks from the beginning again, at least. */
#define LOOK_AGAIN USECS_PER_SEC

static char last_queue[QUEUE_MAX_NAME * MAX_MULTIBYTE_CHAR_LEN + 1];
static TimestampTz last_time = DT_NOBEGIN;	/* when the last job that was
											 * claimed was due */
static TimestampTz valid_until = DT_NOBEGIN;

/* Returns when the jobs were due at which a claim begins. */
TimestampTz
ClaimStartOf(const char *queue, TimestampTz now)
{
	return now < valid_until && strcmp(queue, last_queue) == 0 ? last_time : DT_NOBEGIN;
}

/* Returns true if an old snapshot keeps the entries of many jobs. */
static bool
EntriesStay(void)
{
	Relation	jobs = table_open(StoreTable(STORE_JOB), AccessShareLock);
	TransactionId oldest = GetOldestNonRemovableTransactionId(jobs);

	table_close(jobs, AccessShareLock);
	return (int32) (ReadNextTransactionId() - oldest) > FEW_TRANSACTIONS;
}

/*
 * Note that a claim has ended, which took jobs that were due from the first to the last
 * time; DT_NOBEGIN is the beginning, or none.
 */
void
ClaimStartNote(const char *queue, TimestampTz first, TimestampTz last, TimestampTz began)
{
	TimestampTz now = GetCurrentTimestamp();

	if (first == DT_NOBEGIN && !EntriesStay())
	{
		valid_until = DT_NOBEGIN;
		return;
	}
	if (first == DT_NOBEGIN)
		valid_until = now + Max(LOOK_AGAIN, (now - began) * SHARE_OF_TIME);
	if (last != DT_NOBEGIN || strcmp(queue, last_queue) != 0)
		last_time = last;
	strlcpy(last_queue, queue, sizeof(last_queue));
}
