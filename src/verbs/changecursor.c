/*
 * changecursor.c
 *		Up to where somebody has followed the changes of the store.
 *
 * A cursor is a snapshot: all transactions that it sees have been consumed.  So it
 * never waits for a transaction that runs for long, and never passes over one that
 * commits late.
 *
 * It also says where it was made: in which database of which server, with which base
 * of numbers, on which timeline, and at which place in the write-ahead log.  If changes
 * that it has consumed may not exist here, or changes that it has not consumed may be
 * gone, it is refused.
 *
 *		1.{origin}.{base}.{timeline}.{place in the log}.{snapshot}
 *		and, within a pass, .{generation}.{snapshot}.{phase}.{type}.{version}.{document}.{etag}
 *
 * A snapshot is "{xmin}:{xmax}:{running},{running}...", or "-" if nothing is seen.
 */
#include "postgres.h"

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "base/faults.h"
#include "base/report.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "document/changes.h"
#include "miscadmin.h"
#include "verbs/changecursor.h"

/* A cursor lists the transactions that ran; there are not more of them than this. */
#define MAX_RUNNING (1024 * 1024)

/* Raise an error: the text is no cursor. */
static void
pg_attribute_noreturn()
RefuseText(void)
{
	ReportError(PROBLEM_ARGUMENT, "Take it from next_cursor of the last row that was read.", "after_cursor is not a cursor");
}

/* Raise an error: not all changes after the cursor are known here. */
static void
pg_attribute_noreturn()
RefuseCursor(const char *reason)
{
	Problem    *problem = ProblemNew(PROBLEM_CURSOR_LOST);

	problem->detail = reason;
	problem->hint = "Drop what you have, and begin without a cursor.";
	ProblemRaise(problem, "changes after this cursor are not known completely");
}

/* --- this place ----------------------------------------------------------- */

/* Returns a number for this store in this database of this server. */
static uint64
Origin(void)
{
	char	   *name = psprintf("%s:" UINT64_FORMAT ":%u", UuidText(StoreRowInstance()), GetSystemIdentifier(), MyDatabaseId);

	return (uint64) Sha256Int64(name, strlen(name));
}

/* Returns the end of the log, without the header of a page that is to be written next. */
static XLogRecPtr
EndOfLog(void)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(end, wal_segment_size) == SizeOfXLogLongPHD)
		return end - SizeOfXLogLongPHD;
	if (end % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return end - SizeOfXLogShortPHD;
	return end;
}

/* Returns the timeline, and the place in the log that was reached. */
static XLogRecPtr
PlaceInLog(TimeLineID *timeline)
{
	if (RecoveryInProgress())
		return GetXLogReplayRecPtr(timeline);
	*timeline = GetWALInsertionTimeLine();
	return EndOfLog();
}

/* Returns true if what was at a place of the log of a timeline is part of this server's history. */
static bool
IsOurs(TimeLineID timeline, XLogRecPtr place)
{
	TimeLineID	now;
	XLogRecPtr	reached = PlaceInLog(&now);
	List	   *history;

	if (timeline == now)
		return place <= reached || RecoveryInProgress();
	if (timeline > now)
		return false;
	history = readTimeLineHistory(now);
	return tliInHistory(timeline, history) && place <= tliSwitchPoint(timeline, history, NULL);
}

/* --- snapshots ------------------------------------------------------------ */

/* Put a snapshot into words. */
static void
AppendRunning(StringInfo text, const Running *running)
{
	appendStringInfo(text, UINT64_FORMAT ":" UINT64_FORMAT ":", running->xmin, running->xmax);
	for (int i = 0; i < running->n; i++)
		appendStringInfo(text, "%s" UINT64_FORMAT, i > 0 ? "," : "", running->xids[i]);
}

/* Read a number that ends with a character. */
static uint64
ReadNumber(const char **at, char end, int radix)
{
	char	   *after;
	uint64		number;

	if (!((**at >= '0' && **at <= '9') || (radix == 16 && **at >= 'a' && **at <= 'f')))
		RefuseText();
	errno = 0;
	number = strtou64(*at, &after, radix);
	if (errno != 0 || *after != end)
		RefuseText();
	*at = end == '\0' ? after : after + 1;
	return number;
}

/* Read a number that may be negative. */
static int64
ReadSigned(const char **at, char end)
{
	bool		negative = **at == '-';
	uint64		number;

	*at += negative;
	number = ReadNumber(at, end, 10);
	if (number > PG_INT64_MAX)
		RefuseText();
	return negative ? -(int64) number : (int64) number;
}

/* Read a snapshot that ends with a character. */
static void
ReadRunning(const char **at, char end, Running *running)
{
	int			capacity = 0;

	running->xmin = ReadNumber(at, ':', 10);
	running->xmax = ReadNumber(at, ':', 10);
	if (running->xmin > running->xmax)
		RefuseText();
	for (const char *c = *at; *c != '\0' && *c != '.'; c++)
		capacity += *c == ',';
	if (capacity >= MAX_RUNNING)
		RefuseText();
	running->n = 0;
	running->xids = palloc(sizeof(uint64) * (capacity + 1));
	if (**at == end)
	{
		*at += end != '\0';
		return;
	}
	for (int i = 0; i <= capacity; i++)
	{
		uint64		xid = ReadNumber(at, i < capacity ? ',' : end, 10);

		if (xid < running->xmin || xid >= running->xmax || (i > 0 && xid <= running->xids[i - 1]))
			RefuseText();
		running->xids[running->n++] = xid;
	}
}

/*
 * Take down what the active snapshot sees, up to the last change.  Transactions after
 * that one may be lost in a crash, and their ids given again; it is made sure that this
 * cannot happen to those that are taken for consumed.
 */
