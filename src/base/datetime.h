/*
 * datetime.h
 *		Dates and times as clients write them, and as we write them.
 */
#ifndef DMS_DATETIME_H
#define DMS_DATETIME_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/date.h"

/* Space for a date, a time or both, with a zero byte; years may have seven digits. */
#define DATETIME_SIZE 40

extern bool DateParse(const char *string, int len, DateADT *date);
extern bool TimeParse(const char *string, int len, TimeADT *time);
extern bool DateTimeParse(const char *string, int len, TimestampTz *instant);
extern bool DateTimeParseInstant(const char *string, int len, TimestampTz *instant);
extern char *DateWrite(char *to, DateADT date);
extern char *TimeWrite(char *to, TimeADT time);
extern char *DateTimeWrite(char *to, TimestampTz instant);
extern char *DateText(DateADT date);
extern char *TimeText(TimeADT time);
extern char *DateTimeText(TimestampTz instant);
extern char *DateTimeInstantText(TimestampTz instant);
extern char *DateTimeMillisText(TimestampTz instant);

#endif							/* DMS_DATETIME_H */
