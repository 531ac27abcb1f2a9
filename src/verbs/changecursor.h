/*
 * changecursor.h
 *		Up to where somebody has followed the changes of the store.
 */
#ifndef DMS_CHANGECURSOR_H
#define DMS_CHANGECURSOR_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "engine/running.h"
#include "lib/stringinfo.h"

/* The parts of a pass, in order. */
typedef enum ChangePhase
{
	PHASE_KEYS,
	PHASE_DOCUMENTS,
	PHASE_DELETES,
	PHASE_END
} ChangePhase;

/* The last row of a pass that was delivered. */
typedef struct ChangePlace
{
	ChangePhase phase;
	int32		type_id;
	bool		started;		/* rows of the type have been delivered */
	int64		version;
	int64		document_id;
	int64		etag;
} ChangePlace;

/*
 * A cursor: what has been consumed, and, within a pass, what will have been after it,
 * and the place that was reached.
 */
typedef struct ChangeCursor
{
	bool		start;			/* nothing has been consumed */
	Running		consumed;
	bool		in_pass;
	int64		generation;		/* of the models that the pass began with */
	Running		target;
	ChangePlace place;
} ChangeCursor;

extern void ChangeCursorRead(const char *given, ChangeCursor *cursor);
extern void ChangeCursorCheck(const ChangeCursor *cursor);
extern void ChangeCursorTake(Running *running);
extern bool ChangeCursorCovers(const Running *consumed, const Running *target);
extern bool ChangeCursorHas(const ChangeCursor *cursor, int64 version);
extern int64 ChangeCursorLowest(const ChangeCursor *cursor);
extern char *ChangeCursorPrefix(const ChangeCursor *cursor);
extern char *ChangeCursorText(const char *prefix, const ChangePlace *place);

#endif							/* DMS_CHANGECURSOR_H */