void
ChangeCursorTake(Running *running)
{
	int			n = 0;

	RunningTake(running);
	if (!FAULT_SKIP("cursor_trim"))
	{
		running->xmax = Min(running->xmax, ChangesXid(ChangesHighestSeen()) + 1);
		running->xmin = Min(running->xmin, running->xmax);
		while (n < running->n && running->xids[n] < running->xmax)
			n++;
		running->n = n;
	}
	if (!RecoveryInProgress() && !FAULT_SKIP("cursor_flush"))
		XLogFlush(EndOfLog());
}

/* Returns true if a snapshot sees no change that was not consumed. */
bool
ChangeCursorCovers(const Running *consumed, const Running *target)
{
	if (consumed->xmax < target->xmax)
		return false;
	for (int i = 0; i < consumed->n; i++)
		if (RunningSees(target, consumed->xids[i]))
			return false;
	return true;
}

/* Returns true if the snapshot of a pass sees a change that the last one did not. */
bool
ChangeCursorHas(const ChangeCursor *cursor, int64 version)
{
	uint64		xid = ChangesXid(version);

	if (version <= StoreRowJournal()->floor)
		return cursor->start;
	return RunningSees(&cursor->target, xid) && (cursor->start || !RunningSees(&cursor->consumed, xid));
}

/* Returns a number that is below those of all changes of a pass. */
int64
ChangeCursorLowest(const ChangeCursor *cursor)
{
	const StoreJournal *journal = StoreRowJournal();

	if (cursor->start)
		return -1;
	return Max(journal->base + 2 * (int64) cursor->consumed.xmin - 1, journal->floor);
}

/* --- the text ------------------------------------------------------------- */

/* Read what a cursor says about its place in a pass. */
static void
ReadPlace(const char **at, ChangeCursor *cursor)
{
	ChangePlace *place = &cursor->place;
	uint64		phase;

	cursor->generation = ReadSigned(at, '.');
	ReadRunning(at, '.', &cursor->target);
	phase = ReadNumber(at, '.', 10);
	if (phase > PHASE_DELETES)
		RefuseText();
	place->phase = (ChangePhase) phase;
	place->type_id = (int32) ReadSigned(at, '.');
	place->version = ReadSigned(at, '.');
	place->document_id = ReadSigned(at, '.');
	place->etag = ReadSigned(at, '\0');
	place->started = true;
	cursor->in_pass = true;
}

/* Read a cursor; NULL means that nothing has been consumed.  One of another place is refused. */
void
ChangeCursorRead(const char *given, ChangeCursor *cursor)
{
	const char *at = given;
	TimeLineID	timeline;
	XLogRecPtr	place;
	uint64		origin;
	int64		base;

	memset(cursor, 0, sizeof(ChangeCursor));
	cursor->start = given == NULL;
	if (given == NULL)
		return;
	if (ReadNumber(&at, '.', 10) != 1)
		RefuseText();
	origin = ReadNumber(&at, '.', 16);
	base = ReadSigned(&at, '.');
	timeline = (TimeLineID) ReadNumber(&at, '.', 10);
	place = ReadNumber(&at, '.', 16);
	cursor->start = *at == '-';
	if (cursor->start)
	{
		if (at[1] != '.')
			RefuseText();
		at += 2;
		ReadPlace(&at, cursor);
	}
	else
	{
		ReadRunning(&at, strchr(at, '.') != NULL ? '.' : '\0', &cursor->consumed);
		if (*at != '\0')
			ReadPlace(&at, cursor);
	}
	if (origin != Origin())
		RefuseCursor("It was made by another store, or by another server.");
	if (base != StoreRowJournal()->base && !FAULT_SKIP("cursor_base"))
		RefuseCursor("Changes have got other numbers since.");
	if (!IsOurs(timeline, place) && !FAULT_SKIP("cursor_timeline"))
		RefuseCursor("It has seen changes that this server has lost.");
}

/*
 * Refuse a cursor after which deletes are not recorded any more: unless it was made
 * after they were forgotten, it must have consumed all of them.
 */
void
ChangeCursorCheck(const ChangeCursor *cursor)
{
	const StoreJournal *journal = StoreRowJournal();

	if (cursor->start || journal->purged_through == 0 || FAULT_SKIP("cursor_purged"))
		return;
	if (cursor->consumed.xmin > ChangesXid(journal->purged_through))
		return;
	if (journal->purged_by > 0 && RunningSees(&cursor->consumed, ChangesXid(journal->purged_by)))
		return;
	RefuseCursor("Deletes after it are not recorded any more.");
}

/* Returns the part of the text that all rows of a pass have in common. */
char *
ChangeCursorPrefix(const ChangeCursor *cursor)
{
	StringInfoData text;
	TimeLineID	timeline;
	XLogRecPtr	place = PlaceInLog(&timeline);

	initStringInfo(&text);
	appendStringInfo(&text, "1.%llx." INT64_FORMAT ".%u.%llx.", (unsigned long long) Origin(), StoreRowJournal()->base,
					 timeline, (unsigned long long) place);
	if (cursor->start)
		appendStringInfoChar(&text, '-');
	else
		AppendRunning(&text, &cursor->consumed);
	if (cursor->in_pass)
	{
		appendStringInfo(&text, "." INT64_FORMAT ".", cursor->generation);
		AppendRunning(&text, &cursor->target);
	}
	return text.data;
}

/* Returns the cursor behind a row. */
char *
ChangeCursorText(const char *prefix, const ChangePlace *place)
{
	return psprintf("%s.%d.%d." INT64_FORMAT "." INT64_FORMAT "." INT64_FORMAT, prefix, (int) place->phase,
					place->type_id, place->version, place->document_id, place->etag);
}
